"""Log lines: each says what happened, none holds a secret."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from bot.logs import configure
from bot.secrets import Mask
from tests.bot.test_secrets import BY_SHAPE, BY_VALUE

MASK = Mask(tuple(BY_VALUE))


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    root, handlers = logging.getLogger(), list(logging.getLogger().handlers)
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers


def spill(secret: str) -> None:
    raise ValueError(f"cannot connect with {secret}")


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_in_a_line(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure("debug", form, MASK)
    logger = structlog.get_logger()
    for secret in (*BY_SHAPE, *BY_VALUE):
        logger.info(f"starting with {secret}", action="start", token=secret, deep={"list": [secret, {"x": secret}]})
        try:
            spill(secret)
        except ValueError:
            logger.exception("it failed", action="failed")
    shown = capsys.readouterr()
    assert shown.out == ""
    for secret in (*BY_SHAPE, *BY_VALUE):
        assert secret not in shown.err
        assert json.dumps(secret)[1:-1] not in shown.err
    assert "ValueError" in shown.err


def test_a_json_line_has_action_level_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json", MASK)
    structlog.get_logger().warning("it is late", action="late", thread="T")
    line = json.loads(capsys.readouterr().err)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "it is late", "action": "late", "thread": "T", "level": "warning"}


def test_lines_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure("error", "json", MASK)
    structlog.get_logger().warning("quiet", action="x")
    assert capsys.readouterr().err == ""

"""A secret in an argument is masked wherever people look, and runs as it is."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import structlog

from bot.notices import label, uncertain_notice
from bot.progress import Card, Line
from bot.secrets import Mask
from bot.slack.ids import Spot
from bot.surface import Answer, Body, Notice, PostKey, Request
from memory.records import ApprovalAsked, digest
from memory.types import Person, ToolCall
from tests.slack.live import GENERAL, NEWS, Place, place

SECRET = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
"""Like a signing secret: no shape gives it away."""
TOKEN = "xoxb-1234567890-abcdefghijkl"
ANA = Person(id="U0ANA00001", name="Ana")


@pytest.fixture
async def here() -> AsyncIterator[Place]:
    async with place(Mask((SECRET,))) as made:
        yield made


def call_of(text: str) -> ToolCall:
    return ToolCall(id="c1", name="post_message", arguments={"channel": "#news", "text": text})


def bodies(text: str) -> list[tuple[str, Body]]:
    call = call_of(text)
    asked = ApprovalAsked(call_id="c1", digest=digest(call), requester=ANA, approvers=(ANA.id,), expires_at=1.8e9)
    return [
        ("approval", Request(call, asked, "en-US")),
        ("approval", Request(call, asked, "en-US", ended=True)),
        ("card", Card(1.0, lines=(Line(call, "running"),), thought=text)),
        ("notice", Notice(uncertain_notice(call, "en-US"))),
        ("answer", Answer(f"I posted {text}")),
    ]


def everything_seen(here: Place) -> str:
    """All that people can read in the workspace, files too."""
    messages = [here.workspace.shown(message) for message in here.workspace.messages(GENERAL)]
    files = [file.content.decode() for file in here.workspace.files.values() if file.content]
    return json.dumps(messages, ensure_ascii=False) + "".join(files)


@pytest.mark.parametrize("before", ["", "key ", "x" * 20, "x" * 25, "x" * 30, "x" * 290, "x" * 1_785, "x" * 4_000])
@pytest.mark.parametrize("secret", [SECRET, TOKEN])
async def test_nobody_sees_a_secret(here: Place, secret: str, before: str) -> None:
    text = f"{before}{secret} and more words after it"
    for number, (kind, body) in enumerate(bodies(text)):
        key: Any = PostKey(1, number, kind)  # pyright: ignore[reportArgumentType]
        (message, *_) = await here.edge.surface.post(here.edge.here, key, body, check=False)
        await here.edge.surface.edit(message, key, body)
    await here.edge.surface.editor.settle()
    seen = everything_seen(here)
    beginnings = [secret[:length] for length in range(8, len(secret))]
    assert [beginning for beginning in beginnings if beginning in seen] == []
    assert "•••" in seen


async def test_what_runs_is_not_masked(here: Place) -> None:
    await here.edge.run("post_message", channel="#news", text=f"key {SECRET}")
    assert SECRET in str(here.workspace.messages(NEWS)[-1].blocks)


def test_no_log_line_holds_one() -> None:
    out = io.StringIO()
    mask = Mask((SECRET,))
    log = structlog.wrap_logger(
        structlog.PrintLogger(out), processors=[mask.log_processor, structlog.processors.JSONRenderer()]
    )
    log.info(f"a {SECRET}", call=label(call_of(f"{'x' * 30}{SECRET}")), inner={"list": [TOKEN, {"deep": SECRET}]})
    assert SECRET[:9] not in out.getvalue()
    assert TOKEN not in out.getvalue()


def test_the_thread_of_a_request_is_where_it_is_shown(here: Place) -> None:
    assert here.edge.here == Spot("T0BOBBIN01", GENERAL, here.root).thread

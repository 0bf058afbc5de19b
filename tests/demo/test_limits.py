"""Each of Slack's limits, at the last size that passes and the first that does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.limits import check_blocks, check_update_text
from bot.demo.values import Json, SlackError


def markdown(size: int) -> Json:
    return {"type": "markdown", "text": "m" * size}


def section(size: int) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": "s" * size}}


def header(size: int) -> Json:
    return {"type": "header", "text": {"type": "plain_text", "text": "h" * size}}


def context(count: int) -> Json:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": "c"}] * count}


def button(size: int) -> Json:
    return {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "b" * size}}


def actions(count: int, size: int = 1) -> Json:
    return {"type": "actions", "elements": [button(size)] * count}


DIVIDER: Json = {"type": "divider"}


@pytest.mark.parametrize(
    ("fits", "too_much"),
    [
        ([markdown(12_000)], [markdown(12_001)]),
        ([markdown(6_000)] * 2, [markdown(6_001)] * 2),
        ([section(3_000)], [section(3_001)]),
        ([section(1)], [section(0)]),
        ([header(150)], [header(151)]),
        ([context(10)], [context(11)]),
        ([context(1)], [context(0)]),
        ([actions(25)], [actions(26)]),
        ([actions(1, 75)], [actions(1, 76)]),
        ([DIVIDER] * 50, [DIVIDER] * 51),
        ([{"type": "section", "fields": [DIVIDER] * 10}], [{"type": "section", "fields": [DIVIDER] * 11}]),
        ([], [{"type": "section"}]),
        ([], [{"type": "markdown"}]),
        ([], [{"type": "balloon"}]),
        ([], [{"type": "actions", "elements": [{"type": "button"}]}]),
    ],
)
def test_blocks(fits: list[Json], too_much: list[Json]) -> None:
    check_blocks(tuple(fits))
    with pytest.raises(SlackError, match="invalid_blocks") as refusal:
        check_blocks(tuple(too_much))
    assert "response_metadata" in refusal.value.details


@given(st.text(st.sampled_from("a魏é🎉"), min_size=990, max_size=4_010))
def test_an_update_is_refused_by_its_bytes(text: str) -> None:
    if len(text.encode()) <= 4_000:
        check_update_text(text)
    else:
        with pytest.raises(SlackError, match="msg_too_long"):
            check_update_text(text)

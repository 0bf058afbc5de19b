"""Events and records -> the card."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events import Asking, CallFinished, CallStarted, Recorded, Thought, Waiting, Wrote
from bot.progress import Card, advance, replay
from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Briefed,
    ModelSaid,
    Noted,
    Record,
    Stopped,
    Stored,
    ToolEnded,
    ToolStarted,
    UserSaid,
)
from memory.types import Message, MessageId, Text, ToolCall, ToolResult, Usage
from tests.bot.doubles import ANA

CALL = ToolCall(id="c1", name="look", arguments={"word": "a"})
OTHER = ToolCall(id="c2", name="write", arguments={})
SAID = UserSaid(author=ANA, source=MessageId("m"), header="[Ana]", text="go")


def model(*parts: Any, stop: Any = "end", kept: bool = True) -> ModelSaid:
    usage = Usage(fresh=10, output=1, dollars=0.01)
    return ModelSaid(message=Message(role="assistant", parts=parts), usage=usage, stop=stop, kept=kept)


def ended(call: ToolCall, outcome: Any = "done", line: str = "fine") -> ToolEnded:
    return ToolEnded(result=ToolResult(call_id=call.id, text="t", line=line), outcome=outcome)


def story(*records: Record) -> Card:
    card = replay([Stored(seq, 100.0 + seq, record) for seq, record in enumerate((SAID, *records))], "en-US")
    assert card is not None
    return card


ASKED = ApprovalAsked(call_id="c2", digest="d", requester=ANA, approvers=("U1",), expires_at=1.0)


def given_verdict(verdict: Any) -> ApprovalGiven:
    return ApprovalGiven(call_id="c2", digest="d", verdict=verdict)


STORIES: list[tuple[tuple[Record, ...], str, list[tuple[str, str]]]] = [
    ((), "working", []),
    ((model(CALL, OTHER, stop="calls"),), "working", [("planned", ""), ("planned", "")]),
    ((model(CALL, stop="calls"), ended(CALL)), "working", [("ok", "fine")]),
    ((model(CALL, stop="calls"), ended(CALL, "failed", "no such word")), "working", [("failed", "no such word")]),
    ((model(OTHER, stop="calls"), ASKED), "approval", [("waiting", "")]),
    ((model(OTHER, stop="calls"), ASKED, given_verdict("approved")), "working", [("planned", "")]),
    ((model(OTHER, stop="calls"), ASKED, given_verdict("refused")), "working", [("not_run", "")]),
    ((model(OTHER, stop="calls"), ToolStarted(call_id="c2", digest="d")), "working", [("running", "")]),
    ((model(OTHER, stop="calls"), ended(OTHER, "uncertain", "")), "working", [("uncertain", "")]),
    ((model(Text(text="done")),), "done", []),
    ((model(Text(text="wait"), stop="pause"),), "working", []),
    ((model(Text(text="no"), kept=False), Noted(reason="empty", text="again")), "working", []),
    ((Stopped(reason="cancelled"),), "stopped", []),
    ((Stopped(reason="limit"),), "stopped", []),
    ((Stopped(reason="error"),), "failed", []),
    ((Stopped(reason="configuration"),), "failed", []),
]


@pytest.mark.parametrize(("records", "state", "lines"), STORIES)
def test_the_card_of_a_story(records: tuple[Record, ...], state: str, lines: list[tuple[str, str]]) -> None:
    card = story(*records)
    assert card.state == state
    assert [(line.state, line.note) for line in card.lines] == lines
    assert (card.ended is not None) == (state in {"done", "stopped", "failed"})
    assert card.began == 100.0


def test_tokens_and_steps_add_up_also_of_what_was_not_kept() -> None:
    card = story(model(CALL, stop="calls"), ended(CALL), model(Text(text=""), kept=False), model(Text(text="done")))
    assert (card.asks, card.usage.fresh, card.usage.output) == (3, 30, 3)
    assert card.usage.dollars == pytest.approx(0.03)  # pyright: ignore[reportUnknownMemberType] - untyped in pytest


def test_what_was_read_in_is_a_line_of_its_own() -> None:
    result = ToolResult(call_id="b", text="words", line="3 messages")
    card = story(Briefed(call=ToolCall(id="b", name="read_thread", arguments={}), result=result))
    assert [(line.call.name, line.state, line.note) for line in card.lines] == [("read_thread", "ok", "3 messages")]


def test_no_card_without_words() -> None:
    assert replay([Stored(1, 1.0, model(Text(text="x")))], "en-US") is None


def test_a_question_that_is_asked_again_forgets_what_had_begun() -> None:
    card = story(model(CALL, stop="calls"))
    for event in (Thought("let me "), Thought("see"), Wrote("so"), Wrote(" far")):
        card = advance(card, event)
    assert (card.thought, card.writing) == ("let me see", True)
    card = advance(card, Waiting(7, "the model is overloaded"))
    assert (card.waiting, card.writing) == ((7, "the model is overloaded"), False)
    card = advance(card, Asking())
    assert (card.thought, card.writing, card.waiting) == ("", False, None)


def test_more_of_the_answer_is_no_news_for_the_card() -> None:
    card = advance(story(), Wrote("a"))
    assert advance(card, Wrote("b")) is card


@given(st.permutations(["c1", "c2"]), st.booleans())
def test_calls_end_in_any_order_each_in_its_line(order: list[str], ok: bool) -> None:
    card = story(model(CALL, OTHER, stop="calls"))
    for call in (CALL, OTHER):
        card = advance(card, CallStarted(call))
    for call_id in order:
        card = advance(card, CallFinished(call_id, f"note {call_id}", ok))
    assert [line.note for line in card.lines] == ["note c1", "note c2"]
    assert {line.state for line in card.lines} == {"ok" if ok else "failed"}


def test_a_live_card_and_a_replayed_one_are_the_same() -> None:
    records = (model(CALL, OTHER, stop="calls"), ended(CALL), ASKED, given_verdict("approved"), ended(OTHER))
    live = story()
    for seq, record in enumerate(records, start=1):
        live = advance(live, Recorded(Stored(seq, 100.0 + seq, record)))
    assert live == story(*records)

"""What the model reads for a log, by examples."""

from __future__ import annotations

import pytest

from memory.context import Assembly, assemble, assembly
from memory.records import (
    Briefed,
    Cleared,
    Framed,
    MessageDeleted,
    MessageEdited,
    Noted,
    Record,
    Stopped,
    Unbound,
)
from memory.types import Message, MessageId, Part, Text, Thinking, ToolResult
from tests.doubles import BEN, call, says
from tests.memory.samples import LOOK, POST, asked, compacted, ended, given, numbered, posted, said, started, thinks

BOUNDARIES: tuple[Record, ...] = (
    Framed(digest="f"),
    Cleared(placeholders={}),
    compacted(1, frame="f"),
)


def read(*records: Record) -> list[tuple[str, ...]]:
    """The messages, each as its role and its parts in a few words."""
    return [(m.role, *(_short(part) for part in m.parts)) for m in assemble(numbered(records)).messages]


def _short(part: Part) -> str:
    match part:
        case Text(text=text):
            return text.removeprefix("[Ana]\n").removeprefix("[Ben]\n")
        case ToolResult(call_id=call_id, text=text):
            return f"{call_id}: {text}"
        case _:
            return getattr(part, "id", part.kind)


def test_words_carry_their_header():
    assert assemble(numbered([said("hello")])).messages == (Message(role="user", parts=(Text(text="[Ana]\nhello"),)),)


def test_words_in_a_row_are_one_message():
    assert read(said("a"), said("b", BEN)) == [("user", "a", "b")]


def test_all_results_stand_in_the_order_of_the_calls_in_one_message():
    log = (said("a"), says("t", POST, LOOK), ended(LOOK, "l"), ended(POST, "p"))
    assert read(*log) == [("user", "a"), ("assistant", "t", "c1", "c2"), ("user", "c1: p", "c2: l")]


def test_results_stay_out_until_all_are_there():
    assert read(said("a"), says("", POST, LOOK), ended(LOOK)) == [("user", "a"), ("assistant", "c1", "c2")]


def test_words_that_come_while_calls_are_open_go_behind_the_results():
    log = (said("a"), says("", POST, LOOK), said("b"), ended(POST, "p"), said("c", BEN), ended(LOOK, "l"), said("d"))
    assert read(*log)[2] == ("user", "c1: p", "c2: l", "b", "c", "d")


def test_a_stop_among_open_calls_goes_behind_the_results_as_well():
    log = (said("a"), says("", POST), Stopped(reason="cancelled", by=BEN), ended(POST, "p"), said("b"))
    assert read(*log)[2] == (
        "user",
        "c1: p",
        "[Bobbin: Ben ended this run here. Go on with it only if asked.]",
        "b",
    )


@pytest.mark.parametrize("reason", ["deleted", "error", "configuration", "refusal", "empty", "budget"])
def test_ends_that_are_no_business_of_the_model_are_not_told(reason: str):
    assert read(said("a"), Stopped.model_validate({"reason": reason})) == [("user", "a")]


def test_notes_are_told_in_our_name():
    assert read(said("a"), Noted(reason="limit", text="enough")) == [("user", "a", "[Bobbin: enough]")]


def test_edits_and_deletions_are_told_behind_and_change_nothing_before():
    log = (said("a"), says("x"), MessageEdited(by=BEN, source=MessageId("m1"), text="b"))
    assert read(*log)[:2] == read(*log[:2])
    assert read(*log)[2] == ("user", "[Bobbin: Ben edited message m1. It now says:]\nb")
    assert "m1 was deleted" in read(said("a"), MessageDeleted(source=MessageId("m1")))[0][2]


def test_a_call_of_our_own_stands_behind_the_words_with_its_result():
    brief = Briefed(call=call("b", "read_thread"), result=ToolResult(call_id="b", text="before"))
    assert read(said("a"), brief, says("x")) == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", "b: before"),
        ("assistant", "x"),
    ]


def test_warnings_stand_in_the_result():
    assert read(said("a"), says("", POST), ended(POST, "p", warning="again"))[2] == ("user", "c1: p\n\n[Bobbin: again]")


def test_what_was_not_kept_is_not_read():
    assert read(said("a"), says("no").model_copy(update={"kept": False}), said("b")) == [("user", "a", "b")]


def test_a_result_that_no_call_waits_for_is_left_out():
    assert read(said("a"), ended(POST)) == [("user", "a")]


@pytest.mark.parametrize("quiet", [started(POST), asked(POST), given(POST), posted(1, "card")], ids=lambda r: r.kind)
def test_book_keeping_is_not_read(quiet: Record):
    assert read(said("a"), says("", POST), quiet, ended(POST)) == read(said("a"), says("", POST), ended(POST))


def test_a_paused_answer_and_its_continuation_are_one_message():
    assert read(said("a"), says("x").model_copy(update={"stop": "pause"}), says("y")) == [
        ("user", "a"),
        ("assistant", "x", "y"),
    ]


# -- epochs --------------------------------------------------------------------------------------


def kept_thinking(*records: Record) -> tuple[list[str], bool]:
    """The thinking that is sent, and whether some of it must be dropped by the provider."""
    context = assemble(numbered(records))
    kept = [
        str(part.opaque["signature"])
        for message in context.messages
        for part in message.parts
        if isinstance(part, Thinking) and isinstance(part.opaque, dict)
    ]
    return kept, context.stale_thinking


DONE = (said("a"), thinks("s1", "x"))
LOOP = (*DONE, said("b"), thinks("s2", "", POST), ended(POST))


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda record: record.kind)
def test_thinking_from_before_a_boundary_between_turns_is_left_out_for_good(boundary: Record):
    assert kept_thinking(*DONE) == (["s1"], False)
    assert kept_thinking(*DONE, boundary) == ([], False)
    assert kept_thinking(*DONE, boundary, said("b"), thinks("s2", "y")) == (["s2"], False)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda record: record.kind)
def test_thinking_of_a_loop_stays_behind_a_boundary_and_is_said_to_be_stale(boundary: Record):
    assert kept_thinking(*LOOP, boundary) == (["s1", "s2"], True)
    more = (*LOOP, boundary, thinks("s3", "y"))
    assert kept_thinking(*more) == (["s1", "s2", "s3"], True)
    assert kept_thinking(*more, said("c"), thinks("s4", "z")) == (["s1", "s2", "s3", "s4"], True)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda record: record.kind)
def test_the_next_boundary_between_turns_ends_what_was_stale(boundary: Record):
    assert kept_thinking(*LOOP, boundary, thinks("s3", "y"), Framed(digest="g")) == ([], False)


def test_a_boundary_while_calls_are_open_counts_as_in_a_loop():
    assert kept_thinking(said("a"), thinks("s1", "", POST), Framed(digest="f"), ended(POST)) == (["s1"], True)


def test_old_thinking_that_was_refused_is_dropped_and_then_left_out():
    assert kept_thinking(*LOOP, Unbound(how="drop")) == (["s1", "s2"], True)
    assert kept_thinking(*LOOP, Unbound(how="drop"), Unbound(how="strip")) == ([], False)
    assert kept_thinking(*LOOP, Unbound(how="strip"), thinks("s3", "y")) == (["s3"], False)


def test_nothing_is_stale_where_nothing_was_thought():
    """The first frame of a thread comes after what we read of it ourselves: there is nothing to drop."""
    brief = Briefed(call=call("b", "read_thread"), result=ToolResult(call_id="b", text="before"))
    assert kept_thinking(said("a"), brief, Framed(digest="f")) == ([], False)


def test_an_answer_that_was_nothing_but_thinking_vanishes_with_it():
    log = (said("a"), thinks("s1").model_copy(update={"stop": "pause"}), Noted(reason="paused", text="go on"))
    assert read(*log, Framed(digest="f")) == [("user", "a", "[Bobbin: go on]")]


def test_cleared_results_are_read_as_their_line():
    log = (said("a"), says("", POST, LOOK), ended(POST, "long", warning="w"), ended(LOOK, "short"))
    cleared = Cleared(placeholders={"c1": "[set aside: r1]"})
    assert read(*log, cleared)[2] == ("user", "c1: [set aside: r1]", "c2: short")
    again = Cleared(placeholders={"c2": "[set aside: r2]"})
    assert read(*log, cleared, again)[2] == ("user", "c1: [set aside: r1]", "c2: [set aside: r2]")


def test_clearing_keeps_that_a_result_was_an_error():
    failed = ended(POST).model_copy(update={"result": ToolResult(call_id="c1", text="bad", is_error=True)})
    context = assemble(numbered([said(), says("", POST), failed, Cleared(placeholders={"c1": "[gone]"})]))
    assert context.messages[2].parts == (ToolResult(call_id="c1", text="[gone]", is_error=True),)


def test_what_we_read_ourselves_can_be_cleared_too():
    brief = Briefed(call=call("b", "read_thread"), result=ToolResult(call_id="b", text="before"))
    assert read(said("a"), brief, Cleared(placeholders={"b": "[gone]"}))[2] == ("user", "b: [gone]")


def test_before_a_compaction_only_its_text_is_read():
    log = (said("a"), says("x"), said("b"), says("y"), said("c"))
    assert read(*log, compacted(5)) == [("user", "summary", "c")]
    assert read(*log, compacted(4)) == [("user", "summary"), ("assistant", "y"), ("user", "c")]
    assert read(*log, compacted(6), says("z")) == [("user", "summary"), ("assistant", "z")]


def test_results_whose_calls_were_compacted_away_are_left_out():
    log = (said("a"), says("", POST), ended(POST), compacted(3), said("b"))
    assert read(*log) == [("user", "summary", "b")]


def test_the_last_compaction_counts():
    log = (said("a"), says("x"), compacted(2, "one"), said("b"), says("y"), compacted(5, "two"))
    assert read(*log) == [("user", "two"), ("assistant", "y")]


def test_good_places_to_remember_are_the_two_newest_words_of_people():
    log = [said("a"), says("x"), said("b"), says("", POST), ended(POST), says("y"), said("c")]
    assert assemble(numbered(log)).anchors == (2, 6)
    assert assemble(numbered(log[:5])).anchors == (0, 2)
    assert assemble(numbered([said("a"), said("b")])).anchors == (0,)


def test_words_that_wait_for_results_are_remembered_where_they_will_stand():
    log = [said("a"), says("", POST), said("b"), ended(POST)]
    context = assemble(numbered(log))
    assert context.anchors == (0, 2)
    assert len(context.messages) == 3


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((), False),
        ((said(),), False),
        ((said(), says("", POST)), True),
        ((said(), says("", POST), ended(POST)), True),
        ((said(), says("", POST), ended(POST), says("x")), False),
    ],
)
def test_a_loop_is_under_way_from_its_first_call_until_it_is_answered(records: tuple[Record, ...], expected: bool):
    assert assembly(numbered(records)).mid_loop is expected


def test_only_a_new_epoch_must_be_assembled_anew():
    log = numbered([*LOOP, *BOUNDARIES, Unbound(how="drop")])
    built = Assembly()
    assert [stored.record.kind for stored in log if not built.take(stored)] == [
        "framed",
        "cleared",
        "compacted",
        "unbound",
    ]

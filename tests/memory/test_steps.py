"""What comes next, by examples: every step, every reason to refuse a call, and every order of things."""

from __future__ import annotations

from typing import Literal

import pytest

from memory.records import (
    Briefed,
    Cleared,
    CompactionAsked,
    CompactionSkipped,
    Framed,
    MessageDeleted,
    MessageEdited,
    ModelSaid,
    Noted,
    Record,
    Stopped,
    StopReason,
    Unbound,
)
from memory.steps import AskModel, Compact, Deliver, GiveUp, Refuse, Rest, RunCalls, next_step
from memory.types import MessageId, ToolResult, Usage
from tests.doubles import ANA, BEN, call, says
from tests.memory.samples import (
    DECIDED,
    LOOK,
    POST,
    asked,
    compacted,
    ended,
    given,
    posted,
    said,
    started,
    state,
    step,
)


def test_an_empty_thread_rests():
    assert step() == Rest()


def test_words_are_answered():
    assert step(said()) == AskModel()


def test_calls_run():
    assert step(said(), says("", POST, LOOK)) == RunCalls((POST, LOOK), frozenset())


def test_with_a_result_the_model_goes_on_and_without_one_it_does_not():
    assert step(said(), says("", POST, LOOK), ended(LOOK)) == RunCalls((POST,), frozenset())
    assert step(said(), says("", POST, LOOK), ended(LOOK), ended(POST)) == AskModel()


def test_an_answer_is_delivered_then_the_card_then_the_thread_rests():
    log = [said(), posted(1, "card"), says("done")]
    assert step(*log) == Deliver(3, "answer")
    log.append(posted(3, "answer"))
    assert step(*log) == Deliver(1, "card")
    assert step(*log, posted(1, "card", final=True)) == Rest()


def test_the_card_of_a_running_turn_is_not_due():
    assert step(said(), posted(1, "card")) == AskModel()


def test_the_old_card_is_closed_before_new_words_are_answered():
    log = [said(), posted(1, "card"), says("done"), posted(3, "answer"), said("more", source="m2")]
    assert step(*log) == Deliver(1, "card")
    assert step(*log, posted(1, "card", final=True)) == AskModel()


def test_words_come_before_cards_and_oldest_first():
    log = [said(), says("one"), said("b", source="m2"), Stopped(reason="error")]
    assert step(*log) == Deliver(2, "answer")
    assert step(*log, posted(2, "answer")) == Deliver(4, "notice")
    assert step(*log, posted(2, "answer"), posted(4, "notice")) == Deliver(1, "card")


def test_reads_run_while_a_write_waits():
    log = (said(), says("", POST, LOOK), asked(POST), posted(3, "approval"))
    assert step(*log) == RunCalls((LOOK,), frozenset())


def test_a_wish_for_a_compaction_comes_before_the_model_and_is_fulfilled_once():
    log = (said(), CompactionAsked(by=ANA, focus="numbers"))
    assert step(*log) == Compact("numbers")
    assert step(*log, compacted(3)) == Deliver(3, "notice")
    assert step(*log, compacted(3), posted(3, "notice")) == AskModel()
    skipped = CompactionSkipped(before=1, after=2)
    assert step(*log, skipped, posted(3, "notice")) == AskModel()


def test_compactions_that_win_nothing_are_told_once_unless_somebody_asked():
    skipped = CompactionSkipped(before=1, after=2)
    assert step(said(), skipped) == AskModel()
    assert step(said(), skipped, skipped) == Deliver(3, "notice")
    assert step(said(), skipped, skipped, posted(3, "notice"), skipped) == AskModel()


@pytest.mark.parametrize("reason", ["cancelled", "deleted", "error", "configuration", "budget"])
def test_stopping_closes_what_was_open_and_asks_nothing(reason: StopReason):
    log: list[Record] = [said(), says("", POST, LOOK), asked(POST), given(POST), posted(3, "approval", final=True)]
    log += [Stopped(reason=reason), posted(6, "notice"), posted(1, "card", final=True)]
    assert step(*log) == Refuse(POST, "not_run", "stopped")
    log.append(ended(POST, outcome="not_run"))
    assert step(*log) == Refuse(LOOK, "not_run", "stopped")
    log.append(ended(LOOK, outcome="not_run"))
    assert step(*log) == Rest()


def test_words_after_a_stop_are_answered_and_still_nothing_old_runs():
    log = [*DECIDED, Stopped(reason="cancelled"), said("go on", source="m2"), posted(7, "notice")]
    log += [posted(1, "card", final=True)]
    assert step(*log) == Refuse(POST, "not_run", "stopped")
    assert step(*log, ended(POST, outcome="not_run")) == AskModel()


def test_a_stop_is_told_and_a_deletion_is_not():
    assert step(said(), Stopped(reason="cancelled")) == Deliver(2, "notice")
    assert step(said(), Stopped(reason="deleted"), posted(1, "card", final=True)) == Rest()


def test_words_that_arrive_in_a_turn_belong_to_it():
    log = (said(), says("", LOOK), said("also this", BEN, "m2"), ended(LOOK))
    turn = state(*log).turn
    assert (turn.seq, turn.requester, turn.sources) == (1, ANA, ["m1", "m2"])
    assert step(*log) == AskModel()


def test_words_after_the_end_begin_a_turn_with_fresh_figures():
    first = [said(), says("", LOOK), ended(LOOK), says("done"), posted(4, "answer"), posted(1, "card", final=True)]
    turn = state(*first, said("next", BEN, "m2")).turn
    assert (turn.seq, turn.requester, turn.sources, turn.over) == (7, BEN, ["m2"], False)
    assert (turn.asks, turn.calls, turn.usage, turn.repeats, turn.stale) == (0, 0, Usage(), {}, 0)


@pytest.mark.parametrize("reason", ["limit", "loop"])
def test_at_a_limit_one_more_answer_is_asked_for_and_its_calls_do_not_run(reason: Literal["limit", "loop"]):
    log = [said(), says("", LOOK), ended(LOOK), Noted(reason=reason, text="last")]
    assert step(*log) == AskModel()
    more = call("c3", "look")
    assert step(*log, says("", more)) == Refuse(more, "not_run", "limit")
    assert step(*log, says("", more), ended(more, outcome="not_run")) == GiveUp(reason)
    assert step(*log, says("the end")) == Deliver(5, "answer")


def test_an_empty_last_answer_ends_the_turn_as_well():
    empty = says("").model_copy(update={"kept": False})
    log = (said(), Noted(reason="limit", text="last"), empty, Noted(reason="empty", text="again"))
    assert step(*log) == GiveUp("limit")


def test_calls_of_an_answer_that_was_cut_off_do_not_run():
    cut = says("", POST).model_copy(update={"stop": "length"})
    assert step(said(), cut) == Refuse(POST, "not_run", "cut_off")
    assert step(said(), cut, ended(POST, outcome="not_run"), says("", LOOK)) == RunCalls((LOOK,), frozenset())


def test_a_cut_off_answer_without_calls_is_delivered():
    assert step(said(), says("half").model_copy(update={"stop": "length"})) == Deliver(2, "answer")


def test_what_is_not_kept_leaves_no_calls_but_costs():
    refusal = says("no", POST).model_copy(update={"kept": False})
    now = state(said(), refusal)
    assert (now.open_calls, now.turn.asks, now.turn.usage) == ({}, 1, refusal.usage)
    assert next_step(now) == AskModel()


def test_a_pause_goes_on():
    pause = says("wait").model_copy(update={"stop": "pause"})
    assert step(said(), pause) == AskModel()
    assert step(said(), pause, says("done")) == Deliver(3, "answer")


def test_a_write_that_was_cut_short_is_uncertain_and_never_runs_again():
    assert step(*DECIDED, started(POST)) == Refuse(POST, "uncertain", "interrupted")
    after = (*DECIDED, started(POST), ended(POST, outcome="uncertain"))
    assert step(*after) == Deliver(8, "notice")
    assert step(*after, posted(8, "notice")) == AskModel()


def test_an_interrupted_write_is_uncertain_even_after_a_stop():
    log = (*DECIDED, started(POST), Stopped(reason="cancelled"), posted(8, "notice"), posted(1, "card", final=True))
    assert step(*log) == Refuse(POST, "uncertain", "interrupted")


def test_a_repeatable_write_runs_again():
    assert step(*DECIDED, started(POST, repeatable=True)) == RunCalls((POST,), frozenset({POST.id}))


def test_but_not_after_a_stop():
    log = (*DECIDED, started(POST, repeatable=True), Stopped(reason="cancelled"))
    assert step(*log, posted(8, "notice"), posted(1, "card", final=True)) == Refuse(POST, "not_run", "stopped")


def test_results_that_bring_nothing_new_are_counted_and_writes_are_news():
    looks = [record for n in range(3) for record in (says("", call(f"l{n}", "look")), ended(call(f"l{n}", "look")))]
    turn = state(said(), *looks).turn
    assert (turn.stale, list(turn.repeats.values())) == (2, [3])
    calls = [call(f"w{n}", "post") for n in range(3)]
    writes = [record for one in calls for record in (says("", one), started(one), ended(one))]
    assert state(said(), *writes).turn.stale == 0


def test_what_a_stop_has_closed_is_not_counted_in_the_turn_after_it():
    log = (said(), says("", POST), Stopped(reason="cancelled"), said("next", source="m2"))
    turn = state(*log, ended(POST, outcome="not_run")).turn
    assert (turn.seq, turn.repeats, turn.seen) == (4, {}, set())


def test_polling_is_not_counted():
    turn = state(said(), says("", LOOK), ended(LOOK, counted=False)).turn
    assert (turn.stale, turn.repeats) == (0, {})


def test_counters_name_results_for_ever():
    brief = Briefed(call=call("b", "read_thread"), result=ToolResult(call_id="b", text="before"))
    now = state(said(), brief, says("", POST, LOOK))
    assert (now.ordinals, now.calls_made) == ({POST.id: 2, LOOK.id: 3}, 3)
    later = state(compacted(2, calls_made=17, frame="f"), said(), says("", POST))
    assert (later.ordinals, later.frame) == ({POST.id: 18}, "f")


def test_words_of_others_are_read_once_before_the_model_is_asked():
    brief = Briefed(call=call("b", "read_thread"), result=ToolResult(call_id="b", text="before"))
    assert state(said(catch_up=True)).turn.unread == "m1"
    assert state(said(catch_up=True), brief).turn.unread is None
    assert state(said()).turn.unread is None


@pytest.mark.parametrize(
    "quiet",
    [
        Framed(digest="f"),
        Unbound(how="drop"),
        Cleared(placeholders={}),
        MessageEdited(by=ANA, source=MessageId("m1"), text="t"),
        MessageDeleted(source=MessageId("m1")),
    ],
    ids=lambda record: record.kind,
)
def test_what_only_changes_the_reading_starts_nothing(quiet: Record):
    done = (said(), says("done"), posted(2, "answer"), posted(1, "card", final=True))
    assert step(*done, quiet) == Rest()
    assert step(said(), quiet) == AskModel()


def test_the_last_usage_is_remembered():
    answer: ModelSaid = says("done", usage=Usage(fresh=7))
    assert state(said(), answer).last_usage == Usage(fresh=7)

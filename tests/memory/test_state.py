"""What a thread knows of itself: what it forgets, what it never forgets, and what it must show."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example
from hypothesis import given as given_examples
from hypothesis import strategies as st

from memory.records import (
    Briefed,
    Compacted,
    CompactionAsked,
    CompactionSkipped,
    Framed,
    Granted,
    Noted,
    Outcome,
    Record,
    Stopped,
    Stored,
    Verdict,
    digest,
)
from memory.state import ThreadState
from memory.steps import AskModel, Deliver, Refuse, Rest, RunCalls, next_step
from memory.types import ToolResult, Usage
from tests.doubles import ANA, BEN, call, says
from tests.memory.samples import (
    ASKED,
    DECIDED,
    EVERY_KIND,
    LOOK,
    POST,
    asked,
    compacted,
    ended,
    given,
    numbered,
    posted,
    said,
    started,
    state,
    step,
)

FOREIGN = ToolResult(call_id=LOOK.id, text="foreign", untrusted=True)
PLAIN = ToolResult(call_id=LOOK.id, text="plain")


def test_a_thread_without_records_has_done_and_knows_nothing():
    now = ThreadState()
    assert (now.turn.seq, now.turn.began, now.turn.asks, now.turn.calls, now.turn.stale) == (0, 0.0, 0, 0, 0)
    assert (now.turn.over, now.turn.closing, now.turn.closed) == (True, None, False)
    assert (now.last_seq, now.calls_made, now.skips, now.frame) == (0, 0, 0, "")
    assert (now.owed, now.cut_off, now.tainted) == (False, False, False)


def test_the_newest_record_the_beginning_of_the_turn_and_its_notes_are_known():
    now = state(says("old"), said(), Framed(digest="f"), says("", LOOK), Noted(reason="empty", text="again"))
    assert (now.last_seq, now.frame, now.turn.notes) == (5, "f", ["empty"])
    assert (now.turn.seq, now.turn.began, now.turn.calls) == (2, 1.0, 1)


def test_a_note_wants_an_answer():
    assert state(said(), says("done"), Noted(reason="empty", text="again")).owed


def test_at_a_limit_before_anything_was_asked_one_answer_is_still_asked_for():
    assert step(said(), Noted(reason="limit", text="last")) == AskModel()


# -- taint ---------------------------------------------------------------------------------------


TRUSTED = (Briefed(call=LOOK, result=PLAIN), says("", LOOK), ended(LOOK))


@given_examples(st.lists(st.sampled_from((*EVERY_KIND, *TRUSTED)), max_size=12))
@example([Briefed(call=LOOK, result=FOREIGN), *TRUSTED])
def test_a_thread_that_read_what_others_wrote_never_forgets_it(records: Sequence[Record]):
    now, was = ThreadState(), False
    for stored in numbered([*records, *EVERY_KIND]):
        now.take(stored)
        assert now.tainted or not was
        was = now.tainted


@pytest.mark.parametrize(
    ("records", "tainted"),
    [
        ((said(), said("more", source="m2")), False),
        ((said(), said("me too", BEN, "m2")), True),
        ((Briefed(call=LOOK, result=PLAIN),), False),
        ((Briefed(call=LOOK, result=FOREIGN),), True),
        ((said(), says("", LOOK), ended(LOOK)), False),
        ((said(), says("", LOOK), ended(LOOK).model_copy(update={"result": FOREIGN})), True),
        ((compacted(1),), False),
        ((compacted(1).model_copy(update={"tainted": True}),), True),
    ],
)
def test_words_of_a_second_person_and_text_of_strangers_taint(records: tuple[Record, ...], tainted: bool):
    assert state(*records).tainted is tainted


# -- the ledger and standing approvals -----------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [("done", True), ("uncertain", True), ("failed", False), ("not_run", False), ("repeated", False)],
)
def test_the_ledger_holds_what_was_done_or_may_have_been(outcome: Outcome, counts: bool):
    now = state(*DECIDED, started(POST), ended(POST, outcome=outcome))
    assert now.writes == ({digest(POST): 1} if counts else {})
    assert state(said(), says("", POST), ended(POST, outcome=outcome)).writes == {}, "nothing was begun"


def test_the_ledger_names_the_turn_of_the_change():
    more = call("c9", "post", text="y")
    log = (*DECIDED, started(POST), ended(POST), says("done"), said("next", source="m2"), says("", more))
    assert state(*log, started(more), ended(more)).writes == {digest(POST): 1, digest(more): 10}


def test_what_was_told_from_the_ledger_is_known_for_the_turn():
    log = (said(), says("", POST), ended(POST, outcome="repeated"))
    assert state(*log).turn.told == {digest(POST)}
    assert state(*log, says("done"), said("next", source="m2")).turn.told == set()
    assert state(said(), says("", POST), ended(POST)).turn.told == set()


def test_a_compaction_gives_back_what_stays_true_and_newer_records_go_before_it():
    grant, later = (Granted(tool=name, resource={}, by=ANA, expires_at=9.0) for name in ("post", "wipe"))
    kept: Compacted = compacted(9, calls_made=4).model_copy(
        update={"speakers": ("U7",), "writes": {"d1": 3, digest(POST): 2}, "grants": (grant,)}
    )
    now = state(*DECIDED, started(POST), ended(POST), later, grant, kept)
    assert now.writes == {"d1": 3, digest(POST): 1}
    assert now.grants == [later, grant]
    assert (now.speakers, now.calls_made, now.skips) == ({ANA.id, "U7"}, 4, 0)
    assert state(kept, later).grants == [grant, later]
    assert state(CompactionSkipped(before=1, after=1), kept).skips == 0


def test_a_wish_that_is_not_fulfilled_is_told():
    log = (said(), CompactionAsked(by=ANA), CompactionSkipped(before=1, after=2))
    assert step(*log) == Deliver(3, "notice")
    assert state(*log).compaction is None


# -- turns ---------------------------------------------------------------------------------------


def test_what_is_shown_is_forgotten_with_the_turn_and_what_is_due_or_waits_is_not():
    done = [*DECIDED, started(POST), ended(POST), says("done"), posted(9, "answer")]
    now = state(*done, posted(1, "card"), said("next", source="m2"))
    assert now.approvals == {}
    assert set(now.posted) == {(1, "card")}, "it runs still on the screen"
    now = state(*done, posted(1, "card", final=True), said("next", source="m2"))
    assert now.posted == {}
    again = state(*ASKED, Stopped(reason="deleted"), said("next", source="m2"))
    assert set(again.posted) == {(3, "approval")}
    assert again.approvals.keys() == {POST.id}


def test_words_in_a_turn_keep_its_requests():
    now = state(*ASKED, said("more", source="m2"))
    assert (now.turn.seq, now.turn.sources, now.approvals.keys()) == (1, ["m1", "m2"], {POST.id})


def test_a_summary_costs_and_is_no_answer():
    summary = says("all of it", usage=Usage(fresh=5)).model_copy(update={"purpose": "summary"})
    now = state(said(), says("", POST, usage=Usage(fresh=2)), summary)
    assert (now.turn.asks, now.turn.usage.fresh, now.last_usage) == (1, 7, Usage(fresh=2))
    assert now.open_calls.keys() == {POST.id}


def test_the_last_answer_after_a_limit_closes_the_turn_and_no_earlier_one_does():
    assert not state(said(), says("", LOOK)).turn.closed
    assert state(said(), Noted(reason="loop", text="last"), says("", LOOK)).turn.closed


def test_after_the_last_answer_that_a_limit_left_the_thread_rests():
    log = (said(), Noted(reason="limit", text="last"), says("the end"), posted(3, "answer"))
    assert step(*log, posted(1, "card", final=True)) == Rest()


def test_words_of_the_next_turn_are_owed_an_answer_and_so_is_each_result_of_a_turn_that_goes_on():
    assert not state(said(), says("", LOOK)).owed
    assert state(said(), says("", LOOK), ended(LOOK)).owed
    stopped = (said(), says("", LOOK), Stopped(reason="cancelled"), ended(LOOK, outcome="not_run"))
    assert not state(*stopped).owed
    assert state(*stopped).halted == set()
    assert state(*stopped[:3], said("next", source="m2"), stopped[3]).owed


def test_a_stop_ends_the_wish_for_a_compaction():
    now = state(said(), CompactionAsked(by=ANA), Stopped(reason="cancelled"))
    assert (now.compaction, now.owed, now.turn.over) == (None, False, True)


def test_results_without_news_are_counted_by_tool_and_text():
    other = call("c3", "browse")
    log = [said(), says("", LOOK), ended(LOOK, "same"), says("", other), ended(other, "same")]
    assert state(*log).turn.stale == 0
    assert state(*log, says("", LOOK), ended(LOOK, "same")).turn.stale == 1
    assert state(*log, says("", LOOK), ended(LOOK, "news")).turn.stale == 0


def test_a_result_that_no_call_waits_for_counts_for_nothing():
    turn = state(said(), ended(LOOK)).turn
    assert (turn.repeats, turn.seen) == ({}, set())


# -- requests ------------------------------------------------------------------------------------


def test_a_call_that_ends_without_a_verdict_leaves_a_card_to_close_and_one_with_a_verdict_does_not():
    assert next_step(state(*ASKED, ended(POST, outcome="not_run"))) == Deliver(3, "approval")
    assert next_step(state(*DECIDED, ended(POST, outcome="not_run"))) == AskModel()


def test_each_yes_is_kept_with_its_giver_until_it_is_taken_back():
    two = (said(), says("", POST), asked(POST, needed=2), posted(3, "approval"))
    votes = state(*two, given(POST), given(POST, by=BEN)).approvals[POST.id].votes
    assert list(votes) == [ANA.id, BEN.id]
    once = state(*two, given(POST), given(POST, "withdrawn"))
    assert (once.approvals[POST.id].votes, once.approvals[POST.id].given) == ({}, None)
    assert (3, "approval") in once.due
    nobody = given(POST).model_copy(update={"by": None})
    assert list(state(*two, nobody).approvals[POST.id].votes) == [""]


def test_what_was_posted_is_due_no_more_and_a_card_only_in_its_last_state():
    assert list(state(*ASKED[:3]).due) == [(1, "card"), (3, "approval")]
    assert list(state(*ASKED, posted(1, "card")).due) == [(1, "card")]
    assert list(state(*ASKED, posted(1, "card", final=True)).due) == []
    assert state(*ASKED, posted(1, "card")).posted[1, "card"] == posted(1, "card").messages


@pytest.mark.parametrize("verdict", ["approved", "refused", "expired", "superseded"])
def test_each_verdict_is_shown(verdict: Verdict):
    assert step(*ASKED, given(POST, verdict)) == Deliver(3, "approval")
    assert step(*DECIDED, given(POST, "withdrawn")) == Deliver(3, "approval")


@pytest.mark.parametrize(("verdict", "counts"), [("approved", False), ("refused", True), ("expired", True)])
def test_only_a_yes_can_come_too_late(verdict: Verdict, counts: bool):
    now = state(said(), says("", POST), asked(POST, 10.0))
    now.take(Stored(4, 11.0, given(POST, verdict)))
    assert (now.approvals[POST.id].given is not None) is counts


def test_a_no_needs_no_second_one_and_no_yes_that_is_taken_back_changes_it():
    two = (said(), says("", POST), asked(POST, needed=2), posted(3, "approval"))
    shown = posted(3, "approval", final=True)
    refused = Refuse(POST, "not_run", "refused")
    assert step(*two, given(POST, "refused", by=BEN), shown) == refused
    log = (*two, given(POST), given(POST, "refused", by=BEN), given(POST, "withdrawn"), shown)
    assert step(*log) == refused


def test_a_yes_is_used_up_by_its_call():
    """Even if the model uses the id of a call a second time."""
    log = (*DECIDED, started(POST), ended(POST), says("", POST))
    assert step(*log) == RunCalls((POST,), frozenset())
    assert (
        step(*ASKED, ended(POST, outcome="not_run"), posted(3, "approval"), says("", POST), ended(POST)) == AskModel()
    )

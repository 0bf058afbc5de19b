"""What a request and its verdicts decide, by examples: whose yes counts, which one, and until when."""

from __future__ import annotations

from typing import Literal, cast

import pytest
from hypothesis import example
from hypothesis import given as given_examples
from hypothesis import strategies as st

from memory.records import (
    ApprovalGiven,
    Briefed,
    Granted,
    Stopped,
    Stored,
    Verdict,
)
from memory.steps import Deliver, Refuse, RunCalls, Wait, covered, next_step
from memory.types import Person, ToolResult
from tests.doubles import ANA, BEN, call, says
from tests.memory.samples import ASKED, DECIDED, POST, asked, ended, given, posted, said, started, state, step


def test_a_request_is_shown_before_anything_waits_for_it():
    assert step(*ASKED[:3]) == Deliver(3, "approval")
    assert step(*ASKED) == Wait((asked(POST),))


def test_a_wait_ends_with_the_first_expiry():
    other = call("c9", "post", text="y")
    waiting = step(
        said(), says("", POST, other), asked(POST, 9.0), asked(other, 7.0), posted(3, "approval"), posted(4, "approval")
    )
    assert isinstance(waiting, Wait)
    assert waiting.until == 7.0


def test_an_approved_call_runs_once_people_see_the_verdict():
    assert step(*ASKED, given(POST)) == Deliver(3, "approval")
    assert step(*DECIDED) == RunCalls((POST,), frozenset({POST.id}))


@pytest.mark.parametrize("verdict", ["refused", "expired", "superseded"])
def test_a_call_without_a_yes_is_refused_with_the_reason(verdict: Verdict):
    log = (*ASKED, given(POST, verdict, "too early"), posted(3, "approval", final=True))
    assert step(*log) == Refuse(POST, "not_run", cast("Literal['refused']", verdict), "too early")


resources = st.dictionaries(st.sampled_from(["channel", "thread"]), st.sampled_from(["C1", "C2"]))
TWO = (said(), says("", POST), asked(POST, needed=2), posted(3, "approval"))
"""Two people must say yes."""


def test_one_yes_of_two_is_shown_and_waited_for():
    one = (*TWO, given(POST))
    assert step(*one) == Deliver(3, "approval")
    assert step(*one, posted(3, "approval")) == Wait((asked(POST, needed=2),))


@pytest.mark.parametrize(("second", "enough"), [(ANA, False), (BEN, True)])
def test_two_yeses_are_those_of_two_people(second: Person, enough: bool):
    now = state(*TWO, given(POST), given(POST, by=second), posted(3, "approval", final=True))
    expected = RunCalls((POST,), frozenset({POST.id})) if enough else Wait((asked(POST, needed=2),))
    assert next_step(now) == expected


def test_one_no_of_two_ends_the_request():
    log = (*TWO, given(POST), given(POST, "refused", by=BEN), posted(3, "approval", final=True))
    assert step(*log) == Refuse(POST, "not_run", "refused")


def test_a_yes_can_be_taken_back_by_who_gave_it_until_the_call_begins():
    shown = posted(3, "approval", final=True)
    assert step(*DECIDED, given(POST, "withdrawn"), shown) == Refuse(POST, "not_run", "withdrawn")
    assert step(*DECIDED, given(POST, "withdrawn", by=BEN), shown) == RunCalls((POST,), frozenset({POST.id}))
    assert step(*DECIDED, started(POST), given(POST, "withdrawn")) == Refuse(POST, "uncertain", "interrupted")


def test_taking_back_what_was_not_given_changes_nothing():
    assert step(*ASKED, given(POST, "withdrawn")) == Wait((asked(POST),))
    assert step(*TWO, given(POST), given(POST, "withdrawn"), posted(3, "approval")) == Wait((asked(POST, needed=2),))


def test_a_standing_yes_covers_calls_with_its_arguments_until_it_expires_or_untrusted_text_comes():
    grant = Granted(tool="post", resource={"channel": "C1"}, by=ANA, expires_at=10.0)
    now = state(said(), grant)
    assert covered(now, call("c", "post", channel="C1", text="any"), 9.0)
    assert not covered(now, call("c", "post", channel="C1"), 10.0)
    assert not covered(now, call("c", "post", channel="C2"), 9.0)
    assert not covered(now, call("c", "wipe", channel="C1"), 9.0)
    foreign = ToolResult(call_id="b", text="before", untrusted=True)
    for taint in (Briefed(call=call("b", "read_thread"), result=foreign), said("me too", BEN, "m2")):
        assert not covered(state(said(), grant, taint), call("c", "post", channel="C1"), 9.0)


def test_one_standing_yes_of_several_is_enough_and_none_is_not():
    grants = [Granted(tool=name, resource={}, by=ANA, expires_at=10.0) for name in ("wipe", "post", "tidy")]
    assert covered(state(said(), *grants), call("c", "post"), 9.0)
    assert not covered(state(said()), call("c", "post"), 9.0)


@given_examples(resources, resources)
@example({"channel": "C1", "thread": "a"}, {"channel": "C1", "thread": "b"})
def test_a_standing_yes_covers_a_call_only_if_each_of_its_arguments_is_the_same(
    granted: dict[str, str], arguments: dict[str, str]
):
    now = state(said(), Granted(tool="post", resource={**granted}, by=ANA, expires_at=10.0))
    same = {name: arguments[name] for name in granted if name in arguments}
    assert covered(now, call("c", "post", **arguments), 9.0) == (same == granted)


@pytest.mark.parametrize("first", ["approved", "refused", "expired"])
@pytest.mark.parametrize("second", ["approved", "refused", "expired", "superseded"])
def test_the_first_verdict_wins(first: Verdict, second: Verdict):
    shown = posted(3, "approval", final=True)
    once = state(*ASKED, given(POST, first), shown)
    twice = state(*ASKED, given(POST, first), shown, given(POST, second))
    assert next_step(twice) == next_step(once)
    assert twice.approvals[POST.id].given == given(POST, first)


def test_a_verdict_on_other_bytes_counts_for_nothing():
    other = given(POST).model_copy(update={"digest": "0" * 64})
    assert step(*ASKED, other) == Wait((asked(POST),))
    assert step(*ASKED, other, given(POST, "refused"), posted(3, "approval", final=True)) == Refuse(
        POST, "not_run", "refused"
    )


@pytest.mark.parametrize(("at", "counts"), [(9.9, True), (10.0, True), (10.1, False)])
def test_a_yes_counts_until_the_request_expires(at: float, counts: bool):
    now = state(said(), says("", POST), asked(POST, 10.0), posted(3, "approval"))
    now.take(Stored(5, at, given(POST)))
    assert (now.approvals[POST.id].given is not None) is counts
    assert isinstance(next_step(now), Deliver if counts else Wait)


def test_a_verdict_on_a_call_that_nobody_asked_about_counts_for_nothing():
    assert step(said(), says("", POST), given(POST)) == RunCalls((POST,), frozenset())


def test_what_was_approved_must_be_what_runs():
    """A request for other bytes under the same call id, with its own yes: the call must not run."""
    other = call(POST.id, POST.name, text="something else")
    log = (said(), says("", POST), asked(other), given(other), posted(3, "approval", final=True))
    assert step(*log) == Refuse(POST, "not_run", "changed")


def test_a_verdict_after_the_end_changes_nothing():
    log = (*ASKED, ended(POST, outcome="not_run"))
    late: ApprovalGiven = given(POST)
    assert state(*log, late).approvals[POST.id].given is None
    assert step(*log, late) == step(*log) == Deliver(3, "approval")


def test_a_request_that_was_closed_by_a_stop_is_shown_closed_even_if_new_words_come_first():
    """Its message and what it asked for stay known until people see that nobody need decide any more."""
    log = [*ASKED, Stopped(reason="cancelled"), posted(5, "notice"), posted(1, "card", final=True)]
    for words_first in (True, False):
        words, end = said("next", source="m2"), ended(POST, outcome="not_run")
        now = state(*log, *((words, end) if words_first else (end, words)))
        assert next_step(now) == Deliver(3, "approval")
        assert [approval.seq for approval in now.approvals.values()] == [3]
        assert now.posted[3, "approval"] == posted(3, "approval").messages

"""What must be true of a world, whatever happened in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bot.progress import Card
from bot.surface import Answer, Request
from memory.context import assemble
from memory.log import Logs
from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Briefed,
    Compacted,
    ModelSaid,
    PostKind,
    Stopped,
    Stored,
    ToolEnded,
    UserSaid,
)
from memory.state import ThreadState, fold
from memory.steps import Rest, Wait, decide, next_step
from tests.doubles import PEOPLE
from tests.laws.provider import extends
from tests.laws.toolbox import Done
from tests.laws.world import THREAD, World

UNASKED = {"jot"}
"""Tools that the policy lets run without a yes, as long as nothing untrusted was read."""


def check_requests(world: World) -> None:
    """The prefix law. (That each request is legal is checked as it is made.)"""
    for before, after in pairwise(asked for asked in world.model.asked if not asked.aside):
        assert before.epoch != after.epoch or extends(before.body, after.body), (before.body, after.body)


def check_writes(world: World) -> None:
    """The approval law, and no write twice."""
    ids = [done.call_id for done in world.ledger.done if done.name != "tidy"]
    assert len(ids) == len(set(ids)), "a write has run twice"
    for done in world.ledger.done:
        assert done.name != "banned", "a forbidden tool has run"
        assert allowed(done), f"{done.name} ran without an approval"
        assert not over(done), f"{done.name} ran after its turn was stopped"


def allowed(done: Done) -> bool:
    """Whether the log held, when the effect began, the first verdict of its request: a yes to these very bytes."""
    asked: ApprovalAsked | None = None
    for stored in done.log:
        match stored.record:
            case ApprovalAsked(call_id=done.call_id) as ask:
                asked = ask
            case ApprovalGiven(call_id=done.call_id) as given if asked and given.digest == asked.digest:
                return given.verdict == "approved" and given.digest == done.digest and _may(given, asked, stored.at)
            case _:
                pass
    return done.name in UNASKED and not _tainted(done)


def _may(given: ApprovalGiven, asked: ApprovalAsked, at: float) -> bool:
    by = given.by.id if given.by else ""
    return by in asked.approvers and PEOPLE[by][1] == "member" and at <= asked.expires_at


def _tainted(done: Done) -> bool:
    """Whether the conversation held words that the requester did not write."""
    speakers = {s.record.author.id for s in done.log if isinstance(s.record, UserSaid)}
    return len(speakers) > 1 or any(
        isinstance(s.record, ToolEnded | Briefed) and s.record.result.untrusted for s in done.log
    )


def over(done: Done) -> bool:
    """Whether a stop stands between the call and its effect."""
    called = next(
        s.seq
        for s in done.log
        if isinstance(s.record, ModelSaid) and s.record.kept and done.call_id in {c.id for c in s.record.message.calls}
    )
    return any(s.seq > called and isinstance(s.record, Stopped) for s in done.log)


async def check_at_rest(world: World) -> None:
    """What is derived fits the log, and people have seen everything that they should have seen, once."""
    log, whole = world.log, await world.everything()
    assert log.context == assemble(whole) == assemble(log.records)
    again = await Logs(world.database, world.clock).open(THREAD)
    assert again.context == log.context
    assert essence(again.state) == essence(log.state) == essence(fold(whole))
    step = next_step(log.state)
    assert isinstance(step, Rest | Wait), f"parked before {step}"
    assert isinstance(step, Wait) == (world.until is not None)
    assert isinstance(step, Wait) or not log.state.open_calls
    check_shown(world, whole)


def essence(state: ThreadState) -> object:
    """What of a state must be known from wherever the log is read."""
    calls = {call.id: decide(state, call) for call in state.open_calls.values()}
    kept = state.writes, state.speakers, {one.model_dump_json() for one in state.grants}
    counted = state.turn, state.calls_made, state.frame, state.tainted
    return next_step(state), calls, state.due, state.halted, counted, kept


def check_shown(world: World, whole: Sequence[Stored]) -> None:
    """Every answer, notice, request and card stands in the thread exactly once, in its last state."""
    shown = [(s.key.of, s.key.kind) for s in world.surface.messages.values()]
    assert len(shown) == len(set(shown)), f"posted twice: {sorted(shown)}"
    records = {stored.seq: stored.record for stored in whole}
    expected = {(seq, kind) for seq, record in records.items() if (kind := _kind(record)) is not None}
    missing = {key for key in expected if key not in shown}
    assert not missing, f"never shown: {missing}"
    answers = [key for key in shown if key[1] == "answer"]
    assert all(key in expected for key in answers), "an answer that the log does not hold"
    turn = world.log.state.turn
    for message in world.surface.messages.values():
        match message.body:
            case Card(ended=None):
                assert (turn.over, message.key.of) == (False, turn.seq), "the card of a finished turn still runs"
            case Request(asked=asked, given=None, ended=False):
                assert asked.call_id in world.log.state.open_calls, "a request still asks, and nobody can answer it"
            case Answer(markdown=markdown):
                assert markdown.strip()
            case _:
                pass


def _kind(record: object) -> PostKind | None:
    match record:
        case ModelSaid(kept=True, message=message, stop=stop) if not message.calls and stop != "pause":
            return "answer"
        case Stopped(reason=reason) if reason != "deleted":
            return "notice"
        case ToolEnded(outcome="uncertain") | Compacted():
            return "notice"
        case ApprovalAsked():
            return "approval"
        case _:
            return None

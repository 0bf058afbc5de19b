"""Law 3: the process may die before or after every write, effect, post and edit, and the story ends alike.

Scripted stories are told once without a fault; then once for each point at which the process can die.
Afterwards the log holds the same records (up to marks of uncertainty), no write has run twice, and people
have seen every answer exactly once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import pytest

from bot.model import Busy, ModelError
from memory.compaction import stand_in
from memory.inbox import Gesture
from memory.log import ThreadLog
from memory.records import (
    Cleared,
    Compacted,
    ModelSaid,
    Posted,
    Record,
    Stored,
    ToolEnded,
    ToolStarted,
)
from memory.types import MessageId, Thinking
from tests.doubles import ANA, BEN
from tests.laws.provider import Line
from tests.laws.verdicts import check_at_rest, check_requests, check_writes
from tests.laws.world import World, scratch

Act = Callable[[World], Awaitable[object]]


def line(text: str = "", *calls: str) -> Line:
    """Calls are written as ``tool text``."""
    return Line(text, tuple((name, words) for name, _, words in (one.partition(" ") for one in calls)))


def says(number: int, who: str, words: str, *, catch_up: bool = False) -> Act:
    return lambda world: world.say(who, words, number=number, catch_up=catch_up)


def decides(number: int, who: str, gesture: Gesture) -> Act:
    """On the oldest request that still asks when it is done first; doing it again is the same gesture."""
    on = list[MessageId]()

    async def act(world: World) -> None:
        if not on:
            state = world.log.state
            waiting = next(a.seq for a in state.approvals.values() if a.given is None and not a.ended)
            on.append(state.posted[waiting, "approval"][0])
        await world.gesture(who, gesture, on[0], f"act {number}")

    return act


@dataclass(frozen=True, slots=True)
class Script:
    """``effects`` are those that take place when nobody dies."""

    lines: Sequence[Line | ModelError]
    acts: Callable[[], Sequence[Act]]
    effects: Sequence[str] = ()
    cut_at: int = 0
    """Clear (and at the next question compact) when the model has answered so often."""


SCRIPTS = {
    "reads and writes": Script(
        [line("let me look", "look a", "page b", "nope c"), Busy("busy"), line("", "post x", "tidy y", "look long")],
        lambda: (
            says(1, ANA.id, "do the work", catch_up=True),
            decides(2, BEN.id, "approve"),  # who may not
            decides(3, ANA.id, "approve"),
            decides(4, ANA.id, "approve"),
        ),
        ["post", "tidy"],
    ),
    "lost and refused": Script(
        [line("", "post lost", "post refused"), line("all done"), Line("half", stop="length"), line("the whole")],
        lambda: (
            says(1, ANA.id, "do the work"),
            decides(2, ANA.id, "approve"),
            decides(3, ANA.id, "refuse"),
            says(4, BEN.id, "and then?"),
        ),
        ["post"],
    ),
    "set aside and stopped": Script(
        [line("", "wipe e"), line("", "wipe f"), line("after the stop")],
        lambda: (
            says(1, BEN.id, "begin"),
            says(2, BEN.id, "wait"),
            says(3, ANA.id, "stop"),
            says(4, ANA.id, "one more thing"),
        ),
    ),
    "cleared and compacted": Script(
        [line("", "look a"), line("", "jot b"), line("", "look c"), line("first"), line("", "look d"), line("second")],
        lambda: (says(1, ANA.id, "begin"), says(2, ANA.id, "again")),
        ["jot"],
        cut_at=2,
    ),
}


def cutting(at: int) -> Callable[[ThreadLog], Awaitable[None]]:
    """Clear when there are ``at`` answers, compact at the next: as the log says, wherever a crash has left off."""

    async def before_ask(log: ThreadLog) -> None:
        answers = sum(isinstance(s.record, ModelSaid) and s.record.kept for s in log.records)
        kinds = {type(s.record) for s in log.records}
        if at and answers == at and Cleared not in kinds:
            ended = next(s.record.result.call_id for s in log.records if isinstance(s.record, ToolEnded))
            await log.append(Cleared(placeholders={ended: "[set aside]"}))
        if at and answers == at + 1 and Compacted not in kinds:
            await log.append(stand_in(log.state, "so far", log.state.turn.seq))

    return before_ask


async def told(script: Script, die_at: int | None = None) -> tuple[World, list[str]]:
    """The world at the end, and the points passed; whoever dies on the way begins anew and goes on."""
    with scratch() as folder:
        async with World(folder, list(script.lines), before_ask=cutting(script.cut_at)) as world:
            world.fate.die_at = die_at
            return world, await _tell(world, script)


async def _tell(world: World, script: Script) -> list[str]:
    for act in script.acts():
        while True:
            try:
                await act(world)
                await world.settle()
                break
            except BaseException:
                if not world.fate.dead:
                    raise
                await world.restart()
    world.fate.die_at, points = None, list(world.fate.passed)
    await check_at_rest(world)
    check_requests(world)
    check_writes(world)
    world.told = await world.everything()
    return points


def story(log: Sequence[Stored]) -> list[Record]:
    """What happened, without what depends on where the process died: posts, begun calls, what was not kept."""
    return [_plain(s) for s in log if not isinstance(s.record, Posted | ToolStarted) and _kept(s)]


def _kept(stored: Stored) -> bool:
    return not (isinstance(stored.record, ModelSaid) and not stored.record.kept)


def _plain(stored: Stored) -> Record:
    match stored.record:
        case ModelSaid(message=message) as said:
            words = tuple(part for part in message.parts if not isinstance(part, Thinking))
            return said.model_copy(update={"message": message.model_copy(update={"parts": words})})
        case Compacted() as cut:
            return cut.model_copy(update={"keep_from": 0})
        case record:
            return record


def same(record: Record, other: Record) -> bool:
    """Equal, but for a call whose outcome a crash has made uncertain."""
    match record, other:
        case ToolEnded(result=result), ToolEnded(result=unsure, outcome="uncertain"):
            return result.call_id == unsure.call_id
        case _:
            return record == other


def shown(log: Sequence[Stored]) -> set[tuple[int, str]]:
    """What was noted as posted, by the place of what it shows in the story."""
    places = [s.seq for s in log if not isinstance(s.record, Posted | ToolStarted) and _kept(s)]
    return {(places.index(s.record.of), s.record.what) for s in log if isinstance(s.record, Posted)}


@pytest.mark.parametrize("name", SCRIPTS)
async def test_whenever_the_process_dies_the_story_ends_alike(name: str):
    script = SCRIPTS[name]
    reference, points = await told(script)
    assert [done.name for done in reference.ledger.done] == list(script.effects)
    for point in range(1, len(points) + 1):
        world, _ = await told(script, point)
        where = f"died at point {point}, {points[point - 1]}"
        ours, theirs = story(world.told), story(reference.told)
        assert len(ours) == len(theirs), where
        assert all(same(theirs[i], ours[i]) for i in range(len(ours))), where
        assert shown(reference.told) <= shown(world.told), where
        unsure = _unsure(world.told)
        done = {one.call_id for one in world.ledger.done}
        assert {one.call_id for one in reference.ledger.done} <= done | unsure, f"a write was lost: {where}"


async def test_the_stories_hold_what_they_are_meant_to_hold():
    worlds = [await told(script) for script in SCRIPTS.values()]
    kinds = {record.kind for world, _ in worlds for record in story(world.told)}
    assert {"briefed", "cleared", "compacted", "stopped", "approval_given", "framed"} <= kinds
    points = {point for _, points in worlds for point in points}
    assert {"after write", "before post answer", "after edit approval", "before post", "after tidy"} <= points


def _unsure(log: Sequence[Stored]) -> set[str]:
    ended = [s.record for s in log if isinstance(s.record, ToolEnded)]
    return {record.result.call_id for record in ended if record.outcome == "uncertain"}

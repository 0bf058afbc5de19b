"""Every turn ends, stopped turns stay stopped, and what was begun is seen through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.budget import Limits
from bot.model import Busy, Misconfigured, ModelError, Rejected, StaleThinking, TooLong
from bot.progress import Card
from memory.records import ModelSaid, Stopped, ToolEnded
from memory.steps import Rest, next_step
from tests.doubles import ANA, BEN
from tests.laws.provider import Line
from tests.laws.verdicts import check_at_rest, check_requests, check_writes
from tests.laws.world import World, scratch

ENDLESS: dict[str, Callable[[int], Line | ModelError]] = {
    "calls, always others": lambda n: Line("", (("look", f"{n}"),)),
    "the same call": lambda n: Line("", (("look", "x"),)),
    "unknown tools": lambda n: Line("", ((f"nope{n}", "x"),)),
    "writes that run without a yes": lambda n: Line("", (("jot", f"{n}"),)),
    "three at once": lambda n: Line(f"{n}", tuple(("look", f"{n} {i}") for i in range(3))),
    "pauses": lambda n: Line("", stop="pause", opaque=True),
    "pauses without a trace": lambda n: Line(f"{n}", stop="pause"),
    "nothing at all": lambda n: Line(),
    "refusals": lambda n: Line("no", stop="refusal"),
    "cut-off calls": lambda n: Line("", (("post", f"{n}"),), stop="length"),
    "busy": lambda n: Busy("busy"),
    "stale thinking": lambda n: StaleThinking("bound to another conversation"),
    "too long": lambda n: TooLong("too long"),
    "misconfigured": lambda n: Misconfigured("no key"),
    "rejected": lambda n: Rejected("never"),
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_a_model_that_never_comes_to_an_end_is_brought_to_one(kind: str):
    """One answer after the limit at most; people get an answer or a notice, and no more."""
    limits = Limits(steps=8)
    lines = [ENDLESS[kind](n) for n in range(60)]
    with scratch() as folder:
        async with World(folder, lines, limits=limits) as world:
            await world.say(ANA.id, "begin")
            await world.settle()
            await check_at_rest(world)
            assert next_step(world.log.state) == Rest()
            asks = world.log.state.turn.asks
            assert asks <= limits.steps + 2, "cut-off answers are asked for twice"
            ends = [*world.surface.of("answer"), *world.surface.of("notice")]
            assert len(ends) == 1
            (card,) = world.surface.of("card")
            assert isinstance(card.body, Card)
            assert card.body.ended is not None
            check_writes(world)
            check_requests(world)


@pytest.mark.parametrize(
    ("limits", "steps"),
    [(Limits(steps=3), 4), (Limits(calls=6), 4), (Limits(tokens=33), 4), (Limits(dollars=0.003), 4)],
    ids=["steps", "calls", "tokens", "dollars"],
)
async def test_at_each_limit_one_last_answer_is_asked_for(limits: Limits, steps: int):
    lines: list[Line | ModelError] = [Line("", (("look", f"{n}"), ("look", f"{n}!"))) for n in range(20)]
    with scratch() as folder:
        async with World(folder, lines, limits=limits) as world:
            await world.say(ANA.id, "begin")
            await world.settle()
            assert world.log.state.turn.asks == steps
            assert [s.record.reason for s in world.log.records if isinstance(s.record, Stopped)] == ["limit"]


async def test_the_daily_budget_of_a_person_ends_their_turns_and_not_those_of_others():
    with scratch() as folder:
        async with World(folder, limits=Limits(daily_dollars=0.001)) as world:
            for person in (ANA, ANA, BEN):
                await world.say(person.id, "words")
                await world.settle()
            ends = [s.record.kind for s in world.log.records if isinstance(s.record, ModelSaid | Stopped)]
            assert ends == ["model_said", "stopped", "model_said"]
            world.clock.now += 86_400
            await world.say(ANA.id, "a new day")
            await world.settle()
            assert isinstance(world.log.records[-3].record, ModelSaid)


async def _let_it_be_noticed(world: World) -> None:
    """Give way to what runs besides, which asks the database as often."""
    for _ in range(4):
        await world.database.read(lambda _: None)


@given(st.integers(1, 20), st.booleans())
async def test_a_stopped_turn_stays_stopped(point: int, by_words: bool):
    """Whenever it comes: nothing more is asked or run, and what stood open is closed."""
    lines: list[Line | ModelError] = [
        Line("", (("look", "a"), ("post", "b"), ("jot", "c"))),
        Line("", (("look", "d"), ("wipe", "e"))),
    ]
    with scratch() as folder:
        async with World(folder, lines) as world:
            points, stopped = count(1), list[int]()

            async def around(_: str) -> None:
                if next(points) == point:
                    await (world.say(BEN.id, "Stop!") if by_words else world.gesture(BEN.id, "stop"))
                    stopped.append(len(world.model.asked))
                    await _let_it_be_noticed(world)

            world.fate.around = around
            await world.say(ANA.id, "begin")
            await world.settle()
            await check_at_rest(world)
            if not any(isinstance(s.record, Stopped) for s in world.log.records):
                return  # it never came, or found nothing to stop
            assert next_step(world.log.state) == Rest()
            assert len(world.model.asked) <= stopped[0] + 1, "asked again after the stop"
            await world.restart()
            await world.settle()
            assert next_step(world.log.state) == Rest()
            check_writes(world)
            await world.say(ANA.id, "go on")
            await world.settle()
            check_requests(world)


@pytest.mark.parametrize("more", [0, 1, 3])
async def test_a_write_under_way_is_seen_through_however_often_it_is_stopped(more: int):
    """Else nobody would know whether it has happened."""
    with scratch() as folder:
        async with World(folder, [Line("", (("jot", "x"),))]) as world:

            async def around(point: str) -> None:
                if point == "before jot":
                    for _ in range(1 + more):
                        await world.say(ANA.id, "stop")
                        await _let_it_be_noticed(world)

            world.fate.around = around
            await world.say(ANA.id, "begin")
            await world.settle()
            outcomes = [s.record.outcome for s in world.log.records if isinstance(s.record, ToolEnded)]
            assert outcomes == ["done"]
            assert len(world.ledger.done) == 1
            assert len(world.model.asked) == 1


async def test_each_turn_has_one_card_even_if_the_next_begins_before_it_is_there():
    """A quick answer, a slow chat, and words that arrive in between."""
    with scratch() as folder:
        async with World(folder, [Line("first"), Line("second")]) as world:
            go = asyncio.Event()

            async def around(point: str) -> None:
                if point == "after model" and len(world.model.asked) == 1:
                    await world.say(BEN.id, "and this")
                if point == "before post card" and not go.is_set():
                    go.set()
                    for _ in range(10):
                        await _let_it_be_noticed(world)

            world.fate.around = around
            await world.say(ANA.id, "begin")
            await world.settle()
            await check_at_rest(world)
            cards = world.surface.of("card")
            assert [card.key.of for card in cards] == sorted({card.key.of for card in cards})
            assert all(isinstance(card.body, Card) and card.body.ended for card in cards)

"""Marks, models, caps and counts: what is set for one channel, and what is asked when an estimate is not enough."""

from __future__ import annotations

import pytest

from bot.channel import Channel, Channels
from bot.model import Cached
from memory.records import Compacted
from memory.types import ToolResult, Usage
from tests.bot.conftest import Build
from tests.bot.doubles import THREAD, calls, says
from tests.bot.shortened import (
    GOOD,
    LOW,
    OFF,
    WORDS,
    last_text,
    long_answer,
    marked,
    playback_of,
    player,
    say,
    wants_summary,
    wire,
)
from tests.message_rules import marks


@pytest.mark.parametrize(("channel", "times"), [("C1", 1), ("C2", 0)])
async def test_other_marks_may_hold_in_a_channel(build: Build, channel: str, times: int) -> None:
    world = build(player(long_answer(), says(GOOD)), repeat=True)
    world.turns.channels = Channels(Channel(OFF), {channel: Channel(LOW)})
    await say(world, WORDS)
    assert len(await world.records(Compacted)) == times


async def test_another_model_may_write_the_summary_and_is_not_held_to_thinking_of_the_first(build: Build) -> None:
    world = build(player(long_answer(), says(GOOD)), repeat=True)
    world.turns.channels = Channels(Channel(OFF, summary_model="small"))
    await say(world, WORDS)
    await say(world, "compact")
    await say(world, "and now?")
    assert [(request.model, wants_summary(request)) for request in playback_of(world).asked] == [
        ("model", False),
        ("small", True),
        ("model", False),
    ]
    assert playback_of(world).asked[1].context.stale_thinking
    assert not playback_of(world).asked[2].context.stale_thinking


@pytest.mark.parametrize("able", [True, False])
async def test_the_provider_writes_the_summary_where_it_can(build: Build, able: bool) -> None:
    world = build(player(long_answer(), says(GOOD)), repeat=True)
    world.turns.channels = Channels(Channel(OFF, on_server=True))
    playback_of(world).summarizing = frozenset({"model"}) if able else frozenset()
    await say(world, WORDS)
    before = (await world.log()).context
    await say(world, "compact")
    asked = playback_of(world).asked[1]
    assert ("Summarize" in asked.summarize, "Summarize" in last_text(asked)) == (able, not able)
    assert asked.context.messages[: len(before.messages)] == before.messages
    assert (await world.records(Compacted))[0].how == "model"


async def test_times_of_the_cache_and_the_cap_of_results_are_those_of_the_channel(build: Build) -> None:
    world = build(calls(("look", {"word": "long"})), says("done"))
    world.turns.channels = Channels(Channel(OFF), {"C1": Channel(OFF, 2_000, Cached("5m", "5m"))})
    await say(world, WORDS)
    first, second = playback_of(world).asked
    assert [mark for _, mark in marks(wire(first))] == ["5m", "5m"]
    (shown,) = (part.text for m in second.context.messages for part in m.parts if isinstance(part, ToolResult))
    assert 2_000 < len(shown) < 2_400
    assert await world.turns.logs.whole_result(THREAD, "r1") == "look says long" + " long" * 10_000


# -- when an estimate is not enough ----------------------------------------------------------------


@pytest.mark.parametrize(("exact", "times"), [(3_900, 0), (4_100, 1), (None, 1)])
async def test_close_to_a_mark_the_provider_is_asked_to_count(build: Build, exact: int | None, times: int) -> None:
    """A result of about 1,200 tokens by estimate, behind 3,000 that are known: the mark is at 4,000."""
    first = calls(("look", {"word": "alpha beta " * 360})).model_copy(update={"usage": Usage(fresh=2_990, output=10)})
    work = iter([first, says("done")])
    world = marked(build(player(lambda _: next(work), says(GOOD)), repeat=True), LOW)
    playback_of(world).exact = exact
    await say(world, WORDS)
    assert len(playback_of(world).counted) == 1
    assert len(await world.records(Compacted)) == times

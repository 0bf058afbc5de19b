"""A conversation is shortened: by words, at marks, when it does not fit; and whatever fails, it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest
from sqlalchemy.engine import Connection

from bot import surface
from bot.model import ModelError, Request, TooLong
from memory.compaction import Marks
from memory.db import Database
from memory.records import Cleared, Compacted, CompactionSkipped, ModelSaid, Stopped, UserSaid
from memory.types import Message, Thinking, ToolResult, Usage
from tests.bot.conftest import Build
from tests.bot.doubles import THREAD, calls, says
from tests.bot.shortened import (
    GOOD,
    LONG,
    LOW,
    OFF,
    WORDS,
    compacted,
    last_text,
    long_answer,
    marked,
    notices,
    playback_of,
    player,
    say,
    wants_summary,
    wire,
)

# -- by words and reactions ------------------------------------------------------------------------


async def test_compact_puts_one_text_in_the_place_of_everything(build: Build) -> None:
    world = await compacted(build, says(GOOD))
    (record,) = await world.records(Compacted)
    assert (record.how, record.before) == ("model", 50_010)
    assert record.after < 2_000
    body = wire(playback_of(world).asked[-1])
    text = body["messages"][0]["content"][0]["text"]
    assert all(part in text for part in (GOOD, WORDS, "# What you answered last\n\ndone"))
    assert "and now?" in body["messages"][0]["content"][1]["text"]
    assert len(body["messages"]) == 1
    assert len(notices(world)) == 1
    assert "50k" in notices(world)[0]


async def test_the_summary_is_asked_for_behind_the_same_request(build: Build) -> None:
    world = await compacted(build, says(GOOD))
    first, asked = playback_of(world).asked[:2]
    old, new = wire(first), wire(asked)
    assert (old["tools"], old["system"][0]["text"]) == (new["tools"], new["system"][0]["text"])
    assert asked.context.messages[: len(first.context.messages)] == first.context.messages


async def test_the_focus_reaches_the_model(build: Build) -> None:
    world = marked(build(player(long_answer(), says(GOOD)), repeat=True))
    await say(world, WORDS)
    await say(world, "compact the rollout dates")
    assert "the rollout dates" in last_text(playback_of(world).asked[-1])


async def test_an_unchanged_thread_is_not_compacted_again(build: Build) -> None:
    world = marked(build(player(long_answer(), says(GOOD)), repeat=True))
    await say(world, WORDS)
    for _ in range(3):
        await say(world, "compact")
    assert len(await world.records(Compacted)) == 1
    assert len(playback_of(world).asked) == 2
    assert len(world.surface.whispers) == 2
    assert len(notices(world)) == 1


async def test_a_change_from_before_a_compaction_is_known_as_made_after_a_restart(build: Build) -> None:
    change = calls(("write", {"word": "0"}))
    world = marked(build(change, long_answer(), long_answer(), says(GOOD), calls(("write", {"word": "0"}))))
    await say(world, WORDS)
    await world.react(world.surface.of("approval")[0].message, "approve")
    await world.advance()
    await say(world, "and what else?")
    await say(world, "compact")
    world.restart()
    marked(world)
    await say(world, "once more")
    asked = world.surface.of("approval")[-1].body
    assert isinstance(asked, surface.Request)
    assert asked.asked.again
    assert world.bench.ran == ["write 0"]


async def test_the_reaction_does_the_same(build: Build) -> None:
    world = marked(build(player(long_answer(), says(GOOD)), repeat=True))
    await say(world, WORDS)
    answer = world.surface.of("answer")[0].message
    for _ in range(2):
        await world.react(answer, "compact")
        await world.advance()
    assert len(await world.records(Compacted)) == 1
    assert len(world.surface.whispers) == 1


async def test_a_short_thread_stays_as_it_is_and_people_are_told(build: Build) -> None:
    world = marked(build(player(says("done"), says(GOOD)), repeat=True))
    await say(world, WORDS)
    await say(world, "compact")
    assert await world.records(Compacted) == []
    assert len(await world.records(CompactionSkipped)) == 1
    assert len(notices(world)) == 1


async def test_a_message_during_a_compaction_waits(build: Build) -> None:
    world = marked(build(player(long_answer(), says(GOOD)), repeat=True))
    await say(world, WORDS)
    playback_of(world).hold = hold = asyncio.Event()
    playback_of(world).began.clear()
    await world.say("compact")
    running = asyncio.create_task(world.advance())
    await asyncio.wait_for(playback_of(world).began.wait(), 5)
    await world.say("the next question")
    await world.surface.until_seen(1)
    hold.set()
    await running
    kinds = [type(s.record) for s in (await world.log()).records if isinstance(s.record, Compacted | UserSaid)]
    assert kinds[-2:] == [Compacted, UserSaid]
    assert "the next question" in str(wire(playback_of(world).asked[-1]))


async def test_a_stop_ends_a_compaction_for_good(build: Build) -> None:
    world = marked(build(player(long_answer(), says(GOOD)), repeat=True))
    await say(world, WORDS)
    playback_of(world).hold = asyncio.Event()
    playback_of(world).began.clear()
    await world.say("compact")
    running = asyncio.create_task(world.advance())
    await asyncio.wait_for(playback_of(world).began.wait(), 5)
    await world.say("stop")
    await running
    assert await world.records(Compacted) == []
    assert [record.reason for record in await world.records(Stopped)] == ["cancelled"]
    assert len(playback_of(world).asked) == 2


# -- at marks --------------------------------------------------------------------------------------


async def test_the_soft_mark_shortens_between_two_turns(build: Build) -> None:
    world = marked(build(player(long_answer(), says(GOOD)), repeat=True), LOW)
    await say(world, WORDS)
    assert len(await world.records(Compacted)) == 1
    assert [shown.key.kind for shown in world.surface.messages.values()] == ["card", "answer", "notice"]


async def test_the_hard_mark_shortens_in_the_middle_of_a_turn_and_the_task_goes_on(build: Build) -> None:
    work = iter([calls(("look", {"word": "a"})).model_copy(update={"usage": LONG}), says("done")])
    world = marked(build(player(lambda _: next(work), says(GOOD)), repeat=True), LOW)
    await say(world, WORDS)
    request = playback_of(world).asked[-1]
    assert "in the middle of this task" in str(wire(request))
    assert world.surface.words[-1] == "done"
    assert len(await world.records(Compacted)) == 1


async def test_a_conversation_that_cannot_be_shortened_is_left_alone_after_two_attempts(build: Build) -> None:
    usage = Usage(fresh=400, output=10)
    world = marked(build(player(says("ok", usage=usage), says(GOOD)), repeat=True), Marks(summarize_at=100, clear_at=0))
    for number in range(8):
        await say(world, f"{WORDS} {number}")
    asked = [request for request in playback_of(world).asked if wants_summary(request)]
    assert len(asked) <= 2
    assert len(notices(world)) == 1


async def test_old_results_are_set_aside_in_the_middle_of_a_loop_and_the_thinking_stays(build: Build) -> None:
    thought = Thinking(text="", opaque={"type": "thinking", "thinking": "", "signature": "s"})

    def look(_: Request) -> ModelSaid:
        made = calls(("look", {"word": "long"}), ("look", {"word": str(len(playback_of(world).asked))}))
        parts = (thought, *made.message.parts)
        usage = Usage(fresh=5_000 * len(playback_of(world).asked), output=10)
        return made.model_copy(update={"message": Message(role="assistant", parts=parts), "usage": usage})

    marks = Marks(clear_at=15_000, clear_to=4_000, clear_gain=4_000, summarize_at=0)
    world = marked(build(look, look, look, look, says("done")), marks)
    await say(world, WORDS)
    gone = {call: line for cleared in await world.records(Cleared) for call, line in cleared.placeholders.items()}
    last = playback_of(world).asked[-1]
    body = wire(last)
    assert last.context.stale_thinking
    assert body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert str(body).count("'signature': 's'") == 4
    results = [part for m in last.context.messages for part in m.parts if isinstance(part, ToolResult)]
    aside = [part for part in results if part.call_id in gone]
    assert aside
    assert all(part.text == gone[part.call_id] for part in aside)
    handles = [part.text.removeprefix("[set aside: ").partition(":")[0] for part in aside]
    wholes = [await world.turns.logs.whole_result(THREAD, handle) for handle in handles]
    assert all(whole is not None and whole.startswith("look says") for whole in wholes)
    assert results[-1].text == "look says 4"


# -- when it does not fit --------------------------------------------------------------------------


async def test_a_conversation_that_does_not_fit_is_shortened_once_and_asked_again(build: Build) -> None:
    answers = iter([long_answer(), TooLong("prompt is too long"), says("it fits")])

    def answer(_: Request) -> ModelSaid:
        line = next(answers)
        if isinstance(line, ModelError):
            raise line
        return line

    world = marked(build(player(answer, says(GOOD)), repeat=True), OFF)
    await say(world, WORDS)
    await say(world, "more")
    assert world.surface.words[-1] == "it fits"
    assert len(await world.records(Compacted)) == 1


async def test_what_never_fits_ends_with_one_clear_message(build: Build) -> None:
    world = marked(build(player(TooLong("prompt is too long"), TooLong("prompt is too long")), repeat=True))
    await say(world, "x" * 4_000)
    assert len(playback_of(world).asked) <= 4
    assert len(await world.records(Stopped)) == 1
    assert "too long" in world.surface.words[-1]


# -- crashes ---------------------------------------------------------------------------------------


class Died(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("commits", range(1, 9))
async def test_a_restart_after_any_commit_of_a_compaction_goes_on(
    build: Build, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    world = marked(build(player(long_answer(), says(GOOD)), repeat=True))
    await say(world, WORDS)
    left = commits
    write = Database.write

    async def mortal(self: Database, work: Callable[[Connection], object]) -> object:
        nonlocal left
        result = await write(self, work)
        left -= 1
        if left == 0:
            raise Died
        return result

    await world.say("compact")
    monkeypatch.setattr(Database, "write", mortal)
    with suppress(Died):
        await world.advance()
    monkeypatch.undo()
    world.restart()
    marked(world)
    await world.advance()
    await say(world, "and now?")
    assert len(await world.records(Compacted)) == 1
    assert len(notices(world)) == 1
    assert world.surface.words[-1] == "done"
    assert GOOD in str(wire(playback_of(world).asked[-1])["messages"][0]["content"][0]["text"])

"""A thread is worked on until it parks: steering, stops, crashes, waits and failures."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.approvals import Rules
from bot.surface import Answer, Request
from bot.turns import GIVE_UP_AFTER, last_heard
from memory import db
from memory.log import Fenced
from memory.records import ApprovalGiven, Briefed, Posted, PostKind, Record, Stopped, ToolEnded, ToolStarted, UserSaid
from memory.types import MessageId
from tests.bot.conftest import Build
from tests.bot.doubles import ANA, EVA, THREAD, Breaks, Playback, World, calls, says
from tools.policy import Policy

FREE = Policy(free=frozenset({"write", "put"}))


def model(world: World) -> Playback:
    assert isinstance(world.model, Playback)
    return world.model


async def test_a_turn_is_a_card_then_an_answer_then_a_quiet_card(build: Build) -> None:
    world = build(calls(("look", {"word": "a"})), says("done"))
    await world.say("go")
    assert await world.advance() is None
    assert [shown.key.kind for shown in world.surface.messages.values()] == ["card", "answer"]
    card = world.surface.of("card")[0].body
    assert getattr(card, "state", None) == "done"
    assert await world.turns.inbox.open_threads() == []
    finals = [posted.final for posted in await world.records(Posted) if posted.what == "card"]
    assert finals == [False, True]


async def test_words_that_arrive_meanwhile_are_marked_and_steer_the_next_step(build: Build) -> None:
    world = build(calls(("look", {"word": "a"})), says("done"))
    world.bench.hold = asyncio.Event()
    await world.say("go")
    running = asyncio.create_task(world.advance())
    await world.bench.until(1)
    later = [await world.say(f"and {n}") for n in range(3)]
    await world.surface.until_seen(3)
    world.bench.hold.set()
    await running
    assert world.surface.seen == later
    last = model(world).asked[-1].context.messages[-1]
    assert [part.kind for part in last.parts] == ["tool_result", "text", "text", "text"]
    assert world.surface.words == ["done"]


async def test_a_stop_ends_the_question_to_the_model_at_once(build: Build) -> None:
    world = build(says("never"), says("going on"))
    model(world).hold = asyncio.Event()
    await world.say("go")
    running = asyncio.create_task(world.advance())
    await asyncio.wait_for(model(world).began.wait(), 5)
    await world.say("stop")
    await running
    assert world.surface.words == ["🛑 Stopped by Ana."]
    model(world).hold = None
    await world.say("and after that?")
    await world.advance()
    assert world.surface.words[1:] == ["going on"]


async def test_a_write_under_way_is_seen_through_when_a_stop_arrives(build: Build) -> None:
    world = build(calls(("write", {"word": "a"}), ("write", {"word": "b"})), says("never"), policy=FREE)
    world.bench.hold = asyncio.Event()
    await world.say("go")
    running = asyncio.create_task(world.advance())
    await world.bench.until(1)
    await world.say("stop")
    world.bench.hold.set()
    await running
    assert [ended.outcome for ended in await world.records(ToolEnded)] == ["done", "not_run"]
    assert world.bench.ran == ["write a"]
    assert "Done: `write a`" in world.surface.words[0]
    assert "Not done: `write b`" in world.surface.words[0]


async def test_what_was_said_before_is_read_in_by_a_call_of_our_own(build: Build) -> None:
    world = build(says("done"), says("more"))
    first = await world.say("what do you think?", catch_up=True)
    await world.advance()
    (briefed,) = await world.records(Briefed)
    assert (briefed.call.name, briefed.result.untrusted) == ("read_thread", True)
    roles = [message.role for message in model(world).asked[0].context.messages]
    assert roles == ["user", "assistant", "user"]
    second = await world.say("and now?", catch_up=True)
    await world.advance()
    assert len(await world.records(Briefed)) == 2
    assert last_heard(await world.log(), second) == first


# -- waiting ---------------------------------------------------------------------------------------


async def test_nobody_decides(build: Build) -> None:
    world = build(calls(("write", {"word": "a"})), says("a pity"), rules=Rules(seconds=60.0))
    await world.say("go")
    until = await world.advance()
    assert until == world.now + 60
    world.now += 59
    assert await world.advance() == until
    world.now += 2
    assert await world.advance() is None
    assert [given.verdict for given in await world.records(ApprovalGiven)] == ["expired"]
    assert world.bench.ran == []
    assert world.surface.words[-1] == "a pity"


async def test_a_restart_and_three_days_leave_a_request_as_it_was(build: Build) -> None:
    world = build(calls(("write", {"word": "a"})), says("done"), rules=Rules(seconds=96 * 3600.0))
    await world.say("go")
    await world.advance()
    world.now += 72 * 3600
    world.restart()
    await world.react(world.surface.of("approval")[0].message, "approve")
    await world.advance()
    assert world.bench.ran == ["write a"]
    assert len(world.surface.of("approval")) == 1
    request = world.surface.of("approval")[0].body
    assert isinstance(request, Request)
    assert request.given is not None


# -- crashes ---------------------------------------------------------------------------------------


async def crash(world: World, *records: Record) -> None:
    """A process that died after writing these records."""
    log = await world.log()
    await log.append(*records)
    world.restart()


@pytest.mark.parametrize("tool", ["write", "put", "look"])
async def test_a_call_that_was_under_way_at_a_crash(build: Build, tool: str) -> None:
    made = calls((tool, {"word": "a"}))
    call = made.message.calls[0]
    world = build(says("I looked"), policy=FREE)
    await world.say("go")
    mail = world.turns._mail  # pyright: ignore[reportPrivateUsage] - the crash is between two steps of a turn
    await mail.take(await world.log())
    marks = [] if tool == "look" else [ToolStarted(call_id=call.id, digest="x", repeatable=tool == "put")]
    await crash(world, made, *marks)
    await world.advance()
    (ended,) = await world.records(ToolEnded)
    assert (ended.outcome, len(world.bench.ran)) == (("uncertain", 0) if tool == "write" else ("done", 1))
    notices = [words for words in world.surface.words if "may or may not have happened" in words]
    assert len(notices) == (1 if tool == "write" else 0)
    assert world.surface.words[-1] == "I looked"


async def test_an_answer_that_was_not_posted_is_posted_at_the_start(build: Build) -> None:
    world = build(says("never asked"))
    await world.say("go")
    mail = world.turns._mail  # pyright: ignore[reportPrivateUsage]
    await mail.take(await world.log())
    await crash(world, says("the answer"))
    await world.advance()
    (answer,) = world.surface.of("answer")
    assert isinstance(answer.body, Answer)
    assert (answer.body.markdown, answer.check) == ("the answer", True)
    assert model(world).asked == []


@pytest.mark.parametrize("kind", ["card", "answer", "approval"])
async def test_what_was_posted_but_not_noted_is_found_and_not_posted_again(build: Build, kind: str) -> None:
    world = build(calls(("write", {"word": "a"})), says("done"))
    world.surface.around = lost = Breaks(f"after post {kind}")
    await world.say("go")
    for words in ("", "yes"):
        if words:
            await world.say(words)
        try:
            await world.advance()
        except RuntimeError:
            world.restart()
            await world.advance(1)
    assert lost.times == 0
    assert [len(world.surface.of(one)) for one in ("card", "approval", "answer")] == [1, 1, 1]
    assert world.bench.ran == ["write a"]
    assert world.surface.words[-1] == "done"


async def test_a_second_process_stops_before_it_acts(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    world = build(calls(("write", {"word": "a"})), says("done"), policy=FREE)
    await world.say("go")
    mine = await world.log()
    other = World(world.database, world.surface, world.bench, world.model)
    await (await other.log()).append(Stopped(reason="cancelled", by=EVA))
    assert await world.advance() is None
    assert world.bench.ran == []
    assert "fenced" in capsys.readouterr().out
    with pytest.raises(Fenced, match="only one process"):
        await mine.append(Stopped(reason="cancelled", by=ANA))


async def test_a_log_that_cannot_be_read_is_left_alone_and_people_are_told_once(
    build: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    world = build(says("never"))
    await world.say("go")

    def spoil(connection: Connection) -> None:
        values = {"thread": 1, "seq": 1, "at": 0.0, "version": 1, "body": "{"}
        connection.execute(sa.insert(db.records).values(**values))

    await world.database.write(spoil)
    assert await world.advance() is None
    await world.say("and now?")
    assert await world.advance() is None
    (told,) = world.surface.words
    assert "I can't go on in this thread" in told
    assert "我无法在此话题中继续" in told
    assert "corrupt_log" in capsys.readouterr().out
    assert await world.turns.inbox.open_threads() == [THREAD], "the next start looks again"


async def test_what_was_read_is_not_read_again_after_a_restart_while_a_change_waits(build: Build) -> None:
    world = build(calls(("look", {"word": "a"}), ("write", {"word": "b"})), says("done"))
    await world.say("go")
    assert await world.advance() is not None
    world.restart()
    await world.react(world.surface.of("approval")[0].message, "approve")
    await world.advance()
    assert world.bench.ran == ["look a", "write b"]
    assert world.surface.words[-1] == "done"


# -- failures of our own ---------------------------------------------------------------------------


async def test_a_failure_that_nobody_expected_is_tried_again_from_the_log(build: Build) -> None:
    world = build(says("done"))
    world.surface.around = Breaks("before post")
    await world.say("go")
    with pytest.raises(RuntimeError):
        await world.advance()
    await world.advance(1)
    assert world.surface.words == ["done"]
    assert len(await world.records(UserSaid)) == 1


async def test_after_several_failures_people_are_told(build: Build) -> None:
    world = build(says("never"), says("fine again"))
    world.surface.around = Breaks("before post", 2)
    await world.say("go")
    for failures in range(2):
        with pytest.raises(RuntimeError):
            await world.advance(failures)
    await world.advance(GIVE_UP_AFTER)
    assert len(world.surface.words) == 1
    await world.say("again")
    await world.advance()
    assert len(world.surface.words) == 2


@pytest.mark.parametrize("kind", ["card", "answer", "approval", "notice"])
async def test_a_chat_that_refuses_a_message_does_not_hold_the_thread_up(build: Build, kind: PostKind) -> None:
    world = build(calls(("write", {"word": "a"})), says("done"))
    world.surface.refused = {kind}
    await world.say("go")
    await world.advance()
    await world.say("yes")
    assert await world.advance() is None
    assert world.bench.ran == ["write a"]
    assert MessageId("") not in world.surface.seen

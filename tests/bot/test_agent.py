"""One step: what the model is asked, what runs, in which order, and what is written down before and after."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.approvals import Rules
from bot.budget import Limits, Patience
from bot.model import Busy, Misconfigured, Rejected, StaleThinking
from memory.records import ApprovalAsked, Framed, ModelSaid, Noted, Stopped, ToolEnded, ToolStarted, Unbound, digest
from memory.types import Message, Opaque, Text, Thinking, ToolCall, Value
from tests.bot.conftest import Build
from tests.bot.doubles import ANA, Playback, World, calls, says
from tools.policy import Policy


def asked(world: World) -> int:
    assert isinstance(world.model, Playback)
    return len(world.model.asked)


async def test_reads_of_one_message_run_side_by_side(build: Build) -> None:
    world = build(calls(("look", {"word": "a"}), ("look", {"word": "b"}), ("browse", {"word": "c"})), says("done"))
    world.bench.hold = asyncio.Event()
    await world.say("go")
    running = asyncio.create_task(world.advance())
    await world.bench.until(3)
    world.bench.hold.set()
    await running
    ended = [one.result.text for one in await world.records(ToolEnded)]
    assert ended == ["look says a", "look says b", "browse says c"]


async def test_writes_run_one_by_one_in_order_each_after_its_mark(build: Build) -> None:
    free = Policy(free=frozenset({"write", "put"}))
    world = build(
        calls(("write", {"word": "1"}), ("put", {"word": "2"}), ("write", {"word": "3"})), says("done"), policy=free
    )
    await world.say("go")
    await world.advance()
    assert [one.split()[1] for one in world.bench.ran] == ["1", "2", "3"]
    kinds = [type(one) for one in await world.records(Value)]
    assert [kind for kind in kinds if kind in {ToolStarted, ToolEnded}] == [ToolStarted, ToolEnded] * 3
    assert [one.repeatable for one in await world.records(ToolStarted)] == [False, True, False]


async def test_a_write_asks_first_and_names_the_bytes(build: Build) -> None:
    made = calls(("look", {"word": "a"}), ("write", {"word": "b"}))
    world = build(made, says("done"), rules=Rules(seconds=60.0))
    await world.say("go")
    assert await world.advance() == world.now + 60
    (ask,) = await world.records(ApprovalAsked)
    assert (ask.digest, ask.approvers, ask.requester) == (digest(made.message.calls[1]), (ANA.id,), ANA)
    assert world.bench.ran == ["look a"]


async def test_text_of_strangers_takes_freedom_away(build: Build) -> None:
    free = Policy(free=frozenset({"write"}))
    world = build(calls(("browse", {"word": "x"})), calls(("write", {"word": "y"})), says("done"), policy=free)
    await world.say("go")
    assert await world.advance() is not None
    assert world.bench.ran == ["browse x"]


Wanted = tuple[str, dict[str, Any]]
FAILING: list[tuple[Wanted, str]] = [
    (("nothing", {}), "unknown_tool"),
    (("look", {"wrong": 1}), "bad_arguments"),
    (("write", {"word": {"deep": 1}}), "bad_arguments"),
    (("look", {"word": "fail"}), "no_such_word"),
]


@pytest.mark.parametrize(("call", "code"), FAILING)
async def test_a_call_that_fails_is_a_result_the_model_reads(
    build: Build, call: tuple[str, dict[str, object]], code: str
) -> None:
    world = build(calls(call), says("done"))
    await world.say("go")
    await world.advance()
    (ended,) = await world.records(ToolEnded)
    assert (ended.outcome, ended.result.is_error) == ("failed", True)
    assert f"code: {code}" in ended.result.text
    assert world.surface.words == ["done"]


async def test_a_tool_that_is_switched_off_never_runs(build: Build) -> None:
    world = build(calls(("look", {"word": "a"})), says("done"), policy=Policy(forbidden=frozenset({"look"})))
    await world.say("go")
    await world.advance()
    (ended,) = await world.records(ToolEnded)
    assert (ended.outcome, world.bench.ran) == ("not_run", [])


async def test_a_long_result_is_kept_whole_under_its_handle(build: Build) -> None:
    world = build(calls(("look", {"word": "a"}), ("look", {"word": "long"})), says("done"))
    await world.say("go")
    await world.advance()
    ended = (await world.records(ToolEnded))[1]
    assert ended.handle == "r2"
    assert "r2" in ended.result.text
    log = await world.log()
    whole = await world.turns.logs.whole_result(log.key, "r2")
    assert whole is not None
    assert len(whole) > 50_000 > len(ended.result.text)


# -- answers that are unusual ----------------------------------------------------------------------


async def test_busy_is_waited_for_as_long_as_the_provider_says(build: Build) -> None:
    world = build(Busy("busy", 7), Busy("busy"), says("done"), patience=Patience(attempts=3, longest=5))
    await world.say("go")
    await world.advance()
    assert world.waits == [5, 2]
    assert world.surface.words == ["done"]


async def test_patience_ends_with_one_notice(build: Build) -> None:
    world = build(Busy("the model is overloaded"), repeat=True, patience=Patience(attempts=3))
    await world.say("go")
    await world.advance()
    assert (asked(world), world.waits) == (3, [1, 2])
    (notice,) = world.surface.words
    assert "the model is overloaded" in notice
    await world.say("again")
    await world.advance()
    assert len(world.surface.words) == 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Misconfigured("no key"), "configuration"), (Rejected("bad body"), "error")],
)
async def test_what_cannot_work_is_asked_once(build: Build, error: Exception, reason: str) -> None:
    world = build(error, says("never"))  # pyright: ignore[reportArgumentType] - each is a ModelError
    await world.say("go")
    await world.advance()
    (stopped,) = await world.records(Stopped)
    assert (stopped.reason, asked(world)) == (reason, 1)
    assert str(error) in world.surface.words[0]


async def test_stale_thinking_is_dropped_first_and_left_out_second(build: Build) -> None:
    thought = Message(
        role="assistant", parts=(Thinking(text="", opaque={"s": 1}), ToolCall(id="t", name="look", arguments={}))
    )
    first = says("", message=thought, stop="calls")
    world = build(first, StaleThinking("bound"), StaleThinking("bound"), says("done"))
    await world.say("go")
    await world.advance()
    assert [one.how for one in await world.records(Unbound)] == ["drop", "strip"]
    assert isinstance(world.model, Playback)
    contexts = [request.context for request in world.model.asked]
    assert [context.stale_thinking for context in contexts] == [False, False, True, False]
    assert not any(isinstance(part, Thinking) for message in contexts[-1].messages for part in message.parts)
    assert world.surface.words == ["done"]


async def test_stale_thinking_without_any_is_an_error_that_ends_the_turn(build: Build) -> None:
    world = build(StaleThinking("bound to a different conversation"))
    await world.say("go")
    await world.advance()
    assert "bound to a different" in world.surface.words[0]


async def test_an_answer_cut_off_is_asked_again_with_more_room_once(build: Build) -> None:
    world = build(says("ha", stop="length"), says("half", stop="length"), max_output=500)
    await world.say("go")
    await world.advance()
    assert isinstance(world.model, Playback)
    assert [request.max_output for request in world.model.asked] == [500, 1_500]
    assert [one.kept for one in await world.records(ModelSaid)] == [False, True]
    assert world.surface.words[0].startswith("half\n\n_(The answer was cut off")


async def test_calls_that_were_cut_off_do_not_run(build: Build) -> None:
    world = build(calls(("look", {}), stop="length"), calls(("look", {}), stop="length"), says("shorter"))
    await world.say("go")
    await world.advance()
    assert world.bench.ran == []
    assert world.surface.words == ["shorter"]


async def test_a_refusal_is_said_and_not_kept(build: Build) -> None:
    world = build(says("I will not", stop="refusal"), says("fine"))
    await world.say("go")
    await world.advance()
    assert "declined" in world.surface.words[0]
    await world.say("something else")
    await world.advance()
    assert isinstance(world.model, Playback)
    assert "I will not" not in str(world.model.asked[-1].context.messages)
    assert world.surface.words[1:] == ["fine"]


@pytest.mark.parametrize("blank", ["", "  \n\t ", " \u200b", "\u2800\u3164", "\u202e\ufeff"])
async def test_an_empty_answer_is_asked_once_more_with_other_words(build: Build, blank: str) -> None:
    world = build(says(blank), says("now"))
    await world.say("go")
    await world.advance()
    assert [one.reason for one in await world.records(Noted)] == ["empty"]
    assert world.surface.words == ["now"]


async def test_two_empty_answers_end_in_one_notice(build: Build) -> None:
    world = build(says(""), says(" "), says("never"))
    await world.say("go")
    await world.advance()
    (notice,) = world.surface.words
    assert "no answer twice" in notice


@pytest.mark.parametrize("own", [False, True])
async def test_a_pause_goes_on(build: Build, own: bool) -> None:
    part = Opaque(opaque={"type": "server_tool_use"}) if own else Text(text="wait")
    paused = says("", message=Message(role="assistant", parts=(part,)), stop="pause")
    world = build(paused, says("done"))
    await world.say("go")
    await world.advance()
    assert len(await world.records(Noted)) == (0 if own else 1)
    assert world.surface.words == ["done"]


async def test_the_frame_is_written_once_and_again_when_it_changes(build: Build) -> None:
    world = build(says("one"), says("two"), says("three"))
    await world.say("go")
    await world.advance()
    await world.say("on")
    await world.advance()
    assert len(await world.records(Framed)) == 1
    world.turns.agent = replace(world.turns.agent, system="other words")
    await world.say("and on")
    await world.advance()
    assert len(await world.records(Framed)) == 2


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "asks"),
    [
        (Limits(steps=3), 4),
        (Limits(calls=2), 3),
        (Limits(tokens=250), 4),
        (Limits(dollars=0.25), 4),
    ],
)
async def test_each_limit_ends_with_one_closing_answer(build: Build, limits: Limits, asks: int) -> None:
    lines = [calls(("look", {"word": f"{n}"}), dollars=0.1) for n in range(asks - 1)]
    world = build(*lines, says("this is what I know"), limits=limits)
    await world.say("go")
    await world.advance()
    assert asked(world) == asks
    assert world.surface.words == ["this is what I know"]
    assert [one.reason for one in await world.records(Noted)] == ["limit"]


async def test_a_model_that_never_stops_is_asked_once_more_and_no_more(build: Build) -> None:
    lines = [calls(("look", {"word": f"{n}"})) for n in range(20)]
    world = build(*lines, limits=Limits(steps=3))
    await world.say("go")
    await world.advance()
    assert asked(world) == 4
    assert len(world.bench.ran) == 3
    (notice,) = world.surface.words
    assert notice.startswith("I reached a limit")
    await world.say("go on")
    assert isinstance(world.model, Playback)
    world.model.lines.clear()
    world.model.lines.append(says("fine"))
    await world.advance()
    assert world.surface.words[1:] == ["fine"]


async def test_seconds_are_counted_from_the_first_words(build: Build) -> None:
    world = build(calls(("look", {})), says("in time"), limits=Limits(seconds=10))
    await world.say("go")
    world.bench.hold = asyncio.Event()
    running = asyncio.create_task(world.advance())
    await world.bench.until(1)
    world.now += 11
    world.bench.hold.set()
    await running
    assert [one.reason for one in await world.records(Noted)] == ["limit"]


async def test_the_same_call_is_warned_about_at_the_third_time_and_closed_at_the_fifth(build: Build) -> None:
    lines = [calls(("look", {"word": "a"})) for _ in range(5)]
    world = build(*lines, says("I see no way"))
    await world.say("go")
    await world.advance()
    warned = [bool(one.warning) for one in await world.records(ToolEnded)]
    assert warned == [False, False, True, True, True]
    assert [one.reason for one in await world.records(Noted)] == ["loop"]
    assert world.surface.words == ["I see no way"]


async def test_polling_is_no_loop(build: Build) -> None:
    lines = [calls(("poll", {})) for _ in range(12)]
    world = build(*lines, says("ready"))
    await world.say("go")
    await world.advance()
    assert world.surface.words == ["ready"]
    assert not any(one.warning for one in await world.records(ToolEnded))


async def test_a_day_s_budget_is_one_line_and_no_question(build: Build) -> None:
    world = build(says("dear", dollars=1.5), says("never"), limits=Limits(daily_dollars=1.0))
    await world.say("go")
    await world.advance()
    await world.say("more")
    await world.advance()
    assert asked(world) == 1
    assert "today's budget" in world.surface.words[1]
    world.now += 86_400
    await world.say("tomorrow")
    await world.advance()
    assert asked(world) == 2

"""Slack's limits are kept: laws of the pacer, over schedules of calls in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.slack.pacer import DEFAULT, RATES, Pacer, Priority, Rate
from tests.slack.virtual import now, run

RATE = Rate(6, 10, reserved=2)
LATE = 0.02
"""Seconds by which a timer may be late on purpose."""


@dataclass(frozen=True, slots=True)
class Call:
    at: float
    priority: Priority
    patience: float = 1e9
    """The caller gives up after this long."""


@dataclass(frozen=True, slots=True)
class Made:
    call: Call
    index: int
    at: float


PRIORITIES = st.sampled_from(Priority)
MOMENTS = st.integers(0, 300).map(lambda tenths: tenths / 10)
CALLS = st.lists(st.builds(Call, MOMENTS, PRIORITIES), max_size=40)
BLOCKS = st.lists(st.tuples(MOMENTS, st.integers(1, 80).map(lambda tenths: tenths / 4)), max_size=3)


def play(calls: list[Call], blocks: list[tuple[float, float]] = []) -> list[Made]:  # noqa: B006 - only read
    """When each call was made, in this order. No two come at the same moment, or their order would be chance."""
    calls = [replace(call, at=call.at + index * 1e-4) for index, call in enumerate(calls)]

    async def scenario() -> list[Made]:
        pacer, made = Pacer(now, {"m": RATE}), list[Made]()

        async def caller(index: int, call: Call) -> None:
            await asyncio.sleep(call.at)
            try:
                async with asyncio.timeout(call.patience):
                    await pacer.turn("m", priority=call.priority)
            except TimeoutError:
                return
            made.append(Made(call, index, now()))

        async def blocker(at: float, seconds: float) -> None:
            await asyncio.sleep(at)
            pacer.block("m", seconds)

        await asyncio.gather(
            *(blocker(*block) for block in blocks), *(caller(index, call) for index, call in enumerate(calls))
        )
        return made

    return run(scenario())


@given(CALLS, BLOCKS)
@example([Call(0.0, Priority.ANSWER)] * 20, [])
@example([Call(0.1 * number, Priority.OTHER) for number in range(30)], [(1.0, 5.0)])
def test_no_window_exceeds_its_rate_and_everybody_is_served(
    calls: list[Call], blocks: list[tuple[float, float]]
) -> None:
    made = play(calls, blocks)
    assert sorted(one.index for one in made) == list(range(len(calls)))
    times = [one.at for one in made]
    for start in times:
        assert sum(start <= time < start + RATE.seconds - 1e-6 for time in times) <= RATE.calls


@given(CALLS, BLOCKS)
def test_nobody_calls_during_a_block(calls: list[Call], blocks: list[tuple[float, float]]) -> None:
    for one in play(calls, blocks):
        assert not any(at + 1e-6 < one.at < at + seconds - 1e-6 for at, seconds in blocks)


@given(CALLS)
@example([Call(0.0, Priority.PROGRESS)] * 12 + [Call(1.0, Priority.ANSWER)] * 2)
def test_progress_never_takes_the_reserved_places(calls: list[Call]) -> None:
    made = play(calls)
    for one in made:
        if one.call.priority == Priority.PROGRESS:
            window = [other for other in made if one.at - RATE.seconds + 1e-6 < other.at <= one.at]
            before = window[: window.index(one)]
            assert len(before) < RATE.calls - RATE.reserved


@given(CALLS)
@example([Call(0.0, Priority.PROGRESS)] * 12 + [Call(1.0, Priority.APPROVAL)] * 4 + [Call(2.0, Priority.ANSWER)] * 4)
def test_who_matters_more_goes_first_and_equals_in_order(calls: list[Call]) -> None:
    made = play(calls)
    for position, one in enumerate(made):
        for later in made[position + 1 :]:
            if later.at == one.at:
                continue  # both at once: nobody waited for the other
            waited = later.call.at < one.at - 1e-6
            assert not (waited and later.call.priority < one.call.priority)
            if later.call.priority == one.call.priority:
                assert one.call.at <= later.call.at


FULL = [Call(0.0, Priority.OTHER)] * RATE.calls
IMPATIENT = st.builds(Call, st.floats(0.1, 5), PRIORITIES, patience=st.floats(0, 4))
"""They come while nothing is free and leave before anything is."""


@given(CALLS, st.lists(IMPATIENT, max_size=10))
@example([Call(3.0, Priority.OTHER)] * RATE.calls, [Call(1.0, Priority.ANSWER, 2.0)] * 5)
def test_who_gives_up_costs_nothing(calls: list[Call], impatient: list[Call]) -> None:
    """The others are served as if the impatient had never come."""
    alone, together = play([*FULL, *calls]), play([*FULL, *calls, *impatient])
    assert [one.call for one in together] == [one.call for one in alone]
    assert [one.at for one in together] == pytest.approx([one.at for one in alone], abs=LATE)


def test_an_answer_overtakes_progress_that_fills_the_line() -> None:
    calls = [Call(0.0, Priority.PROGRESS)] * 30 + [Call(0.5, Priority.ANSWER)]
    answer = next(one for one in play(calls) if one.call.priority == Priority.ANSWER)
    assert answer.at == pytest.approx(0.5, abs=LATE)


def test_methods_and_channels_have_lines_of_their_own() -> None:
    async def scenario() -> list[float]:
        pacer = Pacer(now, {"post": Rate(100, 60), "post:channel": Rate(1, 1), "other": Rate(1, 1)})
        turns = [pacer.turn("post", channel) for channel in ("C1", "C2", "C3", "C1")]

        async def when(turn: asyncio.Task[None]) -> float:
            await turn
            return now()

        return await asyncio.gather(*(when(asyncio.ensure_future(turn)) for turn in [*turns, pacer.turn("other")]))

    assert run(scenario()) == pytest.approx([0, 0, 0, 1, 0], abs=LATE)


def test_a_block_of_one_channel_leaves_the_others_alone() -> None:
    async def scenario() -> list[float]:
        pacer = Pacer(now, {"post": Rate(100, 60), "post:channel": Rate(50, 1), "update": Rate(9, 9)})
        pacer.block("post", 30, "C1")
        pacer.block("update", 7, "C1")
        out = list[float]()
        for method, channel in (("post", "C2"), ("update", "C2"), ("post", "C1")):
            await pacer.turn(method, channel)
            out.append(now())
        return out

    assert run(scenario()) == pytest.approx([0, 7, 30], abs=LATE)


def test_how_long_the_next_call_must_wait() -> None:
    async def scenario() -> list[float]:
        pacer = Pacer(now, {"m": Rate(1, 10)})
        waits = [pacer.wait_for("m")]
        await pacer.turn("m")
        await asyncio.sleep(4)
        waits.append(pacer.wait_for("m"))
        pacer.block("m", 60)
        return [*waits, pacer.wait_for("m")]

    assert run(scenario()) == pytest.approx([0, 6, 60], abs=LATE)


@pytest.mark.parametrize(
    ("method", "a_minute"),
    [
        ("chat.update", 50),
        ("reactions.add", 50),
        ("reactions.remove", 20),
        ("conversations.replies", 50),
        ("conversations.history", 50),
        ("users.info", 100),
        ("users.conversations", 50),
        ("views.publish", 100),
        ("chat.getPermalink", 200),
        ("chat.postMessage:channel", 60),
    ],
)
def test_our_limits_are_below_those_of_slack(method: str, a_minute: int) -> None:
    rate = RATES[method]
    assert rate.calls / rate.seconds * 60 < a_minute
    assert rate.reserved < rate.calls
    assert DEFAULT.calls < 20

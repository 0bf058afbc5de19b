"""Who is woken, when, and after whom."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from bot.dispatcher import LAST_WAIT, InProcessDispatcher
from memory.types import ThreadKey

A, B = ThreadKey("a"), ThreadKey("b")


@dataclass(slots=True)
class Work:
    """What the dispatcher is asked to do; each visit is told to the test, which may hold it."""

    visits: list[tuple[ThreadKey, int]] = field(default_factory=list[tuple[ThreadKey, int]])
    interrupts: list[ThreadKey] = field(default_factory=list[ThreadKey])
    running: dict[ThreadKey, int] = field(default_factory=dict[ThreadKey, int])
    most: int = 0
    answer: Callable[[ThreadKey, int], Awaitable[float | None]] | None = None
    _visited: asyncio.Event = field(default_factory=asyncio.Event)

    async def advance(self, thread: ThreadKey, failures: int) -> float | None:
        self.visits.append((thread, failures))
        self.running[thread] = self.running.get(thread, 0) + 1
        self.most = max(self.most, *self.running.values())
        self._visited.set()
        try:
            return None if self.answer is None else await self.answer(thread, failures)
        finally:
            self.running[thread] -= 1

    async def until(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.visits) < count:
                self._visited.clear()
                await self._visited.wait()


@pytest.fixture
async def work() -> Work:
    return Work()


@pytest.fixture
async def dispatcher(work: Work) -> AsyncIterator[InProcessDispatcher]:
    made = InProcessDispatcher(work.advance, work.interrupts.append, lambda: 100.0, longest_pause=0.01)
    await made.start([])
    yield made
    await made.stop(0)


async def test_open_threads_are_worked_on_at_the_start(work: Work) -> None:
    made = InProcessDispatcher(work.advance, work.interrupts.append, lambda: 100.0)
    made.wake(A)
    await made.start([B])
    await work.until(1)
    assert work.visits == [(B, 0)], "who is woken before the start is found by the scan"
    await made.stop(1)


async def test_one_task_a_thread_and_no_wake_is_lost(work: Work, dispatcher: InProcessDispatcher) -> None:
    hold = asyncio.Event()

    async def answer(thread: ThreadKey, _: int) -> None:
        await hold.wait()

    work.answer = answer
    for _ in range(5):
        dispatcher.wake(A)
    await work.until(1)
    dispatcher.wake(A)
    assert work.interrupts
    assert dispatcher.busy == 1
    hold.set()
    await work.until(2)
    assert work.most == 1


async def test_threads_do_not_wait_for_each_other(work: Work, dispatcher: InProcessDispatcher) -> None:
    hold = asyncio.Event()

    async def answer(thread: ThreadKey, _: int) -> None:
        if thread == A:
            await hold.wait()

    work.answer = answer
    dispatcher.wake(A)
    dispatcher.wake(B)
    await work.until(2)
    assert dispatcher.busy >= 1
    hold.set()


async def test_a_failure_is_tried_again_and_counted(work: Work, dispatcher: InProcessDispatcher) -> None:
    async def answer(thread: ThreadKey, failures: int) -> None:
        if failures < 3:
            raise RuntimeError("broken")

    work.answer = answer
    dispatcher.wake(A)
    await work.until(4)
    assert work.visits == [(A, 0), (A, 1), (A, 2), (A, 3)]


async def test_a_thread_comes_back_at_its_time(work: Work, dispatcher: InProcessDispatcher) -> None:
    times = iter([100.02, None])

    async def answer(thread: ThreadKey, _: int) -> float | None:
        return next(times)

    work.answer = answer
    dispatcher.wake(A)
    await work.until(2)
    assert len(work.visits) == 2


async def test_a_wake_replaces_the_timer(work: Work, dispatcher: InProcessDispatcher) -> None:
    async def answer(thread: ThreadKey, _: int) -> float | None:
        return 100.0 + 3600

    work.answer = answer
    dispatcher.wake(A)
    await work.until(1)
    await asyncio.sleep(0)
    dispatcher.wake(A)
    await work.until(2)


async def test_a_stop_waits_then_cancels(work: Work) -> None:
    ended = list[str]()

    async def answer(thread: ThreadKey, _: int) -> None:
        try:
            if thread == B:
                await asyncio.Event().wait()
        finally:
            ended.append(thread)

    work.answer = answer
    made = InProcessDispatcher(work.advance, work.interrupts.append, lambda: 100.0)
    await made.start([A, B])
    await work.until(2)
    await made.stop(0.05)
    assert sorted(ended) == ["a", "b"]
    made.wake(A)
    assert made.busy == 0


async def test_a_stop_does_not_wait_for_ever_for_a_change_that_is_seen_through() -> None:
    """What is under way may take its whole time-out; a stop must end within ten seconds all the same."""
    began, over = asyncio.Event(), asyncio.Event()

    async def stubborn(thread: ThreadKey, failures: int) -> float | None:
        began.set()
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return None

    made = InProcessDispatcher(stubborn, lambda _: None, lambda: 0.0)
    await made.start([ThreadKey("a")])
    await began.wait()
    before = time.monotonic()
    await made.stop(0.05)
    assert time.monotonic() - before < LAST_WAIT + 1
    assert made.busy == 1
    over.set()

"""Who is woken, when, and after whom: one task a thread, in this process.

Correctness does not rest on it: the log's key refuses a second writer. Another implementation of
``Dispatcher`` may keep its wakes in a database; nothing above can tell the difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from memory.types import ThreadKey

Advance = Callable[[ThreadKey, int], Awaitable[float | None]]
"""Work on a thread until it parks. Takes how often that failed before; returns when to come back (seconds of 1970)."""


LAST_WAIT = 1.0
"""Seconds for tasks to end after they were cancelled; what they leave open is closed at the next start."""


class Dispatcher(Protocol):
    def wake(self, thread: ThreadKey) -> None:
        """Something happened in this thread: work on it, now or after what runs there already."""
        ...

    async def start(self, threads: Iterable[ThreadKey]) -> None:
        """Begin, with the threads that had unfinished work."""
        ...

    async def stop(self, grace: float) -> None:
        """Let what runs finish for ``grace`` seconds, then cancel it; the log says where to go on."""
        ...


@dataclass(slots=True)
class InProcessDispatcher:
    """``interrupt`` is called when something arrives for a thread that is being worked on."""

    advance: Advance
    interrupt: Callable[[ThreadKey], None]
    clock: Callable[[], float]
    longest_pause: float = 60.0
    _tasks: dict[ThreadKey, asyncio.Task[None]] = field(default_factory=dict[ThreadKey, "asyncio.Task[None]"])
    _again: set[ThreadKey] = field(default_factory=set[ThreadKey])
    _timers: dict[ThreadKey, asyncio.TimerHandle] = field(default_factory=dict[ThreadKey, asyncio.TimerHandle])
    _running: bool = False

    def wake(self, thread: ThreadKey) -> None:
        if not self._running:
            return
        if (timer := self._timers.pop(thread, None)) is not None:
            timer.cancel()
        if thread in self._tasks:
            self._again.add(thread)
            self.interrupt(thread)
            return
        task = asyncio.get_running_loop().create_task(self._work(thread), name=f"thread {thread}")
        self._tasks[thread] = task
        task.add_done_callback(lambda _: self._finished(thread))

    async def start(self, threads: Iterable[ThreadKey]) -> None:
        self._running = True
        for thread in threads:
            self.wake(thread)

    async def stop(self, grace: float) -> None:
        self._running = False
        for timer in self._timers.values():
            timer.cancel()
        tasks = list(self._tasks.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:  # a change that is under way is seen through, but not for longer than this
            await asyncio.wait(late, timeout=LAST_WAIT)

    @property
    def busy(self) -> int:
        """How many threads are being worked on."""
        return len(self._tasks)

    async def _work(self, thread: ThreadKey) -> None:
        failures = 0
        while self._running:
            self._again.discard(thread)
            try:
                until = await self.advance(thread, failures)
            except Exception:
                failures += 1
                pause = min(self.longest_pause, 0.5 * 2**failures)
                structlog.get_logger().exception(
                    "work on a thread failed", action="advance_failed", thread=thread, failures=failures, again_in=pause
                )
                await asyncio.sleep(pause)
                continue
            failures = 0
            if thread not in self._again:
                self._come_back(thread, until)
                return

    def _come_back(self, thread: ThreadKey, until: float | None) -> None:
        if until is not None and self._running:
            delay = max(0.0, until - self.clock())
            self._timers[thread] = asyncio.get_running_loop().call_later(delay, self._due, thread)

    def _due(self, thread: ThreadKey) -> None:
        self._timers.pop(thread, None)
        self.wake(thread)

    def _finished(self, thread: ThreadKey) -> None:
        self._tasks.pop(thread, None)
        if thread in self._again:
            self._again.discard(thread)
            self.wake(thread)

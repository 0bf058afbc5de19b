"""Slack's limits, kept before Slack has to enforce them.

Limits are for each method (posts: for each channel too) and count for all threads together. Who
waits is served by priority: answers before approvals before progress, and progress never takes the
last places of a window.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count


class Priority(IntEnum):
    ANSWER = 0
    APPROVAL = 1
    OTHER = 2
    PROGRESS = 3


@dataclass(frozen=True, slots=True)
class Rate:
    """``calls`` in any window of ``seconds``; ``reserved`` of them are not for progress."""

    calls: int
    seconds: float
    reserved: int = 0


# From Slack's method pages (platform facts of November 2026), each a little below the documented limit.
RATES = {
    "chat.update": Rate(45, 60, reserved=15),
    "chat.postMessage": Rate(240, 60),
    "chat.postMessage:channel": Rate(4, 4.4),
    "chat.postEphemeral": Rate(90, 60),
    "chat.getPermalink": Rate(180, 60),
    "reactions.add": Rate(45, 60),
    "reactions.remove": Rate(18, 60),
    "conversations.replies": Rate(45, 60),
    "conversations.history": Rate(45, 60),
    "conversations.info": Rate(45, 60),
    "conversations.list": Rate(18, 60),
    "conversations.members": Rate(90, 60),
    "conversations.open": Rate(45, 60),
    "users.conversations": Rate(45, 60),
    "users.info": Rate(90, 60),
    "users.list": Rate(18, 60),
    "views.open": Rate(90, 60),
    "views.publish": Rate(90, 60),
}
DEFAULT = Rate(18, 60)


@dataclass(slots=True)
class _Lane:
    """One method (or one method in one channel): what was used, and who waits."""

    rate: Rate
    used: deque[float] = field(default_factory=deque[float])
    blocked_until: float = 0.0
    waiting: list[tuple[int, int, asyncio.Future[None]]] = field(
        default_factory=list[tuple[int, int, "asyncio.Future[None]"]]
    )
    timer: asyncio.TimerHandle | None = None

    def free_at(self, now: float, priority: int) -> float:
        """The moment at which a call of this priority may be made."""
        while self.used and self.used[0] <= now - self.rate.seconds:
            self.used.popleft()
        places = self.rate.calls - (self.rate.reserved if priority == Priority.PROGRESS else 0)
        over = len(self.used) - places
        free = now if over < 0 else self.used[over] + self.rate.seconds
        return max(free, self.blocked_until)


@dataclass(slots=True)
class Pacer:
    """``clock`` in seconds, monotonic."""

    clock: Callable[[], float]
    rates: dict[str, Rate] = field(default_factory=lambda: dict(RATES))
    _lanes: dict[str, _Lane] = field(default_factory=dict[str, _Lane])
    _order: count[int] = field(default_factory=count)

    async def turn(self, method: str, channel: str = "", priority: Priority = Priority.OTHER) -> None:
        """Wait until this call may be made."""
        if channel and f"{method}:channel" in self.rates:
            await self._wait(self._lane(f"{method}:channel", channel), priority)
        await self._wait(self._lane(method), priority)

    def block(self, method: str, seconds: float, channel: str = "") -> None:
        """Slack said to wait: nobody calls this method before."""
        lane = self._lane(f"{method}:channel", channel) if f"{method}:channel" in self.rates else self._lane(method)
        lane.blocked_until = max(lane.blocked_until, self.clock() + seconds)

    def wait_for(self, method: str) -> float:
        """Seconds until the next call of this method could be made."""
        now = self.clock()
        return max(0.0, self._lane(method).free_at(now, Priority.OTHER) - now)

    def _lane(self, name: str, channel: str = "") -> _Lane:
        key = f"{name}:{channel}"
        if (lane := self._lanes.get(key)) is None:
            lane = self._lanes[key] = _Lane(self.rates.get(name, DEFAULT))
        return lane

    async def _wait(self, lane: _Lane, priority: Priority) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(lane.waiting, (priority, next(self._order), future))
        self._serve(lane)
        await future

    def _serve(self, lane: _Lane) -> None:
        if lane.timer is not None:
            lane.timer.cancel()
            lane.timer = None
        while lane.waiting:
            priority, _, future = lane.waiting[0]
            if future.cancelled():
                heapq.heappop(lane.waiting)
                continue
            now = self.clock()
            free = lane.free_at(now, priority)
            if free > now:
                lane.timer = asyncio.get_running_loop().call_later(free - now + 0.005, self._serve, lane)
                return
            heapq.heappop(lane.waiting)
            lane.used.append(now)
            future.set_result(None)

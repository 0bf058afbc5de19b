"""Edits of messages that change often: the latest one wins, no faster than people (and Slack) like it.

Whatever comes in between is dropped; the last edit always lands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.slack.gateway import Gateway, Limited, Lost, Refused
from bot.slack.ids import spot
from bot.slack.pacer import Priority
from memory.types import MessageId

INTERVAL = 1.1
"""Seconds between two edits of one message."""

Content = dict[str, Any]


@dataclass(slots=True)
class _Slot:
    """One message: what it should show, and the task that makes it so."""

    wanted: Callable[[], Content] | None = None
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    priority: Priority = Priority.PROGRESS
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class Editor:
    """Content is made at the moment it is sent, so that it shows the time of then."""

    gateway: Gateway
    interval: float = INTERVAL
    _slots: dict[MessageId, _Slot] = field(default_factory=dict[MessageId, _Slot])

    def soon(self, message: MessageId, content: Callable[[], Content]) -> None:
        """Show this when the limits allow it, unless something newer comes first."""
        self._want(message, content)

    async def now(
        self, message: MessageId, content: Callable[[], Content], priority: Priority = Priority.APPROVAL
    ) -> None:
        """Show this, before all that is only progress, and return when it is shown or Slack will not have it."""
        slot = self._want(message, content)
        slot.priority = min(slot.priority, priority)
        slot.hurry.set()
        assert slot.task is not None
        await asyncio.shield(slot.task)

    async def settle(self) -> None:
        """Wait until everything that was asked for is shown."""
        while tasks := [slot.task for slot in self._slots.values() if slot.task is not None]:
            await asyncio.wait(tasks)

    def _want(self, message: MessageId, content: Callable[[], Content]) -> _Slot:
        slot = self._slots.setdefault(message, _Slot())
        slot.wanted = content
        if slot.task is None:
            slot.task = asyncio.create_task(self._run(message, slot))
        return slot

    async def _run(self, message: MessageId, slot: _Slot) -> None:
        try:
            while slot.wanted is not None:
                await self._send(message, slot)
                await _unless_hurried(slot, asyncio.sleep(self.interval))
        finally:
            self._slots.pop(message, None)

    async def _send(self, message: MessageId, slot: _Slot) -> None:
        place, pacer = spot(message), self.gateway.pacer
        # The place in the line is waited for first, so that what is sent is the newest that there is by then.
        if not await _unless_hurried(slot, pacer.turn("chat.update", place.channel, Priority.PROGRESS)):
            await pacer.turn("chat.update", place.channel, slot.priority)
        content, slot.wanted = slot.wanted, None
        if content is None:
            return
        try:
            await self.gateway.once("chat.update", channel=place.channel, ts=place.ts, **content())
        except Refused as error:
            structlog.get_logger().warning("edit refused", action="edit_refused", why=str(error))
        except Limited:
            slot.wanted = slot.wanted or content
        except Lost:
            slot.wanted = slot.wanted or content  # an edit may be sent twice
            await self.gateway.sleep(self.interval)  # also in a hurry: Slack is failing


async def _unless_hurried(slot: _Slot, wait: Coroutine[None, None, None]) -> bool:
    """Whether ``wait`` came to its end before somebody was in a hurry."""
    waiting, hurried = asyncio.ensure_future(wait), asyncio.ensure_future(slot.hurry.wait())
    try:
        await asyncio.wait({waiting, hurried}, return_when=asyncio.FIRST_COMPLETED)
        return waiting.done()
    finally:
        waiting.cancel()
        hurried.cancel()

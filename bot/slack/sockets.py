"""Socket Mode connections under watch: one that has gone deaf is noticed, said, and replaced.

The SDK reconnects by itself in most cases. Not in all: after a failed attempt it goes on with an
address that Slack honours only once, and a new socket counts as well before anything was heard on it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler

PING = 5.0
"""Seconds between two signs of life on a socket."""
SILENT = 2.5
"""Intervals without an answer after which a socket counts as deaf."""
PATIENCE = 4
"""Intervals for which a deaf socket may mend itself before it is replaced."""


@dataclass(slots=True)
class _Line:
    handler: AsyncSocketModeHandler
    connecting: asyncio.Task[None]
    greeted: object = None
    """The session on which Slack said hello."""
    deaf_since: float | None = None

    def hears(self, silent: float) -> bool:
        client = self.handler.client
        if client.stale or client.current_session is None or client.current_session.closed:
            return False
        answered = client.last_ping_pong_time
        return self.greeted is client.current_session and (answered is None or time.time() - answered < silent)


@dataclass(slots=True)
class Sockets:
    """``make`` gives an unconnected handler that pings every ``ping_interval`` seconds."""

    make: Callable[[], AsyncSocketModeHandler]
    count: int
    ping_interval: float = PING
    _lines: list[_Line] = field(default_factory=list[_Line])
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _watch: asyncio.Task[None] | None = None
    _closing: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def open(self) -> None:
        """Connect, and return when Slack has greeted us on every socket."""
        self._lines = [self._line() for _ in range(self.count)]
        self._watch = asyncio.create_task(self._keep())
        while self.deaf:
            self._news.clear()
            await self._news.wait()

    @property
    def deaf(self) -> int:
        """How many sockets hear nothing now."""
        return sum(not line.hears(SILENT * self.ping_interval) for line in self._lines)

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await asyncio.gather(*self._closing, *(_close(line) for line in self._lines))

    def _line(self) -> _Line:
        handler = self.make()
        connecting = asyncio.create_task(_connect(handler))
        line = _Line(handler, connecting)

        async def greeted(_: Any) -> None:
            line.greeted = handler.client.current_session
            self._news.set()

        handler.client.on_message_listeners.append(greeted)
        return line

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self.ping_interval)
            now = time.monotonic()
            for index, line in enumerate(self._lines):
                if line.hears(SILENT * self.ping_interval):
                    line.deaf_since = None
                    continue
                line.deaf_since = line.deaf_since or now
                if now - line.deaf_since > PATIENCE * self.ping_interval:
                    structlog.get_logger().warning("a socket hears nothing: replaced", action="socket_replaced")
                    self._lines[index] = self._line()
                    closing = asyncio.create_task(_close(line))
                    self._closing.add(closing)
                    closing.add_done_callback(self._closing.discard)


async def _connect(handler: AsyncSocketModeHandler) -> None:
    await handler.connect_async()  # pyright: ignore[reportUnknownMemberType] - untyped in Bolt


async def _close(line: _Line) -> None:
    """Hang up, whether the other side answers or not."""
    client: Any = line.handler.client  # its futures have no types
    line.connecting.cancel()
    with suppress(Exception):  # nothing is expected of a dead one
        await asyncio.wait_for(line.handler.close_async(), timeout=2)
    for task in (client.message_processor, client.current_session_monitor, client.message_receiver):
        if task is not None:
            task.cancel()
    await client.aiohttp_client_session.close()

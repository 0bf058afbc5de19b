"""A served workspace, and a real Bolt app connected to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.server import Running, serve
from bot.demo.values import Timing
from bot.demo.workspace import Workspace

GENERAL = "C0GENERAL1"
Client = Any
"""The real AsyncWebClient: its package types methods and answers only in part."""


@dataclass(slots=True)
class Bot:
    """A Bolt app that keeps every event it gets."""

    client: Client
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def events(self, kind: str, subtype: str | None = None) -> list[dict[str, Any]]:
        events = [body["event"] for body in self.bodies if "event" in body]
        return [event for event in events if event["type"] == kind and event.get("subtype") == subtype]

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(5):
            while not holds():
                self.arrived.clear()
                await self.arrived.wait()

    async def one(self, kind: str, subtype: str | None = None) -> dict[str, Any]:
        """The only event of a kind, once it is there."""
        await self.until(lambda: self.events(kind, subtype))
        (event,) = self.events(kind, subtype)
        return event


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    served = await serve(Workspace(timing=Timing(ack=3, retries=(5, 5, 5))))
    yield served
    await served.close()


@pytest.fixture
def client(running: Running) -> Client:
    # Without retries of its own, so that a test sees what the server did.
    return AsyncWebClient(token=running.workspace.bot_token, base_url=running.api_url, retry_handlers=[])


def no_listeners(_: Any) -> None: ...


@asynccontextmanager
async def connected(
    running: Running,
    setup: Callable[[Any], None] = no_listeners,
    *,
    kinds: tuple[str, ...] = ("message", "app_mention", "reaction_added", "reaction_removed", "app_home_opened"),
) -> AsyncGenerator[Bot]:
    """A Bolt app on one socket that listens to the kinds of events; Slack is told nothing about all others."""
    client = AsyncWebClient(token=running.workspace.bot_token, base_url=running.api_url, retry_handlers=[])
    app: Any = AsyncApp(client=client, ignoring_self_events_enabled=False)
    handler = AsyncSocketModeHandler(app, running.workspace.app_token, ping_interval=0.1)
    bot = Bot(client)

    async def keep(body: dict[str, Any], next: Callable[[], Awaitable[None]]) -> None:
        bot.bodies.append(body)
        bot.arrived.set()
        await next()

    async def ignore() -> None: ...

    app.middleware(keep)
    setup(app)
    for kind in kinds:
        app.event({"type": kind})(ignore)
    before = running.socket.count
    await handler.connect_async()
    try:
        await running.workspace.until(lambda: running.socket.count > before)
        yield bot
    finally:
        await handler.close_async()


@pytest.fixture
async def bot(running: Running) -> AsyncIterator[Bot]:
    async with connected(running) as one:
        yield one

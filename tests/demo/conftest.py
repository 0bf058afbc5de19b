"""A served workspace, and a real Bolt app connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
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


@dataclass(slots=True)
class Bot:
    """A Bolt app that keeps every event it gets."""

    client: AsyncWebClient
    app: AsyncApp
    handler: AsyncSocketModeHandler
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def events(self, kind: str, subtype: str | None = None) -> list[dict[str, Any]]:
        events = [body["event"] for body in self.bodies]
        return [event for event in events if event["type"] == kind and event.get("subtype") == subtype]


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    served = await serve(Workspace(timing=Timing(ack=3, retries=(0.05, 0.05, 0.05))))
    yield served
    await served.close()


@pytest.fixture
def client(running: Running) -> AsyncWebClient:
    # Without retries of its own, so that a test sees what the server did.
    return AsyncWebClient(token=running.workspace.bot_token, base_url=running.api_url, retry_handlers=[])


@asynccontextmanager
async def connected(running: Running, client: AsyncWebClient, setup: Callable[[AsyncApp], None]) -> AsyncIterator[Bot]:
    app = AsyncApp(client=client, ignoring_self_events_enabled=False, process_before_response=True)
    bot = Bot(client, app, AsyncSocketModeHandler(app, running.workspace.app_token))
    bot.handler.client.web_client = AsyncWebClient(base_url=running.api_url)

    @app.middleware
    async def keep(body: dict[str, Any], next: Callable[[], Awaitable[None]]) -> None:  # noqa: A002 - Bolt's name
        bot.bodies.append(body)
        await next()

    setup(app)

    @app.event({"type": "message"})
    @app.event({"type": "app_mention"})
    @app.event({"type": "reaction_added"})
    @app.event({"type": "reaction_removed"})
    @app.event({"type": "app_home_opened"})
    async def ignore() -> None: ...

    await bot.handler.connect_async()
    await running.workspace.until(lambda: running.socket.online) if not running.socket.online else None
    yield bot
    await bot.handler.close_async()


@pytest.fixture
async def bot(running: Running, client: AsyncWebClient) -> AsyncIterator[Bot]:
    async with connected(running, client, lambda _: None) as one:
        yield one

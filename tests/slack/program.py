"""The composed program without its turns: the door, its sockets or its address, and the operators' page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bot.app import Parts, build, listen
from bot.clients import identify, slack_client
from bot.config import Settings
from bot.demo.server import Running
from bot.slack.sockets import Sockets
from memory.db import Database
from memory.inbox import Inbound
from memory.types import ThreadKey

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@dataclass(frozen=True, slots=True)
class Program:
    parts: Parts
    sockets: Sockets
    url: str
    http: aiohttp.ClientSession
    arrived: asyncio.Event

    async def until_heard(self, *threads: ThreadKey) -> None:
        """Return when each of these threads has exactly one row. Raises ``TimeoutError``."""
        async with asyncio.timeout(8):
            while True:
                self.arrived.clear()  # before looking: what arrives meanwhile must not be missed
                if [len(await self.rows(thread)) for thread in threads] == [1] * len(threads):
                    return
                await self.arrived.wait()

    async def rows(self, thread: ThreadKey) -> list[Inbound]:
        return [waiting.inbound for waiting in await self.parts.inbox.waiting(thread)]

    async def health(self) -> tuple[int, str]:
        """Status of /healthz, and what it says about Slack."""
        async with self.http.get(f"{self.url}healthz") as answer:
            found: dict[str, Any] = await answer.json()
            return answer.status, str(found["slack"])


@asynccontextmanager
async def program(running: Running, folder: Path, *, ping: float = 0.2, **more: object) -> AsyncGenerator[Program]:
    values: dict[str, object] = {
        "SLACK_BOT_TOKEN": running.workspace.bot_token,
        "SLACK_API_URL": running.api_url,
        "data_dir": folder,
        "http_port": 0,
        "model": "scripted",
    }
    settings = Settings.model_validate(values | more)
    async with AsyncExitStack() as stack:
        database = Database(settings.database)
        stack.callback(database.close)
        client = slack_client(settings)
        parts = build(settings, database, client, await identify(client))
        arrived = asyncio.Event()
        parts.door.wake = lambda _: arrived.set()
        web, sockets = await listen(settings, parts, stack, ping)
        http = await stack.enter_async_context(aiohttp.ClientSession())
        await sockets.open()
        stack.push_async_callback(sockets.close)
        port = web.servers[0].sockets[0].getsockname()[1]
        yield Program(parts, sockets, f"http://127.0.0.1:{port}/", http, arrived)

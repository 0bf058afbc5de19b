"""The demo as its visitors meet it: the command as a process, and the page's own interface."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import aiohttp

ANA, WEI, BOT = "U0ANA00001", "U0WEI00001", "U0BOBBIN01"
GENERAL, NEWS = "C0GENERAL1", "C0NEWS0001"
Json = dict[str, Any]


@dataclass(slots=True)
class Demo:
    """A running ``python -m bot demo``. ``said`` is what it printed so far."""

    process: asyncio.subprocess.Process
    said: str = ""

    async def url(self) -> str:
        """The page's address, once it is printed with all that stands below it."""
        await self.read_until("Ctrl-C")
        found = re.search(r"http://127\.0\.0\.1:\d+/", self.said)
        assert found is not None
        return found[0]

    async def read_until(self, words: str) -> None:
        """Read what it prints until a line holds these words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while words not in self.said and (line := (await self.process.stdout.readline()).decode()):
                self.said += line
        assert words in self.said

    async def end(self) -> tuple[int, str]:
        """Ctrl-C; returns the exit code and all that was printed."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)
        return await self.ended()

    async def ended(self) -> tuple[int, str]:
        """The same for one that ends by itself."""
        rest, _ = await asyncio.wait_for(self.process.communicate(), 60)
        self.said += rest.decode()
        return self.process.returncode or 0, self.said


def clean_environment(**more: str) -> dict[str, str]:
    """Our environment without settings of the product."""
    names = ("SLACK_", "BOBBIN_", "ANTHROPIC_")
    return {name: value for name, value in os.environ.items() if not name.startswith(names)} | more


@asynccontextmanager
async def demo(*arguments: str, **environment: str) -> AsyncGenerator[Demo]:
    """The command on a free port, ended with Ctrl-C."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "demo", "--port", "0", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=clean_environment(**environment),
    )
    running = Demo(process)
    try:
        yield running
    finally:
        await running.end()


@dataclass(slots=True)
class Visitor:
    """Somebody at the page: sees every change, acts as any of its people."""

    url: str
    session: aiohttp.ClientSession
    messages: dict[str, Json] = field(default_factory=dict[str, Json])
    online: bool = False
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def watch(self) -> None:
        async with self.session.get(f"{self.url}demo/changes") as response:
            async for line in response.content:
                if line.startswith(b"data: "):
                    self._take(json.loads(line[6:]))
                    self._arrived.set()

    def _take(self, change: Json) -> None:
        match change:
            case {"kind": "snapshot", "messages": messages, "online": online}:
                self.messages = {message["ts"]: message for message in cast("list[Json]", messages)}
                self.online = online
            case {"kind": "message", "message": message}:
                self.messages[message["ts"]] = message
            case {"kind": "bot", "online": online}:
                self.online = online
            case _:
                pass

    async def act(self, kind: str, person: str = ANA, **more: str) -> None:
        async with self.session.post(f"{self.url}demo/act", json={"kind": kind, "person": person, **more}) as response:
            assert response.status == 200, await response.text()

    async def say(self, text: str, channel: str = GENERAL, person: str = ANA, thread_ts: str = "") -> str:
        """Returns the message's ts once the page shows it."""
        before = set(self.messages)
        await self.act("say", person, channel=channel, text=text, thread_ts=thread_ts)
        said = await self.until(
            lambda: [m for m in self.messages.values() if m["ts"] not in before and m["user"] == person]
        )
        return str(said[0]["ts"])

    async def until(self, found: Callable[[], Any], seconds: float = 60) -> Any:
        """What ``found`` returns as soon as that is something."""
        async with asyncio.timeout(seconds):
            while not (value := found()):
                self._arrived.clear()
                await self._arrived.wait()
        return value

    def posts(self, thread: str) -> list[Json]:
        """The bot's messages in a thread, oldest first."""
        own = [m for m in self.messages.values() if m.get("thread_ts") == thread and m["user"] == BOT]
        return sorted(own, key=lambda message: str(message["ts"]))

    def answers(self, thread: str) -> list[str]:
        """The Markdown of the bot's answers in a thread; its card has none."""
        blocks = [block for message in self.posts(thread) for block in blocks_of(message)]
        return [str(block["text"]) for block in blocks if block["type"] == "markdown"]

    def card(self, thread: str) -> str:
        """All words of the first message of the bot in a thread, as the page shows them now."""
        posts = self.posts(thread)
        return json.dumps(posts[0]["blocks"], ensure_ascii=False) if posts else ""


def blocks_of(message: Json) -> list[Json]:
    return cast("list[Json]", message.get("blocks") or [])


@asynccontextmanager
async def visiting(url: str) -> AsyncGenerator[Visitor]:
    async with aiohttp.ClientSession() as session:
        visitor = Visitor(url, session)
        watching = asyncio.create_task(visitor.watch())
        try:
            await visitor.until(lambda: visitor.online)
            yield visitor
        finally:
            watching.cancel()
            await asyncio.wait({watching})

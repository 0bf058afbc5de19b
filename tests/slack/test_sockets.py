"""Socket Mode over failing networks: nothing is lost, and a socket that hears nothing is noticed and replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.demo.server import Running
from bot.demo.values import TEAM, Timing
from bot.demo.workspace import ANA
from bot.slack.ids import Spot
from memory.types import ThreadKey
from tests.slack.parts import GENERAL
from tests.slack.program import Program, program


@dataclass(slots=True)
class Wire:
    """A network between the program and Slack's websockets that can fall silent without hanging up.

    Silent, it still lets a new websocket be opened, as a server does that has lost what is behind it.
    """

    target: int
    silent: bool = False
    spoilt: int = 0
    """How many of the next connections reach Slack, but not back: their address is used up."""
    _pumps: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self.target)
        if self.spoilt:
            self.spoilt -= 1
            there[1].write(await reader.readuntil(b"\r\n\r\n"))
            await there[0].readuntil(b"\r\n\r\n")
            there[1].close()
            writer.close()
            return
        for source, sink in ((reader, there[1]), (there[0], writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(_greeting(data) if self.silent else data)
                await writer.drain()
        writer.close()

    async def close(self) -> None:
        pumps = list(self._pumps)
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


def _greeting(data: bytes) -> bytes:
    """The part of the data that opens a websocket."""
    return data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if data.startswith((b"GET ", b"HTTP/1.1 101")) else b""


@asynccontextmanager
async def wired(running: Running) -> AsyncGenerator[Wire]:
    """Websockets go over the wire; the Web API does not."""
    wire = Wire(running.port)
    server = await asyncio.start_server(wire.carry, "127.0.0.1", 0)
    running.workspace.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        server.close()
        await wire.close()


@pytest.fixture
async def wire(running: Running) -> AsyncIterator[Wire]:
    async with wired(running) as one:
        yield one


@pytest.fixture
async def connected(running: Running, wire: Wire, tmp_path: Path) -> AsyncIterator[Program]:
    running.workspace.timing = Timing(ack=0.5, retries=(0.3,) * 40)
    async with program(running, tmp_path, ping=0.1, SLACK_APP_TOKEN=running.workspace.app_token, sockets=2) as one:
        yield one


def say(running: Running, words: str = "@Bobbin hello") -> ThreadKey:
    return Spot(TEAM, GENERAL, running.workspace.say(ANA, GENERAL, words).ts).thread


async def until_health(to: Program, status: int) -> str:
    """Ask the operators' page until it answers so; returns what it says about Slack."""
    async with asyncio.timeout(6):
        while True:
            found, slack = await to.health()
            if found == status:
                return slack


async def test_two_sockets_share_the_events_and_both_count(running: Running, connected: Program) -> None:
    assert (running.socket.count, await connected.health()) == (2, (200, "ok"))
    await connected.until_heard(*[say(running) for _ in range(4)])


async def test_a_refresh_loses_nothing(running: Running, connected: Program) -> None:
    threads = [say(running)]
    await running.socket.refresh()
    threads += [say(running) for _ in range(4)]
    await connected.until_heard(*threads)
    await until_health(connected, 200)


async def test_a_drop_loses_nothing(running: Running, connected: Program) -> None:
    threads = [say(running)]
    running.socket.drop()
    threads += [say(running) for _ in range(4)]
    await connected.until_heard(*threads)
    await until_health(connected, 200)


async def test_silence_is_said_and_ends(running: Running, connected: Program, wire: Wire) -> None:
    """TCP stays, nothing comes: also new sockets hear nothing until the network is back."""
    wire.silent = True
    assert await until_health(connected, 503) in {"1 of 2 sockets hear nothing", "2 of 2 sockets hear nothing"}
    thread = say(running)
    for _ in range(20):
        await asyncio.sleep(0.05)
        assert (await connected.health())[0] == 503
    wire.silent = False
    await connected.until_heard(thread)
    assert await until_health(connected, 200) == "ok"


async def test_an_address_that_is_used_up_is_not_tried_for_ever(
    running: Running, connected: Program, wire: Wire
) -> None:
    """Slack takes each address once: who fails on the way must ask for another one."""
    wire.spoilt = 2
    running.socket.drop()
    await connected.until_heard(say(running))
    assert await until_health(connected, 200) == "ok"


async def test_a_start_that_meets_a_failing_network_gets_through(running: Running, wire: Wire, tmp_path: Path) -> None:
    wire.spoilt = 1
    token = running.workspace.app_token
    async with (
        asyncio.timeout(6),
        program(running, tmp_path, ping=0.1, SLACK_APP_TOKEN=token, sockets=1) as one,
    ):
        await one.until_heard(say(running))

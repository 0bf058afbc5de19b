"""The bot in a process of its own, with real sockets: how fast it acknowledges, shows itself, and comes back."""

from __future__ import annotations

import asyncio
import os
import time
import urllib.request
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.figures import Figure, percentile
from bench.processes import end, memory_figure, start_bot
from bot.demo.server import Running, serve
from bot.demo.socket import NotAcknowledged
from bot.demo.values import BOT_USER, Channel, Json
from bot.demo.workspace import ANA, Workspace

SECONDS = float(os.environ.get("BENCH_SECONDS", "30"))
RATE = 20
"""Events a second, mentions with their twins among them."""
MENTIONS = 20
"""Every so many messages one mentions the bot: a turn a second, as much as Slack's limits for posts allow."""
CHANNELS = 12
IDLE_SECONDS = 2.0


@dataclass(slots=True)
class Watch:
    """Seconds from each event to its ack, and from each mention to the card in its thread."""

    running: Running
    acks: list[float] = field(default_factory=list[float])
    cards: dict[str, float] = field(default_factory=dict[str, float])
    answered: set[str] = field(default_factory=set[str])
    lost: int = 0
    _said: dict[str, float] = field(default_factory=dict[str, float])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def begin(self) -> None:
        """Stand between the workspace and its sockets."""
        workspace = self.running.workspace
        workspace.on_event.remove(self.running.socket.deliver)
        workspace.on_event.append(self._deliver)
        workspace.on_change.append(self._changed)

    def say(self, channel: str, text: str, thread: str | None = None) -> str:
        began = time.perf_counter()
        message = self.running.workspace.say(ANA, channel, text, thread)
        self._said[message.ts] = began
        return message.ts

    def _deliver(self, payload: Json) -> None:
        task = asyncio.get_running_loop().create_task(self._timed(payload))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _timed(self, payload: Json) -> None:
        began = time.perf_counter()
        try:
            await self.running.socket.send("events_api", payload)
        except NotAcknowledged:
            self.lost += 1
        else:
            self.acks.append(time.perf_counter() - began)

    def _changed(self, change: Json) -> None:
        if change["kind"] != "message":
            return
        shown: Any = change["message"]
        message = self.running.workspace.message(shown["channel"], shown["ts"])
        metadata: Any = message.metadata or {}
        kind, root = metadata.get("event_payload", {}).get("kind"), message.thread_ts or ""
        if kind == "card" and root in self._said:
            self.cards.setdefault(root, time.perf_counter() - self._said[root])
        elif kind == "answer":
            self.answered.add(root)


async def measure(model_url: str) -> list[Figure]:
    """All figures of the running bot. ``model_url`` is that of the fake model."""
    workspace = Workspace()
    for number in range(CHANNELS):
        workspace.put_channel(Channel(f"C0BENCH{number:03}", f"bench-{number}", members=(ANA, BOT_USER)))
    running = await serve(workspace)
    watch = Watch(running)
    watch.begin()
    with TemporaryDirectory() as place:
        folder = Path(place)
        settings = _settings(running, model_url, folder)
        bot = await start_bot(folder, settings)
        try:
            await asyncio.sleep(IDLE_SECONDS)
            first = memory_figure(bot, "resident memory, idle, the first start", 130.0, "has made the database")
            await end(bot)
            began = time.perf_counter()
            bot = await start_bot(folder, settings)
            ready = Figure("start to ready", time.perf_counter() - began, "s")
            await asyncio.sleep(IDLE_SECONDS)
            idle = memory_figure(bot, "resident memory, idle, any later start", 130.0)
            traffic = await _traffic(watch)
            used = memory_figure(bot, "resident memory after the turns", 130.0)
            bot, resumed = await _kill_and_resume(watch, bot, lambda: start_bot(folder, settings), model_url)
        finally:
            await end(bot)
            await running.close()
    return [*traffic, ready, first, idle, used, resumed]


def _settings(running: Running, model_url: str, folder: Path) -> dict[str, str]:
    return {
        "SLACK_API_URL": running.api_url,
        "SLACK_BOT_TOKEN": running.workspace.bot_token,
        "SLACK_APP_TOKEN": running.workspace.app_token,
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "none",
        "BOBBIN_DATA_DIR": str(folder / "data"),
        "BOBBIN_HTTP_PORT": "0",
        "BOBBIN_LOG_LEVEL": "warning",
    }


async def _traffic(watch: Watch) -> list[Figure]:
    """Talk, replies and mentions at a steady pace, each mention a turn of three calls at half a second each."""
    roots, began = list[str](), time.perf_counter()
    for number in range(int(SECONDS * RATE)):
        await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
        channel = f"C0BENCH{(number // MENTIONS) % CHANNELS:03}"
        if number % MENTIONS == 0:
            roots.append(watch.say(channel, "@Bobbin steps=3 delay=0.5"))
        elif number % MENTIONS != 1:  # the twin of the mention is an event of its own
            watch.say(channel, f"talk {number}", roots[0] if number % 3 == 0 and channel == "C0BENCH000" else None)
    elapsed = time.perf_counter() - began
    acks = list(watch.acks)
    async with asyncio.timeout(60):
        while not watch.answered >= set(roots):
            await asyncio.sleep(0.1)
    cards = list(watch.cards.values())
    note = f"{len(acks)} events, {len(roots)} turns; median {median(acks) * 1e3:.1f} ms; {watch.lost} not acknowledged"
    return [
        Figure("ack, 99th percentile", percentile(acks, 0.99) * 1e3, "ms", 100.0, note=note),
        Figure("events a second, the bot's own messages too", len(acks) / elapsed, "events/s", RATE, more=True),
        Figure(
            "first card, 95th percentile",
            percentile(cards, 0.95) * 1e3,
            "ms",
            300.0,
            note=f"from the event; median {median(cards) * 1e3:.0f} ms, slowest {max(cards) * 1e3:.0f} ms",
        ),
    ]


async def _kill_and_resume(
    watch: Watch, bot: Process, restart: Callable[[], Any], model_url: str
) -> tuple[Process, Figure]:
    """SIGKILL in the middle of a turn; the clock runs until the model is asked the next question."""
    root = watch.say("C0GENERAL1", "@Bobbin steps=8 delay=0.3")
    before = await _asked(model_url)
    while await _asked(model_url) < before + 3:
        await asyncio.sleep(0.02)
    await end(bot, kill=True)
    began, before = time.perf_counter(), await _asked(model_url)
    starting = asyncio.ensure_future(restart())
    while await _asked(model_url) == before and not starting.done():
        await asyncio.sleep(0.02)
    while await _asked(model_url) == before:
        await asyncio.sleep(0.02)
    elapsed = time.perf_counter() - began
    bot = await starting
    async with asyncio.timeout(60):
        while root not in watch.answered:
            await asyncio.sleep(0.05)
    return bot, Figure("kill -9 to the next question of the turn", elapsed, "s", 3.0, note="with the start of Python")


async def _asked(model_url: str) -> int:
    """How many questions the fake model was asked."""

    def read() -> int:
        with urllib.request.urlopen(f"{model_url}/requests", timeout=10) as response:
            return int(response.read())

    return await asyncio.to_thread(read)

"""The real bot as a process of its own, between a workspace and a provider that run in the test."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from bot.demo import wire
from bot.demo.server import Running, serve
from bot.demo.values import BOT_USER, Channel, Message, Person
from bot.demo.workspace import ANA, WEI, Workspace
from tests.e2e.nursery import hatch
from tests.fake_claude import FakeClaude, fake_claude, text

EVA = "U0EVA00001"
ALERTS = "U0ALERTS01"
_NUMBERS = count(1)


def kind(message: Message) -> str:
    """card, answer, approval or notice; empty for what the bot's tools post."""
    payload: Any = (message.metadata or {}).get("event_payload") or {}
    return str(payload.get("kind", ""))


def seen(message: Message) -> str:
    """All that a person reads of a message."""
    blocks = json.dumps(message.blocks, ensure_ascii=False).encode().decode("unicode_escape", "ignore")
    return f"{message.text}\n{json.dumps(message.blocks, ensure_ascii=False)}\n{blocks}"


@dataclass(slots=True)
class Thread:
    """One thread that somebody began."""

    town: Town
    channel: str
    ts: str

    @property
    def messages(self) -> list[Message]:
        """What the bot wrote here, ephemeral messages aside, oldest first."""
        return [m for m in self.town.workspace.messages(self.channel) if self._here(m) and m.by_app and not m.seen_by]

    @property
    def whispers(self) -> list[Message]:
        return [m for m in self.town.workspace.messages(self.channel) if self._here(m) and m.seen_by]

    def _here(self, message: Message) -> bool:
        return message.thread_ts == self.ts

    def of(self, wanted: str) -> list[Message]:
        return [message for message in self.messages if kind(message) == wanted]

    def saying(self, words: str) -> list[Message]:
        """Answers and notices that hold these words."""
        return [m for m in self.messages if kind(m) in {"answer", "notice"} and words in seen(m)]

    async def says(self, words: str, seconds: float = 40) -> Message:
        """Wait for an answer or notice with these words."""
        await self.town.until(lambda: self.saying(words), f"{words!r} in {self.ts}", seconds)
        return self.saying(words)[-1]

    async def shows(self, wanted: str, words: str = "", seconds: float = 40) -> Message:
        """Wait for a message of this kind that shows these words."""

        def found() -> list[Message]:
            return [message for message in self.of(wanted) if words in seen(message)]

        await self.town.until(found, f"a {wanted} with {words!r} in {self.ts}", seconds)
        return found()[-1]

    async def rests(self, cards: int = 1) -> None:
        """Wait until the newest card is a quiet line."""

        def quiet() -> bool:
            shown = self.of("card")
            return len(shown) >= cards and not any("Working" in seen(card) or "处理中" in seen(card) for card in shown)

        await self.town.until(quiet, f"quiet cards in {self.ts}")

    def reply(self, words: str, person: str = ANA) -> Message:
        return self.town.workspace.say(person, self.channel, words, self.ts)

    def react(self, message: Message, name: str, person: str = ANA) -> None:
        self.town.workspace.react(person, self.channel, message.ts, name)


@dataclass(slots=True)
class Town:
    served: Running
    claude: FakeClaude
    folder: Path
    settings: dict[str, str] = field(default_factory=dict[str, str])
    process: BaseProcess | None = None

    @property
    def workspace(self) -> Workspace:
        return self.served.workspace

    @property
    def printed(self) -> str:
        return (self.folder / "out.txt").read_text()

    @property
    def log(self) -> str:
        """Everything that the processes of the bot have logged."""
        return (self.folder / "log.txt").read_text()

    # -- the bot -----------------------------------------------------------------------------------

    def environment(self, **more: str) -> dict[str, str]:
        ours = ("BOBBIN_", "SLACK_", "ANTHROPIC_")
        bare = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        bare = {name: value for name, value in bare.items() if not name.lower().endswith("_proxy")}
        own = {
            "SLACK_API_URL": self.served.api_url,
            "SLACK_BOT_TOKEN": self.workspace.bot_token,
            "SLACK_APP_TOKEN": self.workspace.app_token,
            "ANTHROPIC_BASE_URL": self.claude.url,
            "ANTHROPIC_API_KEY": "sk-ant-end-to-end-0123456789",
            "BOBBIN_DATA_DIR": str(self.folder / "data"),
            "BOBBIN_HTTP_PORT": "0",
            "BOBBIN_LOG_FORMAT": "json",
            "BOBBIN_LEARN": "false",
        }
        return bare | own | self.settings | more

    async def start(self, **more: str) -> None:
        """Start the bot and wait until it listens."""
        self.spawn(**more)
        await self.until(
            lambda: self.served.socket.count == int(more.get("BOBBIN_SOCKETS", 2)), "a bot that listens", 60
        )

    def spawn(self, **more: str) -> BaseProcess:
        self.process = hatch(self.folder, self.environment(**more))
        return self.process

    async def ended(self, seconds: float = 60) -> int:
        """Wait for the end of the bot by itself; returns its exit code."""
        assert self.process is not None
        await asyncio.to_thread(self.process.join, seconds)
        code = self.process.exitcode
        assert code is not None, f"it did not end\n{self.log[-3000:]}"
        await self.until(lambda: self.served.socket.count == 0, "closed connections")
        return code

    async def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        """End the bot; returns its exit code."""
        assert self.process is not None
        if self.process.pid is not None and self.process.exitcode is None:
            os.kill(self.process.pid, how)
        return await self.ended()

    # -- people ------------------------------------------------------------------------------------

    def channel(self, *members: str, name: str = "") -> str:
        """A channel of its own, so that no test waits for the limits of another."""
        number = next(_NUMBERS)
        made = Channel(f"C0E2E{number:05d}", name or f"room-{number}", members=members or (ANA, WEI, EVA, BOT_USER))
        return self.workspace.put_channel(made).id

    def begin(self, words: str, person: str = ANA, channel: str = "", files: tuple[str, ...] = ()) -> Thread:
        """Somebody mentions the bot in a new thread."""
        channel = channel or self.channel()
        return Thread(self, channel, self.workspace.say(person, channel, words, files=files).ts)

    async def until(self, holds: Callable[[], object], what: str, seconds: float = 40) -> None:
        try:
            await self.workspace.until(lambda: bool(holds()), seconds)
        except TimeoutError:
            raise AssertionError(f"not seen within {seconds:g} s: {what}\n{self.log[-3000:]}") from None

    async def passes(self) -> None:
        """Wait until a question that comes after everything before it is answered."""
        word = f"barrier-{next(_NUMBERS)}"
        self.claude.plan(word, text(f"{word} done"))
        await self.begin(f"@Bobbin {word}").says(f"{word} done")

    def event(self, message: Message, kind: str = "message", **more: Any) -> dict[str, Any]:
        """An event about a message as Slack would send it, with an id of its own."""
        channel = self.workspace.channels[message.channel]
        shown = self.workspace.shown(message, with_metadata=True)
        event = {**shown, "type": kind, "channel": message.channel, "event_ts": message.ts, **more}
        if kind == "message":
            event["channel_type"] = channel.kind
        return wire.event_callback(event, self.workspace.new_id("Ev"), "verification")

    async def deliver(self, payload: dict[str, Any], attempt: int = 0) -> None:
        """Deliver one event once, as the attempt of this number; returns when it is acknowledged."""
        await self.served.socket.send("events_api", payload, attempt, "timeout" if attempt else "")

    def written(self, words: str, person: str = ANA, channel: str = "", **more: Any) -> Message:
        """A message that stands in the channel although no event about it was sent."""
        channel = channel or self.channel()
        message = Message(channel, self.workspace.new_ts(), person, words, **more)
        self.workspace.put(message)
        return message


@asynccontextmanager
async def town(folder: Path, settings: dict[str, str] | None = None, *, started: bool = True) -> AsyncGenerator[Town]:
    workspace = Workspace()
    workspace.people[EVA] = replace(workspace.people[ANA], id=EVA, name="Eva", real_name="Eva Lind")
    workspace.people[ALERTS] = Person(ALERTS, "Alerts", "Alerts", is_bot=True)
    served = await serve(workspace)
    async with fake_claude() as claude:
        made = Town(served, claude, folder, settings or {})
        (folder / "log.txt").touch()
        try:
            if started:
                await made.start()
            yield made
        finally:
            if made.process is not None:
                await made.end()
            await served.close()

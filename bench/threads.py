"""One long thread of the real product over any model: words come in, tools return much, and it is shortened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import cast

from bench.loops import MODEL, UNLIMITED, Silent
from bot.agent import Agent
from bot.channel import Channel, Channels
from bot.compactor import Compactor
from bot.model import Model
from bot.prompts import SYSTEM
from bot.turns import Turns
from memory.compaction import Marks
from memory.db import Database
from memory.inbox import Inbox, Said
from memory.log import Logs, ThreadLog
from memory.spend import Spend
from memory.types import MessageId, ThreadKey
from tools.base import Arguments, Chat, Effect, Output, Tool, ToolContext, tool
from tools.history import history_tools
from tools.policy import Policy
from tools.registry import Registry

THREAD = ThreadKey("T/C/1")


class Ask(Arguments):
    q: str


class Change(Arguments):
    text: str


def tools(logs: Logs, content: Callable[[str], str]) -> Registry:
    """A tool that returns much, one that changes something, and those that read again what is kept."""

    @tool(Effect.READ)
    async def look(arguments: Ask, context: ToolContext) -> Output:
        """Read a log, a table or a page."""
        return Output(content(arguments.q), "read")

    @tool(Effect.WRITE)
    async def announce(arguments: Change, context: ToolContext) -> Output:
        """Announce something."""
        return Output("announced", "announced")

    made: list[Tool[Ask] | Tool[Change]] = [look, announce]
    return Registry([*made, *history_tools(logs.whole_result, logs.search)])


@dataclass(slots=True)
class Conversation:
    """A thread of the product without its platform."""

    database: Database
    logs: Logs
    turns: Turns
    clock: list[float]
    _said: count[int] = field(default_factory=lambda: count(1))

    @classmethod
    def over(cls, folder: Path, model: Model, content: Callable[[str], str], marks: Marks) -> Conversation:
        database, clock = Database(f"sqlite:///{folder / 'bobbin.db'}"), [1_800_000_000.0]
        logs, inbox = Logs(database, lambda: clock[0]), Inbox(database, lambda: clock[0])
        agent = Agent(model, tools(logs, content), SYSTEM, MODEL, Spend(database), limits=UNLIMITED, policy=Policy())
        compactor = Compactor(agent)
        turns = Turns(
            logs,
            inbox,
            Silent(),
            agent,
            compactor,
            cast("Chat", None),
            Channels(Channel(marks)),
            clock=lambda: clock[0],
        )
        return cls(database, logs, turns, clock)

    async def say(self, words: str) -> None:
        number = next(self._said)
        self.clock[0] += 60
        message = MessageId(f"M{number}")
        said = Said(thread=THREAD, message=message, author="U1", words=words, at=self.clock[0], follow=True)
        await self.turns.inbox.put(f"E{number}", f"said:{number}", said)
        await self.turns.advance(THREAD, 0)

    async def log(self) -> ThreadLog:
        return await self.logs.open(THREAD)


NAMES = ["gateway", "billing", "search", "worker", "mailer", "auth", "cache", "edge", "ledger", "relay"]


def noise(seed: str, size: int) -> str:
    """Lines of a log with a shape that real ones have; the same for the same seed."""
    random, lines = Random(seed), list[str]()  # noqa: S311 - the same each time is what is wanted
    while sum(map(len, lines)) + len(lines) < size:
        name, code = random.choice(NAMES), random.choice((200, 200, 200, 404, 500, 503))
        second = random.randrange(86_400)
        when = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        lines.append(
            f"2026-11-{random.randrange(1, 29):02}T{when}Z {name} GET /v1/{name}/{random.randrange(9_999)} {code}"
        )
    return "\n".join(lines)

"""A model that plays a part, tools that remember, and a thread of a real database with the chat in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from bot.agent import Agent
from bot.budget import Patience
from bot.compactor import Compactor
from bot.model import Model, ModelError, ModelEvent, Request, TextGrew
from bot.surface import Standing
from bot.turns import Turns
from memory.db import Database
from memory.inbox import Deleted, Edited, Gesture, Gestured, Inbound, Inbox, Said
from memory.log import Logs, ThreadLog
from memory.records import ModelSaid
from memory.spend import Spend
from memory.types import Message, MessageId, Person, Text, ThreadKey, ToolCall, Usage, Value
from tests.doubles import RecordingSurface
from tools.base import Arguments, Effect, Output, Tool, ToolContext, ToolError, tool
from tools.registry import Registry

THREAD = ThreadKey("T1:C1:1.0")
ANA = Person(id="U1", name="Ana", time_zone="Europe/Lisbon")
WEI = Person(id="U2", name="Wei", locale="zh-CN", time_zone="Asia/Shanghai")
EVA = Person(id="U3", name="Eva")


PEOPLE: dict[str, tuple[Person, Standing]] = {one.id: (one, "member") for one in (ANA, WEI, EVA)}


@dataclass(slots=True)
class Breaks:
    """Whatever is done at a point fails so many times, in a way that nobody expected."""

    point: str
    times: int = 1

    async def __call__(self, point: str) -> None:
        if point.startswith(self.point) and self.times:
            self.times -= 1
            raise RuntimeError("the process died here")


Kind = TypeVar("Kind", bound=Value)
Line = ModelSaid | ModelError | Callable[[Request], ModelSaid]


@dataclass(slots=True)
class Playback(Model):
    """A ``Model`` that says its lines one after the other, the last one again and again if ``repeat``."""

    lines: deque[Line]
    asked: list[Request] = field(default_factory=list[Request])
    hold: asyncio.Event | None = None
    """While it is there and not set, no answer ends."""
    repeat: bool = False
    began: asyncio.Event = field(default_factory=asyncio.Event)
    exact: int | None = None
    """What the provider says when it is asked to count."""
    counted: list[Request] = field(default_factory=list[Request])
    summarizing: frozenset[str] = frozenset()

    async def count(self, request: Request) -> int | None:
        self.counted.append(request)
        return self.exact

    async def summarizes(self, model: str) -> bool:
        return model in self.summarizing

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.asked.append(request)
        self.began.set()
        line = self.lines[0] if self.repeat and len(self.lines) == 1 else self.lines.popleft()
        if isinstance(line, ModelError):
            raise line
        yield TextGrew("so far")
        if self.hold is not None:
            await self.hold.wait()
        yield line if isinstance(line, ModelSaid) else line(request)


def says(text: str, dollars: float = 0.0, **more: Any) -> ModelSaid:
    usage = Usage(fresh=100, output=10, dollars=dollars)
    parts = (Text(text=text),) if text else ()
    return ModelSaid.model_validate(
        {"message": Message(role="assistant", parts=parts), "usage": usage, "stop": "end"} | more
    )


_CALLS = count(1)


def calls(*wanted: tuple[str, dict[str, Any]], dollars: float = 0.0, stop: Any = "calls") -> ModelSaid:
    made = tuple(ToolCall(id=f"c{next(_CALLS)}", name=name, arguments=arguments) for name, arguments in wanted)
    usage = Usage(fresh=100, output=10, dollars=dollars)
    return ModelSaid(message=Message(role="assistant", parts=made), usage=usage, stop=stop)


class Word(Arguments):
    word: str = ""


@dataclass(slots=True)
class Bench:
    """Tools that remember what ran. ``hold`` keeps a call from ending."""

    ran: list[str] = field(default_factory=list[str])
    hold: asyncio.Event | None = None
    _started: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, count: int) -> None:
        """Wait until so many calls have begun."""
        async with asyncio.timeout(5):
            while len(self.ran) < count:
                self._started.clear()
                await self._started.wait()

    async def _work(self, name: str, word: str) -> Output:
        self.ran.append(f"{name} {word}")
        self._started.set()
        if self.hold is not None:
            await self.hold.wait()
        if word == "fail":
            raise ToolError("no_such_word", "There is no such word.", hint="Use another.")
        return Output(f"{name} says {word}" + " long" * (10_000 if word == "long" else 0), word)

    def tools(self) -> Registry:
        @tool(Effect.READ)
        async def look(arguments: Word, context: ToolContext) -> Output:
            """Look at something."""
            return await self._work("look", arguments.word)

        @tool(Effect.READ, untrusted=True)
        async def browse(arguments: Word, context: ToolContext) -> Output:
            """Read what strangers wrote."""
            return await self._work("browse", arguments.word)

        @tool(Effect.READ, polling=True)
        async def poll(arguments: Word, context: ToolContext) -> Output:
            """Ask again and again."""
            return await self._work("poll", "")

        @tool(Effect.WRITE)
        async def write(arguments: Word, context: ToolContext) -> Output:
            """Change something."""
            return await self._work("write", arguments.word)

        @tool(Effect.WRITE, idempotent=True)
        async def put(arguments: Word, context: ToolContext) -> Output:
            """Change something, the same each time."""
            return await self._work("put", f"{arguments.word} {context.call_id}")

        made: list[Tool[Any]] = [look, browse, poll, write, put]
        return Registry(made)


@dataclass(slots=True)
class World:
    """One thread of a bot whose chat and model are doubles; everything in between is real."""

    database: Database
    surface: RecordingSurface
    bench: Bench
    model: Model
    now: float = 1_800_000_000.0
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    waits: list[float] = field(default_factory=list[float])
    _events: Iterable[int] = field(default_factory=lambda: count(1))
    turns: Turns = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """What a new process begins with: the database and nothing else."""

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        defaults: dict[str, Any] = {"patience": Patience(attempts=3), "sleep": sleep}
        agent = Agent(
            self.model, self.bench.tools(), "system", "model", Spend(self.database), **{**defaults, **self.options}
        )
        logs, inbox = Logs(self.database, lambda: self.now), Inbox(self.database, lambda: self.now)
        chat: Any = None
        self.turns = Turns(logs, inbox, self.surface, agent, Compactor(agent), chat, clock=lambda: self.now)

    async def put(self, inbound: Inbound) -> None:
        number = next(iter(self._events))
        await self.turns.inbox.put(f"E{number}", f"I{number}", inbound)
        self.turns.interrupt(THREAD)

    async def say(self, words: str, author: Person = ANA, **more: Any) -> MessageId:
        message = MessageId(f"T1:C1:{next(iter(self._events))}.5")
        at = more.pop("at", self.now)
        await self.put(Said(thread=THREAD, message=message, author=author.id, words=words, at=at, follow=True, **more))
        return message

    async def react(self, message: MessageId, gesture: Gesture, author: Person = ANA, **more: Any) -> None:
        await self.put(Gestured(thread=THREAD, message=message, author=author.id, gesture=gesture, **more))

    async def edit(self, message: MessageId, words: str, author: Person = ANA) -> None:
        await self.put(Edited(thread=THREAD, message=message, author=author.id, words=words))

    async def delete(self, message: MessageId) -> None:
        await self.put(Deleted(thread=THREAD, message=message))

    async def advance(self, failures: int = 0) -> float | None:
        return await asyncio.wait_for(self.turns.advance(THREAD, failures), 10)

    async def log(self) -> ThreadLog:
        return await self.turns.logs.open(THREAD)

    async def records(self, kind: type[Kind]) -> list[Kind]:
        return [stored.record for stored in (await self.log()).records if isinstance(stored.record, kind)]


def playback(*lines: Line, **more: Any) -> Playback:
    return Playback(deque(lines), **more)


def open_database(folder: Path) -> Database:
    return Database(f"sqlite:///{folder / 'bobbin.db'}")

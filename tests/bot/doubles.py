"""A chat that remembers what it was shown, a model that plays a part, and a thread of a real database in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from bot.agent import Agent
from bot.budget import Patience
from bot.compactor import Compactor
from bot.model import Model, ModelError, ModelEvent, Request, TextGrew
from bot.surface import Answer, Body, Notice, PostKey, Standing, SurfaceError
from bot.turns import Turns
from memory.db import Database
from memory.inbox import Deleted, Edited, Gesture, Gestured, Inbound, Inbox, Said
from memory.log import Logs, ThreadLog
from memory.records import ModelSaid, UserSaid
from memory.spend import Spend
from memory.types import Message, MessageId, Person, Text, ThreadKey, ToolCall, Usage, Value
from tools.base import Arguments, Effect, Output, Tool, ToolContext, ToolError, tool
from tools.registry import Registry

THREAD = ThreadKey("T1:C1:1.0")
ANA = Person(id="U1", name="Ana", time_zone="Europe/Lisbon")
WEI = Person(id="U2", name="Wei", locale="zh-CN", time_zone="Asia/Shanghai")
EVA = Person(id="U3", name="Eva")


@dataclass(frozen=True, slots=True)
class Shown:
    """One message in the chat, as it was posted or edited."""

    key: PostKey
    body: Body
    message: MessageId
    check: bool = False


@dataclass(slots=True)
class Recorder:
    """A ``Surface`` without a chat behind it."""

    people: dict[str, tuple[Person, Standing]] = field(
        default_factory=lambda: {p.id: (p, "member") for p in (ANA, WEI, EVA)}
    )
    posts: list[Shown] = field(default_factory=list[Shown])
    edits: list[Shown] = field(default_factory=list[Shown])
    seen: list[MessageId] = field(default_factory=list[MessageId])
    offers: list[tuple[MessageId, tuple[Gesture, ...]]] = field(
        default_factory=list[tuple[MessageId, tuple[Gesture, ...]]]
    )
    whispers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    standing: list[tuple[Gesture, str]] = field(default_factory=list[tuple[Gesture, str]])
    """Reactions that stand on every message."""
    groups: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    before: Output = field(default_factory=lambda: Output("Eva: the old words", "1 message"))
    refuses: set[str] = field(default_factory=set[str])
    breaks: int = 0
    """How many of the next posts fail in a way that nobody expected."""
    loses: set[str] = field(default_factory=set[str])
    """Kinds whose next post stands in the chat although the call fails."""
    _marked: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Iterable[int] = field(default_factory=lambda: count(100))

    async def hear(self, said: Said) -> UserSaid:
        person, _ = self.people[said.author]
        header = f"[{person.name} ({person.id})]"
        return UserSaid(author=person, source=said.message, header=header, text=said.words, catch_up=said.catch_up)

    async def reread(self, edited: Edited) -> tuple[Person, str]:
        return self.people[edited.author][0], edited.words

    async def person(self, person: str) -> tuple[Person, Standing]:
        return self.people.get(person, (Person(id=person, name=person), "unknown"))

    async def reactions(self, message: MessageId) -> list[tuple[Gesture, str]]:
        return self.standing

    async def group(self, group: str) -> frozenset[str]:
        return self.groups.get(group, frozenset())

    def place(self, thread: ThreadKey) -> str:
        return "C1"

    async def earlier(self, thread: ThreadKey, before: MessageId, since: MessageId | None) -> Output:
        return self.before

    async def offer(self, message: MessageId, gestures: Sequence[Gesture]) -> None:
        self.offers.append((message, tuple(gestures)))

    async def post(self, thread: ThreadKey, key: PostKey, body: Body, *, check: bool) -> tuple[MessageId, ...]:
        if self.breaks:
            self.breaks -= 1
            raise RuntimeError("nobody expected this")
        if key.kind in self.refuses:
            raise SurfaceError("channel_not_found")
        there = next((shown for shown in self.posts if shown.key == key), None) if check else None
        if there is None:
            there = Shown(key, body, MessageId(f"T1:C1:{next(iter(self._numbers))}.0"), check)
            self.posts.append(there)
        if key.kind in self.loses:
            self.loses.discard(key.kind)
            raise RuntimeError("the process died here")
        return (there.message,)

    async def edit(self, message: MessageId, key: PostKey, body: Body) -> None:
        self.edits.append(Shown(key, body, message))

    def edit_soon(self, message: MessageId, key: PostKey, body: Body) -> None:
        self.edits.append(Shown(key, body, message))

    async def mark_seen(self, message: MessageId) -> None:
        self.seen.append(message)
        self._marked.set()

    async def until_seen(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.seen) < count:
                self._marked.clear()
                await self._marked.wait()

    async def whisper(self, thread: ThreadKey, person: str, markdown: str) -> None:
        self.whispers.append((person, markdown))

    def of(self, kind: str) -> list[Shown]:
        return [shown for shown in self.posts if shown.key.kind == kind]

    @property
    def words(self) -> list[str]:
        """Answers and notices, as people read them."""
        return [shown.body.markdown for shown in self.posts if isinstance(shown.body, Answer | Notice)]

    def newest(self, message: MessageId) -> Body:
        return [shown.body for shown in (*self.posts, *self.edits) if shown.message == message][-1]


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
    surface: Recorder
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

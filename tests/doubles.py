"""Doubles of the outside world for every test: a clock, the chat that people see, a model that plays a part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bot.model import Model, ModelError, ModelEvent, Request, TextGrew
from bot.surface import Answer as Markdown
from bot.surface import Body, Notice, PostKey, Standing, SurfaceError
from bot.surface import Request as Asked
from memory.inbox import Edited, Gesture, Said
from memory.records import ModelSaid, PostKind, UserSaid
from memory.types import Message, MessageId, Part, Person, Text, ThreadKey, ToolCall, Usage
from tools.base import Output

Around = Callable[[str], Awaitable[None]]
"""Awaited before and after each effect with its name, for example ``before post answer``. May raise."""


async def undisturbed(_: str) -> None: ...


@dataclass(slots=True)
class Clock:
    """Seconds since 1970 that pass only when a test says so."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


ANA = Person(id="U0ANA", name="Ana", time_zone="Europe/Berlin")
BEN = Person(id="U0BEN", name="Ben")
LIN = Person(id="U0LIN", name="Lin", locale="zh-CN", time_zone="Asia/Shanghai")
GUEST = Person(id="U0GUEST", name="Gus")
ROBOT = Person(id="U0ROBOT", name="Robot")

PEOPLE: dict[str, tuple[Person, Standing]] = {
    ANA.id: (ANA, "member"),
    BEN.id: (BEN, "member"),
    LIN.id: (LIN, "member"),
    GUEST.id: (GUEST, "guest"),
    ROBOT.id: (ROBOT, "bot"),
}


@dataclass(slots=True)
class Shown:
    """A message as people see it now. ``key`` is what the platform keeps as its metadata."""

    thread: ThreadKey
    key: PostKey
    message: MessageId
    body: Body
    check: bool
    """Whether it was looked for before it was posted."""
    edits: int = 0


@dataclass(slots=True)
class RecordingSurface:
    """A chat in memory. It outlives the program that posts to it, as the real one does."""

    people: dict[str, tuple[Person, Standing]] = field(default_factory=lambda: dict(PEOPLE))
    """Anybody else is unknown."""
    groups: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    messages: dict[MessageId, Shown] = field(default_factory=dict[MessageId, Shown])
    offered: dict[MessageId, tuple[Gesture, ...]] = field(default_factory=dict[MessageId, tuple[Gesture, ...]])
    standing: list[tuple[Gesture, str]] = field(default_factory=list[tuple[Gesture, str]])
    """Reactions that stand on every message."""
    whispers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    seen: list[MessageId] = field(default_factory=list[MessageId])
    said_before: str = "(nothing)"
    """What ``earlier`` finds."""
    refused: set[PostKind] = field(default_factory=set[PostKind])
    around: Around = undisturbed
    _marked: asyncio.Event = field(default_factory=asyncio.Event)

    def of(self, kind: PostKind) -> list[Shown]:
        """What was posted of a kind, oldest first."""
        return [shown for shown in self.messages.values() if shown.key.kind == kind]

    @property
    def words(self) -> list[str]:
        """Answers and notices, as people read them."""
        return [one.body.markdown for one in self.messages.values() if isinstance(one.body, Markdown | Notice)]

    @property
    def requests(self) -> list[tuple[MessageId, Asked]]:
        """The cards of requests, oldest first, as they are now."""
        return [(one.message, one.body) for one in self.messages.values() if isinstance(one.body, Asked)]

    # -- reading ---------------------------------------------------------------------------------

    async def hear(self, said: Said) -> UserSaid:
        author, _ = await self.person(said.author)
        header = f"[{author.name} ({author.id}), {said.message}]"
        return UserSaid(author=author, source=said.message, header=header, text=said.words, catch_up=said.catch_up)

    async def reread(self, edited: Edited) -> tuple[Person, str]:
        return (await self.person(edited.author))[0], edited.words

    async def person(self, person: str) -> tuple[Person, Standing]:
        return self.people.get(person, (Person(id=person, name=person), "unknown"))

    async def earlier(self, thread: ThreadKey, before: MessageId, since: MessageId | None) -> Output:
        await self.around("before earlier")
        return Output(self.said_before, "1 message")

    async def reactions(self, message: MessageId) -> list[tuple[Gesture, str]]:
        return self.standing

    async def group(self, group: str) -> frozenset[str]:
        return self.groups.get(group, frozenset())

    def place(self, thread: ThreadKey) -> str:
        return "C1"

    # -- posting ---------------------------------------------------------------------------------

    async def post(self, thread: ThreadKey, key: PostKey, body: Body, *, check: bool) -> tuple[MessageId, ...]:
        if key.kind in self.refused:
            raise SurfaceError("channel_is_archived")
        await self.around(f"before post {key.kind}")
        if check and (there := self._there(thread, key)):
            return there
        message = MessageId(f"{thread}/m{len(self.messages) + 1}")
        self.messages[message] = Shown(thread, key, message, body, check)
        await self.around(f"after post {key.kind}")
        return (message,)

    def _there(self, thread: ThreadKey, key: PostKey) -> tuple[MessageId, ...]:
        return tuple(
            message
            for message, shown in self.messages.items()
            if shown.thread == thread and (shown.key.of, shown.key.kind) == (key.of, key.kind)
        )

    async def offer(self, message: MessageId, gestures: Sequence[Gesture]) -> None:
        await self.around("before offer")
        self.offered[message] = tuple(gestures)

    async def edit(self, message: MessageId, key: PostKey, body: Body) -> None:
        await self.around(f"before edit {key.kind}")
        self.edit_soon(message, key, body)
        await self.around(f"after edit {key.kind}")

    def edit_soon(self, message: MessageId, key: PostKey, body: Body) -> None:
        shown = self.messages[message]
        assert (shown.key.of, shown.key.kind) == (key.of, key.kind), "an edit never turns a message into another"
        shown.body, shown.edits = body, shown.edits + 1

    async def mark_seen(self, message: MessageId) -> None:
        self.seen.append(message)
        self._marked.set()

    async def until_seen(self, count: int) -> None:
        """Wait until so many messages are marked."""
        async with asyncio.timeout(5):
            while len(self.seen) < count:
                self._marked.clear()
                await self._marked.wait()

    async def whisper(self, thread: ThreadKey, person: str, markdown: str) -> None:
        self.whispers.append((person, markdown))


@dataclass(slots=True)
class RecordingChat:
    """What tools see of the chat: ``texts`` by channel or thread."""

    texts: dict[str, str] = field(default_factory=dict[str, str])

    async def read_thread(self, thread: ThreadKey, limit: int) -> Output:
        return Output(self.texts.get(thread, "(empty)"))

    async def read_channel(self, thread: ThreadKey, channel: str, limit: int, reader: Person) -> Output:
        return Output(self.texts.get(channel, "(empty)"))


# -- the model -----------------------------------------------------------------------------------


def call(call_id: str, name: str, **arguments: str) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=dict(arguments))


def says(text: str = "", *calls: ToolCall, usage: Usage | None = None) -> ModelSaid:
    """An answer: words, calls, or both."""
    parts: tuple[Part, ...] = (*((Text(text=text),) if text else ()), *calls)
    return ModelSaid(
        message=Message(role="assistant", parts=parts),
        usage=usage or Usage(fresh=100, output=10, dollars=0.001),
        stop="calls" if calls else "end",
    )


Answer = ModelSaid | ModelError


@dataclass(slots=True)
class ScriptedModel(Model):
    """Plays its answers in order, keeps every request, and says ``done`` when the script is over.

    ``play`` replaces the script by a function of the request.
    """

    script: list[Answer] = field(default_factory=list[Answer])
    play: Callable[[Request], Answer] | None = None
    asked: list[Request] = field(default_factory=list[Request])
    around: Around = undisturbed

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.asked.append(request)
        await self.around("before model")
        answer = self.play(request) if self.play else self.script.pop(0) if self.script else says("done")
        if isinstance(answer, ModelError):
            raise answer
        if answer.message.text:
            yield TextGrew(answer.message.text)
        await self.around("after model")
        yield answer

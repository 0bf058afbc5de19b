"""One thread with real mail, turns, agent and log; the chat and the model in front of it are doubles."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, TypeVar

from bot.agent import Agent
from bot.approvals import Rules
from bot.compactor import Compactor
from bot.config import ApprovalRule
from bot.model import Model, ModelEvent, Request, TextGrew
from bot.surface import Standing
from bot.turns import Turns
from memory.db import Database
from memory.inbox import Deleted, Edited, Gesture, Gestured, Inbound, Inbox, Said
from memory.log import Logs, ThreadLog
from memory.records import ApprovalGiven, ModelSaid, ToolEnded
from memory.spend import Spend
from memory.types import Message, MessageId, Person, Text, ThreadKey, ToolCall, Usage, Value
from tests.doubles import RecordingSurface
from tools.base import Arguments, Effect, Output, ToolContext, ToolError, tool
from tools.policy import Policy
from tools.registry import Registry

ANA = Person(id="UANA", name="Ana")
WEI = Person(id="UWEI", name="Wei", locale="zh-CN", time_zone="Asia/Shanghai")
EVA = Person(id="UEVA", name="Eva")
GUS = Person(id="UGUS", name="Gus")
OUT = Person(id="UOUT", name="Otto")
BOT = Person(id="UBOT", name="Robot")
OFF = Person(id="UOFF", name="Olga")
PEOPLE: dict[str, tuple[Person, Standing]] = {
    **{one.id: (one, "member") for one in (ANA, WEI, EVA)},
    GUS.id: (GUS, "guest"),
    OUT.id: (OUT, "outsider"),
    BOT.id: (BOT, "bot"),
    OFF.id: (OFF, "deactivated"),
}
"""Anybody else is unknown."""
DAY = 86_400.0
TWO_OF_THREE = Rules({"write": ApprovalRule(approvers=(ANA.id, WEI.id, EVA.id), needed=2)})
UNDO = Rules(undo=10.0)


Kind = TypeVar("Kind", bound=Value)
_CALLS = count(1)
_THREADS = count(1)


def new_thread() -> ThreadKey:
    return ThreadKey(f"T1:C1:{next(_THREADS)}.0")


def says(text: str) -> ModelSaid:
    return ModelSaid(message=Message(role="assistant", parts=(Text(text=text),)), usage=Usage(), stop="end")


def calls(*wanted: tuple[str, dict[str, Any]]) -> ModelSaid:
    made = tuple(ToolCall(id=f"call{next(_CALLS)}", name=name, arguments=given) for name, given in wanted)
    return ModelSaid(message=Message(role="assistant", parts=made), usage=Usage(), stop="calls")


def write(word: str, place: str = "#news") -> tuple[str, dict[str, Any]]:
    return "write", {"place": place, "word": word}


@dataclass(slots=True)
class Part(Model):
    """A model that says its lines one after the other, and "done" when it has none left."""

    lines: deque[ModelSaid] = field(default_factory=deque[ModelSaid])
    asked: list[Request] = field(default_factory=list[Request])

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.asked.append(request)
        yield TextGrew("so far")
        yield self.lines.popleft() if self.lines else says("done")


class Word(Arguments):
    word: str
    place: str = "#news"


async def unwatched(_: ToolCall, __: Literal["before", "after"]) -> None: ...


@dataclass(slots=True)
class Workshop:
    """Tools that remember each call that ran."""

    ran: list[ToolCall] = field(default_factory=list[ToolCall])
    watch: Callable[[ToolCall, Literal["before", "after"]], Awaitable[None]] = unwatched

    async def _work(self, name: str, arguments: Word, context: ToolContext) -> Output:
        call = ToolCall(id=context.call_id, name=name, arguments=arguments.model_dump(exclude_unset=True))
        await self.watch(call, "before")
        self.ran.append(call)
        await self.watch(call, "after")
        if arguments.word == "fail":
            raise ToolError("no_such_word", "There is no such word.")
        if arguments.word == "break":
            raise RuntimeError("a tool broke")
        return Output(f"{name} {arguments.word}", arguments.word)

    def registry(self) -> Registry:
        @tool(Effect.READ)
        async def look(arguments: Word, context: ToolContext) -> Output:
            """Look."""
            return Output(f"seen {arguments.word}")

        @tool(Effect.READ, untrusted=True)
        async def browse(arguments: Word, context: ToolContext) -> Output:
            """Read what strangers wrote."""
            return Output(f"a page about {arguments.word}")

        @tool(Effect.WRITE, resource=("place",))
        async def write(arguments: Word, context: ToolContext) -> Output:
            """Change something."""
            return await self._work("write", arguments, context)

        @tool(Effect.WRITE, idempotent=True, resource=("place",))
        async def put(arguments: Word, context: ToolContext) -> Output:
            """Change something, the same each time."""
            return await self._work("put", arguments, context)

        @tool(Effect.DESTROY, resource=("place",))
        async def erase(arguments: Word, context: ToolContext) -> Output:
            """Destroy something."""
            return await self._work("erase", arguments, context)

        return Registry([look, browse, write, put, erase])


@dataclass(slots=True)
class World:
    database: Database
    thread: ThreadKey
    rules: Rules = field(default_factory=Rules)
    policy: Policy = field(default_factory=Policy)
    grant_seconds: float = 3_600.0
    now: float = 1_800_000_000.0
    chat: RecordingSurface = field(default_factory=lambda: RecordingSurface(dict(PEOPLE)))
    model: Part = field(default_factory=Part)
    workshop: Workshop = field(default_factory=Workshop)
    turns: Turns = field(init=False)
    _events: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """A new process: the database and the chat are all that is left."""
        agent = Agent(
            self.model,
            self.workshop.registry(),
            "system",
            "model",
            Spend(self.database),
            policy=self.policy,
            rules=self.rules,
        )
        nothing: Any = None
        logs, inbox = Logs(self.database, lambda: self.now), Inbox(self.database, lambda: self.now)
        self.turns = Turns(
            logs,
            inbox,
            self.chat,
            agent,
            Compactor(agent),
            nothing,
            grant_seconds=self.grant_seconds,
            clock=lambda: self.now,
        )

    def follow(self, rules: Rules, policy: Policy | None = None) -> None:
        """Begin again under other rules."""
        self.rules, self.policy = rules, policy or self.policy
        self.restart()

    async def put(self, inbound: Inbound) -> None:
        number = f"{self.thread}/{next(self._events)}"
        await self.turns.inbox.put(f"E{number}", f"I{number}", inbound)

    async def say(self, words: str, author: Person = ANA, at: float | None = None) -> MessageId:
        message = MessageId(f"{self.thread}/said{next(self._events)}")
        at = self.now if at is None else at
        await self.put(Said(thread=self.thread, message=message, author=author.id, words=words, at=at, follow=True))
        return message

    async def gesture(self, gesture: Gesture, author: Person | str = ANA, request: int = 0, **more: Any) -> None:
        """On the card of a request, counted from the oldest."""
        who = author if isinstance(author, str) else author.id
        message = self.chat.requests[request][0]
        await self.put(Gestured(thread=self.thread, message=message, author=who, gesture=gesture, **more))

    async def edit(self, message: MessageId, words: str, author: Person = ANA) -> None:
        await self.put(Edited(thread=self.thread, message=message, author=author.id, words=words))

    async def delete(self, message: MessageId) -> None:
        await self.put(Deleted(thread=self.thread, message=message))

    async def advance(self) -> float | None:
        """Work until the thread parks; returns when to come back."""
        return await asyncio.wait_for(self.turns.advance(self.thread, 0), 60)

    async def log(self) -> ThreadLog:
        return await self.turns.logs.open(self.thread)

    async def records(self, kind: type[Kind]) -> list[Kind]:
        return [stored.record for stored in (await self.log()).records if isinstance(stored.record, kind)]

    async def verdicts(self) -> list[str]:
        return [given.verdict for given in await self.records(ApprovalGiven)]

    async def outcomes(self) -> list[str]:
        return [ended.outcome for ended in await self.records(ToolEnded)]

    def card(self, request: int = 0) -> str:
        """How a request ended, as its card says."""
        asked = self.chat.requests[request][1]
        return asked.given.verdict if asked.given else "closed" if asked.ended else "open"

    @property
    def ran(self) -> list[str]:
        return [f"{call.name} {call.arguments['word']}" for call in self.workshop.ran]

    async def ask(self, *said: ModelSaid, words: str = "please", author: Person = ANA) -> float | None:
        """Somebody gives a task, to which the model answers with these lines."""
        self.model.lines.extend(said)
        await self.say(words, author)
        return await self.advance()

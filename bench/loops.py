"""The same agent loop three times: ours over the real log, the provider's SDK alone, and a bare SQLite log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast

import anthropic

from bot.agent import Agent
from bot.budget import Limits
from bot.compactor import Compactor
from bot.model import Model, ModelEvent, Request
from bot.prompts import SYSTEM
from bot.surface import Body, PostKey, Standing
from bot.turns import Turns
from memory.db import Database
from memory.inbox import Edited, Gesture, Inbox, Said
from memory.log import Logs
from memory.records import ModelSaid, UserSaid
from memory.spend import Spend
from memory.types import Message, MessageId, Person, Text, ThreadKey, ToolCall, Usage
from tools.base import Arguments, Chat, Effect, Output, ToolContext, tool
from tools.registry import Registry

Json = dict[str, Any]

MODEL = "claude-sonnet-5-5"
RESULT_BYTES = 200
UNLIMITED = Limits(steps=0, calls=0, tokens=0, dollars=0, seconds=0, daily_dollars=1e9)
"""No limit that would end a long turn; the daily budget is looked up for each question, as in production."""


class Query(Arguments):
    q: str


@tool(Effect.READ, timeout=5.0)
async def echo(arguments: Query, context: ToolContext) -> Output:
    """Give back 200 bytes."""
    return Output(payload(arguments.q), "200 bytes")


def payload(q: str) -> str:
    """A result that is news each time, so that nothing takes the loop for an endless one."""
    return f"{q} ".ljust(RESULT_BYTES, "x")


class Silent:
    """A chat in which nothing is seen: what is measured is the turn, not the platform."""

    def __init__(self) -> None:
        self._person = Person(id="U1", name="Ana")

    async def hear(self, said: Said) -> UserSaid:
        return UserSaid(author=self._person, source=said.message, header="[Ana (U1) in #ops]", text=said.words)

    async def reread(self, edited: Edited) -> tuple[Person, str]:
        return self._person, edited.words

    async def person(self, person: str) -> tuple[Person, Standing]:
        return self._person, "member"

    async def reactions(self, message: MessageId) -> list[tuple[Gesture, str]]:
        return []

    async def group(self, group: str) -> frozenset[str]:
        return frozenset()

    def place(self, thread: ThreadKey) -> str:
        return "ops"

    async def earlier(self, thread: ThreadKey, before: MessageId, since: MessageId | None) -> Output:
        return Output("(no messages)")

    async def post(
        self, thread: ThreadKey, key: PostKey, body: Body, *, check: bool, seeds: Sequence[str] = ()
    ) -> tuple[MessageId, ...]:
        return (MessageId(f"{thread}/{key.kind}/{key.of}"),)

    async def offer(self, message: MessageId, gestures: Sequence[Gesture]) -> None: ...

    async def edit(self, message: MessageId, key: PostKey, body: Body) -> None: ...

    def edit_soon(self, message: MessageId, key: PostKey, body: Body) -> None: ...

    async def mark_seen(self, message: MessageId) -> None: ...

    async def whisper(self, thread: ThreadKey, person: str, markdown: str) -> None: ...


@dataclass(slots=True)
class Instant(Model):
    """A model that answers at once: ``steps`` calls, then a text."""

    steps: int
    _asked: dict[ThreadKey, int] = field(default_factory=dict[ThreadKey, int])
    _ids: count[int] = field(default_factory=count)

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        asked = self._asked.pop(request.thread, 0)
        part: ToolCall | Text = Text(text="done")
        if asked < self.steps:
            number = next(self._ids)
            part = ToolCall(id=f"toolu_{number:09d}", name="echo", arguments={"q": str(number)})
            self._asked[request.thread] = asked + 1
        usage = Usage(fresh=10, cache_read=990, cache_write=20, output=20, dollars=0.0001)
        message = Message(role="assistant", parts=(part,))
        yield ModelSaid(message=message, usage=usage, stop="calls" if message.calls else "end", model=MODEL)


@dataclass(slots=True)
class Ours:
    """The product without its platform: inbox, log, turns, agent, tools."""

    database: Database
    turns: Turns
    inbox: Inbox
    _said: count[int] = field(default_factory=count)

    @classmethod
    def over(cls, folder: Path, model: Model) -> Ours:
        database = Database(f"sqlite:///{folder / 'bobbin.db'}")
        logs, inbox = Logs(database), Inbox(database)
        agent = Agent(model, Registry([echo]), SYSTEM, MODEL, Spend(database), limits=UNLIMITED)
        turns = Turns(logs, inbox, Silent(), agent, Compactor(agent), cast("Chat", None))
        return cls(database, turns, inbox)

    async def turn(self, thread: str, words: str) -> None:
        """From the event at the door to the closed card."""
        number = next(self._said)
        said = Said(
            thread=ThreadKey(thread), message=MessageId(f"M{number}"), author="U1", words=words, at=0.0, follow=True
        )
        await self.inbox.put(f"E{number}", f"said:{number}", said)
        await self.turns.advance(said.thread, 0)


async def sdk_turn(client: anthropic.AsyncAnthropic, words: str) -> None:
    """What the provider's SDK alone takes for the same requests: nothing is kept."""
    tools: Any = [{"name": echo.name, "description": echo.description, "input_schema": echo.schema}]
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": words}]}]
    while True:
        system: Any = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
        async with client.messages.stream(
            model=MODEL, max_tokens=16_000, system=system, tools=tools, messages=messages
        ) as stream:
            final = await stream.get_final_message()
        messages.append({"role": "assistant", "content": [block.to_dict() for block in final.content]})
        calls = [block for block in final.content if block.type == "tool_use"]
        if not calls:
            return
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": payload(str(cast("Json", call.input)["q"]))}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


class BareLog:
    """The least that a durable loop can do: one row and one commit for each answer, intent and result."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "bare.db", isolation_level=None, check_same_thread=False)
        for statement in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "CREATE TABLE log (thread TEXT, seq INTEGER, body TEXT, PRIMARY KEY (thread, seq)) WITHOUT ROWID",
        ):
            self._connection.execute(statement)
        self._threads = count()

    def turn(self, steps: int) -> None:
        thread, seq = f"t{next(self._threads)}", count(1)

        def add(body: Json) -> None:
            self._connection.execute("INSERT INTO log VALUES (?, ?, ?)", (thread, next(seq), json.dumps(body)))

        add({"role": "user", "content": "hi"})
        for step in range(steps):
            call = {"type": "tool_use", "id": f"toolu_{step}", "name": "echo", "input": {"q": str(step)}}
            add({"role": "assistant", "content": [call]})
            add({"intent": [call["id"]]})
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": payload(str(step))}
            add({"role": "user", "content": [result]})
        add({"role": "assistant", "content": [{"type": "text", "text": "done"}]})

    def close(self) -> None:
        self._connection.close()

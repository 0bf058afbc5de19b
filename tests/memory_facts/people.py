"""People, rooms and an embedder for the tests of the memory: everything real but the chat and the models."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bot.rooms import Message
from memory.audience import Audience, Room, Scope, Source
from memory.embed import unit
from memory.fact import NewFact
from memory.types import MessageId, Person, ThreadKey
from memory.vector import EmbedderError, Vector
from memory.vectors import Vectors
from memory.words import words

TEAM = "T1"
ANA = Person(id="U0ANA", name="Ana")
BEN = Person(id="U0BEN", name="Ben")


@dataclass(slots=True)
class BagOfWords:
    """Vectors by words alone: what shares words is near. ``broken`` makes it fail."""

    name: str = "words"
    broken: bool = False
    texts: list[str] = field(default_factory=list[str])

    def passages(self, texts: Sequence[str]) -> Vector:
        if self.broken:
            raise EmbedderError("no vectors today")
        self.texts += texts
        rows = np.zeros((len(texts), 256), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in words(text):
                row[int(hashlib.sha256(f"{self.name}{word}".encode()).hexdigest()[:8], 16) % 256] += 1
        return unit(rows)

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]


@dataclass(slots=True)
class Rooms:
    """Channels by id and what they are now; a thread's channel is the second part of its key."""

    rooms: dict[str, Room] = field(default_factory=dict[str, Room])
    members: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    messages: dict[MessageId, Message] = field(default_factory=dict[MessageId, Message])
    kept: list[MessageId] = field(default_factory=list[MessageId])

    async def audience(self, thread: ThreadKey, person: str) -> Audience:
        channel = thread.split(":")[1]
        mine = frozenset(one for one, people in self.members.items() if person in people)
        return Audience(TEAM, channel, thread, self.rooms.get(channel, "closed"), person, channels=mine)

    async def alone(self, person: str) -> Audience:
        mine = frozenset(one for one, people in self.members.items() if person in people)
        return Audience(TEAM, f"D{person}", ThreadKey(f"{TEAM}:D{person}:0"), "direct", person, channels=mine)

    async def source_now(self, source: Source) -> Source:
        return source.model_copy(update={"room": self.rooms.get(source.channel, "closed")})

    async def message(self, message: MessageId) -> Message | None:
        return self.messages.get(message)

    async def link(self, message: MessageId) -> str:
        return f"https://chat.example/{message}"

    async def mark_kept(self, message: MessageId, *, kept: bool = True) -> None:
        if kept:
            self.kept.append(message)
        else:
            self.kept.remove(message)


class Still(Vectors):
    """Without the work in the background: the test says what is there."""

    def begin(self) -> None: ...


def claim(
    text: str,
    *,
    channel: str = "C1",
    room: Room = "public",
    scope: Scope | None = None,
    author: Person = ANA,
    message: str = "1",
) -> NewFact:
    return NewFact(
        text=text,
        scope=scope or Scope(kind="workspace"),
        source=Source(workspace=TEAM, channel=channel, room=room),
        author=author.id,
        author_name=author.name,
        message=MessageId(f"{TEAM}:{channel}:{message}"),
    )


def reading(channel: str = "C1", room: Room = "public", asker: Person = ANA, thread: str = "9") -> Audience:
    return Audience(TEAM, channel, ThreadKey(f"{TEAM}:{channel}:{thread}"), room, asker.id)

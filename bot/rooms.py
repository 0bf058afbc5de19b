"""The port to the chat's rooms: who reads what, as it is now. Implemented by ``bot/slack``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memory.audience import Audience, Source
from memory.types import MessageId, Person, ThreadKey


@dataclass(frozen=True, slots=True)
class Message:
    """What a message says, who wrote it, and the conversation it stands in."""

    thread: ThreadKey
    author: Person
    text: str


class Rooms(Protocol):
    """Nothing here raises for what the platform does not say: what is not known is treated as closed."""

    async def audience(self, thread: ThreadKey, person: str) -> Audience:
        """Who reads a reply to this person in this thread."""
        ...

    async def alone(self, person: str) -> Audience:
        """Only this person reads it: a private reply, or their own page."""
        ...

    async def source_now(self, source: Source) -> Source:
        """The same place as it is now: a public channel may have become private."""
        ...

    async def message(self, message: MessageId) -> Message | None: ...

    async def link(self, message: MessageId) -> str:
        """The address of a message; empty if there is none."""
        ...

    async def mark_kept(self, message: MessageId, *, kept: bool = True) -> None:
        """Show on a message that it is remembered, or not any more. Failures are only logged."""
        ...

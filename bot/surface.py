"""The port to the chat: what people see of a turn, and what a turn asks about people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.progress import Card
from memory.inbox import Edited, Gesture, Said
from memory.records import ApprovalAsked, ApprovalGiven, PostKind, UserSaid
from memory.types import MessageId, Person, ThreadKey, ToolCall
from tools.base import Output

Standing = Literal["member", "guest", "outsider", "bot", "deactivated", "unknown"]
"""What somebody is in this workspace. ``unknown``: the platform could not say, so nothing is allowed."""


@dataclass(frozen=True, slots=True)
class PostKey:
    """Names one thing that is shown, for ever: ``of`` is the seq of the record that it shows."""

    turn: int
    of: int
    kind: PostKind


@dataclass(frozen=True, slots=True)
class Answer:
    """Markdown of the model; people in ``notify`` may be notified by it.

    ``trusted_words`` is set when the turn has read untrusted text: only hosts that stand in it are linked.
    """

    markdown: str
    notify: frozenset[str] = frozenset()
    trusted_words: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Our own words, as markdown."""

    markdown: str
    notify: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """A call that waits for a yes, or what became of it. ``ended`` without a verdict: closed by a stop."""

    call: ToolCall
    asked: ApprovalAsked
    locale: str
    given: ApprovalGiven | None = None
    ended: bool = False
    votes: tuple[Person, ...] = ()
    """Who said yes so far."""
    grant_minutes: int = 0
    """How long a standing approval would last; 0: none is offered."""


Body = Card | Answer | Notice | Request


class SurfaceError(Exception):
    """The chat would not take a message, for good; the message says why."""


class Surface(Protocol):
    """Implemented by ``bot/slack``. Calls wait for the platform's limits; nothing is posted twice."""

    async def hear(self, said: Said) -> UserSaid:
        """Names, place and time of a message, as the model will read them."""
        ...

    async def reread(self, edited: Edited) -> tuple[Person, str]:
        """Who edited a message, and what it says now."""
        ...

    async def person(self, person: str) -> tuple[Person, Standing]: ...

    async def reactions(self, message: MessageId) -> list[tuple[Gesture, str]]:
        """Gestures that stand on a message now, and whose they are; none if the platform cannot say."""
        ...

    async def group(self, group: str) -> frozenset[str]:
        """The people of a user group; nobody if the platform cannot say."""
        ...

    def place(self, thread: ThreadKey) -> str:
        """The channel of a thread, as settings name it."""
        ...

    async def earlier(self, thread: ThreadKey, before: MessageId, since: MessageId | None) -> Output:
        """What was said in the thread before a message, newest kept, and after ``since`` if that is given."""
        ...

    async def post(self, thread: ThreadKey, key: PostKey, body: Body, *, check: bool) -> tuple[MessageId, ...]:
        """Post as one or more messages. ``check``: an earlier try may have got through, so look first.

        Raises ``SurfaceError`` when the thread is gone or closed to us.
        """
        ...

    async def offer(self, message: MessageId, gestures: Sequence[Gesture]) -> None:
        """Make it easy to answer a message with these gestures. Failures are only logged."""
        ...

    async def edit(self, message: MessageId, key: PostKey, body: Body) -> None:
        """Edit a message and wait until it shows ``body``. The latest edit wins."""
        ...

    def edit_soon(self, message: MessageId, key: PostKey, body: Body) -> None:
        """Edit when the limits allow it; only the newest ``body`` is sent."""
        ...

    async def mark_seen(self, message: MessageId) -> None:
        """Show that a message was seen and waits its turn. Failures are only logged."""
        ...

    async def whisper(self, thread: ThreadKey, person: str, markdown: str) -> None:
        """Tell one person something that nobody else sees."""
        ...

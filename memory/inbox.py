"""What came in from the chat platform: durable before it is acknowledged, each thing once.

Rows leave the inbox in the transaction that writes them to the log, so a crash in between
neither loses nor doubles anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import sqlalchemy as sa
from pydantic import Field, JsonValue, TypeAdapter
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from memory import db
from memory.log_rows import Effect, ensure_thread
from memory.types import MessageId, ThreadKey, Value

KEEP_DAYS = 7
"""How long events are remembered: re-deliveries after minutes and backlogs of days have been seen."""

Gesture = Literal["approve", "refuse", "stop", "grant", "remember", "compact"]


class Said(Value):
    """A message for us. ``words`` is its text without our own mention; ``opaque`` is for the chat adapter."""

    kind: Literal["said"] = "said"
    thread: ThreadKey
    message: MessageId
    author: str
    words: str
    at: float
    """When it was written, in seconds since 1970 by the platform's clock."""
    follow: bool
    """Whether later words in this thread are for us without a mention."""
    catch_up: bool = False
    """Whether the thread may hold words that did not come to us."""
    opaque: JsonValue = None


class Edited(Value):
    kind: Literal["edited"] = "edited"
    thread: ThreadKey
    message: MessageId
    author: str
    words: str
    opaque: JsonValue = None


class Deleted(Value):
    kind: Literal["deleted"] = "deleted"
    thread: ThreadKey
    message: MessageId


class Gestured(Value):
    """A reaction or a button on ``message``. ``on`` is false when it was taken back."""

    kind: Literal["gestured"] = "gestured"
    thread: ThreadKey
    message: MessageId
    author: str
    gesture: Gesture
    on: bool = True
    door: Literal["reaction", "button"] = "reaction"
    at: float = 0.0
    """When it was made, in seconds since 1970 by the platform's clock; 0 if it does not say."""


Inbound = Said | Edited | Deleted | Gestured
_INBOUND: TypeAdapter[Inbound] = TypeAdapter(Annotated[Inbound, Field(discriminator="kind")])


@dataclass(frozen=True, slots=True)
class Waiting:
    """An inbox row that is not in the log yet."""

    id: int
    inbound: Inbound


@dataclass(slots=True)
class Inbox:
    database: db.Database
    clock: Callable[[], float] = time.time

    async def put(self, event: str, identity: str, inbound: Inbound) -> bool:
        """Store an event; False if it (or its twin with the same identity) is known already."""
        row = {
            "event": event,
            "identity": identity,
            "thread": inbound.thread,
            "received": self.clock(),
            "done": False,
            "body": _INBOUND.dump_json(inbound).decode(),
        }

        def work(connection: Connection) -> bool:
            known = sa.select(db.inbox.c.id).where(sa.or_(db.inbox.c.event == event, db.inbox.c.identity == identity))
            if connection.execute(known).first() is not None:
                return False
            thread = ensure_thread(connection, inbound.thread, followed=isinstance(inbound, Said) and inbound.follow)
            connection.execute(sa.update(db.threads).where(db.threads.c.id == thread).values(open=True))
            connection.execute(sa.insert(db.inbox).values(**row))
            return True

        try:
            return await self.database.write(work)
        except IntegrityError:
            # Another door was faster by a moment: with the same event, or with the first one of the same thread.
            # Now that this is committed, a second look tells which.
            return await self.database.write(work)

    async def knows(self, identity: str) -> bool:
        """Whether something with this identity has come in."""
        statement = sa.select(db.inbox.c.id).where(db.inbox.c.identity == identity)
        return await self.database.read(lambda connection: connection.execute(statement).first()) is not None

    async def waiting(self, thread: ThreadKey) -> list[Waiting]:
        """What the thread has not taken yet, oldest first."""
        columns = db.inbox.c
        statement = (
            sa.select(columns.id, columns.body)
            .where(columns.thread == thread, columns.done.is_(False))
            .order_by(columns.id)
        )
        rows = await self.database.read(lambda connection: connection.execute(statement).all())
        return [Waiting(int(row.id), _INBOUND.validate_json(row.body)) for row in rows]

    async def open_threads(self) -> list[ThreadKey]:
        """Threads with unfinished work, for the scan at the start."""
        statement = sa.select(db.threads.c.key).where(db.threads.c.open.is_(True)).order_by(db.threads.c.id)
        rows = await self.database.read(lambda connection: connection.scalars(statement).all())
        return [ThreadKey(key) for key in rows]

    async def purge(self) -> None:
        """Forget events that no re-delivery can match any more."""
        before = self.clock() - KEEP_DAYS * 86_400
        statement = sa.delete(db.inbox).where(db.inbox.c.done.is_(True), db.inbox.c.received < before)
        await self.database.write(lambda connection: connection.execute(statement) and None)


def taken(rows: Sequence[Waiting]) -> Effect:
    """Mark rows as taken, in the transaction that appends what they became."""
    statement = sa.update(db.inbox).where(db.inbox.c.id.in_([row.id for row in rows])).values(done=True)
    return lambda connection: connection.execute(statement) and None

"""How far each thread was learned from, so that nothing is learned twice or missed over a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from memory import db
from memory.log_rows import Effect
from memory.records import Briefed, MessageDeleted, MessageEdited, Stored, UserSaid, load
from memory.types import MessageId, Person, ThreadKey

_WORDS = ('%"kind":"user_said"%', '%"kind":"message_edited"%', '%"kind":"message_deleted"%')


@dataclass(frozen=True, slots=True)
class Words:
    """What a person said, as it stands now. ``at`` is seconds since 1970."""

    seq: int
    at: float
    message: MessageId
    author: Person
    text: str


@dataclass(frozen=True, slots=True)
class Learned:
    database: db.Database

    async def behind(self) -> list[ThreadKey]:
        """Threads that hold records which were not learned from."""
        newest = (
            sa.select(db.records.c.thread, sa.func.max(db.records.c.seq).label("seq"))
            .group_by(db.records.c.thread)
            .subquery()
        )
        statement = (
            sa.select(db.threads.c.key)
            .join(newest, newest.c.thread == db.threads.c.id)
            .outerjoin(db.learned, db.learned.c.thread == db.threads.c.id)
            .where(newest.c.seq > sa.func.coalesce(db.learned.c.upto, 0))
            .order_by(db.threads.c.id)
        )
        rows = await self.database.read(lambda connection: connection.scalars(statement).all())
        return [ThreadKey(key) for key in rows]

    async def unread(self, thread: ThreadKey) -> tuple[int, list[Words], str]:
        """(newest seq, what people said since the last time, the notes that were told last in this thread).

        Edits are applied and deleted messages left out. The seq is 0 if there is nothing new.
        """
        columns = db.records.c

        def work(connection: Connection) -> tuple[int, list[Stored], str]:
            found = connection.execute(
                sa.select(db.threads.c.id, sa.func.coalesce(db.learned.c.upto, 0).label("upto"))
                .outerjoin(db.learned, db.learned.c.thread == db.threads.c.id)
                .where(db.threads.c.key == thread)
            ).first()
            if found is None:
                return 0, [], ""
            here = (columns.thread == found.id) & (columns.seq > found.upto)
            newest = connection.scalar(sa.select(sa.func.max(columns.seq)).where(here)) or 0
            rows = connection.execute(
                sa.select(columns.seq, columns.at, columns.version, columns.body)
                .where(here, sa.or_(*(columns.body.like(one) for one in _WORDS)))
                .order_by(columns.seq)
            )
            records = [Stored(int(r.seq), float(r.at), load(r.body, r.version)) for r in rows]
            return int(newest), records, _recalled(connection, int(found.id))

        newest, records, recalled = await self.database.read(work)
        return newest, spoken(records), recalled


def _recalled(connection: Connection, thread: int) -> str:
    """The result of the last recall in a thread that was made for it unasked; empty without one."""
    columns = db.records.c
    row = connection.execute(
        sa.select(columns.version, columns.body)
        .where(columns.thread == thread, columns.body.like('%"kind":"briefed"%"name":"recall"%'))
        .order_by(columns.seq.desc())
        .limit(1)
    ).first()
    record = load(row.body, row.version) if row is not None else None
    return record.result.text if isinstance(record, Briefed) else ""


def spoken(records: Sequence[Stored]) -> list[Words]:
    """Each message once, as its last edit left it."""
    out = dict[MessageId, Words]()
    for stored in records:
        match stored.record:
            case UserSaid(author=author, source=source, text=text):
                out[source] = Words(stored.seq, stored.at, source, author, text)
            case MessageEdited(by=author, source=source, text=text):
                out[source] = Words(stored.seq, stored.at, source, author, text)
            case MessageDeleted(source=source):
                out.pop(source, None)
            case _:
                pass
    return list(out.values())


def learned_upto(thread: ThreadKey, seq: int) -> Effect:
    """Note how far a thread was learned from, in the transaction that books what it cost."""

    def work(connection: Connection) -> None:
        found = connection.scalar(sa.select(db.threads.c.id).where(db.threads.c.key == thread))
        if found is None:
            return
        more = sa.update(db.learned).where(db.learned.c.thread == found).values(upto=seq)
        if connection.execute(more).rowcount == 0:
            connection.execute(sa.insert(db.learned).values(thread=found, upto=seq))

    return work

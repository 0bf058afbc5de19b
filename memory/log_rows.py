"""What is written with the records of a log: the rows themselves, and what other tables keep of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from memory import db
from memory.prepared import Prepared
from memory.types import ThreadKey

Effect = Callable[[Connection], None]

_INSERT = Prepared(sa.insert(db.records))


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Rows of records, and what is done in the same transaction."""

    rows: tuple[dict[str, object], ...] = ()
    effects: tuple[Effect, ...] = field(default_factory=tuple[Effect, ...])

    def __add__(self, more: Unwritten) -> Unwritten:
        return Unwritten((*self.rows, *more.rows), (*self.effects, *more.effects))

    def write(self, connection: Connection) -> None:
        if self.rows:
            _INSERT.run(connection, *self.rows)
        for effect in self.effects:
            effect(connection)


def remember_posts(connection: Connection, rows: list[dict[str, object]]) -> None:
    known = set(
        connection.scalars(sa.select(db.posts.c.message).where(db.posts.c.message.in_([r["message"] for r in rows])))
    )
    if fresh := [row for row in rows if row["message"] not in known]:
        connection.execute(sa.insert(db.posts), fresh)


def set_read_from(connection: Connection, thread: int, seq: int) -> None:
    connection.execute(sa.update(db.threads).where(db.threads.c.id == thread).values(read_from=seq))


def keep_whole(thread: int, handle: str, text: str) -> Effect:
    """Store a large result beside the record that shows a part of it."""
    # PostgreSQL keeps no NUL in a text.
    statement = sa.insert(db.results).values(thread=thread, handle=handle, text=text.replace("\0", "\ufffd"))
    return lambda connection: connection.execute(statement) and None


def ensure_thread(connection: Connection, key: ThreadKey, *, followed: bool = False) -> int:
    """The row of a thread, made if need be; ``followed`` is only ever switched on."""
    find = sa.select(db.threads.c.id, db.threads.c.followed).where(db.threads.c.key == key)
    if (found := connection.execute(find).first()) is None:
        values = {"key": key, "followed": followed, "open": False, "read_from": 1}
        connection.execute(db.insert_if_new(connection, db.threads).values(**values))
        found = connection.execute(find).one()
    if followed and not found.followed:
        connection.execute(sa.update(db.threads).where(db.threads.c.id == found.id).values(followed=True))
    return int(found.id)

"""The stored log of each thread: read once, kept while the thread is at work, appended to for ever.

The key (thread, seq) is the fence: of two processes that write the same thread one fails at its
append, before it has acted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from memory import db
from memory.context import Assembly, Context, assembly
from memory.log_rows import Effect, Unwritten, ensure_thread, remember_posts, set_read_from
from memory.records import (
    FORMAT,
    Cleared,
    Compacted,
    Framed,
    Posted,
    PostKind,
    Record,
    Stored,
    ToolEnded,
    Unbound,
    dump,
    load,
)
from memory.search import Found, holds, made_whole, rank, terms
from memory.state import ThreadState, fold
from memory.types import MessageId, ThreadKey


class Fenced(Exception):
    """Another process has written to this thread: this one must not act on it any more."""


class CorruptLog(Exception):
    """A stored record cannot be read. The message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a posted message belongs."""

    thread: ThreadKey
    of: int
    what: PostKind


@dataclass(slots=True)
class ThreadLog:
    """One thread in memory: its records since the last compaction, and what they amount to."""

    key: ThreadKey
    id: int
    database: db.Database
    clock: Callable[[], float]
    records: list[Stored] = field(default_factory=list[Stored])
    state: ThreadState = field(default_factory=ThreadState)
    loaded: int = 0
    """The last seq that was there when the log was read: what came later happened in this process."""
    fresh: bool = True
    """Nobody has worked on it since it was read."""
    _assembly: Assembly = field(default_factory=Assembly)
    _next: int = 1
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _unwritten: Unwritten = field(default_factory=Unwritten)

    def begin(self, records: Sequence[Stored]) -> None:
        for stored in records:
            self._take(stored)
        self._assembly = assembly(self.records)
        self.loaded = self._next - 1

    @property
    def context(self) -> Context:
        """What the model reads now."""
        return self._assembly.context

    def at(self, seq: int) -> Record | None:
        """The record of this seq, if it is still in memory."""
        index = seq - self.records[0].seq if self.records else -1
        return self.records[index].record if 0 <= index < len(self.records) else None

    async def append(self, *new: Record, also: Sequence[Effect] = ()) -> tuple[Stored, ...]:
        """Write records, and ``also`` in the same transaction; returns once they are durable.

        Raises ``Fenced`` when another process has written here in the meantime.
        """
        async with self._lock:
            stored = self._numbered(new)
            unwritten = self._unwritten + self._rows(stored, also)
            cancelled: asyncio.CancelledError | None = None
            try:
                await self.database.write(unwritten.write)
            except asyncio.CancelledError as error:
                cancelled = error  # the rows are there all the same: take them in first
            except exc.IntegrityError as error:
                raise Fenced(
                    f"another Bobbin process is writing to thread {self.key}; this one stops working on it. "
                    "Run only one process for each database."
                ) from error
            self._unwritten = Unwritten()
            self._take_in(stored)
            if cancelled is not None:
                raise cancelled
            return stored

    async def keep(self, *new: Record, also: Sequence[Effect] = ()) -> tuple[Stored, ...]:
        """Take records in at once, to be written with those of the next ``append``.

        Only for what may be lost in a crash and is then done again, as reads are.
        """
        async with self._lock:
            stored = self._numbered(new)
            self._unwritten += self._rows(stored, also)
            self._take_in(stored)
            return stored

    async def flush(self) -> None:
        """Write what ``keep`` has taken in: nothing more may come for days."""
        if self._unwritten.rows:
            await self.append()

    def _numbered(self, new: Sequence[Record]) -> tuple[Stored, ...]:
        at = self.clock()
        return tuple(Stored(seq, at, record) for seq, record in zip(count(self._next), new, strict=False))

    def _rows(self, stored: Sequence[Stored], also: Sequence[Effect]) -> Unwritten:
        rows: tuple[dict[str, object], ...] = tuple(
            {"thread": self.id, "seq": s.seq, "at": s.at, "version": FORMAT, "body": dump(s.record)} for s in stored
        )
        return Unwritten(rows, (*also, *(effect for s in stored if (effect := self._derived(s)) is not None)))

    def _take_in(self, stored: Sequence[Stored]) -> None:
        rebuild = False
        for one in stored:
            rebuild = not self._take(one) or rebuild
        if rebuild:
            self._assembly = assembly(self.records)
            self._let_go()

    def _let_go(self) -> None:
        """Drop what a compaction stands for from memory; it stays in the database."""
        cut = next((s.record.keep_from for s in reversed(self.records) if isinstance(s.record, Compacted)), 0)
        first = self._turn_of(cut)
        self.records = [stored for stored in self.records if stored.seq >= first]

    def _turn_of(self, seq: int) -> int:
        """Where to begin reading to know ``seq``: at the words that began its turn.

        One that is read from its middle would be taken for another.
        """
        return fold(stored for stored in self.records if stored.seq <= seq).turn.seq or seq

    def _take(self, stored: Stored) -> bool:
        self.records.append(stored)
        self._next = stored.seq + 1
        self.state.take(stored)
        extends = self._assembly.take(stored)
        return extends and not isinstance(stored.record, Framed | Unbound | Cleared | Compacted)

    def _derived(self, stored: Stored) -> Effect | None:
        """What other tables keep of a record, so that it can be found or read faster."""
        match stored.record:
            case Posted(messages=messages, of=of, what=what):
                rows: list[dict[str, object]] = [
                    {"message": message, "thread": self.key, "of": of, "what": what} for message in messages
                ]
                return (lambda connection: remember_posts(connection, rows)) if rows else None
            case Compacted(keep_from=keep_from):
                read_from = self._turn_of(keep_from)
                return lambda connection: set_read_from(connection, self.id, read_from)
            case _:
                return None


@dataclass(slots=True)
class Logs:
    """All threads of a database. The ones used last stay in memory."""

    database: db.Database
    clock: Callable[[], float] = time.time
    keep: int = 32
    _live: dict[ThreadKey, ThreadLog] = field(default_factory=dict[ThreadKey, ThreadLog])

    async def open(self, key: ThreadKey) -> ThreadLog:
        """The thread's log; an unknown thread begins empty. Raises ``CorruptLog``."""
        if (live := self._live.pop(key, None)) is None:
            live = await self.look(key)
        self._live[key] = live
        while len(self._live) > self.keep:
            del self._live[next(iter(self._live))]
        return live

    async def look(self, key: ThreadKey) -> ThreadLog:
        """The log as it is stored now, to be read only. Raises ``CorruptLog``."""
        thread, rows = await self.database.write(lambda connection: _load(connection, key))
        log = ThreadLog(key, thread, self.database, self.clock)
        log.begin([_read(key, *row) for row in rows])
        return log

    async def newest(self, beginning: str, limit: int) -> list[ThreadKey]:
        """Threads whose key begins so, the newest first."""
        columns = db.threads.c
        mine = columns.key.startswith(beginning, autoescape=True)
        statement = sa.select(columns.key).where(mine).order_by(columns.id.desc()).limit(limit)
        return [ThreadKey(key) for key in await self.database.read(lambda c: c.scalars(statement).all())]

    def forget(self, key: ThreadKey) -> None:
        """Drop what is in memory, so that the next ``open`` reads what is stored."""
        self._live.pop(key, None)

    async def close(self, key: ThreadKey) -> None:
        """The thread has no unfinished work: the scan at the next start may pass it by.

        What came in meanwhile keeps it open.
        """
        mail = sa.select(db.inbox.c.id).where(db.inbox.c.thread == key, db.inbox.c.done.is_(False))
        row = sa.select(db.threads.c.id).where(db.threads.c.key == key).with_for_update()
        statement = sa.update(db.threads).where(db.threads.c.key == key, ~mail.exists()).values(open=False)

        def work(connection: Connection) -> None:
            connection.execute(row)  # wait for mail that is being put in, before looking for it
            connection.execute(statement)

        await self.database.write(work)

    async def follows(self, key: ThreadKey) -> bool:
        """Whether words in this thread are for us without a mention."""
        statement = sa.select(db.threads.c.followed).where(db.threads.c.key == key)
        return bool(await self.database.read(lambda connection: connection.scalar(statement)))

    async def place_of(self, message: MessageId) -> Place | None:
        """Which thread and record one of our posted messages shows."""
        columns = db.posts.c
        statement = sa.select(columns.thread, columns.of, columns.what).where(columns.message == message)
        row = await self.database.read(lambda connection: connection.execute(statement).first())
        return Place(ThreadKey(row.thread), row.of, row.what) if row else None

    async def whole_result(self, key: ThreadKey, handle: str) -> str | None:
        """A result that was cut or set aside, as it was."""
        statement = (
            sa.select(db.results.c.text)
            .join(db.threads, db.threads.c.id == db.results.c.thread)
            .where(db.threads.c.key == key, db.results.c.handle == handle)
        )
        whole = await self.database.read(lambda connection: connection.scalar(statement))
        if whole is not None:
            return whole
        for record in await self.matching(key, [f'"handle":"{handle}"']):
            if isinstance(record.record, ToolEnded) and record.record.handle == handle:
                return record.record.result.text
        return None

    async def search(self, key: ThreadKey, query: str) -> list[Found]:
        """What was ever said in a thread that matches, best first; records of other threads are never looked at."""
        needles = [json.dumps(term, ensure_ascii=False)[1:-1] for term in dict.fromkeys(terms(query))][:24]
        if not needles:
            return []
        whole = await self._whole_matching(key, needles)
        found = await self.matching(key, [*needles, *(f'"handle":"{handle}"' for handle in whole)])
        return await asyncio.to_thread(rank, [made_whole(stored, whole) for stored in found], query)

    async def _whole_matching(self, key: ThreadKey, needles: Sequence[str]) -> dict[str, str]:
        """The newest long results of a thread that hold any of these texts, by handle."""
        columns = db.results.c
        statement = (
            sa.select(columns.handle, columns.text)
            .join(db.threads, db.threads.c.id == columns.thread)
            .where(db.threads.c.key == key, sa.or_(*(holds(columns.text, needle) for needle in needles)))
            .limit(WHOLE_RESULTS)
        )
        rows = await self.database.read(lambda connection: connection.execute(statement).all())
        return {str(row.handle): str(row.text) for row in rows}

    async def matching(self, key: ThreadKey, needles: Sequence[str]) -> list[Stored]:
        """All records of a thread, from its beginning, whose stored form holds any of these texts."""
        columns = db.records.c
        statement = (
            sa.select(columns.seq, columns.at, columns.version, columns.body)
            .join(db.threads, db.threads.c.id == columns.thread)
            .where(db.threads.c.key == key, sa.or_(*(holds(columns.body, needle) for needle in needles)))
            .order_by(columns.seq)
        )
        rows = await self.database.read(lambda connection: connection.execute(statement).all())
        return [_read(key, int(r.seq), float(r.at), int(r.version), str(r.body)) for r in rows]


WHOLE_RESULTS = 20
"""How many long results one search reads whole."""


def _load(connection: Connection, key: ThreadKey) -> tuple[int, list[tuple[int, float, int, str]]]:
    thread = ensure_thread(connection, key)
    columns = db.records.c
    start = sa.select(db.threads.c.read_from).where(db.threads.c.id == thread).scalar_subquery()
    found = connection.execute(
        sa.select(columns.seq, columns.at, columns.version, columns.body)
        .where(columns.thread == thread, columns.seq >= start)
        .order_by(columns.seq)
    )
    return thread, [(int(r.seq), float(r.at), int(r.version), str(r.body)) for r in found]


def _read(key: ThreadKey, seq: int, at: float, version: int, body: str) -> Stored:
    try:
        return Stored(seq, at, load(body, version))
    except ValueError as error:
        raise CorruptLog(
            f"record {seq} of thread {key} cannot be read ({str(error).splitlines()[0]}). "
            "Nothing was changed. Restore the database from a backup, or start a new thread."
        ) from error

"""Facts in SQL, which is the truth: what was said, by whom, where, since when, and until when it held.

The vector index beside it can be lost at any time. Every read that leaves this file goes through
``visible``, which is ``may_see`` in SQL; whoever shows a fact asks ``may_see`` once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from memory import db
from memory.audience import Audience
from memory.fact import Embedded, Fact, Keep, NewFact
from memory.fact_rows import (
    by_id,
    check_forgotten,
    embedded_of,
    end,
    fact_of,
    insert,
    owned,
    remember_forgetting,
    same_claim,
    touch,
    visible,
    with_predecessors,
)
from memory.log_rows import Effect
from memory.types import MessageId

RARE = 300
"""A word that more facts hold than this does not tell them apart."""


@dataclass(frozen=True, slots=True)
class Facts:
    database: db.Database
    clock: Callable[[], float] = field(default=time.time)

    # -- writing ---------------------------------------------------------------------------------

    async def add(
        self,
        new: NewFact,
        vector: bytes | None,
        embedder: str,
        *,
        keep: Keep,
        replaces: int | None = None,
        also: Sequence[Effect] = (),
    ) -> tuple[Fact, bool]:
        """Store a claim; what says the same in the same scope already is returned instead, with False.

        ``replaces`` is the fact that it supersedes: that one stays, with the time it stopped to hold.
        Raises ``Forgotten``.
        """
        now = self.clock()

        def work(connection: Connection) -> tuple[Fact, bool]:
            for effect in also:
                effect(connection)
            check_forgotten(connection, new, keep)
            same = same_claim(connection, new)
            if same is not None and same.id != replaces:
                touch(connection, [same.id], now)
                kept, fresh = same, False
            else:
                kept, fresh = insert(connection, new, vector, embedder, now), True
            if replaces is not None:
                end(connection, replaces, "superseded", now, kept.id)
            return kept, fresh

        return await self.database.write(work)

    async def retract(self, fact: int) -> None:
        """It does not hold any more; the row stays."""
        now = self.clock()
        await self.database.write(lambda connection: end(connection, fact, "retracted", now, None))

    async def touch(self, facts: Iterable[int]) -> None:
        """Note that facts were used or said again."""
        ids, now = list(facts), self.clock()
        if ids:
            await self.database.write(lambda connection: touch(connection, ids, now))

    async def forget(self, facts: Sequence[Fact], *, for_good: bool = True) -> None:
        """Remove rows and everything derived from them, also what they superseded.

        ``for_good`` leaves hashes of the text and of the message, so that neither is learned again.
        """

        def work(connection: Connection) -> None:
            ids = with_predecessors(connection, [fact.id for fact in facts])
            gone = [row for fact in ids if (row := by_id(connection, fact)) is not None]
            connection.execute(sa.delete(db.fact_words).where(db.fact_words.c.fact.in_(ids)))
            connection.execute(sa.delete(db.facts).where(db.facts.c.id.in_(ids)))
            if for_good:
                for one in gone:
                    remember_forgetting(connection, one)

        await self.database.write(work)

    async def share(self, fact: int) -> None:
        """Its author had it told to the whole workspace."""
        statement = sa.update(db.facts).where(db.facts.c.id == fact).values(shared=True, scope="workspace", place="")
        await self.database.write(lambda connection: connection.execute(statement) and None)

    async def moved(self, workspace: str, channel: str, room: str) -> None:
        """A channel became private or public: the facts that were said there follow."""
        columns = db.facts.c
        here = (columns.workspace == workspace) & (columns.channel == channel)
        statement = sa.update(db.facts).where(here, columns.room != room).values(room=room)
        await self.database.write(lambda connection: connection.execute(statement) and None)

    async def set_vectors(self, vectors: Mapping[int, bytes], embedder: str) -> None:
        """Keep what the embedder made of facts that had no vector, or another one's."""
        rows = [{"fact": fact, "bytes": vector} for fact, vector in vectors.items()]
        statement = (
            sa.update(db.facts)
            .where(db.facts.c.id == sa.bindparam("fact"))
            .values(vector=sa.bindparam("bytes"), embedder=embedder)
        )
        if rows:
            await self.database.write(lambda connection: connection.execute(statement, rows) and None)

    # -- reading ---------------------------------------------------------------------------------

    async def get(self, audience: Audience, ids: Sequence[int], *, embedder: str = "") -> list[Embedded]:
        """Those of these facts that hold and that the audience may see."""
        columns = db.facts.c

        def work(connection: Connection) -> list[Embedded]:
            out = list[Embedded]()
            for start in range(0, len(ids), 500):
                some = ids[start : start + 500]
                statement = sa.select(db.facts).where(visible(audience), columns.id.in_(some))
                out += [embedded_of(row, embedder) for row in connection.execute(statement).mappings()]
            return out

        return await self.database.read(work)

    async def listed(
        self,
        audience: Audience,
        *,
        limit: int,
        before: int | None = None,
        of: str | None = None,
        but: str | None = None,
    ) -> list[Fact]:
        """What the audience may see, newest first; ``of`` keeps what is one person's own, ``but`` leaves that out."""
        columns = db.facts.c
        wanted = visible(audience)
        if before is not None:
            wanted = wanted & (columns.id < before)
        if of is not None:
            wanted = wanted & owned(of)
        if but is not None:
            wanted = wanted & ~owned(but)
        statement = sa.select(db.facts).where(wanted).order_by(columns.id.desc()).limit(limit)
        rows = await self.database.read(lambda connection: connection.execute(statement).mappings().all())
        return [fact_of(row) for row in rows]

    async def of_message(self, message: MessageId) -> list[Fact]:
        """Every fact that was learned from a message, whatever became of it."""
        statement = sa.select(db.facts).where(db.facts.c.message == message)
        rows = await self.database.read(lambda connection: connection.execute(statement).mappings().all())
        return [fact_of(row) for row in rows]

    async def holding(self, workspace: str, wanted: Iterable[str]) -> tuple[int, dict[str, list[int]]]:
        """How many facts hold, and for each word those with it, newest first, at most ``RARE`` + 1."""
        columns = db.fact_words.c

        def work(connection: Connection) -> tuple[int, dict[str, list[int]]]:
            return _count(connection, workspace), {
                word: list(
                    connection.scalars(
                        sa.select(columns.fact)
                        .where(columns.workspace == workspace, columns.word == word)
                        .order_by(columns.fact.desc())
                        .limit(RARE + 1)
                    )
                )
                for word in sorted(wanted)[:80]
            }

        return await self.database.read(work)

    async def vectors(
        self, embedder: str, *, after: int = 0, limit: int = 500, audience: Audience | None = None
    ) -> list[tuple[int, str, bytes]]:
        """(id, workspace, vector) of facts that hold, in the order of their ids, a page at a time."""
        columns = db.facts.c
        wanted = (columns.status == "active") if audience is None else visible(audience)
        statement = (
            sa.select(columns.id, columns.workspace, columns.vector)
            .where(wanted, columns.embedder == embedder, columns.vector.is_not(None), columns.id > after)
            .order_by(columns.id)
            .limit(limit)
        )
        rows = await self.database.read(lambda connection: connection.execute(statement).all())
        return [(int(row.id), str(row.workspace), bytes(row.vector)) for row in rows]

    async def without_vector(self, embedder: str, limit: int = 32) -> list[tuple[int, str, str]]:
        """(id, workspace, text) of facts that this embedder has not seen yet, newest first."""
        columns = db.facts.c
        statement = (
            sa.select(columns.id, columns.workspace, columns.text)
            .where(_unseen(embedder))
            .order_by(columns.id.desc())
            .limit(limit)
        )
        rows = await self.database.read(lambda connection: connection.execute(statement).all())
        return [(int(row.id), str(row.workspace), str(row.text)) for row in rows]

    async def count_without_vector(self, embedder: str) -> int:
        statement = sa.select(sa.func.count()).select_from(db.facts).where(_unseen(embedder))
        return int(await self.database.read(lambda connection: connection.scalar(statement)) or 0)

    async def alive(self, ids: Iterable[int]) -> set[int]:
        """Those of these facts that still hold."""
        columns = db.facts.c
        statement = sa.select(columns.id).where(columns.status == "active", columns.id.in_(list(ids)))
        return set(await self.database.read(lambda connection: connection.scalars(statement).all()))

    async def none(self) -> bool:
        """Whether nothing is remembered at all."""
        statement = sa.select(db.facts.c.id).limit(1)
        return await self.database.read(lambda connection: connection.scalar(statement)) is None


def _count(connection: Connection, workspace: str) -> int:
    statement = sa.select(sa.func.count()).where(db.facts.c.workspace == workspace, db.facts.c.status == "active")
    return int(connection.scalar(statement) or 0)


def _unseen(embedder: str) -> sa.ColumnElement[bool]:
    columns = db.facts.c
    return (columns.status == "active") & ((columns.embedder != embedder) | columns.vector.is_(None))

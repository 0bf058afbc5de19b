"""Facts as rows: what may be seen, in SQL, and the statements that the store is made of."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from memory import db
from memory.audience import Audience, Scope, ScopeKind, Source
from memory.fact import Embedded, Fact, Forgotten, Keep, NewFact, Status
from memory.types import MessageId
from memory.words import mark, normal, stated_date, words


def visible(audience: Audience) -> sa.ColumnElement[bool]:
    """``may_see`` in SQL, for facts that hold."""
    columns = db.facts.c
    if audience.room == "closed":
        return sa.false()
    places: dict[ScopeKind, sa.ColumnElement[bool]] = {
        "workspace": sa.true(),
        "channel": sa.true() if audience.room == "direct" else columns.place == audience.channel,
        "thread": columns.place == audience.thread,
        "user": columns.place == audience.asker,
    }
    holds = sa.or_(*((columns.scope == kind) & here for kind, here in places.items()))
    readable = columns.channel == audience.channel
    if not audience.restricted:
        readable = readable | (columns.room == "public") | columns.shared
    if audience.room == "direct":
        readable = readable | (columns.channel.in_(sorted(audience.channels)) & (columns.room != "direct"))
    # Joined to nothing, so that SQLite does not walk the whole workspace by its index where ids or their order do.
    here = (
        (columns.workspace.concat("") == audience.workspace) & (columns.status == "active") & (columns.room != "closed")
    )
    return here & holds & readable


def owned(person: str) -> sa.ColumnElement[bool]:
    """``owns`` in SQL: what somebody said, had kept, or is of them alone."""
    columns = db.facts.c
    return (
        (columns.author == person)
        | (columns.keeper == person)
        | ((columns.scope == "user") & (columns.place == person))
    )


def fact_of(row: sa.RowMapping) -> Fact:
    return Fact(
        scope=Scope(kind=row["scope"], place=row["place"]),
        source=Source(workspace=row["workspace"], channel=row["channel"], room=row["room"], shared=row["shared"]),
        **{name: row[name] for name in Fact.model_fields if name not in {"scope", "source"}},
    )


def embedded_of(row: sa.RowMapping, embedder: str) -> Embedded:
    return Embedded(fact_of(row), row["vector"] if row["embedder"] == embedder else None)


def insert(connection: Connection, new: NewFact, vector: bytes | None, embedder: str, now: float) -> Fact:
    row: dict[str, Any] = {
        **new.model_dump(exclude={"scope", "source"}),
        "scope": new.scope.kind,
        "place": new.scope.place,
        **new.source.model_dump(),
        "status": "active",
        "created": now,
        "valid_from": stated_date(new.text) or now,
        "uses": 0,
        "normal": normal(new.text),
        "embedder": embedder if vector is not None else "",
        "vector": vector,
    }
    fact = int(connection.execute(sa.insert(db.facts).values(**row).returning(db.facts.c.id)).scalar_one())
    found = [{"workspace": new.source.workspace, "word": word, "fact": fact} for word in words(new.text)]
    if found:
        connection.execute(sa.insert(db.fact_words), found)
    return Fact(**new.model_dump(), id=fact, created=now, valid_from=row["valid_from"])


def by_id(connection: Connection, fact: int) -> Fact | None:
    row = connection.execute(sa.select(db.facts).where(db.facts.c.id == fact)).mappings().first()
    return fact_of(row) if row is not None else None


def same_claim(connection: Connection, new: NewFact) -> Fact | None:
    """What says the same already, to everybody who would read the new one."""
    columns = db.facts.c
    statement = sa.select(db.facts).where(
        columns.normal == normal(new.text),
        columns.workspace == new.source.workspace,
        columns.scope == new.scope.kind,
        columns.place == new.scope.place,
        columns.status == "active",
        (columns.channel == new.source.channel) | (columns.room == "public") | columns.shared,
    )
    row = connection.execute(statement).mappings().first()
    return fact_of(row) if row is not None else None


def end(connection: Connection, fact: int, status: Status, now: float, by: int | None) -> None:
    """Words of what no longer holds are dropped: they are only there to find what does."""
    values = {"status": status, "invalid_at": now, "superseded_by": by}
    connection.execute(sa.update(db.facts).where(db.facts.c.id == fact, db.facts.c.status == "active").values(**values))
    connection.execute(sa.delete(db.fact_words).where(db.fact_words.c.fact == fact))


def touch(connection: Connection, facts: list[int], now: float) -> None:
    columns = db.facts.c
    connection.execute(sa.update(db.facts).where(columns.id.in_(facts)).values(used=now, uses=columns.uses + 1))


def with_predecessors(connection: Connection, facts: list[int]) -> list[int]:
    """These facts and all that they superseded: old values of what is forgotten are forgotten too."""
    found, newest = list(facts), list(facts)
    while newest:
        newest = [
            fact
            for fact in connection.scalars(sa.select(db.facts.c.id).where(db.facts.c.superseded_by.in_(newest)))
            if fact not in found
        ]
        found += newest
    return found


def _marks(workspace: str, scope: Scope, text: str, message: MessageId) -> tuple[str, str]:
    return mark("text", workspace, scope.kind, scope.place, normal(text)), mark("message", message)


def remember_forgetting(connection: Connection, fact: Fact) -> None:
    for one in _marks(fact.source.workspace, fact.scope, fact.text, fact.message):
        known = sa.select(db.forgotten.c.mark).where(db.forgotten.c.mark == one)
        if connection.execute(known).first() is None:
            connection.execute(sa.insert(db.forgotten).values(mark=one))


def check_forgotten(connection: Connection, new: NewFact, keep: Keep) -> None:
    """A person who asks for it may have it remembered again."""
    marks = _marks(new.source.workspace, new.scope, new.text, new.message)
    if keep == "asked":
        connection.execute(sa.delete(db.forgotten).where(db.forgotten.c.mark.in_(marks)))
    elif connection.execute(sa.select(db.forgotten.c.mark).where(db.forgotten.c.mark.in_(marks))).first() is not None:
        raise Forgotten("people had this forgotten")

"""What each person has cost on each day, so that nobody can burn the budget."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from memory import db
from memory.log import Effect


def day_of(at: float) -> str:
    """The UTC day of a time in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def spending(at: float, subject: str, dollars: float) -> Effect:
    """Add to the day's sum, in the transaction that appends what cost it."""
    columns = db.spend.c
    key = (columns.day == day_of(at)) & (columns.subject == subject)

    def work(connection: Connection) -> None:
        nothing = {"day": day_of(at), "subject": subject, "dollars": 0.0}
        connection.execute(db.insert_if_new(connection, db.spend).values(nothing))
        connection.execute(sa.update(db.spend).where(key).values(dollars=columns.dollars + dollars))

    return work


@dataclass(frozen=True, slots=True)
class Spend:
    database: db.Database

    async def today(self, at: float, subject: str) -> float:
        """Dollars so far on the UTC day of ``at``."""
        columns = db.spend.c
        statement = sa.select(columns.dollars).where(columns.day == day_of(at), columns.subject == subject)
        return float(await self.database.read(lambda connection: connection.scalar(statement)) or 0.0)

"""What each person has cost on each day, so that nobody can burn the budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from memory import db
from memory.log_rows import Effect
from memory.prepared import Prepared

_COLUMNS = db.spend.c
_SUM = sa.select(_COLUMNS.dollars).where(_COLUMNS.day == sa.bindparam("on"), _COLUMNS.subject == sa.bindparam("who"))
_MORE = Prepared(
    sa.update(db.spend)
    .where(_COLUMNS.day == sa.bindparam("on"), _COLUMNS.subject == sa.bindparam("who"))
    .values(dollars=_COLUMNS.dollars + sa.bindparam("more"))
    .returning(_COLUMNS.dollars)
)


def day_of(at: float) -> str:
    """The UTC day of a time in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class Spend:
    database: db.Database
    _sums: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    """Of each subject: the day and the sum that our last addition came to."""

    async def today(self, at: float, subject: str, *, fresh: bool = True) -> float:
        """Dollars so far on the UTC day of ``at``; unless ``fresh``, as our last addition left them."""
        day = day_of(at)
        known = self._sums.get(subject)
        if not fresh and known is not None and known[0] == day:
            return known[1]
        values = {"on": day, "who": subject}
        return float(await self.database.read(lambda connection: connection.scalar(_SUM, values)) or 0.0)

    def adding(self, at: float, subject: str, dollars: float) -> Effect:
        """Add to the day's sum, in the transaction that appends what cost it."""
        day = day_of(at)

        def work(connection: Connection) -> None:
            more = {"on": day, "who": subject, "more": dollars}
            total = _MORE.run(connection, more).scalar()
            if total is None:
                first = db.insert_if_new(connection, db.spend).values(day=day, subject=subject, dollars=0.0)
                connection.execute(first)
                total = _MORE.run(connection, more).scalar()
            self._sums[subject] = (day, float(total or dollars))

        return work

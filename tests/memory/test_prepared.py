"""A prepared statement does what the statement does, on both databases' spelling, with the same errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from memory.prepared import Prepared

TABLE = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("amount", sa.Float, nullable=False),
)
INSERT = Prepared(sa.insert(TABLE))


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        TABLE.metadata.create_all(connection)
        yield connection
    engine.dispose()


def rows(connection: Connection) -> list[tuple[str, float]]:
    return [(row.key, row.amount) for row in connection.execute(sa.select(TABLE).order_by(TABLE.c.key))]


@pytest.mark.parametrize("values", [[("a", 1.5)], [("a", 1.5), ("b", -2.0), ("c", 0.0)]])
def test_every_row_is_written(connection: Connection, values: list[tuple[str, float]]) -> None:
    # The order of the names does not matter: they are put where the statement wants them.
    INSERT.run(connection, *({"amount": amount, "key": key} for key, amount in values))
    assert rows(connection) == values


def test_what_a_statement_returns_is_there(connection: Connection) -> None:
    more = Prepared(
        sa.update(TABLE)
        .where(TABLE.c.key == sa.bindparam("which"))
        .values(amount=TABLE.c.amount + sa.bindparam("more"))
        .returning(TABLE.c.amount)
    )
    INSERT.run(connection, {"key": "a", "amount": 1.5})
    assert more.run(connection, {"which": "a", "more": 2.0}).scalar() == 3.5
    assert more.run(connection, {"which": "nobody", "more": 2.0}).scalar() is None


def test_a_key_that_is_taken_is_refused_as_ever(connection: Connection) -> None:
    INSERT.run(connection, {"key": "a", "amount": 1.5})
    with pytest.raises(IntegrityError):
        INSERT.run(connection, {"key": "a", "amount": 2.5})


def test_it_is_spelt_for_each_driver() -> None:
    text, order = INSERT.text(postgresql.dialect(paramstyle="pyformat"))
    assert (order, "%(key)s" in text, "%(amount)s" in text) == (None, True, True)

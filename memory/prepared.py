"""Statements that run at every step, compiled once: building and looking them up costs more than their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Connection, CursorResult, Dialect
from sqlalchemy.sql.expression import UpdateBase


class Prepared:
    """An insert or update whose values need no conversion by their types (numbers, texts)."""

    def __init__(self, statement: UpdateBase) -> None:
        self._statement = statement
        self._compiled = dict[str, tuple[str, list[str] | None]]()

    def run(self, connection: Connection, *rows: Mapping[str, object]) -> CursorResult[Any]:
        """Execute it once for each row of values, by the names of its parameters."""
        text, order = self.text(connection.dialect)
        values = [dict(row) if order is None else tuple(row[name] for name in order) for row in rows]
        return connection.exec_driver_sql(text, values[0] if len(values) == 1 else values)

    def text(self, dialect: Dialect) -> tuple[str, list[str] | None]:
        """The text for a driver, and the order of its parameters if it takes them by place."""
        if (known := self._compiled.get(dialect.name)) is None:
            compiled: Any = self._statement.compile(dialect=dialect)
            known = self._compiled[dialect.name] = (str(compiled), compiled.positiontup)
        return known

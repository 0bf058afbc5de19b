"""A day's spending is what was added on it, whether it is read or known from the last addition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.db import Database
from memory.spend import Spend

DAY = 86_400.0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'bobbin.db'}")
    yield opened
    opened.close()


async def add(spend: Spend, at: float, subject: str, *amounts: float) -> None:
    for dollars in amounts:
        await spend.database.write(spend.adding(at, subject, dollars))


async def test_additions_come_to_their_sum(database: Database) -> None:
    spend = Spend(database)
    await add(spend, 0.0, "U1", 0.25, 0.5)
    await add(spend, 0.0, "U2", 4.0)
    for fresh in (True, False):
        assert await spend.today(DAY - 1, "U1", fresh=fresh) == 0.75
        assert await spend.today(DAY - 1, "U2", fresh=fresh) == 4.0


@pytest.mark.parametrize("fresh", [True, False])
async def test_a_new_day_begins_at_nothing(database: Database, fresh: bool) -> None:
    spend = Spend(database)
    await add(spend, 0.0, "U1", 0.25)
    assert await spend.today(DAY, "U1", fresh=fresh) == 0.0


async def test_after_a_restart_it_is_read(database: Database) -> None:
    await add(Spend(database), 0.0, "U1", 0.25)
    assert await Spend(database).today(0.0, "U1", fresh=False) == 0.25


async def test_what_another_process_added_is_seen_when_read_anew_and_with_the_next_addition(database: Database) -> None:
    ours, theirs = Spend(database), Spend(database)
    await add(ours, 0.0, "U1", 0.25)
    await add(theirs, 0.0, "U1", 0.5)
    assert await ours.today(0.0, "U1") == 0.75
    await add(ours, 0.0, "U1", 0.25)
    assert await ours.today(0.0, "U1", fresh=False) == 1.0

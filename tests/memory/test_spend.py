"""What each person has cost on each day."""

from __future__ import annotations

import asyncio

import pytest

from memory.db import Database
from memory.log import Logs
from memory.spend import Spend, day_of, spending
from memory.types import ThreadKey
from tests.memory.samples import said

NOON = 1_800_014_400.0
DAY = 86_400.0


@pytest.mark.parametrize(
    ("at", "day"),
    [(0.0, "1970-01-01"), (86_399.9, "1970-01-01"), (86_400.0, "1970-01-02"), (NOON, "2027-01-15")],
)
def test_a_day_is_a_day_of_utc(at: float, day: str):
    assert day_of(at) == day


async def test_costs_add_up_for_each_person_and_day(database: Database):
    spend = Spend(database)
    assert await spend.today(NOON, "ana") == 0.0
    for at, who, dollars in (
        (NOON, "ana", 0.5),
        (NOON, "ben", 2.0),
        (NOON + 60, "ana", 0.25),
        (NOON + DAY, "ana", 4.0),
    ):
        await database.write(spending(at, who, dollars))
    assert await spend.today(NOON, "ana") == 0.75
    assert await spend.today(NOON, "ben") == 2.0
    assert await spend.today(NOON + DAY, "ana") == 4.0


async def test_the_cost_is_there_with_the_record_or_not_at_all(logs: Logs):
    log, other = await logs.open(ThreadKey("t")), await Logs(logs.database).open(ThreadKey("t"))
    await other.append(said())
    with pytest.raises(Exception, match="another Bobbin process"):
        await log.append(said(), also=[spending(NOON, "ana", 1.0)])
    assert await Spend(logs.database).today(NOON, "ana") == 0.0


async def test_the_first_costs_of_a_day_may_come_at_the_same_moment(logs: Logs):
    """From many threads: no cost is lost, and no thread is told that another process writes to it."""
    opened = [await logs.open(ThreadKey(str(n))) for n in range(20)]
    await asyncio.gather(*(log.append(said(), also=[spending(NOON, "ana", 0.5)]) for log in opened))
    assert await Spend(logs.database).today(NOON, "ana") == 10.0

"""A day's spending is what was added on it, whether it is read or known from the last addition."""

from __future__ import annotations

import asyncio

import pytest

from memory.db import Database
from memory.log import Logs
from memory.spend import Spend, day_of
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
        await database.write(spend.adding(at, who, dollars))
    assert await spend.today(NOON, "ana") == 0.75
    assert await spend.today(NOON, "ben") == 2.0
    assert await spend.today(NOON + DAY, "ana") == 4.0


async def test_the_cost_is_there_with_the_record_or_not_at_all(logs: Logs):
    log, other = await logs.open(ThreadKey("t")), await Logs(logs.database).open(ThreadKey("t"))
    await other.append(said())
    with pytest.raises(Exception, match="another Bobbin process"):
        await log.append(said(), also=[Spend(logs.database).adding(NOON, "ana", 1.0)])
    assert await Spend(logs.database).today(NOON, "ana") == 0.0


async def test_the_first_costs_of_a_day_may_come_at_the_same_moment(logs: Logs):
    """From many threads: no cost is lost, and no thread is told that another process writes to it."""
    spend = Spend(logs.database)
    opened = [await logs.open(ThreadKey(str(n))) for n in range(20)]
    await asyncio.gather(*(log.append(said(), also=[spend.adding(NOON, "ana", 0.5)]) for log in opened))
    assert await Spend(logs.database).today(NOON, "ana") == 10.0


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

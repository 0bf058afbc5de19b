"""The database: what is committed together, what a cancelled write means, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from memory import db
from memory.db import Database, DatabaseError
from memory.log import Logs
from memory.types import ThreadKey
from tests.memory.samples import said


def note(subject: str, day: str = "d") -> sa.Insert:
    return sa.insert(db.spend).values(day=day, subject=subject, dollars=1.0)


async def subjects(database: Database) -> set[str]:
    rows = await database.read(lambda connection: connection.scalars(sa.select(db.spend.c.subject)).all())
    return set(rows)


async def test_what_was_written_can_be_read(database: Database):
    assert await database.write(lambda connection: connection.execute(note("a")) and "its value") == "its value"
    assert await subjects(database) == {"a"}


async def test_it_is_there_for_the_next_program(url: str, database: Database):
    await database.write(lambda connection: connection.execute(note("a")) and None)
    again = Database(url)
    assert await subjects(again) == {"a"}
    again.close()


async def test_a_failing_job_takes_no_other_with_it(database: Database):
    """Jobs that queue up behind one another are committed together, and still each for itself."""
    gate = threading.Event()

    def hold(_: Connection) -> None:
        gate.wait(10)

    def write(number: int) -> int | None:
        def work(connection: Connection) -> None:
            connection.execute(note(f"s{number}"))
            if number % 3 == 0:
                raise ValueError(f"job {number}")
            if number % 5 == 0:
                connection.execute(note(f"s{number}"))  # a key that is there already

        jobs.append(asyncio.ensure_future(database.write(work)))
        return None

    jobs = [asyncio.ensure_future(database.write(hold))]
    for number in range(1, 41):
        write(number)
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)
    for number, outcome in enumerate(outcomes):
        expected = (
            ValueError if number and number % 3 == 0 else exc.IntegrityError if number and number % 5 == 0 else None
        )
        assert type(outcome) is (expected or type(None)), number
    assert await subjects(database) == {f"s{n}" for n in range(1, 41) if n % 3 and n % 5}


async def test_nobody_is_told_of_success_before_the_commit(url: str, database: Database, raw: sa.Engine):
    await database.write(lambda connection: connection.execute(note("a")) and None)
    with raw.connect() as other:
        assert other.scalar(sa.select(sa.func.count()).select_from(db.spend)) == 1


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_write_is_done_when_the_cancellation_arrives(times: int, database: Database):
    """Also when it is cancelled again while it waits: an impatient person, or the end of the program."""
    entered, gate = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        entered.set()
        gate.wait(10)
        connection.execute(note("a"))

    task = asyncio.ensure_future(database.write(work))
    await asyncio.to_thread(entered.wait, 10)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await subjects(database) == {"a"}


async def test_a_cancelled_write_that_fails_says_so(database: Database):
    gate = threading.Event()

    def work(_: Connection) -> None:
        gate.wait(10)
        raise ValueError("no")

    task = asyncio.ensure_future(database.write(work))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(ValueError, match="no"):
        await task


async def test_closing_finishes_what_was_queued(url: str):
    database = Database(url)
    jobs = [asyncio.ensure_future(database.write(lambda c, n=n: c.execute(note(f"s{n}")) and None)) for n in range(30)]
    await asyncio.sleep(0)
    await asyncio.to_thread(database.close)
    await asyncio.gather(*jobs)
    again = Database(url)
    assert len(await subjects(again)) == 30
    again.close()


async def test_reading_does_not_wait_for_writing(database: Database):
    gate = threading.Event()
    writing = asyncio.ensure_future(database.write(lambda _: gate.wait(10) and None))
    async with asyncio.timeout(5):
        assert await subjects(database) == set()
    gate.set()
    await writing


# -- what was written stays as it was ------------------------------------------------------------


@pytest.mark.parametrize("verb", ["UPDATE records SET body = ''", "DELETE FROM records"])
@pytest.mark.parametrize("table", ["records", "results"])
async def test_the_database_refuses_to_change_the_log(verb: str, table: str, logs: Logs, raw: sa.Engine):
    log = await logs.open(ThreadKey("t"))
    await log.append(
        said(), also=[lambda c: c.execute(sa.insert(db.results).values(thread=log.id, handle="r1", text="x")) and None]
    )
    statement = verb.replace("records", table).replace("body", "body" if table == "records" else "text")
    with pytest.raises(exc.DBAPIError, match=f"{table} are append-only"), raw.begin() as connection:
        connection.exec_driver_sql(statement)
    with raw.connect() as connection:
        assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 1


def test_migrations_make_what_the_program_expects(database: Database, raw: sa.Engine):
    with raw.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, db.metadata) == []


def test_opening_again_migrates_nothing(url: str, database: Database, raw: sa.Engine):
    Database(url).close()
    with raw.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar() == 1


# -- databases that cannot be used ---------------------------------------------------------------


def refused(url: str) -> str:
    with pytest.raises(DatabaseError) as caught:
        Database(url)
    return str(caught.value)


def test_a_corrupt_file_is_named_with_what_to_do(tmp_path: Path):
    file = tmp_path / "bobbin.db"
    file.write_bytes(b"this is no database at all, however one looks at it " * 50)
    said_so = refused(f"sqlite:///{file}")
    assert str(file) in said_so
    assert "BOBBIN_DATABASE_URL" in said_so
    assert "file is not a database" in said_so


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "taken").write_text("a file")
    assert "taken" in refused(f"sqlite:///{tmp_path / 'taken' / 'bobbin.db'}")


def test_a_file_that_is_a_folder_is_named(tmp_path: Path):
    assert "cannot be opened" in refused(f"sqlite:///{tmp_path}")


def test_an_unreachable_server_is_named_without_its_password(tmp_path: Path):
    said_so = refused(f"postgresql+psycopg://bobbin:hunter2@/bobbin?host={tmp_path}")
    assert "hunter2" not in said_so
    assert str(tmp_path) in said_so
    assert "that the server runs" in said_so


@pytest.mark.parametrize("url", ["", "not an address", "oracle+nothing://x", "mysql://u:hunter2@h/d"])
def test_an_address_that_is_none_is_named_without_its_password(url: str):
    said_so = refused(url)
    assert "BOBBIN_DATABASE_URL" in said_so
    assert "hunter2" not in said_so


def test_folders_on_the_way_are_made(tmp_path: Path):
    Database(f"sqlite:///{tmp_path / 'a' / 'b' / 'bobbin.db'}").close()
    assert (tmp_path / "a" / "b" / "bobbin.db").exists()


def test_the_dialect_is_known(url: str, database: Database):
    assert url.startswith(database.dialect)

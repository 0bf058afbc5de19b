"""The database: its tables, its migrations, and one way in for writes and one for reads.

All statements run in threads, so the event loop never waits for a disk or a network.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, Connection, Engine, make_url

from memory.failpoints import Reach, nothing
from memory.lanes import WRITES, Job, Pool, SingleWriter

Result = TypeVar("Result")

metadata = sa.MetaData()

MIGRATIONS = Path(__file__).parent / "migrations"

threads = sa.Table(
    "threads",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("followed", sa.Boolean, nullable=False),
    sa.Column("open", sa.Boolean, nullable=False),
    sa.Column("read_from", sa.Integer, nullable=False),
    sa.Index("open_threads", "open"),
)
records = sa.Table(
    "records",
    metadata,
    sa.Column("thread", sa.Integer, sa.ForeignKey("threads.id"), primary_key=True, autoincrement=False),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
results = sa.Table(
    "results",
    metadata,
    sa.Column("thread", sa.Integer, sa.ForeignKey("threads.id"), primary_key=True, autoincrement=False),
    sa.Column("handle", sa.Text, primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
inbox = sa.Table(
    "inbox",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("event", sa.Text, nullable=False, unique=True),
    sa.Column("identity", sa.Text, nullable=False, unique=True),
    sa.Column("thread", sa.Text, nullable=False),
    sa.Column("received", sa.Float, nullable=False),
    sa.Column("done", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("inbox_waiting", "done", "thread"),
)
posts = sa.Table(
    "posts",
    metadata,
    sa.Column("message", sa.Text, primary_key=True),
    sa.Column("thread", sa.Text, nullable=False),
    sa.Column("of", sa.Integer, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
spend = sa.Table(
    "spend",
    metadata,
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("dollars", sa.Float, nullable=False),
    sqlite_with_rowid=False,
)
facts = sa.Table(
    "facts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("confidence", sa.Float, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("place", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("room", sa.Text, nullable=False),
    sa.Column("shared", sa.Boolean, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("author_name", sa.Text, nullable=False),
    sa.Column("keeper", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("link", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("valid_from", sa.Float, nullable=False),
    sa.Column("invalid_at", sa.Float, nullable=True),
    sa.Column("superseded_by", sa.Integer, nullable=True),
    sa.Column("used", sa.Float, nullable=True),
    sa.Column("uses", sa.Integer, nullable=False),
    sa.Column("normal", sa.Text, nullable=False),
    sa.Column("embedder", sa.Text, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=True),
    sa.Index("facts_in_place", "workspace", "status", "scope", "place"),
    sa.Index("facts_of_message", "message"),
    sa.Index("facts_normal", "normal"),
    sqlite_autoincrement=True,
)
fact_words = sa.Table(
    "fact_words",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("word", sa.Text, primary_key=True),
    sa.Column("fact", sa.Integer, primary_key=True, autoincrement=False),
    sa.Index("words_of_fact", "fact"),
    sqlite_with_rowid=False,
)
forgotten = sa.Table(
    "forgotten",
    metadata,
    sa.Column("mark", sa.Text, primary_key=True),
    sqlite_with_rowid=False,
)
learned = sa.Table(
    "learned",
    metadata,
    sa.Column("thread", sa.Integer, sa.ForeignKey("threads.id"), primary_key=True, autoincrement=False),
    sa.Column("upto", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)


def insert_if_new(connection: Connection, table: sa.Table) -> sa.Insert:
    """An insert that does nothing when the key is there already, also when another transaction has just made it."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - 2 MB that only this database needs

    return postgresql.insert(table).on_conflict_do_nothing()


class DatabaseError(Exception):
    """The database cannot be used; the message says what to do."""


class Database:
    """``url`` in SQLAlchemy's form; ``reach`` is told before and after each commit.

    Opening creates the file and its folder and migrates the schema.

    Raises ``DatabaseError`` when it cannot be opened.
    """

    def __init__(self, url: str, reach: Reach = nothing) -> None:
        self._reach = reach
        address = _address(url)
        shown = address.render_as_string(hide_password=True)
        try:
            self._engine = _engine(address)
            _migrate(self._engine)
        except (exc.DatabaseError, sqlite3.DatabaseError, OSError) as error:
            raise DatabaseError(
                f"the database {shown} cannot be opened: {_first_line(error)}. "
                "Check BOBBIN_DATABASE_URL (or BOBBIN_DATA_DIR), that the server runs, and that the place is writable."
            ) from error
        self._reads = Pool(self._engine, 2)
        self._writes = SingleWriter(self._engine) if self._engine.dialect.name == "sqlite" else Pool(self._engine, 4)

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run ``work`` in a transaction; returns after the commit.

        When cancelled it still waits for the commit, so ``CancelledError`` means that ``work`` is done.
        """
        self._reach("commit.before")
        value = await self._through(self._writes, work)
        self._reach("commit.after")
        return value

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        return await self._through(self._reads, work)

    async def check_writable(self) -> None:
        """Raises ``DatabaseError`` if what is stored may only be read. Changes nothing."""
        try:
            await self.write(
                lambda connection: connection.execute(sa.update(threads).where(sa.false()).values(open=True))
            )
        except exc.DatabaseError as error:
            raise DatabaseError(f"the database cannot be written: {_first_line(error)}") from error

    async def _through(self, lane: SingleWriter | Pool, work: Callable[[Connection], Result]) -> Result:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        lane.submit(Job(work, lambda value, error: _tell(loop, settle, value, error)))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            while not future.done():
                with suppress(asyncio.CancelledError):  # more of them must wait for the commit as well
                    await asyncio.wait({future})
            future.result()
            raise

    def close(self) -> None:
        """Finish what was queued, then let go of the files."""
        self._writes.close()
        self._reads.close()
        self._engine.dispose()


def _tell(
    loop: asyncio.AbstractEventLoop, settle: Callable[..., None], value: Any, error: BaseException | None
) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(settle, value, error)


def _address(url: str) -> URL:
    try:
        address = make_url(url)
    except exc.ArgumentError:
        address = None
    if address is None or address.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise DatabaseError(
            "BOBBIN_DATABASE_URL is no address that Bobbin can use. Write sqlite:///path/to/bobbin.db "
            "or postgresql+psycopg://user:password@host/database."
        )
    return address


def _engine(parsed: URL) -> Engine:
    if parsed.get_backend_name() != "sqlite":
        return sa.create_engine(parsed, pool_size=6, pool_pre_ping=True)
    if parsed.database and parsed.database != ":memory:":
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(parsed, connect_args={"check_same_thread": False, "timeout": 15})

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _: object) -> None:
        # The driver would open transactions late and by itself; savepoints need it to keep out of the way.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=15000"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Taking the lock first lets a writer wait for another one, instead of failing in its middle.
        writes = connection.get_execution_options().keys() & WRITES.keys()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _migrate(engine: Engine) -> None:
    with engine.begin() as connection:
        if _schema_version(connection) == newest_schema():
            return
        from alembic import command  # noqa: PLC0415 - 11 MB that only a new or an old database needs
        from alembic.config import Config  # noqa: PLC0415

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def newest_schema() -> str:
    """The revision that this program works with: the last of the migrations, whose files are named by it."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def _schema_version(connection: Connection) -> str | None:
    """The revision that the database is at; None for a new one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _first_line(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]

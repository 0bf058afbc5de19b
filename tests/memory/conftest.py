"""Every test of the database runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import sqlalchemy as sa

from memory.db import Database
from memory.inbox import Inbox
from memory.log import Logs
from tests.doubles import Clock
from tests.postgres import Server, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'bobbin.db'}"
    return cast("Server", request.getfixturevalue("postgres")).new()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def raw(url: str) -> Iterator[sa.Engine]:
    """A way past the product, to look at tables or to damage them."""
    engine = sa.create_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def logs(database: Database, clock: Clock) -> Logs:
    return Logs(database, clock)


@pytest.fixture
def inbox(database: Database, clock: Clock) -> Inbox:
    return Inbox(database, clock)

"""A memory with a real database (SQLite and PostgreSQL) and a real index in a temporary folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest
import pytest_asyncio

from bot.secrets import Mask
from memory.db import Database
from memory.facts import Facts
from memory.remember import Memory
from tests.memory_facts.people import BagOfWords, Still
from tests.postgres import Server, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'bobbin.db'}"
    else:
        url = cast("Server", request.getfixturevalue("postgres")).new()
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def embedder() -> BagOfWords:
    return BagOfWords()


@pytest_asyncio.fixture
async def memory(database: Database, tmp_path: Path, embedder: BagOfWords) -> AsyncIterator[Memory]:
    """With an embedder and without an index: searches are exact."""
    facts = Facts(database)
    vectors = Still(facts, lambda _: embedder, str(tmp_path / "index"), embedder=embedder)
    vectors.ready.set()
    yield Memory(facts, vectors, Mask(("hunter2-secret",)).text)
    await vectors.close()

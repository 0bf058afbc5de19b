from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.db import Database
from tests.bot import approval_world
from tests.bot.doubles import PEOPLE, Bench, Line, World, open_database, playback
from tests.doubles import RecordingSurface
from tests.fake_claude import FakeClaude, fake_claude

Build = Callable[..., World]


@pytest.fixture
async def server() -> AsyncIterator[FakeClaude]:
    async with fake_claude() as running:
        yield running


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = open_database(tmp_path)
    yield made
    made.close()


@pytest.fixture
def build(database: Database) -> Build:
    """A thread whose model says these lines; keywords are those of the agent."""

    def make(*lines: Line, repeat: bool = False, **options: Any) -> World:
        model = playback(*lines, repeat=repeat)
        return World(database, RecordingSurface(dict(PEOPLE)), Bench(), model, options=options)

    return make


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """For tests that have a thread of their own in it."""
    made = open_database(tmp_path_factory.mktemp("log"))
    yield made
    made.close()


@pytest.fixture
def world(shared_database: Database) -> approval_world.World:
    """A thread in which changes are asked for."""
    return approval_world.World(shared_database, approval_world.new_thread())

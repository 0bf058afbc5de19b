from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.db import Database
from tests.bot.doubles import Bench, Line, Recorder, World, open_database, playback
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
        return World(database, Recorder(), Bench(), model, options=options)

    return make

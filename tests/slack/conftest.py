"""A served workspace with the edge connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.demo.server import Running
from tests.slack.parts import Edge, edge_of, served


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with served() as one:
        yield one


@pytest.fixture
async def edge(running: Running) -> AsyncIterator[Edge]:
    async with edge_of(running) as one:
        yield one

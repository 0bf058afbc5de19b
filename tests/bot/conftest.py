from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fake_claude import FakeClaude, fake_claude


@pytest.fixture
async def server() -> AsyncIterator[FakeClaude]:
    async with fake_claude() as running:
        yield running

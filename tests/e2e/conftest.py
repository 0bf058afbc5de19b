from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.town import Town, town

SETTINGS: dict[str, dict[str, str]] = {
    "test_failures": {
        "BOBBIN_MODEL_ATTEMPTS": "3",
        "BOBBIN_MODEL_WAIT": "1.5",
        "BOBBIN_STEPS": "6",
        "BOBBIN_DOLLARS": "0.5",
        "BOBBIN_DAILY_DOLLARS": "1",
    },
    "test_mention_only": {"BOBBIN_FOLLOW": "mention"},
}
"""What the bot of a module is started with, by the module's name."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    """One bot for all tests of a module."""
    async with town(tmp_path_factory.mktemp("town"), SETTINGS.get(request.path.stem)) as made:
        yield made

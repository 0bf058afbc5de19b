"""What holds for all tests: how much the property tests try, and plain log lines.

Properties try little by default, and much with HYPOTHESIS_PROFILE=long.
"""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
import structlog
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "default", max_examples=40, deadline=timedelta(seconds=10), suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(  # for tests/mutation: quick, always the same, and content with any example that fails
    "mutation",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Without colours and without the local variables of every frame, which take longer than the tests.
structlog.configure(processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()])

SLOW = ("tests/soak/", "tests/e2e/", "tests/acceptance/")
"""Tests that start processes: first, so that a run on several cores does not end with one of them alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((n for n, folder in enumerate(SLOW) if item.nodeid.startswith(folder)), len(SLOW)))

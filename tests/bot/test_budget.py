"""Limits of a turn, loops, and when the daily budget starts anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.budget import CLOSE_AT, WARN_AT, Limits, looping, next_midnight, reached, warning
from memory.state import Turn
from memory.types import Usage

LIMITS = Limits(steps=3, calls=5, tokens=1_000, dollars=0.5, seconds=60)
USED: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"asks": 2, "calls": 4, "usage": Usage(fresh=900, output=99, dollars=0.49)}, None),
    ({"asks": 3}, "steps"),
    ({"calls": 5}, "calls"),
    ({"usage": Usage(fresh=400, cache_read=400, cache_write=100, output=100)}, "tokens"),
    ({"usage": Usage(dollars=0.5)}, "dollars"),
    ({"began": 40.0}, "seconds"),
]


@pytest.mark.parametrize(("used", "limit"), USED)
def test_a_limit_is_reached_at_its_figure(used: dict[str, Any], limit: str | None) -> None:
    figures: dict[str, Any] = {"began": 41.0, **used}
    assert reached(Turn(**figures), LIMITS, 100.0) == limit


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1e6), st.floats(0, 1e9))
def test_zero_is_no_limit(asks: int, calls: int, dollars: float, now: float) -> None:
    turn = Turn(asks=asks, calls=calls, usage=Usage(fresh=asks, dollars=dollars))
    assert reached(turn, Limits(0, 0, 0, 0, 0), now) is None


@given(st.integers(1, 12))
def test_repeats_warn_then_close(times: int) -> None:
    assert bool(warning(times, 0)) == (times >= WARN_AT)
    assert looping(Turn(repeats={"x": times, "y": 1})) == (times >= CLOSE_AT)


@given(st.integers(0, 12))
def test_results_without_news_warn_then_close(stale: int) -> None:
    assert bool(warning(1, stale)) == (stale + 1 >= WARN_AT)
    assert looping(Turn(stale=stale)) == (stale + 1 >= CLOSE_AT)


@pytest.mark.parametrize(("times", "said"), [(3, "3rd"), (4, "4th"), (5, "5th"), (11, "11th")])
def test_a_warning_says_which_time_it_is(times: int, said: str) -> None:
    assert f"for the {said} time" in warning(times, 0)


@given(st.datetimes(), st.integers(-12, 14))
def test_the_next_midnight_is_ahead_and_within_a_day(when: datetime, hours: int) -> None:
    if not 2 < when.year < 9998:
        return
    now = when.replace(tzinfo=timezone(timedelta(hours=hours)))
    then = next_midnight(now)
    assert timedelta(0) < then - now <= timedelta(days=1)
    assert (then.tzinfo, then.hour, then.minute, then.second, then.microsecond) == (UTC, 0, 0, 0, 0)

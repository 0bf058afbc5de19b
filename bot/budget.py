"""When a turn has had enough: limits, and loops that bring nothing new. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from memory.state import Turn

WARN_AT, CLOSE_AT = 3, 5
"""At the third identical call (or result without news in a row) the model is told; at the fifth the turn closes."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a turn waits for a busy model: ``attempts`` in all, each wait at most ``longest`` seconds."""

    attempts: int = 8
    first: float = 1.0
    longest: float = 60.0

    def wait(self, attempt: int, retry_after: float | None) -> float | None:
        """Seconds before the next attempt after ``attempt`` failed ones; None when it is time to give up."""
        if attempt >= self.attempts:
            return None
        return min(self.longest, retry_after if retry_after is not None else self.first * 2 ** (attempt - 1))


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one turn, except the daily dollars, which are one person's. Zero means no limit."""

    steps: int = 40
    calls: int = 120
    tokens: int = 2_000_000
    dollars: float = 2.0
    seconds: float = 900.0
    daily_dollars: float = 20.0


Limit = Literal["steps", "calls", "tokens", "dollars", "seconds"]


def reached(turn: Turn, limits: Limits, now: float) -> Limit | None:
    """The first limit that the turn has reached."""
    used: tuple[tuple[Limit, float, float], ...] = (
        ("steps", turn.asks, limits.steps),
        ("calls", turn.calls, limits.calls),
        ("tokens", turn.usage.prompt + turn.usage.output, limits.tokens),
        ("dollars", turn.usage.dollars, limits.dollars),
        ("seconds", now - turn.began, limits.seconds),
    )
    return next((name for name, amount, limit in used if limit and amount >= limit), None)


def looping(turn: Turn) -> bool:
    """Whether the turn goes round in circles and must be closed."""
    return turn.stale >= CLOSE_AT - 1 or any(times >= CLOSE_AT for times in turn.repeats.values())


def warning(times: int, stale: int) -> str:
    """What a result says when it is the ``times``-th of the same call, or the ``stale``-th in a row without news."""
    if times >= WARN_AT:
        return (
            f"this is the same call for the {_ordinal(times)} time in this task. Use what you have, or try another way"
        )
    if stale >= WARN_AT - 1:
        return f"the last {stale + 1} results brought nothing new. Use what you have, or try another way"
    return ""


def next_midnight(now: datetime) -> datetime:
    """When the daily budget starts anew (UTC)."""
    return (now.astimezone(UTC) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)


def _ordinal(number: int) -> str:
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"

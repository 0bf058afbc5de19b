"""A figure with its goal, and the table that people read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

Unit = Literal["ms", "s", "MB", "x", "turns/s", "events/s", ""]


@dataclass(frozen=True, slots=True)
class Figure:
    """``goal`` is an upper bound unless ``more`` is better; without one the figure is only for comparison."""

    name: str
    value: float
    unit: Unit
    goal: float | None = None
    more: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.more else self.value <= self.goal

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def table(figures: Sequence[Figure]) -> str:
    """One line a figure, in columns."""
    rows = [("figure", "measured", "goal", "", "note"), *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2)), row[3].ljust(widths[3]), row[4]]
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def _row(figure: Figure) -> tuple[str, str, str, str, str]:
    goal = "" if figure.goal is None else f"{'>=' if figure.more else '<='} {figure.goal:g} {figure.unit}"
    met = {True: "met", False: "NOT MET", None: ""}[figure.met]
    return figure.name, f"{figure.value:.3g} {figure.unit}".strip(), goal, met, figure.note


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not below ``share`` of all."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def paired(ours: Sequence[float], theirs: Sequence[float], combine: Callable[[float, float], float]) -> float:
    """The median over pairs that were measured one right after the other, so that a slow moment hits both."""
    return median(combine(a, b) for a, b in zip(ours, theirs, strict=True))

"""Places where the program can be made to die, to prove that dying there loses and doubles nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

Reach = Callable[[str], None]
"""Called with the name of a place each time the program passes it."""


def nothing(place: str) -> None:
    """The usual case: nothing happens."""
    del place


def exit_at_once() -> None:
    """As ``kill -9``: no clean-up, no flush."""
    os._exit(137)


@dataclass(slots=True)
class FailPoint:
    """Dies when a place is passed for the ``times``-th time. ``spec``: ``place`` or ``place@times``.

    Places: ``commit.before``, ``commit.after``, ``slack.<method>.before``, ``slack.<method>.after``,
    ``model.before``, ``model.after``.
    """

    spec: str
    die: Callable[[], None] = exit_at_once
    _passed: int = field(default=0)

    def reach(self, place: str) -> None:
        name, _, times = self.spec.partition("@")
        if place != name:
            return
        self._passed += 1
        if self._passed == int(times or 1):
            self.die()

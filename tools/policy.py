"""May this call run? One pure table, asked for every call."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tools.base import Effect


class Decision(StrEnum):
    RUN = "run"
    ASK = "ask"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Policy:
    """What an administrator set. Empty configuration asks before everything that is not a read."""

    free: frozenset[str] = field(default_factory=frozenset[str])
    """Tools whose writes run without asking, as long as the conversation holds nothing untrusted.

    ``add_reaction`` everywhere, or ``add_reaction@C0123`` in one channel.
    """
    forbidden: frozenset[str] = field(default_factory=frozenset[str])
    """Tools that never run."""


def decide(policy: Policy, tool: str, effect: Effect, *, place: str, tainted: bool) -> Decision:
    """Reads run; writes ask unless the tool is free in this place and nothing untrusted was read; destroys ask.

    Notes run, unless untrusted text was read, which may have asked for them.
    """
    if tool in policy.forbidden:
        return Decision.REFUSE
    match effect:
        case Effect.READ:
            return Decision.RUN
        case Effect.NOTE:
            return Decision.ASK if tainted else Decision.RUN
        case Effect.WRITE:
            free = bool({tool, f"{tool}@{place}"} & policy.free)
            return Decision.RUN if free and not tainted else Decision.ASK
        case Effect.DESTROY:
            return Decision.ASK

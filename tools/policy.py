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
    """Tools whose writes run without asking, as long as nothing untrusted was read in the turn."""
    forbidden: frozenset[str] = field(default_factory=frozenset[str])
    """Tools that never run."""


def decide(policy: Policy, tool: str, effect: Effect, *, tainted: bool) -> Decision:
    """Reads run; writes and destroys ask, unless the tool is free and the turn has read nothing untrusted."""
    if tool in policy.forbidden:
        return Decision.REFUSE
    match effect:
        case Effect.READ:
            return Decision.RUN
        case Effect.WRITE:
            return Decision.RUN if tool in policy.free and not tainted else Decision.ASK
        case Effect.DESTROY:
            return Decision.ASK

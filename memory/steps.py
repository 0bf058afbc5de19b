"""What should happen next in a thread? A pure question asked of its log.

There is no other loop state, so going on after a crash, a restart or a long wait is asking again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memory.records import ApprovalAsked, PostKind, canonical, digest
from memory.state import ThreadState
from memory.types import CallId, ToolCall


@dataclass(frozen=True, slots=True)
class AskModel:
    pass


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Calls that may go on: the policy decides which of them run and which need a yes first.

    ``approved`` holds the ids with a recorded approval of exactly their bytes.
    """

    calls: tuple[ToolCall, ...]
    approved: frozenset[CallId]


@dataclass(frozen=True, slots=True)
class Refuse:
    """A call that must not run (any more)."""

    call: ToolCall
    outcome: Literal["not_run", "uncertain"]
    why: Literal[
        "stopped", "refused", "expired", "withdrawn", "superseded", "changed", "cut_off", "limit", "interrupted"
    ]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Deliver:
    """Something people have not been shown yet."""

    of: int
    what: PostKind


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can go on before a person decides, or ``until`` (seconds since 1970) has passed."""

    asked: tuple[ApprovalAsked, ...]

    @property
    def until(self) -> float:
        return min(ask.expires_at for ask in self.asked)


@dataclass(frozen=True, slots=True)
class Compact:
    """A person asked for the conversation to be shortened."""

    focus: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The last answer that was asked for after a limit brought none: end the turn."""

    reason: Literal["limit", "loop"]


@dataclass(frozen=True, slots=True)
class Rest:
    pass


Step = AskModel | RunCalls | Refuse | Deliver | Wait | Compact | GiveUp | Rest


def decide(state: ThreadState, call: ToolCall) -> Refuse | Literal["waits", "may_run"]:
    """What becomes of one open call."""
    if (start := state.started.get(call.id)) is not None and not start.repeatable:
        return Refuse(call, "uncertain", "interrupted")
    if call.id in state.halted:
        return Refuse(call, "not_run", "stopped")
    if state.cut_off:
        return Refuse(call, "not_run", "cut_off")
    if state.turn.closing:
        return Refuse(call, "not_run", "limit")
    if (approval := state.approval_of(call.id)) is None:
        return "may_run"
    if approval.given is None:
        return "waits"
    if approval.given.verdict != "approved":
        return Refuse(call, "not_run", approval.given.verdict, approval.given.reason)
    return "may_run" if approval.given.digest == digest(call) else Refuse(call, "not_run", "changed")


def next_step(state: ThreadState) -> Step:
    """The one thing to do now. Showing comes first, so that nothing runs behind people's backs."""
    if (deliver := _next_delivery(state)) is not None:
        return deliver
    decisions = [(call, decide(state, call)) for call in state.open_calls.values()]
    for _, decision in decisions:
        if isinstance(decision, Refuse):
            return decision
    if ready := tuple(call for call, decision in decisions if decision == "may_run"):
        return RunCalls(ready, frozenset(call.id for call in ready if state.approval_of(call.id) is not None))
    if decisions:
        return Wait(tuple(state.approvals[call.id].asked for call, _ in decisions))
    if state.compaction is not None:
        return Compact(state.compaction.focus)
    if state.owed and state.turn.closing and state.turn.closed:
        return GiveUp(state.turn.closing)
    return AskModel() if state.owed else Rest()


def _next_delivery(state: ThreadState) -> Deliver | None:
    """Words before cards; the card of a running turn is edited as it goes and is due at its end only."""
    cards = list[Deliver]()
    for of, what in state.due:
        if what != "card":
            return Deliver(of, what)
        if state.turn.over or of != state.turn.seq:
            cards.append(Deliver(of, what))
    return cards[0] if cards else None


def covered(state: ThreadState, call: ToolCall, now: float) -> bool:
    """Whether a standing approval covers a call. None does once untrusted text was read."""
    if state.tainted:
        return False
    return any(
        grant.tool == call.name
        and grant.expires_at > now
        and all(canonical(call.arguments.get(name)) == canonical(value) for name, value in grant.resource.items())
        for grant in state.grants
    )

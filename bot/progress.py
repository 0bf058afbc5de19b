"""Events -> the one message people watch. Pure: a fold, so it can be replayed after a restart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bot.events import AgentEvent, Asking, CallFinished, CallStarted, Recorded, Thought, Waiting, Wrote
from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Briefed,
    ModelSaid,
    Record,
    Stopped,
    Stored,
    ToolEnded,
    ToolStarted,
    UserSaid,
)
from memory.types import CallId, ToolCall, Usage

LineState = Literal["planned", "running", "ok", "failed", "waiting", "not_run", "uncertain", "repeated"]


@dataclass(frozen=True, slots=True)
class Line:
    """One call, and in ``note`` a few words of what came of it."""

    call: ToolCall
    state: LineState = "planned"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """What the card shows right now, free of any platform's markup. Times in seconds since 1970."""

    began: float
    locale: str = "en-US"
    state: Literal["working", "approval", "done", "stopped", "failed"] = "working"
    lines: tuple[Line, ...] = ()
    asks: int = 0
    thought: str = ""
    writing: bool = False
    waiting: tuple[float, str] | None = None
    """Seconds and reason of a wait for the model."""
    context: int = 0
    """Tokens that the conversation has now."""
    usage: Usage = field(default_factory=Usage)
    ended: float | None = None


def advance(card: Card, event: AgentEvent) -> Card:
    match event:
        case Recorded(stored=stored):
            return _record(card, stored)
        case Asking():
            return replace(card, thought="", writing=False, waiting=None, state="working")
        case Thought(text=text):
            return replace(card, thought=card.thought + text)
        case Wrote():
            return card if card.writing else replace(card, writing=True)
        case Waiting(seconds=seconds, why=why):
            return replace(card, waiting=(seconds, why), writing=False)
        case CallStarted(call=call):
            return _with(card, call.id, "running", state="working")
        case CallFinished(call_id=call_id, line=line, ok=ok):
            return _with(card, call_id, "ok" if ok else "failed", line)


def replay(records: Iterable[Stored], locale: str) -> Card | None:
    """The card of the newest turn in ``records``, which begin with the words that began it."""
    card: Card | None = None
    for stored in records:
        if card is None and isinstance(stored.record, UserSaid):
            card = Card(began=stored.at, locale=locale)
        if card is not None:
            card = _record(card, stored)
    return card


def _record(card: Card, stored: Stored) -> Card:
    record: Record = stored.record
    match record:
        case ModelSaid(purpose="summary"):
            return replace(card, usage=card.usage + record.usage)
        case ModelSaid(kept=True, message=message):
            planned = tuple(Line(call) for call in message.calls)
            done = not message.calls and record.stop != "pause"
            return replace(
                _asked(card, record),
                lines=(*card.lines, *planned),
                writing=False,
                state="done" if done else card.state,
                ended=stored.at if done else None,
            )
        case ModelSaid():
            return _asked(card, record)
        case Briefed(call=call, result=result):
            return replace(card, lines=(*card.lines, Line(call, "failed" if result.is_error else "ok", result.line)))
        case ToolStarted(call_id=call_id):
            return _with(card, call_id, "running")
        case ToolEnded(result=result, outcome=outcome):
            state: LineState = "ok" if outcome == "done" else outcome
            return _with(card, result.call_id, state, result.line, thought="")
        case ApprovalAsked(call_id=call_id):
            return _with(card, call_id, "waiting", state="approval")
        case ApprovalGiven(call_id=call_id, verdict=verdict):
            state = "planned" if verdict == "approved" else "not_run"
            return _with(card, call_id, state, state="working")
        case Stopped(reason=reason):
            state_now = "stopped" if reason in ("cancelled", "deleted", "limit") else "failed"
            return replace(card, state=state_now, ended=stored.at, writing=False, waiting=None, thought="")
        case _:
            return card


def _asked(card: Card, said: ModelSaid) -> Card:
    context = said.usage.prompt + said.usage.output
    return replace(card, asks=card.asks + 1, usage=card.usage + said.usage, context=context, waiting=None)


def _with(card: Card, call_id: CallId, now: LineState, note: str | None = None, **more: Any) -> Card:
    """The card with another state of one call's line, and with ``more``. The newest lines are looked at first."""
    for index in range(len(card.lines) - 1, -1, -1):
        line = card.lines[index]
        if line.call.id == call_id:
            changed = Line(line.call, now, line.note if note is None else note)
            more["lines"] = (*card.lines[:index], changed, *card.lines[index + 1 :])
            break
    return replace(card, **more) if more else card

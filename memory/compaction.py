"""When a conversation is shortened, and which results are set aside. Pure.

Cheapest step first: results of old calls become one line each (``Cleared``); if that is not
enough, one text stands for everything so far (``Compacted``, see ``summary.py``). Nothing is lost:
the log keeps the originals, and the model can read any of them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memory.records import Cleared, Compacted, CompactionSkipped, How, Log, ModelSaid, Quoted, ToolEnded
from memory.state import ThreadState
from memory.tokens import Count, Estimate, size
from memory.types import CallId, ToolCall


@dataclass(frozen=True, slots=True)
class Marks:
    """Tokens at which something happens. Zero for ``clear_at`` or ``summarize_at`` switches that step off."""

    clear_at: int = 55_000
    clear_to: int = 10_000
    """What the newest results may keep."""
    clear_gain: int = 20_000
    """Clearing breaks the cache once: it must win at least this."""
    summarize_at: int = 120_000
    """Between two turns."""
    summarize_hard: int = 160_000
    """In the middle of a turn."""
    summary: int = 4_000
    words: int = 24_000
    """What the words of people may keep; the oldest are shortened first."""
    pinned: frozenset[str] = field(default_factory=frozenset[str])
    """Tools whose results are never set aside."""


MIN_WIN = 0.1
"""A compaction that wins less than this share was not worth it; after two of them we stop trying for a while."""
COOL_DOWN = 1.2
"""How much the conversation must grow before it is tried again."""


DOUBT = 0.25
"""By how much the estimated part of a count may be wrong, before anything was learned."""


def doubtful(now: Estimate, marks: Marks, *, mid_turn: bool) -> bool:
    """Whether an exact count could decide otherwise than the estimate: then it is worth asking for one."""
    summary = marks.summarize_at and (marks.summarize_hard if mid_turn else marks.summarize_at)
    unsure = (now.tokens - now.known) * DOUBT
    return any(mark and abs(now.tokens - mark) < unsure for mark in (marks.clear_at, summary))


# -- clearing ------------------------------------------------------------------------------------


def plan_clearing(log: Log, now: Estimate, marks: Marks, count: Count) -> Cleared | None:
    """Old results to set aside, all in one go, so that the prefix changes once. None: not needed, or not worth it."""
    if not marks.clear_at or now.tokens < marks.clear_at:
        return None
    calls, results, done, unread = calls_of(log), list[tuple[ToolEnded, int]](), set[CallId](), set[CallId]()
    for stored in log:
        match stored.record:
            case ToolEnded() as ended:
                results.append((ended, size([ended.result.text], count, now.factors)))
                unread.add(ended.result.call_id)
            case ModelSaid(purpose="turn"):
                unread.clear()
            case Cleared(placeholders=placeholders):
                done |= placeholders.keys()
            case _:
                pass
    kept, won, placeholders = 0, 0, dict[CallId, str]()
    for ended, tokens in reversed(results):
        call_id = ended.result.call_id
        call = calls.get(call_id)
        if call is None or call_id in done or call.name in marks.pinned:
            continue
        kept += tokens
        if kept <= marks.clear_to or call_id in unread:
            continue
        line = placeholder(ended, call)
        saved = tokens - size([line], count, now.factors)
        if saved > 0:
            placeholders[call_id] = line
            won += saved
    return Cleared(placeholders=placeholders, won=won) if won >= marks.clear_gain else None


def placeholder(ended: ToolEnded, call: ToolCall) -> str:
    """What is read in place of a result: its handle, what it was, and how large. Short: a long thread has many."""
    text = ended.result.text
    told = " ".join(str(value) for value in call.arguments.values() if isinstance(value, str | int))[:80]
    lines, size_now = text.count("\n") + 1, len(text.encode())
    amount = f"{size_now} B" if size_now < 1_000 else f"{size_now / 1_000:.0f} kB"
    name = f"{ended.handle}: " if ended.handle else ""
    return f"[set aside: {name}{call.name} {told}, {lines} lines, {amount}]"


def calls_of(log: Log) -> dict[CallId, ToolCall]:
    return {call.id: call for s in log if isinstance(s.record, ModelSaid) for call in s.record.message.calls}


# -- summaries -----------------------------------------------------------------------------------


def wants_summary(log: Log, now: Estimate, marks: Marks, *, mid_turn: bool) -> bool:
    """Whether one text should stand for the conversation so far.

    Not again before the conversation has grown over what the last summary left, and not after two that won nothing.
    """
    mark = marks.summarize_hard if mid_turn else marks.summarize_at
    if not marks.summarize_at or now.tokens < mark:
        return False
    past = [stored.record for stored in log if isinstance(stored.record, Compacted | CompactionSkipped)]
    left = next((record.after for record in reversed(past) if isinstance(record, Compacted)), 0)
    poor = [record for record in past if isinstance(record, CompactionSkipped)]
    if now.tokens <= left * COOL_DOWN:
        return False
    return len(poor) < 2 or now.tokens > poor[-1].before * COOL_DOWN


def stand_in(
    state: ThreadState,
    text: str,
    keep_from: int,
    *,
    said: tuple[Quoted, ...] = (),
    did: tuple[str, ...] = (),
    before: int = 0,
    after: int = 0,
    how: How = "model",
) -> Compacted:
    """The record that puts ``text`` in the place of all before ``keep_from``, with what stays true of the thread."""
    return Compacted(
        text=text,
        keep_from=keep_from,
        said=said,
        did=did,
        before=before,
        after=after,
        how=how,
        tainted=state.tainted,
        speakers=tuple(sorted(state.speakers)),
        grants=tuple(state.grants),
        writes=dict(state.writes),
        calls_made=state.calls_made,
        frame=state.frame,
    )


def worth(before: int, after: int) -> bool:
    """Whether a compaction wins enough to break the cache for it."""
    return after <= before * (1 - MIN_WIN)

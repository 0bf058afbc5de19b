"""When a conversation is shortened, what is set aside, and what stands for it. Pure.

Cheapest step first: results of old calls become one line each (``Cleared``); if that is not
enough, one text stands for everything so far (``Compacted``). Nothing is lost: the log keeps the
originals, and the model can read any of them again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.records import Cleared, Compacted, CompactionSkipped, Log, ModelSaid, Quoted, ToolEnded, UserSaid
from memory.tokens import Count, Estimate, size
from memory.types import CallId, ToolCall


@dataclass(frozen=True, slots=True)
class Marks:
    """Tokens at which something happens. Zero for ``clear_at`` or ``summarize_at`` switches that step off."""

    clear_at: int = 60_000
    clear_to: int = 12_000
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


HEADINGS = (
    "Goal",
    "Constraints and preferences",
    "Decisions",
    "Facts and identifiers",
    "Done",
    "In progress",
    "Blocked",
    "Next step",
)

MIN_WIN = 0.1
"""A compaction that wins less than this share was not worth it; after two of them we stop trying for a while."""
COOL_DOWN = 1.2
"""How much the conversation must grow before it is tried again."""


# -- clearing ------------------------------------------------------------------------------------


def plan_clearing(log: Log, now: Estimate, marks: Marks, count: Count) -> Cleared | None:
    """Old results to set aside, all in one go, so that the prefix changes once. None: not needed, or not worth it."""
    if not marks.clear_at or now.tokens < marks.clear_at:
        return None
    calls, results, done = _calls(log), list[tuple[ToolEnded, int]](), set[CallId]()
    for stored in log:
        match stored.record:
            case ToolEnded() as ended:
                results.append((ended, size([ended.result.text], count, now.factor)))
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
        if kept <= marks.clear_to:
            continue
        line = placeholder(ended, call)
        saved = tokens - size([line], count, now.factor)
        if saved > 0:
            placeholders[call_id] = line
            won += saved
    return Cleared(placeholders=placeholders, won=won) if won >= marks.clear_gain else None


def placeholder(ended: ToolEnded, call: ToolCall) -> str:
    """What is read in place of a result: what it was, how large, and how to read it again."""
    text = ended.result.text
    told = " ".join(str(value) for value in call.arguments.values() if isinstance(value, str | int))[:80]
    lines, size_now = text.count("\n") + 1, len(text.encode())
    again = f' read_result(handle="{ended.handle}") shows it.' if ended.handle else ""
    return f"[set aside: {call.name} {told}, {lines} lines, {size_now:,} bytes.{again}]"


def _calls(log: Log) -> dict[CallId, ToolCall]:
    return {call.id: call for s in log if isinstance(s.record, ModelSaid) for call in s.record.message.calls}


# -- summaries -----------------------------------------------------------------------------------


def wants_summary(log: Log, now: Estimate, marks: Marks, *, mid_turn: bool) -> bool:
    """Whether one text should stand for the conversation so far."""
    mark = marks.summarize_hard if mid_turn else marks.summarize_at
    if not marks.summarize_at or now.tokens < mark:
        return False
    past = [stored.record for stored in log if isinstance(stored.record, Compacted | CompactionSkipped)][-2:]
    poor = [record for record in past if record.after > record.before * (1 - MIN_WIN)]
    return len(poor) < 2 or now.tokens > poor[-1].before * COOL_DOWN


def summary_request(focus: str = "", complaints: Sequence[str] = ()) -> str:
    """What the model is asked, behind the request that it has read already."""
    headings = "\n".join(f"## {heading}" for heading in HEADINGS)
    more = f"\nPay special attention to: {focus}" if focus else ""
    more += f"\nYour last summary could not be used: {'; '.join(complaints)}." if complaints else ""
    return (
        "[Bobbin: the conversation is getting long. Summarize the conversation so far, for yourself: it will stand in "
        "its place. Call no tool. Use exactly these headings, in the language of the conversation below each of "
        f"them:\n{headings}\n"
        "Keep every identifier exactly as it is (ids, addresses, numbers with units, names of files, versions, dates). "
        "Name who decided what and when. Carry facts of an earlier summary over word for word. What was done is done: "
        "say so clearly, so that it is not done again. What people said is kept word for word beside your summary: do "
        f"not repeat it. At most 1,500 words.{more}]"
    )


def problems(summary: str, marks: Marks, count: Count, factor: float) -> list[str]:
    """What is wrong with a summary; empty if it may be used."""
    found = list[str]()
    if not summary.strip():
        return ["it is empty"]
    missing = [heading for heading in HEADINGS if not re.search(rf"^#+\s*{re.escape(heading)}", summary, re.M | re.I)]
    if missing:
        found.append(f"these headings are missing: {', '.join(missing)}")
    if (tokens := size([summary], count, factor)) > marks.summary:
        found.append(f"it has about {tokens} tokens; at most {marks.summary} are allowed")
    return found


def quotes(log: Log) -> tuple[Quoted, ...]:
    """The words of people in this log, those kept by an earlier compaction included."""
    before = next((s.record.said for s in reversed(log) if isinstance(s.record, Compacted)), ())
    cut = max((s.seq for s in log if isinstance(s.record, Compacted)), default=0)
    new = [
        Quoted(header=s.record.header, text=s.record.text)
        for s in log
        if isinstance(s.record, UserSaid) and s.seq > cut
    ]
    return (*before, *new)


def last_answer(log: Log) -> str:
    """What was answered last, if the newest words of a person have an answer."""
    for stored in reversed(log):
        match stored.record:
            case UserSaid():
                return ""
            case ModelSaid(kept=True, message=message) if not message.calls and message.text:
                return message.text
            case _:
                pass
    return ""


def compose(
    summary: str,
    said: Sequence[Quoted],
    marks: Marks,
    count: Count,
    factor: float,
    *,
    answer: str = "",
    loose: Sequence[str] = (),
    owed: bool = False,
) -> str:
    """The one text that stands for the conversation."""
    told = _within(said, marks.words, count, factor)
    parts = [
        "[Bobbin: this stands for the conversation so far, which was long. The originals are kept: search_history "
        "finds anything in them, read_result shows any result again.]",
        f"# Summary\n\n{summary.strip()}",
        "# What people said, word for word\n\n" + "\n\n".join(told),
    ]
    if loose:
        parts.append("# Identifiers that the summary leaves out, where they stood\n\n" + "\n".join(loose))
    if answer:
        parts.append(f"# What you answered last\n\n{answer}")
    if owed:
        parts.append("[Bobbin: you are in the middle of this task. Go on with it from the next step.]")
    return "\n\n".join(parts)


def _within(said: Sequence[Quoted], limit: int, count: Count, factor: float) -> list[str]:
    """All words if they fit; else the oldest are shortened until they do, the newest never."""
    told = [f"{quote.header}\n{quote.text}" for quote in said]
    sizes = [size([text], count, factor) for text in told]
    for index in range(len(told) - 1):
        if sum(sizes) <= limit:
            break
        if len(told[index]) > 400:
            told[index] = f"{told[index][:300]} [... shortened; search_history finds the rest]"
            sizes[index] = size([told[index]], count, factor)
    return told


def fallback_summary(log: Log, best: str = "") -> str:
    """A summary without a model: what was called with what outcome, and what was answered. Same headings.

    ``best`` is what the model wrote, if it wrote anything, though not in the form that was asked for.
    """
    calls, done, failed = _calls(log), list[str](), list[str]()
    answers = list[str]()
    earlier = next((s.record.text for s in reversed(log) if isinstance(s.record, Compacted)), "")
    for stored in log:
        match stored.record:
            case ToolEnded(result=result, outcome=outcome) if result.call_id in calls:
                call = calls[result.call_id]
                told = f"- {call.name} {str(call.arguments)[:120]} -> {result.line or outcome}"
                (done if outcome == "done" else failed).append(told)
            case ModelSaid(kept=True, message=message) if message.text:
                answers.append(f"- {' '.join(message.text.split())[:400]}")
            case _:
                pass
    sections = {
        "Goal": ["see the words of people below"],
        "Facts and identifiers": [best[:12_000]] if best.strip() else [earlier[:6_000], *answers[-12:]],
        "Done": done[-60:],
        "Blocked": failed[-20:],
    }
    return "\n\n".join(f"## {h}\n" + "\n".join(sections.get(h) or ["(not recorded)"]) for h in HEADINGS)


def transcript(log: Log) -> list[str]:
    """The conversation as plain lines, for summarizing in parts what no window holds."""
    lines, calls = list[str](), _calls(log)
    for stored in log:
        match stored.record:
            case Compacted(text=text):
                lines.append(text)
            case UserSaid(header=header, text=text):
                lines.append(f"{header}\n{text}")
            case ModelSaid(kept=True, message=message):
                lines += [message.text] if message.text else []
            case ToolEnded(result=result) if result.call_id in calls:
                call = calls[result.call_id]
                lines.append(f"({call.name} {str(call.arguments)[:200]} -> {result.text[:1_000]})")
            case _:
                pass
    return lines


_IDENTIFIER = re.compile(
    r"""
    https?://[^\s<>"')\]]+                                   # addresses
    | \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b
    | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b      # hashes
    | \b[A-Z][A-Z0-9]*-[A-Za-z0-9]{2,}(?:-[A-Za-z0-9]+)*\b     # tickets, orders
    | \b[\w-]+\.(?:csv|md|pdf|py|js|ts|json|ya?ml|toml|xlsx?|docx?|txt|log|sql|sh|html|png|zip)\b
    | \bv?\d+\.\d+\.\d+(?:[-+.]\w+)*\b                        # versions, addresses of machines
    | [$€£¥]\s?\d[\d.,]*\d | \b\d[\d.,]*\s?(?:%|ms|s|min|h|kB|MB|GB|TB|USD|EUR|CNY|RMB|元|km|kg)(?!\w)
    """,
    re.VERBOSE,
)
"""What must not be lost: it cannot be guessed again. Bare years and small numbers are not among it."""
LOOSE = 60
"""How many identifiers are listed beside a summary at most; the rest is found by search."""


def loose_identifiers(lines: Sequence[str], *present: str) -> list[str]:
    """Identifiers of a transcript that stand in none of ``present``, newest first, each with the words around it."""
    there, seen, found = "\n".join(present), set[str](), list[str]()
    for line in reversed(lines):
        for match in _IDENTIFIER.finditer(line):
            identifier = match[0].rstrip(".,;:")
            if identifier in seen or identifier in there:
                continue
            seen.add(identifier)
            around = line[max(0, match.start() - 60) : match.end() + 40]
            found.append(f"- {' '.join(around.split())}")
            if len(found) == LOOSE:
                return found
    return found

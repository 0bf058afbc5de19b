"""The text that stands for a conversation: how it is asked for, checked and put together. Pure.

The model writes a summary; what people said and what was changed is put beside it word for word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.compaction import Marks, calls_of
from memory.records import (
    ApprovalGiven,
    Compacted,
    Log,
    MessageDeleted,
    MessageEdited,
    ModelSaid,
    Quoted,
    Stopped,
    ToolEnded,
    ToolStarted,
    UserSaid,
    canonical,
)
from memory.tokens import Count, Factors, size
from memory.types import CallId, ToolCall

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

SUMMARY = "# Summary\n\n"
SAID = "# What people said, word for word\n\n"
SHORTENED = 300
"""Characters that are left of old words when there are too many."""


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


def problems(summary: str, marks: Marks, count: Count, factors: Factors) -> list[str]:
    """What is wrong with a summary; empty if it may be used."""
    found = list[str]()
    if not summary.strip():
        return ["it is empty"]
    missing = [heading for heading in HEADINGS if not re.search(rf"^#+\s*{re.escape(heading)}", summary, re.M | re.I)]
    if missing:
        found.append(f"these headings are missing: {', '.join(missing)}")
    if (tokens := size([summary], count, factors)) > marks.summary:
        found.append(f"it has about {tokens} tokens; at most {marks.summary} are allowed")
    return found


def quotes(log: Log) -> tuple[Quoted, ...]:
    """The words of people in this log with their corrections, those kept by an earlier compaction included."""
    before = next((s.record.said for s in reversed(log) if isinstance(s.record, Compacted)), ())
    cut = max((s.seq for s in log if isinstance(s.record, Compacted)), default=0)
    new = list[Quoted]()
    for stored in log:
        match stored.record:
            case _ if stored.seq < cut:
                pass
            case UserSaid(header=header, text=text):
                new.append(Quoted(header=header, text=text))
            case MessageEdited(by=by, source=source, text=text):
                new.append(Quoted(header=f"[Bobbin: {by.name} edited message {source}. It now says:]", text=text))
            case MessageDeleted(source=source):
                new.append(Quoted(header=f"[Bobbin: message {source} was deleted by its author.]", text="Set aside."))
            case Stopped(reason="cancelled", by=by):
                who = by.name if by else "Bobbin"
                new.append(Quoted(header=f"[Bobbin: {who} ended the run here.]", text="Go on only if asked."))
            case _:
                pass
    return (*before, *new)


def deeds(log: Log) -> tuple[str, ...]:
    """What was changed or refused, with the exact arguments and who decided; an earlier compaction's lines first."""
    before = next((s.record.did for s in reversed(log) if isinstance(s.record, Compacted)), ())
    calls, started, verdicts = calls_of(log), set[CallId](), dict[CallId, ApprovalGiven]()
    new = list[str]()
    for stored in log:
        match stored.record:
            case ToolStarted(call_id=call_id):
                started.add(call_id)
            case ApprovalGiven(call_id=call_id) as given:
                verdicts[call_id] = given
            case ToolEnded(result=result, outcome=outcome) if result.call_id in calls:
                given = verdicts.get(result.call_id)
                if result.call_id in started or given is not None:
                    new.append(_deed(calls[result.call_id], outcome, given))
            case _:
                pass
    return (*before, *new)


def _deed(call: ToolCall, outcome: str, given: ApprovalGiven | None) -> str:
    told = f"- {call.name} {canonical(call.arguments)} -> {outcome}"
    if given is None:
        return told
    who, why = f" by {given.by.name} ({given.by.id})" if given.by else "", f": {given.reason}" if given.reason else ""
    return f"{told}, {given.verdict}{who}{why}"


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
    factors: Factors,
    *,
    did: Sequence[str] = (),
    answer: str = "",
    loose: Sequence[str] = (),
    owed: bool = False,
) -> str:
    """The one text that stands for the conversation."""
    words = [f"{quote.header}\n{quote.text}" for quote in said]
    parts = [
        "[Bobbin: this stands for the conversation so far, which was long. The originals are kept: search_history "
        "finds anything in them, read_result shows any result again.]",
        f"{SUMMARY}{summary.strip()}",
        SAID + "\n\n".join(_within(words, marks.words, count, factors)),
    ]
    if did:
        told = _within(did, marks.words // 4, count, factors)
        parts.append("# What was changed or refused, as the log has it\n\n" + "\n".join(told))
    if loose:
        parts.append("# Identifiers that the summary leaves out, where they stood\n\n" + "\n".join(loose))
    if answer:
        parts.append(f"# What you answered last\n\n{answer}")
    if owed:
        parts.append("[Bobbin: you are in the middle of this task. Go on with it from the next step.]")
    return "\n\n".join(parts)


def _within(texts: Sequence[str], limit: int, count: Count, factors: Factors) -> list[str]:
    """All texts if they fit. Else the oldest are shortened until they do, then left out; the newest stays whole."""
    told = list(texts)
    sizes = [size([text], count, factors) for text in told]
    total = sum(sizes)
    for index, text in enumerate(told[:-1]):
        if total <= limit:
            return told
        if len(text) > SHORTENED + 100:
            told[index] = f"{text[:SHORTENED]} [... shortened; search_history finds the rest]"
            total -= sizes[index]
            sizes[index] = size([told[index]], count, factors)
            total += sizes[index]
    first = 0
    while total > limit and first < len(told) - 1:
        total -= sizes[first]
        first += 1
    return [f"[{first} older ones are left out here; search_history finds them]", *told[first:]] if first else told


def summary_of(text: str) -> str:
    """The summary in a text that ``compose`` made, without what stands around it."""
    _, found, rest = text.partition(SUMMARY)
    return rest.partition(f"\n\n{SAID}")[0] if found else text


def fallback_summary(log: Log, marks: Marks, count: Count, factors: Factors, best: str = "") -> str:
    """A summary without a model: what was called with what outcome, and what was answered. Same headings.

    ``best`` is what the model wrote, if it wrote anything, though not in the form that was asked for.
    """
    calls, done, failed = calls_of(log), list[str](), list[str]()
    answers = list[str]()
    earlier = next((summary_of(s.record.text) for s in reversed(log) if isinstance(s.record, Compacted)), "")
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
    facts = best.strip() or "\n".join([earlier, *answers[-12:]]).strip()
    sections = {
        "Goal": "see the words of people below",
        "Facts and identifiers": _demoted(facts),
        "Done": "\n".join(done[-60:]),
        "Blocked": "\n".join(failed[-20:]),
    }
    shares = {"Facts and identifiers": 0.5, "Done": 0.25, "Blocked": 0.1}
    return "\n\n".join(
        f"## {h}\n"
        + _shortened(sections.get(h) or "(not recorded)", round(marks.summary * shares.get(h, 0.02)), count, factors)
        for h in HEADINGS
    )


def _demoted(text: str) -> str:
    """Headings of another summary must not be taken for those of this one."""
    return re.sub(r"^#+\s*(.*)$", r"(\1)", text, flags=re.M)


def _shortened(text: str, limit: int, count: Count, factors: Factors) -> str:
    while (tokens := size([text], count, factors)) > limit and len(text) > 40:
        text = text[: min(len(text) - 1, int(len(text) * limit / tokens))]
    return text


def transcript(log: Log, most: int | None = None) -> list[str]:
    """The conversation as plain lines; of each result at most so many characters."""
    lines, calls = list[str](), calls_of(log)
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
                lines.append(f"({call.name} {str(call.arguments)[:200]} -> {result.text[:most]})")
            case _:
                pass
    return lines


_IDENTIFIER = re.compile(
    r"""
    https?://[^\s<>"')\]]+                                   # addresses
    | \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b
    | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b      # hashes
    | \b[A-Z][A-Z0-9]*-[A-Za-z0-9]{2,}(?:-[A-Za-z0-9]+)*\b     # tickets, orders
    | \b[A-Z]{1,5}\d{3,}\b                                     # invoices, people of a platform
    | [\w\u3400-\u9fff-]+\.(?:csv|md|pdf|py|js|ts|json|ya?ml|toml|xlsx?|docx?|txt|log|sql|sh|html|png|zip)\b
    | \bv?\d+\.\d+\.\d+(?:[-+.]\w+)*\b                        # versions, addresses of machines
    | [$€£¥]\s?\d[\d.,]*\d | \b\d[\d.,]*\s?(?:%|ms|s|min|h|kB|MB|GB|TB|USD|EUR|CNY|RMB|元|km|kg)(?!\w)
    """,
    re.VERBOSE | re.ASCII,  # a Chinese character beside an identifier is no part of it
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

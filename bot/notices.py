"""What a notice says: records -> our own words, for people. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.catalog import language, say
from memory.records import Compacted, CompactionSkipped, Log, ModelSaid, Stopped, ToolEnded
from memory.types import CallId, Person, ToolCall

LISTED = 12
"""How many calls a notice names at most."""


def stop_notice(stopped: Stopped, turn: Log, requester: Person) -> str:
    """Why the turn ended, what was done and what was left. ``turn`` holds the records of the turn."""
    locale = requester.locale
    match stopped.reason:
        case "cancelled" | "deleted":
            who = stopped.by.name if stopped.by else "Bobbin"
            lines = [say("notice.stopped", locale, who=who), *_account(turn, locale)]
        case "limit":
            key = "notice.loop" if stopped.detail == "loop" else "notice.limit"
            lines = [say(key, locale), *_said_so_far(turn, locale), *_account(turn, locale)]
        case "budget":
            when = local_time(datetime.fromisoformat(stopped.detail), requester)
            lines = [say("notice.budget", locale, who=requester.name, when=when)]
        case "error" if stopped.detail == "internal":
            lines = [say("notice.internal", locale)]
        case "error" | "configuration":
            lines = [
                say(f"notice.{stopped.reason}", locale, detail=stopped.detail.rstrip(".")),
                *_account(turn, locale),
            ]
        case "refusal" | "empty":
            lines = [say(f"notice.{stopped.reason}", locale)]
    return "\n".join(lines)


def uncertain_notice(call: ToolCall, locale: str) -> str:
    return say("notice.uncertain", locale, tool=label(call))


def compaction_notice(record: Compacted | CompactionSkipped, locale: str) -> str:
    values = {"before": _thousands(record.before), "after": _thousands(record.after)}
    if isinstance(record, CompactionSkipped):
        return say("notice.not_compacted", locale, **values)
    text = say("notice.compacted", locale, calls=record.calls_made, **values)
    return text if record.how == "model" else text + say("notice.compacted_plain", locale)


def _thousands(number: int) -> str:
    return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number:,}"


def label(call: ToolCall) -> str:
    """A call in a few words: its name and what tells it from others."""
    values = [str(value) for value in call.arguments.values() if isinstance(value, str | int | float) and str(value)]
    told = " ".join(value.replace("`", "'") for value in values)
    told = " ".join(told.split())
    return f"{call.name} {told[:57]}…" if len(told) > 58 else f"{call.name} {told}".strip()


def local_time(when: datetime, person: Person) -> str:
    """A moment in somebody's own time zone, to the minute."""
    try:
        zone: ZoneInfo | None = ZoneInfo(person.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    local = when.astimezone(zone)
    if language(person.locale) == "zh":
        return f"{local.year}年{local.month}月{local.day}日 {local:%H:%M}"
    return f"{local:%a} {local.day} {local:%b %H:%M}"


def _account(turn: Log, locale: str) -> list[str]:
    """What was done and what was left, by what the log says."""
    calls, outcomes = dict[CallId, ToolCall](), dict[CallId, str]()
    for stored in turn:
        match stored.record:
            case ModelSaid(kept=True, message=message):
                calls |= {call.id: call for call in message.calls}
            case ToolEnded(result=result, outcome=outcome):
                outcomes[result.call_id] = outcome
            case _:
                pass
    done = [call for call_id, call in calls.items() if outcomes.get(call_id) == "done"]
    left = [call for call_id, call in calls.items() if outcomes.get(call_id, "not_run") == "not_run"]
    lines = list[str]()
    if done:
        lines.append(say("notice.done", locale, calls=_listed(done)))
    if left:
        lines.append(say("notice.left", locale, calls=_listed(left)))
    return lines


def _listed(calls: Sequence[ToolCall]) -> str:
    more = f" (+{len(calls) - LISTED})" if len(calls) > LISTED else ""
    return ", ".join(f"`{label(call)}`" for call in calls[-LISTED:]) + more


def _said_so_far(turn: Log, locale: str) -> list[str]:
    texts = [s.record.message.text for s in turn if isinstance(s.record, ModelSaid) and s.record.message.text]
    return [say("notice.so_far", locale, text=texts[-1])] if texts else []

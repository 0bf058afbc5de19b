"""Finding again what was said in a thread: ranking of its records for a query. Pure.

Words are compared as they are; Chinese, Japanese and Korean text by pairs of characters, since it
has no spaces. There is no index to keep in step: a thread is small enough to be read when asked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import sqlalchemy as sa

from memory.records import Briefed, Compacted, Log, MessageEdited, ModelSaid, Record, Stored, ToolEnded, UserSaid
from memory.types import CallId, ToolCall

_WORD = re.compile(r"[^\W_]+(?:[-_.:/@][^\W_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
COPIES = {"result of search_history", "result of read_result"}
"""What shows the thread to itself: the originals are to be found, not these."""
AROUND = 240
"""Characters shown around what was found."""


@dataclass(frozen=True, slots=True)
class Found:
    """``what`` says whose words or which result it is; ``text`` is the place that matches best."""

    seq: int
    at: float
    what: str
    text: str
    handle: str
    score: float

    def line(self) -> str:
        when = datetime.fromtimestamp(self.at, UTC)
        more = f' (whole: read_result(handle="{self.handle}"))' if self.handle else ""
        return f"[{when:%Y-%m-%d %H:%M} UTC, {self.what}{more}]\n{self.text}"


def terms(text: str) -> list[str]:
    """What a text is compared by."""
    folded = text.casefold()
    words = [word for word in _WORD.findall(_CJK.sub(" ", folded)) if len(word) > 1 or word.isdigit()]
    pairs = [run[i : i + 2] for run in _CJK.findall(folded) for i in range(max(1, len(run) - 1))]
    return words + pairs


def rank(log: Log, query: str, most: int = 8) -> list[Found]:
    """The records that match best, best first; each term counts by how rare it is."""
    wanted = list(dict.fromkeys(terms(query)))
    calls = {call.id: call for s in log if isinstance(s.record, ModelSaid) for call in s.record.message.calls}
    documents = [(stored, *_document(stored.record, calls)) for stored in log]
    documents = [one for one in documents if one[2] and one[1] not in COPIES]
    counts = [Counter(word for word in wanted if word in one[2].casefold()) for one in documents]
    frequency = Counter(word for count in counts for word in count)
    found = list[Found]()
    for (stored, what, text, handle), count in zip(documents, counts, strict=True):
        score = sum(math.log(1 + len(documents) / frequency[word]) for word in count)
        if score > 0:
            found.append(Found(stored.seq, stored.at, what, _place(text, list(count)), handle, score))
    return sorted(found, key=lambda one: (-one.score, -one.seq))[:most]


def _document(record: Record, calls: dict[CallId, ToolCall]) -> tuple[str, str, str]:
    """(whose it is, its text, its handle) of a record; no text for what cannot be found."""
    match record:
        case UserSaid(author=author, header=header, text=text):
            return author.name, f"{header}\n{text}", ""
        case MessageEdited(by=by, text=text):
            return f"{by.name}, edited", text, ""
        case ModelSaid(kept=True, message=message):
            return "you", message.text, ""
        case ToolEnded(result=result, handle=handle):
            call = calls.get(result.call_id)
            return f"result of {call.name if call else 'a call'}", result.text, handle
        case Briefed(call=call, result=result):
            return f"result of {call.name}", result.text, ""
        case Compacted(text=text):
            return "a summary", text, ""
        case _:
            return "", "", ""


def _place(text: str, words: Sequence[str]) -> str:
    """The part of a text around the rarest-looking match."""
    folded = text.casefold()
    at = folded.find(max(words, key=len))
    start, end = max(0, at - AROUND), min(len(text), at + AROUND)
    return ("..." if start else "") + text[start:end].strip() + ("..." if end < len(text) else "")


def holds(column: sa.ColumnElement[str], needle: str) -> sa.ColumnElement[bool]:
    """Case does not count. A letter beyond ASCII that has two cases stands for any: SQLite folds only ASCII."""
    pattern = "".join(
        f"/{letter}" if letter in "/%_" else "_" if not letter.isascii() and letter.swapcase() != letter else letter
        for letter in needle.lower()
    )
    return sa.func.lower(column).like(f"%{pattern}%", escape="/")


def made_whole(stored: Stored, whole: dict[str, str]) -> Stored:
    """A record that shows a part of a long result, with all of it."""
    match stored.record:
        case ToolEnded(result=result, handle=handle) if handle in whole:
            text = result.model_copy(update={"text": whole[handle]})
            return replace(stored, record=stored.record.model_copy(update={"result": text}))
        case _:
            return stored

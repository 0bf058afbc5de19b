"""What the scripted model can tell of a conversation: who said what, which calls were made, what came of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from bot.script_words import say
from memory.types import CallId, Message, Text, ToolCall, ToolResult

Wish = tuple[str, dict[str, JsonValue]]
"""A call: the tool's name and its arguments."""


@dataclass(frozen=True, slots=True)
class Play:
    """Thinking aloud, then either calls or an answer."""

    thought: str = ""
    calls: tuple[Wish, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """Words of a person, without mentions of us. ``zone`` is an IANA name."""

    who: str
    zone: str
    words: str


@dataclass(frozen=True, slots=True)
class Talk:
    """What has been said, newest last, and the calls made for the newest words."""

    said: tuple[Remark, ...]
    done: tuple[tuple[ToolCall, ToolResult], ...] = ()
    set_aside: ToolCall | None = None
    """The post that waited for a yes when the newest words were written instead."""
    noted: tuple[str, str] | None = None
    """Number and text of the note that was told or kept last in this thread."""
    closing: bool = False
    """No more calls are allowed."""

    @property
    def words(self) -> str:
        return self.said[-1].words if self.said else ""

    @property
    def chinese(self) -> bool:
        return re.search(r"[\u4e00-\u9fff]", re.sub(r"@[^@\n]*? \([UW]\w+\)", "", self.words)) is not None

    @property
    def channel(self) -> str:
        """The first channel in the newest words, with its sign."""
        found = re.search(r"#[a-z0-9][a-z0-9_-]*", self.words)
        return found[0] if found else ""

    def result(self, tool: str) -> ToolResult | None:
        return next((result for call, result in reversed(self.done) if call.name == tool), None)


def overheard(messages: Iterable[Message]) -> Talk:
    """Take a conversation apart: people's words, our program's notes, calls and their results."""
    said, calls = list[Remark](), dict[CallId, ToolCall]()
    done, set_aside, noted, closing = list[tuple[ToolCall, ToolResult]](), None, None, False
    for message in messages:
        calls |= {call.id: call for call in message.calls}
        for part in message.parts:
            match part:
                case ToolResult(call_id=call_id) if call_id in calls:
                    done.append((calls[call_id], part))
                    noted = note_in(part.text) or noted if calls[call_id].name in {"recall", "remember"} else noted
                case Text(text=text) if message.role == "user":
                    if (remark := _remark(text)) is not None:
                        said.append(remark)
                        set_aside, done, closing = _set_aside(done), [], False
                    closing = closing or (text.startswith("[Bobbin:") and "no more calls" in text)
                case _:
                    pass
    return Talk(tuple(said), tuple(done), set_aside, noted, closing)


def _remark(text: str) -> Remark | None:
    """A message of a person begins with the line that says who wrote it, where and when."""
    head = r"\[(?P<who>.+?) \([UW]\w+\) .*, \w{3} \d{4}-\d\d-\d\d \d\d:\d\d (?P<zone>[^,\]]+), message [\d.]+\]\n"
    if (found := re.match(head, text)) is None:
        return None
    words = re.sub(r"(?<!\w)@you\b", "", text[found.end() :])
    return Remark(found["who"], found["zone"], words.strip())


def _set_aside(done: Sequence[tuple[ToolCall, ToolResult]]) -> ToolCall | None:
    return next(
        (call for call, result in done if call.name == "post_message" and code_of(result) == "superseded"), None
    )


_NOTE = re.compile(
    r"- note (\d+) · [\d-]+ · [^\n]*? \([UW]\w+\)(?: \(older than note \d+\))?: "
    r"(.+?)(?: <https?://\S+>|\. It takes the place.*)*$",
    re.MULTILINE,
)


def note_in(text: str) -> tuple[str, str] | None:
    """Number and text of the first note in a result."""
    found = _NOTE.search(text)
    return (found[1], found[2]) if found else None


def signed(talk: Talk, text: str) -> str:
    """An answer that leaves nobody in doubt about who gave it."""
    return f"{text}\n\n{say('signature', talk.chinese)}"


def field_of(result: ToolResult, name: str) -> str:
    found = re.search(rf"^{name}: (.*)$", result.text, re.MULTILINE)
    return found[1].strip() if found else ""


def code_of(result: ToolResult) -> str:
    return field_of(result, "code") if result.is_error else ""


def why(result: ToolResult) -> str:
    """What failed and what would help, in the tool's own words."""
    return " ".join(filter(None, (field_of(result, "message"), field_of(result, "hint")))) or result.text

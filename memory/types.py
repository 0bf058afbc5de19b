"""The words every other file uses: messages, their parts, what they cost, and who is speaking.

Pure values. No ids from a database, no provider names, no chat-platform names.
A part may carry ``opaque`` data that a provider wants back byte for byte (for example a sealed
block of reasoning); only the provider's adapter reads it.
"""

from __future__ import annotations

from typing import Annotated, Literal, NewType

import regex
from pydantic import BaseModel, ConfigDict, Field, JsonValue

_SEEN = regex.compile(r"(?V1)[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]")
"""A character that a reader sees: no blank, no control, nothing without width."""

CallId = str

ThreadKey = NewType("ThreadKey", str)
"""One conversation. Holds workspace, channel and thread; only the chat adapter takes it apart."""

MessageId = NewType("MessageId", str)
"""One message of the chat platform, unique in all workspaces. Only the chat adapter takes it apart."""


class Value(BaseModel):
    """Base of everything that is stored: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Person(Value):
    """Somebody who speaks or decides, as the chat platform knew them at that moment."""

    id: str
    name: str
    locale: str = "en-US"
    time_zone: str = "UTC"


class Text(Value):
    kind: Literal["text"] = "text"
    text: str
    opaque: JsonValue = None


class Thinking(Value):
    """What the model thought. Sent back exactly as received, empty text included."""

    kind: Literal["thinking"] = "thinking"
    text: str
    opaque: JsonValue = None


class ToolCall(Value):
    kind: Literal["tool_call"] = "tool_call"
    id: CallId
    name: str
    arguments: dict[str, JsonValue]
    opaque: JsonValue = None


class ToolResult(Value):
    """The one answer to a call: ``text`` for the model, ``line`` for people."""

    kind: Literal["tool_result"] = "tool_result"
    call_id: CallId
    text: str
    line: str = ""
    is_error: bool = False
    untrusted: bool = False
    """Others than the requester wrote it (a page, a file, people in a channel)."""


class Opaque(Value):
    """A part that only the provider understands and wants back as it was."""

    kind: Literal["opaque"] = "opaque"
    opaque: JsonValue


Part = Annotated[Text | Thinking | ToolCall | ToolResult | Opaque, Field(discriminator="kind")]


class Message(Value):
    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def text(self) -> str:
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text) and _SEEN.search(part.text))


class Usage(Value):
    """Tokens and dollars of one model call. ``prompt`` is everything the model read."""

    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    dollars: float = 0.0

    @property
    def prompt(self) -> int:
        return self.fresh + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            fresh=self.fresh + other.fresh,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            dollars=self.dollars + other.dollars,
        )

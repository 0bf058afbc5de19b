"""What a turn tells the outside, in the order it happens."""

from __future__ import annotations

from dataclasses import dataclass

from memory.records import Stored
from memory.types import CallId, ToolCall


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record was written to the log; it will be there after a restart as well."""

    stored: Stored


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model says about its work. Grows; a new answer of the model begins anew."""

    text: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """The answer has grown by this text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call has its result; it is written to the log when the calls beside it have theirs."""

    call_id: CallId
    line: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model is not available; it is asked again after this many seconds."""

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Asking:
    """The model is being asked (again): what it had begun to say is void."""


AgentEvent = Recorded | Thought | Wrote | CallStarted | CallFinished | Waiting | Asking

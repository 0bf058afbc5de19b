"""The append-only log of a thread. Everything else is derived from it.

A record is a fact about the past and is never edited. Clearing and compaction are records too:
they change how the log is *read* (see ``context.py``), not what it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from memory.types import CallId, Message, MessageId, Person, ToolCall, ToolResult, Usage, Value

FORMAT = 1
"""Version of the stored form. Older versions stay readable for ever."""

PostKind = Literal["card", "answer", "approval", "notice"]
Verdict = Literal["approved", "refused", "expired", "withdrawn", "superseded"]
StopReason = Literal["cancelled", "deleted", "limit", "error", "configuration", "refusal", "empty", "budget"]
Outcome = Literal["done", "failed", "not_run", "uncertain", "repeated"]
"""``repeated``: the same change was made before in this task, so it was told from the log instead of made again."""
NoteReason = Literal["limit", "loop", "empty", "paused"]
How = Literal["model", "parts", "fallback"]
"""Who made a summary: the model in one piece, the model in parts, or plain rules."""


class UserSaid(Value):
    """Words of a person. ``header`` says who, where and when; the model reads both lines."""

    kind: Literal["user_said"] = "user_said"
    author: Person
    source: MessageId
    header: str
    text: str
    catch_up: bool = False
    """Whether the thread may hold words that we have not read, to be fetched before the model is asked."""


class Briefed(Value):
    """A call that we wrote ourselves, with its result: how text that others can edit gets in."""

    kind: Literal["briefed"] = "briefed"
    call: ToolCall
    result: ToolResult


class ModelSaid(Value):
    """One answer of the model. ``kept`` is false for what must not be read again (refusals, empty answers)."""

    kind: Literal["model_said"] = "model_said"
    message: Message
    usage: Usage
    stop: Literal["end", "calls", "length", "refusal", "pause"]
    model: str = ""
    kept: bool = True
    purpose: Literal["turn", "summary"] = "turn"


class ToolStarted(Value):
    """Written before an effect, so that a crash leaves a trace. ``by`` says what allowed it."""

    kind: Literal["tool_started"] = "tool_started"
    call_id: CallId
    digest: str
    repeatable: bool = False
    """Running it again with the same call id changes nothing more."""
    by: Literal["approval", "grant", "policy"] = "approval"


class ToolEnded(Value):
    kind: Literal["tool_ended"] = "tool_ended"
    result: ToolResult
    outcome: Outcome = "done"
    handle: str = ""
    """The name by which the result can be read again, whole."""
    warning: str = ""
    """Added to what the model reads, for example that it has asked the same before."""
    counted: bool = True
    """Whether the loop detectors look at it."""


class ApprovalAsked(Value):
    """``digest`` names the exact bytes; ``expires_at`` is seconds since 1970.

    ``approvers`` are people and groups, of whom ``needed`` different ones must say yes.
    """

    kind: Literal["approval_asked"] = "approval_asked"
    call_id: CallId
    digest: str
    requester: Person
    approvers: tuple[str, ...]
    expires_at: float
    needed: int = 1
    again: bool = False
    """The same change was made before in this thread."""
    resource: dict[str, JsonValue] | None = None
    """What a standing approval would cover: this tool with these arguments. None: there can be none."""


class ApprovalGiven(Value):
    """A verdict on exactly the bytes of ``digest``. The first one counts; several yeses may be needed."""

    kind: Literal["approval_given"] = "approval_given"
    call_id: CallId
    digest: str
    verdict: Verdict
    by: Person | None = None
    reason: str = ""
    not_before: float = 0.0
    """It may be taken back until then (seconds since 1970)."""


class Granted(Value):
    """A standing approval in this thread: this tool with these arguments, until ``expires_at``."""

    kind: Literal["granted"] = "granted"
    tool: str
    resource: dict[str, JsonValue]
    by: Person
    expires_at: float


class Noted(Value):
    """Words of our own to the model, in its next user message."""

    kind: Literal["noted"] = "noted"
    reason: NoteReason
    text: str


class Framed(Value):
    """Tools and system text that requests carry from here on, by digest. A new frame is a new epoch."""

    kind: Literal["framed"] = "framed"
    digest: str


class Unbound(Value):
    """The provider would not accept old thinking: from here on it is dropped, or left out."""

    kind: Literal["unbound"] = "unbound"
    how: Literal["drop", "strip"]


class Cleared(Value):
    """From here on the results of these calls are read as the line that is given for each."""

    kind: Literal["cleared"] = "cleared"
    placeholders: dict[CallId, str]
    won: int = 0
    """Tokens that were set aside, by estimate."""


class Quoted(Value):
    """Words of a person, kept as they were."""

    header: str
    text: str


class Compacted(Value):
    """From here on everything before ``keep_from`` (a seq) is read as ``text``.

    ``before`` and ``after`` are tokens, by estimate.
    """

    kind: Literal["compacted"] = "compacted"
    text: str
    keep_from: int
    said: tuple[Quoted, ...] = ()
    did: tuple[str, ...] = ()
    """A line for each change that was made or refused, with its arguments and who decided."""
    before: int = 0
    after: int = 0
    how: How = "model"
    tainted: bool = False
    speakers: tuple[str, ...] = ()
    grants: tuple[Granted, ...] = ()
    writes: dict[str, int] = Field(default_factory=dict[str, int])
    """Changes that were made, by digest, with the turn: the ledger, and what else stays true of the thread."""
    calls_made: int
    frame: str
    """Counters of the thread at this point, since reading may begin after what they count."""


class CompactionSkipped(Value):
    """A compaction that would have won nothing, so nothing was changed."""

    kind: Literal["compaction_skipped"] = "compaction_skipped"
    before: int
    after: int
    why: str = ""


class CompactionAsked(Value):
    """A person wants the conversation shortened, with attention to ``focus``."""

    kind: Literal["compaction_asked"] = "compaction_asked"
    by: Person
    focus: str = ""


class Stopped(Value):
    """The turn ended without an answer of the model. Open calls are closed by this record."""

    kind: Literal["stopped"] = "stopped"
    reason: StopReason
    by: Person | None = None
    detail: str = ""


class MessageEdited(Value):
    """A person changed a message that the model has read already."""

    kind: Literal["message_edited"] = "message_edited"
    by: Person
    source: MessageId
    text: str


class MessageDeleted(Value):
    kind: Literal["message_deleted"] = "message_deleted"
    source: MessageId


class Posted(Value):
    """What is visible in the chat: ``of`` is the seq that it shows.

    For a card, ``of`` is the turn; ``final`` says that it shows the end of the turn.
    For an approval, ``final`` says that it shows the verdict.
    """

    kind: Literal["posted"] = "posted"
    of: int
    what: PostKind
    messages: tuple[MessageId, ...]
    final: bool = False


Record = Annotated[
    UserSaid
    | Briefed
    | ModelSaid
    | ToolStarted
    | ToolEnded
    | ApprovalAsked
    | ApprovalGiven
    | Granted
    | Noted
    | Framed
    | Unbound
    | Cleared
    | Compacted
    | CompactionSkipped
    | CompactionAsked
    | Stopped
    | MessageEdited
    | MessageDeleted
    | Posted,
    Field(discriminator="kind"),
]
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


@dataclass(frozen=True, slots=True)
class Stored:
    """A record in its place. ``at`` is seconds since 1970."""

    seq: int
    at: float
    record: Record


Log = Sequence[Stored]


def dump(record: Record) -> str:
    return _RECORD.dump_json(record).decode()


def load(body: str, version: int) -> Record:
    """Raises ``ValueError`` for a version from the future or a body that is not a record."""
    if version != FORMAT:
        raise ValueError(f"record format {version} is newer than this program, which reads up to {FORMAT}")
    return _RECORD.validate_json(body)


def canonical(value: object) -> str:
    """One spelling for equal JSON values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(call: ToolCall) -> str:
    """sha256 of the tool's name and its canonical arguments: what an approval is bound to."""
    return hashlib.sha256(f"{call.name}\0{canonical(call.arguments)}".encode()).hexdigest()

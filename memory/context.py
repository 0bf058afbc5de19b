"""Log -> what the model reads. Pure, and the same log always gives the same bytes.

The prompt cache and the binding of thinking depend on one law, which the tests check on random
logs: appending a record only ever *extends* the messages, except for the records that begin a new
epoch (``Framed``, ``Unbound``, ``Cleared``, ``Compacted``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Briefed,
    Cleared,
    Compacted,
    CompactionAsked,
    CompactionSkipped,
    Framed,
    Granted,
    Log,
    MessageDeleted,
    MessageEdited,
    ModelSaid,
    Noted,
    Posted,
    Stopped,
    Stored,
    ToolEnded,
    ToolStarted,
    Unbound,
    UserSaid,
)
from memory.types import CallId, Message, Part, Text, Thinking, ToolResult


@dataclass(frozen=True, slots=True)
class Context:
    """``messages`` alternate and end with the user's whenever the model may be asked.

    ``stale_thinking`` says that thinking from before a change of history is still among them
    (a tool loop was under way then), so the provider must be told to drop it.
    """

    messages: tuple[Message, ...]
    stale_thinking: bool = False
    anchors: tuple[int, ...] = ()
    """Indices of the messages with the two newest words of people: good places to remember the prefix."""


@dataclass(slots=True)
class Assembly:
    """The messages of a log, kept up to date record by record. ``assemble`` is its definition."""

    cleared: dict[CallId, str] = field(default_factory=dict[CallId, str])
    strip_before: int = 0
    """Thinking said before this seq is left out for good."""
    messages: list[Message] = field(default_factory=list[Message])
    anchors: tuple[int, ...] = ()
    stale_thinking: bool = False
    _open: dict[CallId, ToolResult | None] = field(default_factory=dict[CallId, "ToolResult | None"])
    _behind: list[Part] = field(default_factory=list[Part])

    def take(self, stored: Stored) -> bool:  # noqa: C901 - one line for each kind of record
        """Move on by one record. False if the record changes how older ones are read: assemble anew."""
        record = stored.record
        match record:
            case UserSaid(header=header, text=text):
                self._user(Text(text=f"{header}\n{text}"))
                self._anchor(len(self.messages) - (0 if self._open else 1))
            case ModelSaid(kept=True, message=message):
                self._model(message, stored.seq)
            case Briefed(call=call, result=result):
                self._assistant((call,))
                self._user(self._readable(result))
            case ToolEnded(result=result, warning=warning):
                self._result(result, warning)
            case Noted(text=text):
                self._user(Text(text=f"[Bobbin: {text}]"))
            case Stopped(reason="cancelled" | "limit", by=by):
                who = by.name if by else "Bobbin"
                self._user(Text(text=f"[Bobbin: {who} ended this run here. Go on with it only if asked.]"))
            case MessageEdited(by=by, source=source, text=text):
                self._user(Text(text=f"[Bobbin: {by.name} edited message {source}. It now says:]\n{text}"))
            case MessageDeleted(source=source):
                self._user(Text(text=f"[Bobbin: message {source} was deleted by its author. Leave it aside.]"))
            case Framed() | Unbound() | Cleared() | Compacted():
                return not self.messages
            case ModelSaid() | ToolStarted() | ApprovalAsked() | ApprovalGiven() | Granted():
                pass
            case Stopped() | Posted() | CompactionSkipped() | CompactionAsked():
                pass
        return True

    @property
    def mid_loop(self) -> bool:
        """Whether a tool loop is under way, whose thinking the provider wants to see complete."""
        if self._open:
            return True
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role == "user" and any(isinstance(part, ToolResult) for part in last.parts)

    @property
    def has_thinking(self) -> bool:
        return any(isinstance(part, Thinking) for message in self.messages for part in message.parts)

    @property
    def context(self) -> Context:
        return Context(tuple(self.messages), self.stale_thinking, self.anchors)

    def _anchor(self, index: int) -> None:
        if index not in self.anchors:
            self.anchors = (*self.anchors[-1:], index)

    def _model(self, message: Message, seq: int) -> None:
        parts = message.parts
        if seq < self.strip_before:
            parts = tuple(part for part in parts if not isinstance(part, Thinking))
        if parts:
            self._assistant(parts)
        self._open = {call.id: None for call in message.calls}

    def _result(self, result: ToolResult, warning: str) -> None:
        if result.call_id not in self._open:
            return
        shown = self._readable(result)
        if warning and result.call_id not in self.cleared:
            shown = shown.model_copy(update={"text": f"{shown.text}\n\n[Bobbin: {warning}]"})
        self._open[result.call_id] = shown
        if all(self._open.values()):
            parts = (*(answer for answer in self._open.values() if answer), *self._behind)
            self._open, self._behind = {}, []
            self._user(*parts)

    def _readable(self, result: ToolResult) -> ToolResult:
        placeholder = self.cleared.get(result.call_id)
        if placeholder is not None:
            return ToolResult(call_id=result.call_id, text=placeholder, is_error=result.is_error)
        return result

    def _user(self, *parts: Part) -> None:
        """Providers want results before any other text: words that come while calls are open go behind."""
        if self._open:
            self._behind.extend(parts)
        elif self.messages and self.messages[-1].role == "user":
            self.messages[-1] = Message(role="user", parts=(*self.messages[-1].parts, *parts))
        else:
            self.messages.append(Message(role="user", parts=parts))

    def _assistant(self, parts: tuple[Part, ...]) -> None:
        if self.messages and self.messages[-1].role == "assistant":
            self.messages[-1] = Message(role="assistant", parts=(*self.messages[-1].parts, *parts))
        else:
            self.messages.append(Message(role="assistant", parts=parts))


def assembly(log: Log) -> Assembly:
    """Read a log from its last compaction on, with what later records say about older ones.

    Two passes: the first finds the epochs, since a boundary between turns leaves out all thinking
    said before it, while one in the middle of a tool loop must keep it.
    """
    cut = next((s.record for s in reversed(log) if isinstance(s.record, Compacted)), None)
    kept = log if cut is None else [stored for stored in log if stored.seq >= cut.keep_from]
    cleared = dict[CallId, str]()
    for stored in kept:
        if isinstance(stored.record, Cleared):
            cleared |= stored.record.placeholders
    strip_before, stale = _epochs(kept)
    built = Assembly(cleared=cleared, strip_before=strip_before, stale_thinking=stale)
    if cut is not None:
        built.messages.append(Message(role="user", parts=(Text(text=cut.text),)))
        built.anchors = (0,)
    for stored in kept:
        if not isinstance(stored.record, Framed | Unbound | Cleared | Compacted):
            built.take(stored)
    return built


def _epochs(log: Iterable[Stored]) -> tuple[int, bool]:
    """(thinking before this seq is left out, whether stale thinking stays behind it)."""
    probe, strip_before, stale = Assembly(), 0, False
    for stored in log:
        match stored.record:
            case Unbound(how="strip"):
                strip_before, stale = stored.seq, False
            case Unbound(how="drop"):
                stale = True
            case Framed() | Cleared() | Compacted():
                if probe.mid_loop:
                    stale = stale or probe.has_thinking
                elif probe.messages:
                    strip_before, stale = stored.seq, False
            case _:
                probe.take(stored)
    return strip_before, stale


def assemble(log: Log) -> Context:
    """The messages the model reads for this log."""
    return assembly(log).context


def unbind(context: Context) -> Unbound | None:
    """What to do about old thinking that was refused: drop it; leave all out if that was tried. None: there is none."""
    if not any(isinstance(part, Thinking) for message in context.messages for part in message.parts):
        return None
    return Unbound(how="strip" if context.stale_thinking else "drop")

"""Where a thread stands: the fold of its log, kept up to date record by record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

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
    MessageDeleted,
    MessageEdited,
    ModelSaid,
    Noted,
    NoteReason,
    Posted,
    PostKind,
    Stopped,
    StopReason,
    Stored,
    ToolEnded,
    ToolStarted,
    Unbound,
    UserSaid,
    digest,
)
from memory.types import CallId, MessageId, Person, ToolCall, Usage


@dataclass(slots=True)
class Turn:
    """Figures of the newest turn; ``seq`` is that of the words that began it."""

    seq: int = 0
    began: float = 0.0
    requester: Person | None = None
    sources: list[MessageId] = field(default_factory=list[MessageId])
    asks: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    over: bool = True
    repeats: dict[str, int] = field(default_factory=dict[str, int])
    """How often each call (by digest) has ended in this turn."""
    seen: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    stale: int = 0
    """How many results in a row brought nothing new."""
    notes: list[NoteReason] = field(default_factory=list[NoteReason])
    closing: Literal["limit", "loop"] | None = None
    """A limit was reached: one more answer, without tools."""
    closed: bool = False
    """That answer was asked for."""
    told: set[str] = field(default_factory=set[str])
    """Changes (by digest) that were asked for again in this turn and answered from the log."""
    unread: MessageId | None = None
    """The message before which the thread holds words that were not read yet."""


@dataclass(slots=True)
class Approval:
    """A request for a yes; ``seq`` is where it was asked."""

    asked: ApprovalAsked
    seq: int
    votes: dict[str, ApprovalGiven] = field(default_factory=dict[str, ApprovalGiven])
    """Yeses so far, by person."""
    given: ApprovalGiven | None = None
    """The verdict: the yes that made it enough, or what ended the request."""
    ended: bool = False
    """The call has its result, with or without a verdict."""


@dataclass(slots=True)
class ThreadState:
    """Where a thread stands: the fold of its log, kept up to date record by record."""

    turn: Turn = field(default_factory=Turn)
    owed: bool = False
    cut_off: bool = False
    open_calls: dict[CallId, ToolCall] = field(default_factory=dict[CallId, ToolCall])
    ordinals: dict[CallId, int] = field(default_factory=dict[CallId, int])
    approvals: dict[CallId, Approval] = field(default_factory=dict[CallId, Approval])
    started: dict[CallId, ToolStarted] = field(default_factory=dict[CallId, ToolStarted])
    halted: set[CallId] = field(default_factory=set[CallId])
    due: dict[tuple[int, PostKind], None] = field(default_factory=dict[tuple[int, PostKind], None])
    """What people have not been shown yet, in order: the record, and as what."""
    posted: dict[tuple[int, PostKind], tuple[MessageId, ...]] = field(
        default_factory=dict[tuple[int, PostKind], tuple[MessageId, ...]]
    )
    """Messages that may have to be edited still: the card of the turn and its approval requests."""
    grants: list[Granted] = field(default_factory=list[Granted])
    writes: dict[str, int] = field(default_factory=dict[str, int])
    """Changes that were made, or may have been, by digest; the value is the turn."""
    speakers: set[str] = field(default_factory=set[str])
    tainted: bool = False
    """Text that the requester did not write stands in the conversation."""
    compaction: CompactionAsked | None = None
    """A wish for a compaction that is not fulfilled yet."""
    skips: int = 0
    """Compactions in a row that would have won nothing."""
    calls_made: int = 0
    frame: str = ""
    last_seq: int = 0
    last_usage: Usage | None = None

    def take(self, stored: Stored) -> None:  # noqa: C901 - one line for each kind of record
        """Move on by one record."""
        seq, record = stored.seq, stored.record
        self.last_seq = seq
        match record:
            case UserSaid():
                self._begin(seq, stored.at, record)
            case ModelSaid():
                self._answered(seq, record)
            case ToolStarted(call_id=call_id):
                self.started[call_id] = record
            case ToolEnded():
                self._ended(seq, record)
            case ApprovalAsked(call_id=call_id):
                self.approvals[call_id] = Approval(record, seq)
                self._due(seq, "approval")
            case ApprovalGiven():
                self._decided(record, stored.at)
            case Granted():
                self.grants.append(record)
            case Noted(reason=reason):
                self.turn.notes.append(reason)
                if reason in ("limit", "loop"):
                    self.turn.closing = reason
                self.owed = True
            case Stopped(reason=reason):
                self._stopped(seq, reason)
            case Briefed(result=result):
                self.tainted = self.tainted or result.untrusted
                self.turn.unread = None
                self.calls_made += 1
            case Framed(digest=frame):
                self.frame = frame
            case Compacted():
                self.calls_made, self.frame, self.compaction = record.calls_made, record.frame, None
                self.tainted, self.skips = self.tainted or record.tainted, 0
                self._remember(record)
                self._due(seq, "notice")
            case CompactionSkipped():
                self.skips += 1
                if self.compaction is not None or self.skips == 2:  # said once, not at each try
                    self._due(seq, "notice")
                self.compaction = None
            case CompactionAsked():
                self.compaction = record
            case Posted():
                self._posted(record)
            case MessageEdited() | MessageDeleted() | Unbound() | Cleared():
                pass

    def _begin(self, seq: int, at: float, said: UserSaid) -> None:
        if self.turn.over:
            self.turn = Turn(seq=seq, began=at, requester=said.author, over=False)
            self._forget_what_is_shown()
            self._due(seq, "card")
        self.turn.sources.append(said.source)
        self.speakers.add(said.author.id)
        self.tainted = self.tainted or len(self.speakers) > 1
        if said.catch_up:
            self.turn.unread = said.source
        self.owed = True

    def _forget_what_is_shown(self) -> None:
        """Requests that were closed, and messages that need no edit any more; what is due is kept until it is done."""
        due = {of for of, what in self.due if what == "approval"}
        self.approvals = {key: one for key, one in self.approvals.items() if not one.ended or one.seq in due}
        kept = {*self.due, *((approval.seq, "approval") for approval in self.approvals.values())}
        self.posted = {key: messages for key, messages in self.posted.items() if key in kept}

    def _answered(self, seq: int, said: ModelSaid) -> None:
        self.turn.usage = self.turn.usage + said.usage
        if said.purpose == "summary":
            return
        self.last_usage = said.usage
        self.turn.asks += 1
        self.turn.closed = self.turn.closing is not None
        if not said.kept:
            return
        calls = said.message.calls
        self.owed = said.stop == "pause"
        self.cut_off = said.stop == "length"
        self.open_calls = {call.id: call for call in calls}
        self.ordinals = {call.id: self.calls_made + i for i, call in enumerate(calls, start=1)}
        self.turn.calls += len(calls)
        self.calls_made += len(calls)
        if not calls and said.stop != "pause":
            self._due(seq, "answer")
            self.turn.over = True

    def _ended(self, seq: int, ended: ToolEnded) -> None:
        call_id = ended.result.call_id
        call = self.open_calls.pop(call_id, None)
        halted = call_id in self.halted
        self.owed = self.owed or not halted
        self.halted.discard(call_id)
        effect = self.started.pop(call_id, None)
        if ended.outcome == "uncertain":
            self._due(seq, "notice")
        if effect is not None and ended.outcome in ("done", "uncertain"):
            self.writes[effect.digest] = self.turn.seq
        if (approval := self.approvals.get(call_id)) is not None and not approval.ended:
            approval.ended = True
            if approval.given is None:
                self._due(approval.seq, "approval")
        if call is None or halted or not ended.counted:  # what a stop has closed belongs to no turn that goes on
            return
        turn, name = self.turn, digest(call)
        self.tainted = self.tainted or ended.result.untrusted
        if ended.outcome == "repeated":
            turn.told.add(name)
        turn.repeats[name] = turn.repeats.get(name, 0) + 1
        news = (call.name, ended.result.text)
        turn.stale = turn.stale + 1 if news in turn.seen and effect is None else 0
        turn.seen.add(news)

    def _decided(self, given: ApprovalGiven, at: float) -> None:
        """The first verdict counts; one on other bytes than were asked for, or a yes too late, counts for nothing."""
        approval = self.approvals.get(given.call_id)
        if approval is None or approval.ended or given.digest != approval.asked.digest:
            return
        if given.verdict == "approved" and at > approval.asked.expires_at:
            return
        person = given.by.id if given.by else ""
        if given.verdict == "withdrawn":
            self._withdrawn(approval, given, person)
        elif approval.given is None and given.verdict == "approved":
            approval.votes[person] = given
            approval.given = given if len(approval.votes) >= approval.asked.needed else None
            self._due(approval.seq, "approval")
        elif approval.given is None:
            approval.given = given
            self._due(approval.seq, "approval")

    def _withdrawn(self, approval: Approval, given: ApprovalGiven, person: str) -> None:
        """A yes can be taken back by who gave it, until the call has begun or another verdict has ended the request."""
        decided = approval.given is not None and approval.given.verdict != "approved"
        if decided or given.call_id in self.started or approval.votes.pop(person, None) is None:
            return
        approval.given = given if approval.given is not None else None
        self._due(approval.seq, "approval")

    def _remember(self, compacted: Compacted) -> None:
        """What stays true of the thread although reading may begin after what it comes from."""
        self.speakers.update(compacted.speakers)
        self.writes = {**compacted.writes, **self.writes}
        self.grants = [*(one for one in compacted.grants if one not in self.grants), *self.grants]

    def _stopped(self, seq: int, reason: StopReason) -> None:
        self.owed, self.compaction = False, None
        self.halted |= self.open_calls.keys()
        self.turn.over = True
        if reason != "deleted":
            self._due(seq, "notice")

    def _posted(self, posted: Posted) -> None:
        key = (posted.of, posted.what)
        self.posted[key] = posted.messages
        if posted.what != "card" or posted.final:
            self.due.pop(key, None)

    def _due(self, of: int, what: PostKind) -> None:
        self.due[(of, what)] = None

    def approval_of(self, call_id: CallId) -> Approval | None:
        """The request for an open call. One whose call has its result is used up, whatever it decided."""
        approval = self.approvals.get(call_id)
        return None if approval is None or approval.ended else approval


def fold(log: Iterable[Stored]) -> ThreadState:
    state = ThreadState()
    for stored in log:
        state.take(stored)
    return state

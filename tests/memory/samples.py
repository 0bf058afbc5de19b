"""One record of every kind, and short ways to write logs."""

from __future__ import annotations

from collections.abc import Iterable

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
    Posted,
    PostKind,
    Record,
    Stopped,
    Stored,
    ToolEnded,
    ToolStarted,
    Unbound,
    UserSaid,
    Verdict,
    digest,
)
from memory.state import ThreadState, fold
from memory.steps import Step, next_step
from memory.types import Message, MessageId, Opaque, Person, Text, Thinking, ToolCall, ToolResult, Usage
from tests.doubles import ANA, BEN, call, says

POST = call("c1", "post", text="x")
LOOK = call("c2", "look")


def said(text: str = "hello", who: Person = ANA, source: str = "m1", *, catch_up: bool = False) -> UserSaid:
    return UserSaid(author=who, source=MessageId(source), header=f"[{who.name}]", text=text, catch_up=catch_up)


def thought(signature: str) -> Thinking:
    return Thinking(text="", opaque={"type": "thinking", "thinking": "", "signature": signature})


def thinks(signature: str, text: str = "", *calls: ToolCall) -> ModelSaid:
    answer = says(text, *calls)
    return answer.model_copy(
        update={"message": Message(role="assistant", parts=(thought(signature), *answer.message.parts))}
    )


def started(of: ToolCall, *, repeatable: bool = False) -> ToolStarted:
    return ToolStarted(call_id=of.id, digest=digest(of), repeatable=repeatable)


def ended(of: ToolCall, text: str = "ok", **more: object) -> ToolEnded:
    return ToolEnded.model_validate({"result": ToolResult(call_id=of.id, text=text), **more})


def asked(of: ToolCall, expires_at: float = 1e12, needed: int = 1) -> ApprovalAsked:
    approvers = (ANA.id, BEN.id)
    return ApprovalAsked(
        call_id=of.id, digest=digest(of), requester=ANA, approvers=approvers, expires_at=expires_at, needed=needed
    )


def given(of: ToolCall, verdict: Verdict = "approved", reason: str = "", by: Person = ANA) -> ApprovalGiven:
    return ApprovalGiven(call_id=of.id, digest=digest(of), verdict=verdict, by=by, reason=reason)


def posted(of: int, what: PostKind, *, final: bool = False) -> Posted:
    return Posted(of=of, what=what, messages=(MessageId(f"p{of}{what}"),), final=final)


def compacted(keep_from: int, text: str = "summary", calls_made: int = 0, frame: str = "") -> Compacted:
    return Compacted(text=text, keep_from=keep_from, calls_made=calls_made, frame=frame)


def numbered(records: Iterable[Record], at: float = 1.0) -> list[Stored]:
    return [Stored(seq, at, record) for seq, record in enumerate(records, start=1)]


EVERY_KIND: tuple[Record, ...] = (
    said("你好 \x00 \u2028 \"quotes\" & 'more'", catch_up=True),
    Briefed(call=call("b1", "read_thread"), result=ToolResult(call_id="b1", text="before", untrusted=True)),
    ModelSaid(
        message=Message(
            role="assistant",
            parts=(
                thought("s"),
                Text(text="a", opaque={"citations": [None, 1, 0.1]}),
                Opaque(opaque={"type": "new"}),
                POST,
            ),
        ),
        usage=Usage(fresh=1, cache_read=2, cache_write=3, output=4, dollars=0.1 + 0.2),
        stop="calls",
        model="m",
    ),
    started(POST, repeatable=True),
    ended(POST, "text", outcome="uncertain", handle="r1", warning="again", counted=False),
    asked(POST),
    given(POST, "refused", "not now"),
    Granted(tool="post", resource={"channel": "C1", "more": [1, None]}, by=BEN, expires_at=1.5),
    Noted(reason="limit", text="the limit"),
    Framed(digest="f"),
    Unbound(how="strip"),
    Cleared(placeholders={"c1": "set aside"}),
    compacted(3),
    CompactionSkipped(before=10, after=12, why="no"),
    CompactionAsked(by=BEN, focus="numbers"),
    Stopped(reason="cancelled", by=BEN, detail="d"),
    MessageEdited(by=BEN, source=MessageId("m1"), text="other"),
    MessageDeleted(source=MessageId("m1")),
    posted(1, "card", final=True),
)


def state(*records: Record) -> ThreadState:
    return fold(numbered(records))


def step(*records: Record) -> Step:
    return next_step(state(*records))


ASKED = (said(), says("", POST), asked(POST), posted(3, "approval"))
"""A write waits for its yes, and people have been shown the request."""
DECIDED = (*ASKED, given(POST), posted(3, "approval", final=True))

"""What a careful clerk would say of each change that ran: was it allowed? Reads the log anew, with no code of ours."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.approvals import Rules
from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Granted,
    ModelSaid,
    Stopped,
    Stored,
    ToolEnded,
    ToolStarted,
    UserSaid,
)
from memory.types import ToolCall
from tools.policy import Policy

EFFECTS = {"write": "write", "put": "write", "erase": "destroy"}


@dataclass(frozen=True, slots=True)
class Clerk:
    """``members`` may decide at all; ``acts`` are the yeses that people really gave, with the time."""

    rules: Rules
    policy: Policy
    members: frozenset[str]
    groups: dict[str, frozenset[str]]
    acts: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    def objection(self, log: Sequence[Stored], call: ToolCall, now: float) -> str | None:
        """Why this call should not be running now, as the last started one of this log. None if it may."""
        start = next((i for i, s in reversed(list(enumerate(log))) if _starts(s, call.id)), None)
        if start is None:
            return "it was not announced in the log"
        started = log[start].record
        assert isinstance(started, ToolStarted)
        if started.digest != _digest(call):
            return "other bytes were announced"
        before = log[:start]
        if (wrong := _stopped_or_repeated(before, call, started)) is not None:
            return wrong
        match started.by:
            case "approval":
                return self._of_approval(before, call, now)
            case "grant":
                return self._of_grant(before, call, now)
            case "policy":
                free = {call.name, f"{call.name}@C1"} & self.policy.free
                allowed = free and EFFECTS[call.name] == "write" and not _tainted(before)
                return None if allowed else "no policy lets it run without a yes"

    def _of_approval(self, log: Sequence[Stored], call: ToolCall, now: float) -> str | None:
        index = next((i for i, s in reversed(list(enumerate(log))) if _asks(s, call.id)), None)
        if index is None:
            return "nobody was asked"
        asked, asked_at = log[index].record, log[index].at
        assert isinstance(asked, ApprovalAsked)
        if asked.digest != _digest(call):
            return "it was asked for other bytes"
        votes = dict[str, float]()
        for stored in log[index:]:
            given = stored.record
            if not isinstance(given, ApprovalGiven) or given.call_id != call.id or given.digest != asked.digest:
                continue
            person = given.by.id if given.by else ""
            match given.verdict:
                case "approved" if stored.at < asked.expires_at and self._may(person, asked, call, asked_at):
                    votes[person] = max(votes.get(person, 0.0), given.not_before)
                case "withdrawn":
                    votes.pop(person, None)
                case "refused" | "expired" | "superseded" if len(votes) < asked.needed:
                    return f"it was {given.verdict}"
                case _:
                    pass
        if len(votes) < asked.needed:
            return f"{len(votes)} of {asked.needed} said yes"
        return "it could still be taken back" if sorted(votes.values())[asked.needed - 1] > now else None

    def _may(self, person: str, asked: ApprovalAsked, call: ToolCall, asked_at: float) -> bool:
        rule = self.rules.rule(call.name)
        listed = set(rule.approvers) or {asked.requester.id}
        groups = {group for group, people in self.groups.items() if person in people}
        acted = any(who == person and at >= asked_at for who, at in self.acts)
        right = person in self.members and bool(({person} | groups) & listed)
        return acted and right and (rule.requester or person != asked.requester.id)

    def _of_grant(self, log: Sequence[Stored], call: ToolCall, now: float) -> str | None:
        if EFFECTS[call.name] == "destroy" or self.rules.rule(call.name).needed > 1:
            return "nothing of this kind is granted"
        if _tainted(log):
            return "strangers were read"
        for stored in log:
            grant = stored.record
            if isinstance(grant, Granted) and grant.tool == call.name and grant.expires_at > now:
                covers = grant.resource == {"place": call.arguments.get("place")}
                if covers and grant.by.id in self.members and (grant.by.id, stored.at) in self.acts:
                    return None
        return "no grant covers it"


def _digest(call: ToolCall) -> str:
    said = json.dumps(call.arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{call.name}\0{said}".encode()).hexdigest()


def _starts(stored: Stored, call_id: str) -> bool:
    return isinstance(stored.record, ToolStarted) and stored.record.call_id == call_id


def _asks(stored: Stored, call_id: str) -> bool:
    return isinstance(stored.record, ApprovalAsked) and stored.record.call_id == call_id


def _stopped_or_repeated(log: Sequence[Stored], call: ToolCall, started: ToolStarted) -> str | None:
    for stored in reversed(log):
        match stored.record:
            case Stopped():
                return "the run was stopped"
            case ModelSaid(message=message) if call.id in {one.id for one in message.calls}:
                break
            case _:
                pass
    made = dict[str, str]()
    for stored in log:
        match stored.record:
            case ToolStarted(call_id=call_id, digest=name):
                made[call_id] = name
            case ToolEnded(result=result, outcome="failed"):
                made.pop(result.call_id, None)
            case _:
                pass
    if call.id in made:
        return None if started.repeatable else "it had begun before"
    if _digest(call) not in made.values():
        return None
    asked = next((s.record for s in reversed(log) if _asks(s, call.id)), None)
    warned = isinstance(asked, ApprovalAsked) and asked.again and started.by == "approval"
    return None if warned else "it was done before, and nobody was told so"


def _tainted(log: Sequence[Stored]) -> bool:
    speakers = {stored.record.author.id for stored in log if isinstance(stored.record, UserSaid)}
    return len(speakers) > 1 or any(isinstance(s.record, ToolEnded) and s.record.result.untrusted for s in log)

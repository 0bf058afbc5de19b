"""Who may decide, and what a reply decides. Pure; every door asks the same question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bot.catalog import say
from bot.config import ApprovalRule
from bot.surface import Standing
from memory.records import ApprovalAsked


@dataclass(frozen=True, slots=True)
class Allowed:
    pass


@dataclass(frozen=True, slots=True)
class Refused:
    """``why`` is a key of the catalogue."""

    why: Literal["whisper.not_approver", "whisper.not_requester", "whisper.not_member", "whisper.unknown_person"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How requests are decided. ``by_tool`` names tools, or ``*`` for all others; ``seconds`` is how long they wait."""

    by_tool: Mapping[str, ApprovalRule] = field(default_factory=dict[str, ApprovalRule])
    seconds: float = 86_400.0
    undo: float = 0.0
    """Seconds in which a yes can be taken back before the call runs."""

    def rule(self, tool: str) -> ApprovalRule:
        return self.by_tool.get(tool) or self.by_tool.get("*") or ApprovalRule()


def approvers(rule: ApprovalRule, requester: str) -> tuple[str, ...]:
    """Who may decide: whom the rule names, or else the requester. Never everyone."""
    named = tuple(one for one in rule.approvers if rule.requester or one != requester)
    return named if rule.approvers else (requester,)


def too_few(who: Sequence[str], needed: int) -> bool:
    """Whether these people can never be enough. A group may hold enough of them."""
    return len(set(who)) < needed and not any(is_group(one) for one in who)


def is_group(approver: str) -> bool:
    """Whether an approver is a user group rather than a person."""
    return approver.startswith("S")


def named(approvers: Sequence[str], locale: str) -> str:
    """Approvers in a sentence, so that the platform notifies them."""
    told = [f"<!subteam^{one}>" if is_group(one) else f"<@{one}>" for one in approvers]
    return say("approval.or", locale).join(told)


def authorize(
    person: str, standing: Standing, asked: ApprovalAsked, rule: ApprovalRule, groups: frozenset[str] = frozenset()
) -> Allowed | Refused:
    """Whether this person's verdict counts; ``groups`` are those of ``asked.approvers`` that the person is in.

    Fails closed: who is not known to be a member decides nothing.
    """
    match standing:
        case "unknown":
            return Refused("whisper.unknown_person")
        case "guest" | "outsider" | "bot" | "deactivated":
            return Refused("whisper.not_member")
        case "member":
            if person == asked.requester.id and not rule.requester:
                return Refused("whisper.not_requester")
            return Allowed() if {person, *groups} & set(asked.approvers) else Refused("whisper.not_approver")


@dataclass(frozen=True, slots=True)
class Decision:
    verdict: Literal["approved", "refused"]
    reason: str = ""


_YES = {
    "yes",
    "y",
    "ok",
    "okay",
    "approve",
    "approved",
    "go ahead",
    "do it",
    "好",
    "好的",
    "可以",
    "同意",
    "批准",
    "是",
    "确认",
}
_NO = re.compile(
    r"(?:no|n|nope|refuse|reject|deny|don't|不|不要|不行|不用|否|拒绝)(?:$|[\s,，:：;；.。]+(?P<reason>.*))", re.S
)
_BECAUSE = re.compile(r"^(?:because|since|因为)[\s,，:：]*", re.IGNORECASE)
_STOP = {"stop", "cancel", "abort", "停", "停止", "取消", "停下"}


def decision(words: str) -> Decision | None:
    """What a reply to a request says, if it is a plain verdict and nothing else."""
    spoken = words.strip().strip("!.。！").strip()
    if spoken.lower() in _YES:
        return Decision("approved")
    if (match := _NO.fullmatch(spoken.lower())) is None:
        return None
    start = match.start("reason")
    reason = spoken[start:].strip() if start >= 0 else ""
    return Decision("refused", _BECAUSE.sub("", reason))


def is_stop(words: str) -> bool:
    """Whether a message is nothing but the wish to stop."""
    return words.strip().strip("!.。！").strip().lower() in _STOP


_COMPACT = re.compile(r"(?:/?compact|压缩)(?:\s+(?P<focus>.+))?", re.IGNORECASE | re.DOTALL)


def compaction_focus(words: str) -> str | None:
    """What a message that is nothing but the wish to shorten the conversation wants kept; None for other words."""
    match = _COMPACT.fullmatch(words.strip())
    return None if match is None else (match["focus"] or "").strip()

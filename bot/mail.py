"""Inbox -> log: what people said and did becomes records, each exactly once.

A row leaves the inbox in the transaction that appends what it became. Rows are taken only between
two steps of a turn, so that nothing gets in between a question to the model and its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.approvals import Decision, Refused, Rules, authorize, compaction_focus, decision, is_group, is_stop, named
from bot.catalog import say
from bot.keeper import Keeper
from bot.surface import Surface
from memory.inbox import Deleted, Edited, Gestured, Inbound, Inbox, Said, Waiting, taken
from memory.log import ThreadLog
from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Compacted,
    CompactionAsked,
    CompactionSkipped,
    Granted,
    MessageDeleted,
    MessageEdited,
    ModelSaid,
    Record,
    Stopped,
    Stored,
    UserSaid,
    Verdict,
)
from memory.state import Approval
from memory.types import MessageId, Person

CLOCKS_APART = timedelta(seconds=2).total_seconds()
"""How far the platform's clock and ours may differ before the order of two moments is in doubt."""


@dataclass(frozen=True, slots=True)
class Mail:
    inbox: Inbox
    surface: Surface
    rules: Rules
    grant_seconds: float
    keeper: Keeper | None = None

    async def take(self, log: ThreadLog) -> tuple[Stored, ...]:
        """Append what waits in the inbox of this thread; returns the new records."""
        new = list[Stored]()
        for waiting in settled(await self.inbox.waiting(log.key)):
            await self._tell_memory(log, waiting.rows)
            records = await self._records(log, waiting.inbound)
            new.extend(await log.append(*records, also=[taken(waiting.rows)]))
        return tuple(new)

    async def _tell_memory(self, log: ThreadLog, rows: Sequence[Waiting]) -> None:
        """What was remembered follows the message that it came from. Doing it again changes nothing."""
        if self.keeper is None:
            return
        for row in rows:
            match row.inbound:
                case Deleted(message=message):
                    await self.keeper.deleted(message)
                case Edited(message=message):
                    await self.keeper.edited(message, in_log=_words_of(log, message) is not None)
                case Gestured(gesture="remember", message=message, author=author, on=on):
                    by, standing = await self.surface.person(author)
                    if standing == "member":
                        await self.keeper.pinned(message, by, on=on)
                case _:
                    pass

    async def _records(self, log: ThreadLog, inbound: Inbound | None) -> Sequence[Record]:
        match inbound:
            case None:
                return ()
            case Said():
                return await self._said(log, inbound)
            case Gestured():
                return await self._gestured(log, inbound)
            case Edited():
                return await self._edited(log, inbound)
            case Deleted(message=message):
                return _deleted(log, message)

    # -- words -----------------------------------------------------------------------------------

    async def _said(self, log: ThreadLog, said: Said) -> Sequence[Record]:
        heard = await self.surface.hear(said)
        pending = undecided(log)
        if is_stop(said.words):
            return await self._stop(log, heard.author)
        if not pending and (focus := compaction_focus(said.words)) is not None:
            return await self._compact(log, heard.author, focus)
        if pending and (verdict := decision(said.words)) is not None:
            return await self._decided_by_words(log, said, heard, verdict)
        records = list[Record]()
        if any(heard.author.id in {a.asked.requester.id, *a.asked.approvers} for a in pending):
            records += [_verdict(approval, "superseded", heard.author) for approval in pending]
        return [*records, heard]

    async def _decided_by_words(
        self, log: ThreadLog, said: Said, heard: UserSaid, decided: Decision
    ) -> Sequence[Record]:
        """A reply that is a plain yes or no. One that was written before the question is no answer to it."""
        pending, approve = undecided(log), decided.verdict == "approved"
        if len(pending) > 1 and approve:
            await self.surface.whisper(log.key, said.author, say("whisper.several", heard.author.locale))
            return ()
        if _older_than_the_question(log, said, pending[0]):
            return [heard]
        records = list[Record]()
        for approval in pending:
            records += await self._verdict(log, approval, said.author, approve=approve, reason=decided.reason)
        return records

    async def _compact(self, log: ThreadLog, by: Person, focus: str) -> Sequence[Record]:
        """A wish to shorten the conversation; nothing to do if nothing was said since the last time."""
        if any(isinstance(s.record, UserSaid | ModelSaid) and s.seq > last_compaction(log) for s in log.records):
            return [CompactionAsked(by=by, focus=focus)]
        await self.surface.whisper(log.key, by.id, say("whisper.nothing_to_compact", by.locale))
        return ()

    async def _stop(self, log: ThreadLog, by: Person) -> Sequence[Record]:
        if not log.state.turn.over or log.state.compaction is not None:
            return [Stopped(reason="cancelled", by=by)]
        await self.surface.whisper(log.key, by.id, say("whisper.nothing_to_stop", by.locale))
        return ()

    # -- reactions and buttons -------------------------------------------------------------------

    async def _gestured(self, log: ThreadLog, gestured: Gestured) -> Sequence[Record]:
        match gestured.gesture, gestured.on:
            case "stop", True:
                by, standing = await self.surface.person(gestured.author)
                return await self._stop(log, by) if standing != "bot" else ()
            case "compact", True:
                by, standing = await self.surface.person(gestured.author)
                return await self._compact(log, by, "") if standing != "bot" else ()
            case (("approve" | "refuse" | "grant"), True):
                return await self._gesture_on_request(log, gestured)
            case (("approve" | "grant"), False):
                return await self._taken_back(log, gestured)
            case _:
                return ()

    async def _gesture_on_request(self, log: ThreadLog, gestured: Gestured) -> Sequence[Record]:
        approval = _approval_shown_in(log, gestured.message)
        if approval is None or approval not in undecided(log):
            by, standing = await self.surface.person(gestured.author)
            if standing != "bot" and not _agrees(gestured, approval):
                await self.surface.whisper(log.key, by.id, say("whisper.closed", by.locale))
            return ()
        records = await self._verdict(log, approval, gestured.author, approve=gestured.gesture != "refuse")
        resource, by = approval.asked.resource, _who_approved(records)
        if gestured.gesture == "grant" and by is not None and resource is not None and self.grant_seconds:
            tool, until = log.state.open_calls[approval.asked.call_id].name, log.clock() + self.grant_seconds
            return [*records, Granted(tool=tool, resource=resource, by=by, expires_at=until)]
        return records

    async def missed(self, log: ThreadLog) -> tuple[Stored, ...]:
        """Verdicts by reactions that were made while no process was listening."""
        new = list[Stored]()
        for approval in undecided(log):
            for message in log.state.posted.get((approval.seq, "approval"), ())[:1]:
                for gesture, author in await self.surface.reactions(message):
                    made = Gestured(thread=log.key, message=message, author=author, gesture=gesture)
                    new.extend(await log.append(*await self._gestured(log, made)))
        return tuple(new)

    async def _taken_back(self, log: ThreadLog, gestured: Gestured) -> Sequence[Record]:
        """A yes whose reaction was removed before the call ran."""
        approval = _approval_shown_in(log, gestured.message)
        if approval is None or gestured.author not in approval.votes:
            return ()
        by, _ = await self.surface.person(gestured.author)
        if approval.ended or approval.asked.call_id in log.state.started:
            await self.surface.whisper(log.key, by.id, say("whisper.too_late", by.locale))
            return ()
        return [_verdict(approval, "withdrawn", by)]

    async def _verdict(
        self, log: ThreadLog, approval: Approval, author: str, *, approve: bool, reason: str = ""
    ) -> Sequence[Record]:
        """The one way to a verdict, whatever the door."""
        asked = approval.asked
        by, standing = await self.surface.person(author)
        if asked.expires_at <= log.clock():
            await self.surface.whisper(log.key, author, say("whisper.closed", by.locale))
            return ()
        rule = self.rules.rule(log.state.open_calls[asked.call_id].name)
        refusal = authorize(author, standing, asked, rule, await self._groups_of(author, asked))
        if isinstance(refusal, Refused):
            people = named(asked.approvers, by.locale)
            await self.surface.whisper(log.key, author, say(refusal.why, by.locale, people=people))
            return ()
        undo = log.clock() + self.rules.undo if approve and self.rules.undo else 0.0
        return [_verdict(approval, "approved" if approve else "refused", by, reason, undo)]

    async def _groups_of(self, person: str, asked: ApprovalAsked) -> frozenset[str]:
        groups = [one for one in asked.approvers if is_group(one)]
        members = [await self.surface.group(group) for group in groups]
        return frozenset(group for group, people in zip(groups, members, strict=True) if person in people)

    # -- corrections -----------------------------------------------------------------------------

    async def _edited(self, log: ThreadLog, edited: Edited) -> Sequence[Record]:
        """An edit starts nothing. It is noted, and undoes the requests that rest on what it changed."""
        before = _words_of(log, edited.message)
        if before is None:
            return ()
        by, text = await self.surface.reread(edited)
        if text == before:
            return ()
        records = list[Record]()
        if edited.message in log.state.turn.sources:
            records += [_verdict(approval, "superseded", by) for approval in undecided(log)]
        return [*records, MessageEdited(by=by, source=edited.message, text=text)]


@dataclass(frozen=True, slots=True)
class Settled:
    """Rows that come to one thing: a message with its later edits, or nothing if it was deleted since."""

    rows: tuple[Waiting, ...]
    inbound: Inbound | None


def settled(rows: Sequence[Waiting]) -> list[Settled]:
    """Put together what is about the same unread message; words stand in the order in which they were written."""
    out = list[Settled]()
    for row in rows:
        match row.inbound:
            case Edited(message=message) | Deleted(message=message):
                index = next((i for i, one in enumerate(out) if _is_message(one.inbound, message)), None)
                if index is None:
                    out.append(Settled((row,), row.inbound))
                else:
                    out[index] = Settled((*out[index].rows, row), _after(out[index].inbound, row.inbound))
            case _:
                out.append(Settled((row,), row.inbound))
    return _as_written(out)


def _as_written(arrived: list[Settled]) -> list[Settled]:
    """Several connections to the platform may bring two messages in the wrong order."""
    said = iter(sorted((one for one in arrived if isinstance(one.inbound, Said)), key=_written))
    return [next(said) if isinstance(one.inbound, Said) else one for one in arrived]


def _written(settled: Settled) -> float:
    return settled.inbound.at if isinstance(settled.inbound, Said) else 0.0


def _after(said: Inbound | None, change: Edited | Deleted) -> Inbound | None:
    match said, change:
        case Said(), Edited(words=words, opaque=opaque):
            return said.model_copy(update={"words": words, "opaque": opaque})
        case _:
            return None


def _is_message(inbound: Inbound | None, message: MessageId) -> bool:
    return isinstance(inbound, Said) and inbound.message == message


def interrupts(log: ThreadLog, inbound: Inbound) -> bool:
    """Whether a step that is under way must end for this."""
    match inbound:
        case Said(words=words):
            return is_stop(words)
        case Gestured(gesture=gesture, on=on):
            return on and gesture == "stop"
        case Deleted(message=message):
            return log.state.turn.sources[:1] == [message]
        case Edited():
            return False


def undecided(log: ThreadLog) -> list[Approval]:
    """Requests that still wait for somebody, oldest first."""
    return [
        approval
        for call_id, approval in log.state.approvals.items()
        if approval.given is None and not approval.ended and call_id not in log.state.halted
    ]


def _agrees(gestured: Gestured, approval: Approval | None) -> bool:
    """Whether a reaction only says once more what was decided: there is nothing to explain."""
    if approval is None or approval.given is None or gestured.door == "button":
        return False
    return approval.given.verdict == ("refused" if gestured.gesture == "refuse" else "approved")


def last_compaction(log: ThreadLog) -> int:
    """The seq of the last compaction, 0 if there was none."""
    return max((s.seq for s in log.records if isinstance(s.record, Compacted | CompactionSkipped)), default=0)


def _verdict(
    approval: Approval, verdict: Verdict, by: Person, reason: str = "", not_before: float = 0.0
) -> ApprovalGiven:
    asked = approval.asked
    return ApprovalGiven(
        call_id=asked.call_id, digest=asked.digest, verdict=verdict, by=by, reason=reason, not_before=not_before
    )


def _who_approved(records: Sequence[Record]) -> Person | None:
    return next((r.by for r in records if isinstance(r, ApprovalGiven) and r.verdict == "approved"), None)


def _older_than_the_question(log: ThreadLog, said: Said, approval: Approval) -> bool:
    """Whether words came in before the request was shown, or were written before and came in late."""
    asked_at = next(stored.at for stored in reversed(log.records) if stored.seq == approval.seq)
    return (approval.seq, "approval") not in log.state.posted or said.at + CLOCKS_APART < asked_at


def _approval_shown_in(log: ThreadLog, message: MessageId) -> Approval | None:
    shown = {of for (of, what), messages in log.state.posted.items() if what == "approval" and message in messages}
    return next((approval for approval in log.state.approvals.values() if approval.seq in shown), None)


def _words_of(log: ThreadLog, message: MessageId) -> str | None:
    """What we know a message to say: its words, or those of its last edit."""
    for stored in reversed(log.records):
        match stored.record:
            case UserSaid(source=source, text=text) | MessageEdited(source=source, text=text) if source == message:
                return text
            case _:
                pass
    return None


def _deleted(log: ThreadLog, message: MessageId) -> Sequence[Record]:
    if _words_of(log, message) is None:
        return ()
    mark = MessageDeleted(source=message)
    turn = log.state.turn
    return [mark, Stopped(reason="deleted")] if not turn.over and turn.sources[:1] == [message] else [mark]

"""What people see of one thread while it is worked on: the card, and everything that is posted.

A post is noted in the log after it was made. What an earlier process may have posted without
noting it is looked for in the thread first.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog

from bot.catalog import say
from bot.events import AgentEvent, Recorded
from bot.notices import compaction_notice, label, local_time, stop_notice, uncertain_notice
from bot.progress import Card, advance, replay
from bot.surface import Answer, Body, Notice, PostKey, Request, Surface, SurfaceError
from memory.inbox import Gesture
from memory.log import ThreadLog
from memory.records import (
    ApprovalGiven,
    Compacted,
    CompactionSkipped,
    ModelSaid,
    Posted,
    Stopped,
    Stored,
    ToolEnded,
    UserSaid,
)
from memory.state import Approval
from memory.steps import Deliver
from memory.types import MessageId, Person, ToolCall

NOBODY = Person(id="", name="")


@dataclass(slots=True)
class View:
    surface: Surface
    log: ThreadLog
    grant_minutes: int = 0
    card: Card | None = None
    turn: int = 0
    _posting: asyncio.Task[None] | None = None

    # -- the card --------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Show the card of the turn that is under way, a new one or the one that is there already."""
        turn = self.log.state.turn
        if turn.over or self.turn == turn.seq:
            return
        await self.settle()  # the card of the turn before may be on its way still
        self.turn = turn.seq
        self.card = replay(self._records_of_turn(), self._requester.locale)
        if self._card_message is None:
            self._posting = asyncio.create_task(self._post_card())
        else:
            self._redraw()

    def tell(self, event: AgentEvent) -> None:
        """Take an event of the turn into the card."""
        if isinstance(event, Recorded) and isinstance(event.stored.record, UserSaid | Posted):
            return
        if self.card is not None:
            before, self.card = self.card, advance(self.card, event)
            if self.card != before:
                self._redraw()

    async def settle(self) -> None:
        """Wait until the card is there, if it is being posted."""
        if self._posting is not None:
            await self._posting

    def _redraw(self) -> None:
        if self.card is not None and (message := self._card_message) is not None:
            self.surface.edit_soon(message, self._card_key(self.turn), self.card)

    async def _post_card(self) -> None:
        turn, shown = self.turn, self.card
        assert shown is not None
        check = turn <= self.log.loaded
        try:
            messages = await self.surface.post(self.log.key, self._card_key(turn), shown, check=check)
        except SurfaceError as error:
            structlog.get_logger().warning("no card", action="card_refused", thread=self.log.key, why=str(error))
            messages = ()
        await self.log.append(Posted(of=turn, what="card", messages=messages))
        if self.card != shown or check:
            self._redraw()

    @staticmethod
    def _card_key(turn: int) -> PostKey:
        return PostKey(turn, turn, "card")

    @property
    def _card_message(self) -> MessageId | None:
        messages = self.log.state.posted.get((self.turn, "card"), ())
        return messages[0] if messages else None

    # -- what is due -----------------------------------------------------------------------------

    async def deliver(self, due: Deliver) -> None:
        """Show one thing that the log says people have not seen, and note that they have."""
        await self.settle()
        match due.what:
            case "card":
                await self._close_card(due.of)
            case "approval":
                await self._show_request(due.of)
            case "answer" | "notice":
                await self._post(due, self._words(due.of))

    async def _close_card(self, turn: int) -> None:
        messages = self.log.state.posted.get((turn, "card"))
        records = self._records_from(turn)
        card = replay(records, self._requester_of(turn).locale)
        if messages is None and card is not None:
            messages = await self._try_post(PostKey(turn, turn, "card"), card, check=True)
        elif messages and card is not None:
            await self.surface.edit(messages[0], PostKey(turn, turn, "card"), card)
        await self.log.append(Posted(of=turn, what="card", messages=messages or (), final=True))

    async def _show_request(self, seq: int) -> None:
        approval = next(a for a in self.log.state.approvals.values() if a.seq == seq)
        final = approval.given is not None or approval.ended
        key = PostKey(self.log.state.turn.seq, seq, "approval")
        body = self._request(approval)
        messages = self.log.state.posted.get((seq, "approval"), ())
        new = not messages
        if new:
            messages = await self._try_post(key, body, check=seq <= self.log.loaded)
        else:
            await self.surface.edit(messages[0], key, body)
        if approval.given is not None and approval.given.verdict not in ("superseded",):
            line = self._decision_line(approval.asked.requester, approval.given, body.call)
            await self._try_post(replace(key, kind="notice"), Notice(line), check=seq <= self.log.loaded)
        await self.log.append(Posted(of=seq, what="approval", messages=messages, final=final))
        if new and messages and not final:  # not earlier: a verdict on a message that the log does not know is lost
            grant: tuple[Gesture, ...] = ("grant",) if body.grant_minutes else ()
            await self.surface.offer(messages[0], ("approve", "refuse", *grant))

    async def _post(self, due: Deliver, body: Body | None) -> None:
        messages = tuple[MessageId, ...]()
        if body is not None:
            key = PostKey(self.log.state.turn.seq, due.of, due.what)
            messages = await self._try_post(key, body, check=due.of <= self.log.loaded)
        await self.log.append(Posted(of=due.of, what=due.what, messages=messages))

    async def _try_post(self, key: PostKey, body: Body, *, check: bool) -> tuple[MessageId, ...]:
        try:
            return await self.surface.post(self.log.key, key, body, check=check)
        except SurfaceError as error:
            structlog.get_logger().error(
                "the chat refused a message", action="post_refused", thread=self.log.key, kind=key.kind, why=str(error)
            )
            return ()

    # -- bodies ----------------------------------------------------------------------------------

    def _words(self, seq: int) -> Body | None:
        locale = self._requester.locale
        match self.log.at(seq):
            case ModelSaid(message=message, stop=stop):
                text = message.text or say("notice.no_answer", locale)
                if stop == "length":
                    text = f"{text}\n\n{say('notice.cut_off', locale)}"
                return Answer(text, self._people(), self._trusted_words())
            case Stopped() as stopped:
                records = [stored for stored in self._records_of_turn() if stored.seq <= seq]
                return Notice(stop_notice(stopped, records, self._requester))
            case ToolEnded(result=result):
                call = self._call(result.call_id)
                return Notice(uncertain_notice(call, locale)) if call else None
            case Compacted() | CompactionSkipped() as record:
                return Notice(compaction_notice(record, locale))
            case _:
                return None

    def _request(self, approval: Approval) -> Request:
        call = self._call(approval.asked.call_id)
        assert call is not None, "a request is asked for a call of the log"
        return Request(
            call,
            approval.asked,
            self._requester.locale,
            approval.given,
            approval.ended,
            tuple(vote.by for vote in approval.votes.values() if vote.by is not None),
            self.grant_minutes if approval.asked.resource is not None else 0,
        )

    def _decision_line(self, requester: Person, given: ApprovalGiven, call: ToolCall) -> str:
        when = datetime.fromtimestamp(self.log.clock(), UTC)
        values = {"who": given.by.name if given.by else "", "tool": label(call), "when": local_time(when, requester)}
        line = say(f"approval.line_{given.verdict}", requester.locale, **values)
        reason = say("approval.reason", requester.locale, reason=given.reason) if given.reason else ""
        return f"{line} {reason}".strip()

    def _call(self, call_id: str) -> ToolCall | None:
        for stored in reversed(self.log.records):
            if isinstance(stored.record, ModelSaid):
                for call in stored.record.message.calls:
                    if call.id == call_id:
                        return call
        return None

    def _people(self) -> frozenset[str]:
        """Who may be notified by an answer: those who speak in this thread."""
        return frozenset(s.record.author.id for s in self.log.records if isinstance(s.record, UserSaid))

    def _trusted_words(self) -> str | None:
        """In a turn that has read untrusted text: the words of people, which name the hosts that may be linked."""
        if not self.log.state.tainted:
            return None
        return "\n".join(s.record.text for s in self.log.records if isinstance(s.record, UserSaid))

    @property
    def _requester(self) -> Person:
        return self.log.state.turn.requester or NOBODY

    def _requester_of(self, turn: int) -> Person:
        record = self.log.at(turn)
        return record.author if isinstance(record, UserSaid) else self._requester

    def _records_of_turn(self) -> list[Stored]:
        return [stored for stored in self.log.records if stored.seq >= self.log.state.turn.seq]

    def _records_from(self, turn: int) -> list[Stored]:
        """The records of one turn: from its first words up to those that begin the next one."""
        out = list[Stored]()
        over = False
        for stored in self.log.records:
            if stored.seq < turn:
                continue
            if over and isinstance(stored.record, UserSaid):
                break
            out.append(stored)
            over = over or _ends_turn(stored)
        return out


def _ends_turn(stored: Stored) -> bool:
    match stored.record:
        case Stopped():
            return True
        case ModelSaid(kept=True, message=message, stop=stop):
            return not message.calls and stop != "pause"
        case _:
            return False

"""The memory at work in a conversation: notes at the start of a turn, and what people do to what is remembered."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace

import structlog

from bot.notes import counted, notes
from bot.rooms import Message, Rooms
from memory.audience import Audience, Source, scope_of, source_of
from memory.fact import LONGEST, Fact, NewFact
from memory.lessons import correction, is_private
from memory.log import ThreadLog
from memory.ranking import OFFERED, Found
from memory.records import Briefed, Record, UserSaid
from memory.remember import Memory, Refused
from memory.types import MessageId, Person, ThreadKey, ToolCall, ToolResult

PATIENCE = 4.0
"""Seconds that the start of a turn waits for notes; without them it goes on."""
NOTES, NOTE_TOKENS = 6, 800
"""How many facts are told unasked at most, and how many tokens."""
ASKED_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class Keeper:
    memory: Memory
    rooms: Rooms

    # -- at the start of a turn ------------------------------------------------------------------

    async def brief(self, log: ThreadLog) -> Record | None:
        """What is known about the words that began this turn, as a call of our own; None if that is nothing."""
        asker, text = log.state.turn.requester, _newest_words(log)
        if asker is None or not text or _briefed(log) or await self.memory.facts.none():
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self.recall(text, await self.rooms.audience(log.key, asker.id), unasked=True)
        except Exception as error:  # a turn never fails for want of notes
            structlog.get_logger().warning("no notes", action="recall_failed", thread=log.key, why=str(error))
            return None
        if not found:
            return None
        call = ToolCall(id=f"bobbin_{log.state.calls_made + 1}", name="recall", arguments={"query": text})
        others = any(one.fact.author != asker.id for one in found)
        result = ToolResult(call_id=call.id, text=notes(found), line=counted(len(found)), untrusted=others)
        return Briefed(call=call, result=result)

    async def recall(self, text: str, audience: Audience, *, unasked: bool = False) -> list[Found]:
        """What this audience may be told, best first; ``unasked`` only what is near enough to be worth it."""
        if unasked:
            found = await self.memory.recall(
                text, audience, floor=OFFERED, count=NOTES, tokens=NOTE_TOKENS, now_there=self._now_there
            )
        else:
            found = await self.memory.recall(text, audience, now_there=self._now_there)
        await self.memory.facts.touch(one.fact.id for one in found)
        return found

    async def listed(
        self, audience: Audience, *, limit: int, of: str | None = None, but: str | None = None
    ) -> list[Fact]:
        """What this audience may be shown, newest first; ``of`` only what is this person's own, ``but`` the rest."""
        return await self.memory.listed(audience, limit=limit, of=of, but=but, now_there=self._now_there)

    async def visible(self, audience: Audience, number: int) -> Fact | None:
        """A fact by its number, if this audience may be shown it."""
        for one in await self.memory.facts.get(audience, [number]):
            if await self.shows(audience, one.fact):
                return one.fact
        return None

    async def shows(self, audience: Audience, fact: Fact) -> bool:
        """Whether a fact may be shown to this audience, with its place as it is now."""
        return await self.memory.still_visible(fact, audience, self._now_there)

    async def _now_there(self, source: Source) -> Source:
        return await self.rooms.source_now(source)

    # -- what people do --------------------------------------------------------------------------

    async def remember(
        self, thread: ThreadKey, by: Person, text: str, message: MessageId | None, old: Fact | None = None
    ) -> tuple[Fact, bool]:
        """Keep a claim because a person asked for it, in the place of an ``old`` one. Raises ``Refused``."""
        return await self._keep(Message(thread, by, text), by, message or MessageId(thread), old)

    async def correct(self, fact: Fact, by: Person, text: str) -> Fact:
        """Its owner says on their own page what is right: where it is known, and to whom, stays. Raises ``Refused``."""
        fields = {**fact.model_dump(include=set(NewFact.model_fields)), "text": " ".join(text.split())}
        new = NewFact.model_validate({**fields, "keeper": by.id, "confidence": 1.0, "value": ""})
        changed, _ = await self.memory.add(new, keep="asked", replaces=fact.id)
        return changed

    async def pinned(self, message: MessageId, by: Person, *, on: bool) -> bool:
        """Somebody put a pin on a message, or took it away. Whether anything changed."""
        if not on:
            mine = [fact for fact in await self.memory.facts.of_message(message) if fact.keeper == by.id]
            await self.memory.forget(mine, for_good=False)
            if mine:
                await self.rooms.mark_kept(message, kept=False)
            return bool(mine)
        found = await self.rooms.message(message)
        if found is None or is_private(found.text):
            return False
        text = found.text if len(found.text) <= LONGEST else f"{found.text[: LONGEST - 1]}…"
        try:
            await self._keep(replace(found, text=text), by, message)
        except Refused as error:
            structlog.get_logger().info("pin not kept", action="pin_refused", why=str(error))
            return False
        await self.rooms.mark_kept(message)
        return True

    async def _keep(
        self, said: Message, keeper: Person, message: MessageId, old: Fact | None = None
    ) -> tuple[Fact, bool]:
        audience = await self.rooms.audience(said.thread, keeper.id)
        scope = scope_of(audience, said.author.id, "fact")
        if scope is None:
            raise Refused("shared", "nothing is remembered in channels that are shared with others")
        new = NewFact(
            text=" ".join(said.text.split()),
            confidence=1.0,
            scope=scope,
            source=source_of(audience),
            author=said.author.id,
            author_name=said.author.name,
            keeper=keeper.id,
            message=message,
            link=await self.rooms.link(message),
        )
        if old is not None:
            return await self._replace(old, new)
        twin = await self.memory.twin(new, audience)
        if twin is not None and await self.shows(audience, twin):
            await self.memory.facts.touch([twin.id])
            return twin, False
        return await self.memory.add(new, keep="asked")

    async def _replace(self, old: Fact, new: NewFact) -> tuple[Fact, bool]:
        instead = correction(new, old)
        if instead is None:
            raise Refused("elsewhere", "the note that it corrects is of another place or person, not changed from here")
        return await self.memory.add(instead, keep="asked", replaces=old.id)

    async def deleted(self, message: MessageId) -> None:
        """Its author took a message back: what came from it goes with it."""
        if facts := await self.memory.facts.of_message(message):
            await self.memory.forget(facts)

    async def edited(self, message: MessageId, *, in_log: bool = False) -> None:
        """A message says something else now: what came from it does not hold; it is read again.

        Somebody's pin is kept. What its own author had kept is learned again, where the log holds the message.
        """
        facts = await self.memory.facts.of_message(message)
        if facts:
            await self.memory.forget(facts, for_good=False)
        for keeper in {fact.keeper for fact in facts if fact.keeper and not (in_log and fact.keeper == fact.author)}:
            await self.pinned(message, Person(id=keeper, name=keeper), on=True)


def _newest_words(log: ThreadLog) -> str:
    """What began this turn, without the mentions of us that it is addressed with."""
    said = [s.record.text for s in log.records if isinstance(s.record, UserSaid) and s.seq >= log.state.turn.seq]
    return re.sub(r"(?<!\w)@you\b\s*", "", "\n".join(said))[-ASKED_CHARACTERS:].strip()


def _briefed(log: ThreadLog) -> bool:
    """Whether this turn has its notes, or is past its beginning."""
    turn = log.state.turn
    told = any(
        isinstance(s.record, Briefed) and s.record.call.name == "recall" and s.seq > turn.seq for s in log.records
    )
    return told or turn.asks > 0

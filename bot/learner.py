"""Learning from conversations once they have gone quiet. It never delays an answer, and survives a restart:

how far each thread was learned from is in the database, so what was not learned yet is learned later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from bot.notes import told_in
from bot.rooms import Rooms
from bot.teacher import Proposal, Teacher
from memory.audience import Audience, scope_of
from memory.fact import Forgotten
from memory.learned import Learned, Words, learned_upto
from memory.lessons import Again, Change, Drop, Heard, Learn, Lesson, changes, open_to_learning
from memory.log_rows import Effect
from memory.remember import Memory, Refused
from memory.spend import Spend
from memory.types import ThreadKey

AT_ONCE, CHARACTERS = 30, 12_000
"""Of one conversation at a time: messages, and characters of them, newest kept."""
KNOWN = 10
TRIES = 3
"""After so many failures the messages are passed by."""
AGAIN = 120.0


@dataclass(slots=True)
class Learner:
    """``quiet``: seconds that nothing may have happened in a thread before it is learned from."""

    memory: Memory
    rooms: Rooms
    learned: Learned
    teacher: Teacher
    spend: Spend
    quiet: float
    clock: Callable[[], float] = time.time
    _due: dict[ThreadKey, float] = field(default_factory=dict[ThreadKey, float])
    _failed: dict[ThreadKey, int] = field(default_factory=dict[ThreadKey, int])
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, with the threads that were not learned from yet."""
        for thread in await self.learned.behind():
            self.rested(thread)
        self._task = asyncio.get_running_loop().create_task(self._work(), name="learner")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def rested(self, thread: ThreadKey) -> None:
        """A turn of this thread is over: learn from it when it stays quiet."""
        self._due[thread] = self.clock() + self.quiet
        self._news.set()

    async def _work(self) -> None:
        while True:
            self._news.clear()
            now = self.clock()
            if (thread := next((t for t, at in self._due.items() if at <= now), None)) is not None:
                del self._due[thread]
                await self._try(thread)
                continue
            wait = min(self._due.values()) - now if self._due else None
            try:
                async with asyncio.timeout(wait):
                    await self._news.wait()
            except TimeoutError:
                pass

    async def _try(self, thread: ThreadKey) -> None:
        try:
            await self.learn(thread)
            self._failed.pop(thread, None)
        except Exception as error:
            self._failed[thread] = self._failed.get(thread, 0) + 1
            structlog.get_logger().warning("not learned", action="learn_failed", thread=thread, why=str(error))
            if self._failed[thread] < TRIES:
                self._due[thread] = self.clock() + AGAIN
            else:
                seq, _, _ = await self.learned.unread(thread)
                await self._note(thread, seq, [])

    async def learn(self, thread: ThreadKey) -> list[Change]:
        """Learn from what people said in a thread since the last time; what changed."""
        seq, said, recalled = await self.learned.unread(thread)
        said = [one for one in open_to_learning(said) if len(one.text.strip()) > 3]
        if not seq or not said:
            await self._note(thread, seq, [])
            return []
        audience = await self.rooms.audience(thread, said[-1].author.id)
        if audience.room == "closed":
            await self._note(thread, seq, [])
            return []
        lesson = await self._lesson(audience, said, told_in(recalled))
        proposal = await self.teacher.propose(lesson, self.clock())
        made = [one for one in changes(proposal.operations, lesson) if await self._apply(one, audience)]
        await self._note(thread, seq, self._cost(proposal, said))
        return made

    async def _lesson(self, audience: Audience, said: Sequence[Words], recalled: Sequence[int]) -> Lesson:
        kept, room = list[Words](), CHARACTERS
        for one in reversed(said[-AT_ONCE:]):
            room -= len(one.text)
            if room < 0 and kept:
                break
            kept.insert(0, one)
        heard = [
            Heard(f"m{i}", one.message, one.author, one.at, one.text[:CHARACTERS])
            for i, one in enumerate(kept, start=1)
        ]
        known = [one.fact for one in await self.memory.facts.get(audience, recalled)]
        known.sort(key=lambda fact: recalled.index(fact.id))
        for one in kept:
            known += [found.fact for found in await self.memory.nearest(one.text, audience, KNOWN)]
        scopes = [scope_of(audience, one.author.id, kind) for one in kept for kind in ("fact", "preference", "task")]
        same = {fact.id: fact for fact in known if fact.scope in scopes}
        shown = [one for one in same.values() if await self.memory.still_visible(one, audience, self.rooms.source_now)]
        return Lesson(audience, heard, shown[:KNOWN], self.memory.masked)

    async def _apply(self, change: Change, audience: Audience) -> bool:
        match change:
            case Learn(fact=new, replaces=old):
                if old is None and (twin := await self.memory.twin(new, audience)) is not None:
                    await self.memory.facts.touch([twin.id])
                    return False
                try:
                    linked = new.model_copy(update={"link": await self.rooms.link(new.message)})
                    _, fresh = await self.memory.add(linked, keep="learned", replaces=old.id if old else None)
                except (Forgotten, Refused) as error:
                    structlog.get_logger().info("not kept", action="fact_refused", why=str(error))
                    return False
                if fresh:
                    await self.rooms.mark_kept(new.message)
                return fresh
            case Again(fact=fact):
                await self.memory.facts.touch([fact.id])
                return True
            case Drop(fact=fact):
                await self.memory.retract(fact)
                return True

    def _cost(self, proposal: Proposal, said: Sequence[Words]) -> list[Effect]:
        """Booked on the person who spoke last."""
        if not proposal.dollars:
            return []
        return [self.spend.adding(self.clock(), said[-1].author.id, proposal.dollars)]

    async def _note(self, thread: ThreadKey, seq: int, effects: list[Effect]) -> None:
        """Note how far was learned, and what it cost, in one transaction."""
        if not seq:
            return
        every = [learned_upto(thread, seq), *effects]
        await self.learned.database.write(lambda connection: [effect(connection) for effect in every] and None)

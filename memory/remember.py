"""Remembering, recalling, forgetting: what the rest of the program sees of the memory."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from memory.audience import Audience, Source, may_see
from memory.fact import LONGEST, Embedded, Fact, Keep, NewFact
from memory.facts import RARE, Facts
from memory.log_rows import Effect
from memory.ranking import ASKED, Found, Question, chosen, ranked
from memory.vector import packed
from memory.vectors import Vectors
from memory.words import agree, normal, words

FEW = 20
"""If the audience may see fewer of the nearest than this, it is searched again among what it may see."""
BY_WORDS = 60
"""Facts that are found by their rare words alone."""
NEARLY_SAME = 0.93

Room = Callable[[Source], Awaitable[Source]]
"""A source as the chat knows it now: a channel may have become private since."""


Why = Literal["empty", "long", "shared", "secret", "elsewhere"]


class Refused(Exception):
    """This is not remembered. ``why`` is for those who have words of their own for it; the message is for the model."""

    def __init__(self, why: Why, message: str) -> None:
        super().__init__(message)
        self.why: Why = why


@dataclass(frozen=True, slots=True)
class Memory:
    """``masked`` hides secrets in a text: what it would change is not remembered."""

    facts: Facts
    vectors: Vectors
    masked: Callable[[str], str]

    async def add(
        self, new: NewFact, *, keep: Keep, replaces: int | None = None, also: Sequence[Effect] = ()
    ) -> tuple[Fact, bool]:
        """Remember a claim. False beside the fact if it was known. Raises ``Refused`` or ``Forgotten``."""
        self._check(new)
        vector = await self.vectors.passage(new.text)
        bytes_ = None if vector is None else packed(vector)
        fact, fresh = await self.facts.add(new, bytes_, self.vectors.name, keep=keep, replaces=replaces, also=also)
        if fresh:
            await self.vectors.added(fact, vector)
        if replaces is not None:
            await self.vectors.gone(new.source.workspace, [replaces])
        return fact, fresh

    def _check(self, new: NewFact) -> None:
        if not normal(new.text):
            raise Refused("empty", "there is nothing in it to remember")
        if len(new.text) > LONGEST:
            raise Refused("long", f"it is longer than {LONGEST} characters: say the one thing that matters")
        if new.source.room == "closed":
            raise Refused("shared", "nothing is remembered in channels that are shared with others")
        if self.masked(new.text) != new.text:
            raise Refused("secret", "it holds what looks like a secret (a key, a token, a password)")

    async def recall(
        self,
        text: str,
        audience: Audience,
        *,
        floor: float = ASKED,
        count: int = 8,
        tokens: int = 1_200,
        now_there: Room | None = None,
    ) -> list[Found]:
        """The facts that answer a text and that this audience may see, best first; nothing rather than guesses."""
        if audience.room == "closed" or await self.facts.none():
            return []
        found = await self._search(text, audience)
        kept = chosen(found, floor=floor, count=count * 2, tokens=tokens * 2)
        seen = [one for one in kept if await self.still_visible(one.fact, audience, now_there)]
        return chosen(seen, floor=floor, count=count, tokens=tokens)

    async def listed(
        self,
        audience: Audience,
        *,
        limit: int,
        of: str | None = None,
        but: str | None = None,
        now_there: Room | None = None,
    ) -> list[Fact]:
        """What this audience may be shown, newest first, with each place as it is now."""
        out, before = list[Fact](), None
        while len(out) < limit:
            page = await self.facts.listed(audience, limit=limit, before=before, of=of, but=but)
            out += [fact for fact in page if await self.still_visible(fact, audience, now_there)]
            if len(page) < limit:
                break
            before = page[-1].id
        return out[:limit]

    async def nearest(self, text: str, audience: Audience, count: int) -> list[Found]:
        """What comes nearest, however far: for finding what a new claim may repeat or replace."""
        return chosen(await self._search(text, audience), floor=-1.0, count=count, tokens=4_000)

    async def twin(self, new: NewFact, audience: Audience) -> Fact | None:
        """A fact of the same scope that says the same in nearly the same words."""
        for one in await self.nearest(new.text, audience, 3):
            if one.score >= NEARLY_SAME and one.fact.scope == new.scope and agree(one.fact.text, new.text):
                return one.fact
        return None

    async def forget(self, facts: Sequence[Fact], *, for_good: bool = True) -> None:
        await self.facts.forget(facts, for_good=for_good)
        for workspace in {fact.source.workspace for fact in facts}:
            await self.vectors.gone(workspace, [fact.id for fact in facts if fact.source.workspace == workspace])

    async def retract(self, fact: Fact) -> None:
        await self.facts.retract(fact.id)
        await self.vectors.gone(fact.source.workspace, [fact.id])

    async def _search(self, text: str, audience: Audience) -> list[Found]:
        asked = words(text)
        vector, (total, holders) = await asyncio.gather(
            self.vectors.query(text), self.facts.holding(audience.workspace, asked)
        )
        by_words = _by_rare_words(holders, total)
        near = [] if vector is None else await self.vectors.nearest(vector, audience)
        seen = await self.facts.get(audience, _union(near, by_words), embedder=self.vectors.name)
        if vector is not None and near and len(seen) < FEW and total > len(near):
            near = await self.vectors.exact(vector, audience)
            seen = await self.facts.get(audience, _union(near, by_words), embedder=self.vectors.name)
        question = Question(vector, asked, {word: len(ids) for word, ids in holders.items()}, total)
        return ranked(question, _allowed(seen, audience), self.facts.clock())

    async def still_visible(self, fact: Fact, audience: Audience, now_there: Room | None) -> bool:
        """The last look before a fact is told: by the rule, with the place as it is now.

        A place that is closed now may only not be known at this moment: that is not noted, or it would stay so.
        """
        source = fact.source if now_there is None else await now_there(fact.source)
        if source.room not in (fact.source.room, "closed"):
            await self.facts.moved(source.workspace, source.channel, source.room)
        return may_see(fact.scope, source, audience)


def _allowed(found: Sequence[Embedded], audience: Audience) -> list[Embedded]:
    return [one for one in found if may_see(one.fact.scope, one.fact.source, audience)]


def _union(*lists: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(fact for one in lists for fact in one))


def _by_rare_words(holders: dict[str, list[int]], total: int) -> list[int]:
    """Facts that hold rare words of the question, most telling first: an identifier is found wherever it stands."""
    worth = dict[int, float]()
    for ids in holders.values():
        if len(ids) <= RARE:
            for fact in ids:
                worth[fact] = worth.get(fact, 0.0) + math.log(1 + total / (1 + len(ids)))
    return sorted(worth, key=lambda fact: -worth[fact])[:BY_WORDS]

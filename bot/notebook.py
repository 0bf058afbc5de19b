"""The memory as tools use it: each call is answered for the audience of the reply."""

from __future__ import annotations

from dataclasses import dataclass

from bot.keeper import Keeper
from bot.notes import counted, note, notes, one_line
from memory.audience import Audience
from memory.fact import Fact, owns
from memory.lessons import is_private
from memory.remember import Refused
from memory.words import normal
from tools.base import Output, ToolContext, ToolError

LISTED = 30


@dataclass(frozen=True, slots=True)
class KeeperNotebook:
    keeper: Keeper

    async def remember(self, context: ToolContext, text: str, corrects: int | None = None) -> Output:
        if is_private(text):
            raise ToolError("private", "The person asks that this is not remembered.", hint="Leave it aside.")
        old = None if corrects is None else await self._visible(await self._audience(context), corrects)
        try:
            fact, fresh = await self.keeper.remember(context.thread, context.requester, text, context.origin, old)
        except Refused as error:
            raise ToolError("not_remembered", f"Not remembered: {error}.", hint="Tell the person why.") from error
        told = "Remembered as" if fresh else "Known already:"
        instead = f" It takes the place of note {old.id}." if old is not None else ""
        return Output(f"{told} {note(fact)}{instead}", f"📌 {one_line(fact.text)[:80]}")

    async def recall(self, context: ToolContext, query: str) -> Output:
        found = await self.keeper.recall(query, await self._audience(context))
        if not found:
            return Output("No note answers that. Say that you do not know, or look elsewhere.", "nothing known")
        return Output(notes(found), counted(len(found)))

    async def forget(self, context: ToolContext, number: int | None, query: str | None) -> Output:
        audience = await self._audience(context)
        if number is not None:
            fact = await self._visible(audience, number)
        else:
            fact = await self._meant(audience, query or "", context.requester.id)
        if not owns(fact, context.requester.id):
            raise ToolError(
                "not_yours",
                f"Note {fact.id} was said by {fact.author_name}: only they can have it forgotten.",
                hint="If it is wrong, the person can say what is right; that replaces it.",
            )
        await self.keeper.memory.forget([fact])
        return Output(f"Forgotten for good: note {fact.id}.", f"note {fact.id} forgotten")

    async def listed(self, context: ToolContext) -> Output:
        facts = await self.keeper.listed(await self._audience(context), limit=LISTED + 1)
        if not facts:
            return Output("Nothing is remembered that may be shown here.", "no notes")
        more = ["(There are older ones: use recall.)"] if len(facts) > LISTED else []
        lines = [note(fact) for fact in facts[:LISTED]]
        return Output("\n".join([*lines, *more]), counted(len(lines)))

    async def share(self, context: ToolContext, number: int, text: str) -> Output:
        fact = await self._visible(await self._audience(context), number)
        if fact.author != context.requester.id:
            raise ToolError("not_yours", f"Only {fact.author_name} can have that shared.", hint="Say so.")
        if normal(text) != normal(fact.text):  # else people would have approved something that they did not see
            raise ToolError("other_text", f"Note {fact.id} reads: {one_line(fact.text)}", hint="Ask again with that.")
        await self.keeper.memory.facts.share(fact.id)
        return Output(f"Note {fact.id} may now be told in the whole workspace.", f"note {fact.id} shared")

    async def _audience(self, context: ToolContext) -> Audience:
        return await self.keeper.rooms.audience(context.thread, context.requester.id)

    async def _visible(self, audience: Audience, number: int) -> Fact:
        found = await self.keeper.visible(audience, number)
        if found is None:
            raise ToolError("unknown_note", f"There is no note {number} here.", hint="list_memories shows them.")
        return found

    async def _meant(self, audience: Audience, query: str, person: str) -> Fact:
        """The one note of this person that a description means."""
        found = await self.keeper.recall(query, audience, unasked=True)
        own = [one for one in found if owns(one.fact, person)]
        if not own:
            raise ToolError("unknown_note", "No note of this person is about that.", hint="list_memories shows them.")
        if len(own) > 1 and own[0].score - own[1].score < 0.1:
            raise ToolError(
                "ambiguous_note", "Several notes are about that:\n" + notes(own), hint="Ask which, and give its number."
            )
        return own[0].fact

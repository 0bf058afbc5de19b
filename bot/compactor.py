"""Keeping a conversation short: sets old results aside, and has one text stand for a long history.

The planning is pure and lives in ``memory/compaction.py``; here the model is asked, and what came
of it is written down. Whatever fails, the conversation stays as it was or a summary made without a
model takes its place: nothing waits for ever, and nothing is tried again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from bot.agent import Agent, Scene
from bot.events import Recorded
from bot.model import ModelError, Request, StaleThinking, TooLong
from memory.compaction import doubtful, plan_clearing, stand_in, wants_summary, worth
from memory.context import Context, unbind
from memory.log import ThreadLog
from memory.records import Compacted, CompactionSkipped, How, ModelSaid, Record, Stored
from memory.summary import (
    compose,
    deeds,
    fallback_summary,
    last_answer,
    loose_identifiers,
    problems,
    quotes,
    summary_request,
    transcript,
)
from memory.tokens import Count, Estimate, bound, counter, estimate, size
from memory.types import Message, Text

PART = 60_000
"""Characters of a history that are summarized at a time when no window holds all of it."""
RESULT = 1_000
"""Characters of each result in such a part."""
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Compactor:
    agent: Agent

    async def tidy(self, log: ThreadLog, scene: Scene, *, mid_turn: bool) -> None:
        """Shorten the conversation if it has passed a mark."""
        marks = scene.channel.marks
        lowest = min((mark for mark in (marks.clear_at, marks.summarize_at) if mark), default=0)
        if not lowest or bound(log.records) < lowest:
            return
        count = counter()
        now = estimate(_current(log), count)
        if doubtful(now, marks, mid_turn=mid_turn):
            now = await self._counted(log, scene, now)
        if (cleared := plan_clearing(_current(log), now, marks, count)) is not None:
            await self._append(log, scene, cleared)
            now = estimate(_current(log), count)
        if wants_summary(_current(log), now, marks, mid_turn=mid_turn):
            await self.compact(log, scene)

    async def _counted(self, log: ThreadLog, scene: Scene, now: Estimate) -> Estimate:
        """The provider's own count, if it gives one."""
        exact = await self.agent.model.count(self.agent.request(log, scene, log.context))
        return now if exact is None else Estimate(exact, now.factors, exact)

    async def rescue(self, log: ThreadLog, scene: Scene) -> bool:
        """The provider says that the conversation does not fit: compact once. False if that was done just now."""
        recent = [stored.record for stored in log.records[-3:]]
        if any(isinstance(record, Compacted | CompactionSkipped) for record in recent):
            return False
        await self.compact(log, scene, at_any_win=True)
        return True

    async def compact(self, log: ThreadLog, scene: Scene, focus: str = "", *, at_any_win: bool = False) -> None:
        """Put one text in the place of everything so far, if that wins enough."""
        count, records, marks = counter(), _current(log), scene.channel.marks
        before = estimate(records, count)
        summary, how = await self._summary(log, scene, focus, before, count)
        lines, said, did, answer = transcript(records), quotes(records), deeds(records), last_answer(records)
        kept = [summary, answer, *did, *(quote.text for quote in said)]
        text = compose(
            summary,
            said,
            marks,
            count,
            before.factors,
            did=did,
            answer=answer,
            loose=loose_identifiers(lines, *kept),
            owed=log.state.owed,
        )
        frame = [self.agent.system, self.agent.tools.description]
        after = size([text, *frame], count, before.factors)
        if not (after < before.tokens if at_any_win else worth(before.tokens, after)):
            await self._append(log, scene, CompactionSkipped(before=before.tokens, after=after))
            return
        compacted = stand_in(
            log.state,
            text,
            log.state.last_seq + 1,
            said=said,
            did=did,
            before=before.tokens,
            after=after,
            how=how,
        )
        await self._append(log, scene, compacted)

    async def _summary(
        self, log: ThreadLog, scene: Scene, focus: str, before: Estimate, count: Count
    ) -> tuple[str, How]:
        """A summary that passes the checks, or the one that is made without a model."""
        complaints, best, marks = list[str](), "", scene.channel.marks
        try:
            for _ in range(ATTEMPTS):
                said = await self._ask_about_all(log, scene, summary_request(focus, complaints))
                complaints = problems(said, marks, count, before.factors)
                if not complaints:
                    return said, "model"
                best = best or said
        except TooLong:
            return await self._in_parts(log, scene, focus, before, count)
        except ModelError as error:
            structlog.get_logger().warning("no summary", action="summary_failed", thread=log.key, why=str(error))
        return fallback_summary(_current(log), marks, count, before.factors, best), "fallback"

    async def _in_parts(
        self, log: ThreadLog, scene: Scene, focus: str, before: Estimate, count: Count
    ) -> tuple[str, How]:
        """Summaries of parts that fit, each carrying on the one before."""
        so_far, marks = "", scene.channel.marks
        try:
            for part in _parts("\n\n".join(transcript(_current(log), RESULT))):
                told = f"{so_far}\n\n[Bobbin: the conversation goes on:]\n\n{part}" if so_far else part
                context = Context((Message(role="user", parts=(Text(text=told),)),))
                so_far = await self._ask(log, scene, context, summary_request(focus)) or so_far
        except ModelError as error:
            structlog.get_logger().warning("no summary", action="summary_failed", thread=log.key, why=str(error))
        if not problems(so_far, marks, count, before.factors):
            return so_far, "parts"
        return fallback_summary(_current(log), marks, count, before.factors, so_far), "parts"

    async def _ask_about_all(self, log: ThreadLog, scene: Scene, request: str) -> str:
        """``_ask``, and what to do when old thinking is refused, as in a turn."""
        while True:
            try:
                return await self._ask(log, scene, log.context, request)
            except StaleThinking:
                if (record := unbind(log.context)) is None:
                    raise
                await self._append(log, scene, record)

    async def _ask(self, log: ThreadLog, scene: Scene, context: Context, request: str) -> str:
        """The request that the model has read already, with one more text behind it: most of it is in the cache."""
        asked = await self._summary_request(log, scene, context, request)
        said = await self.agent.question(log, scene, asked, "summary")
        cost = ModelSaid(
            message=Message(role="assistant", parts=()),
            usage=said.usage,
            stop="end",
            model=said.model,
            kept=False,
            purpose="summary",
        )
        await self._append(log, scene, cost)
        return "" if said.stop in ("refusal", "length") else said.message.text

    async def _summary_request(self, log: ThreadLog, scene: Scene, context: Context, instructions: str) -> Request:
        channel, agent = scene.channel, self.agent
        model = channel.summary_model or agent.model_name
        if model != agent.model_name:  # thinking of another model may not be accepted
            context = replace(context, stale_thinking=True)
        request = replace(agent.request(log, scene, context), model=model)
        if channel.on_server and await agent.model.summarizes(model):
            return replace(request, summarize=instructions)
        return replace(request, context=_with_text(context, instructions))

    async def _append(self, log: ThreadLog, scene: Scene, record: Record) -> None:
        requester = log.state.turn.requester
        dollars = record.usage.dollars if isinstance(record, ModelSaid) else 0.0
        also = [self.agent.spend.adding(log.clock(), requester.id, dollars)] if requester and dollars else []
        for stored in await log.append(record, also=also):
            scene.emit(Recorded(stored))


def _current(log: ThreadLog) -> list[Stored]:
    """The records that the next request is made of: the last compaction, and what came after it."""
    cut = max((stored.seq for stored in log.records if isinstance(stored.record, Compacted)), default=0)
    return [stored for stored in log.records if stored.seq >= cut]


def _with_text(context: Context, text: str) -> Context:
    """The same messages with one more text of the user at the end."""
    *before, last = context.messages
    if last.role == "user":
        messages = (*before, Message(role="user", parts=(*last.parts, Text(text=text))))
    else:
        messages = (*context.messages, Message(role="user", parts=(Text(text=text),)))
    return Context(messages, context.stale_thinking, context.anchors)


def _parts(text: str) -> list[str]:
    return [text[start : start + PART] for start in range(0, len(text), PART)]

"""One step of a turn: ask the model, or run calls, and write down what happened.

Append first, act second, append the outcome third. A step may be cancelled at any moment; what
the log then says is enough to go on.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from bot.approvals import Rules, approvers, too_few
from bot.budget import Limits, Patience, looping, next_midnight, reached, warning
from bot.channel import Channel
from bot.events import AgentEvent, Asking, CallFinished, CallStarted, Recorded, Thought, Waiting, Wrote
from bot.model import (
    Busy,
    CallNamed,
    Misconfigured,
    Model,
    ModelError,
    Request,
    StaleThinking,
    TextGrew,
    ThoughtGrew,
    TooLong,
)
from bot.prompts import NOTES
from memory.context import Context, unbind
from memory.failpoints import Reach, nothing
from memory.log import ThreadLog
from memory.log_rows import keep_whole
from memory.records import (
    ApprovalAsked,
    Framed,
    ModelSaid,
    Noted,
    Record,
    Stopped,
    Stored,
    ToolEnded,
    ToolStarted,
    digest,
)
from memory.spend import Spend
from memory.state import ThreadState
from memory.steps import GiveUp, Refuse, RunCalls, covered
from memory.types import CallId, Opaque, Person, ToolCall
from tools.base import Effect, ToolContext
from tools.policy import Decision, Policy, decide
from tools.registry import Ran, Registry, failure

Emit = Callable[[AgentEvent], None]
Take = Callable[..., Awaitable[tuple[Stored, ...]]]
Allowance = Literal["approval", "grant", "policy"]
"""What lets a change happen."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What surrounds one turn: who is told of its progress, and what its tools may use."""

    emit: Emit
    tool_context: Callable[[CallId], ToolContext]
    place: str
    """Where the conversation is, as settings name it."""
    channel: Channel = field(default_factory=Channel)


@dataclass(frozen=True, slots=True)
class Agent:
    model: Model
    tools: Registry
    system: str
    model_name: str
    spend: Spend
    limits: Limits = field(default_factory=Limits)
    policy: Policy = field(default_factory=Policy)
    rules: Rules = field(default_factory=Rules)
    patience: Patience = field(default_factory=Patience)
    max_output: int = 16_000
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    reach: Reach = nothing

    @property
    def frame(self) -> str:
        """Names the bytes that every request begins with."""
        text = f"{self.model_name}\0{self.system}\0{self.tools.description}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    # -- asking the model ------------------------------------------------------------------------

    async def ask(self, log: ThreadLog, scene: Scene) -> None:
        """Ask the model once, and write down what it said or why it could not be asked.

        Raises ``TooLong`` when the conversation does not fit.
        """
        now, turn = log.clock(), log.state.turn
        if turn.closing is None and (note := self._limit(log, now)) is not None:
            await self._append(log, scene, note)
            return
        requester = turn.requester
        if requester and await self._over_daily_budget(requester, now, fresh=turn.asks == 0):
            reset = next_midnight(datetime.fromtimestamp(now, UTC))
            await self._append(log, scene, Stopped(reason="budget", detail=reset.isoformat()))
            return
        if log.state.frame != self.frame:
            await log.keep(Framed(digest=self.frame))
        try:
            said = await self.question(log, scene, self.request(log, scene, log.context))
        except TooLong:
            raise  # the one who called can shorten the conversation
        except StaleThinking as error:
            await self._append(log, scene, unbind(log.context) or Stopped(reason="error", detail=str(error)))
        except Misconfigured as error:
            await self._append(log, scene, Stopped(reason="configuration", detail=str(error)))
        except ModelError as error:
            await self._append(log, scene, Stopped(reason="error", detail=str(error)))
        else:
            await self._write_down(log, scene, said)

    def _limit(self, log: ThreadLog, now: float) -> Noted | None:
        turn = log.state.turn
        if looping(turn):
            return Noted(reason="loop", text=NOTES["loop"])
        limit = reached(turn, self.limits, now)
        return None if limit is None else Noted(reason="limit", text=NOTES["limit"].format(limit=limit))

    async def _over_daily_budget(self, requester: Person, now: float, *, fresh: bool) -> bool:
        """Read anew when a turn begins; after that, each answer of the model has told what the day came to."""
        cap = self.limits.daily_dollars
        return bool(cap) and await self.spend.today(now, requester.id, fresh=fresh) >= cap

    def request(self, log: ThreadLog, scene: Scene, context: Context) -> Request:
        return Request(
            log.key, self.system, self.tools, context, self.model_name, self.max_output, scene.channel.cached
        )

    async def question(
        self, log: ThreadLog, scene: Scene, request: Request, purpose: Literal["turn", "summary"] = "turn"
    ) -> ModelSaid:
        """Put a question to the model, waiting while it is busy. Raises ``ModelError``; writes down only costs."""
        attempt = 0
        while True:
            scene.emit(Asking())
            self.reach("model.before")
            try:
                said = await self._stream(request, scene)
            except Busy as error:
                attempt += 1
                seconds = self.patience.wait(attempt, error.retry_after)
                if seconds is None:
                    raise
                scene.emit(Waiting(seconds, str(error)))
                await self.sleep(seconds)
                continue
            self.reach("model.after")
            if said.stop == "length" and request.max_output == self.max_output:
                await self._append(log, scene, said.model_copy(update={"kept": False, "purpose": purpose}))
                request = replace(request, max_output=self.max_output * 3)
                continue
            return said

    async def _stream(self, request: Request, scene: Scene) -> ModelSaid:
        async with aclosing(self.model.stream(request)) as events:
            async for event in events:
                match event:
                    case TextGrew(text=text):
                        scene.emit(Wrote(text))
                    case ThoughtGrew(text=text):
                        scene.emit(Thought(text))
                    case CallNamed():
                        pass
                    case ModelSaid():
                        return event
        raise Busy("the model's answer broke off")

    async def _write_down(self, log: ThreadLog, scene: Scene, said: ModelSaid) -> None:
        """An answer, and what an unusual one calls for."""
        turn, message = log.state.turn, said.message
        records: list[Record] = [said]
        if said.stop == "refusal":
            records = [said.model_copy(update={"kept": False}), Stopped(reason="refusal", detail=message.text)]
        elif said.stop == "pause":
            if not message.parts or not isinstance(message.parts[-1], Opaque):
                records.append(Noted(reason="paused", text=NOTES["paused"]))
        elif not message.calls and not message.text:
            again = "empty" not in turn.notes
            records = [
                said.model_copy(update={"kept": False}),
                Noted(reason="empty", text=NOTES["empty"]) if again else Stopped(reason="empty"),
            ]
        await self._append(log, scene, *records)

    # -- running calls ---------------------------------------------------------------------------

    async def run_calls(self, log: ThreadLog, step: RunCalls, scene: Scene) -> None:
        """Ask for what needs a yes, run the reads side by side, then the writes one by one, in order."""
        closed, reads, writes = list[Record](), list[ToolCall](), list[tuple[ToolCall, Allowance]]()
        for call in step.calls:
            match self._fate(log, call, scene, approved=call.id in step.approved):
                case "read":
                    reads.append(call)
                case ("approval" | "grant" | "policy") as allowance:
                    writes.append((call, allowance))
                case record:
                    closed.append(record)
        if closed:
            await self._append(log, scene, *closed)
        elif reads:
            await self._run_reads(log, scene, reads)
        else:
            await self._run_write(log, scene, *writes[0])

    def _fate(
        self, log: ThreadLog, call: ToolCall, scene: Scene, *, approved: bool
    ) -> Literal["read"] | Allowance | ToolEnded | ApprovalAsked:
        """What becomes of a call: it is read, it may change something by an allowance, or it is answered or asked."""
        state, effect, name = log.state, self._effect(call), digest(call)
        decision = decide(self.policy, call.name, effect, place=scene.place, tainted=state.tainted)
        if approved and decision is not Decision.REFUSE and not _made_since(state, call.id, name):
            return "approval"
        if (problem := self.tools.problem(call)) is not None:
            return self._ended(log, call, Ran(problem, "failed"))
        if decision is Decision.REFUSE:
            why = failure(call, "forbidden", f"{call.name} is switched off here.", hint="Say so; do not try it again.")
            return ToolEnded(result=why, outcome="not_run")
        if effect is Effect.READ:
            return "read"
        if name in state.writes:
            if state.writes[name] == state.turn.seq and name not in state.turn.told:
                return ToolEnded(result=failure(call, "done_already", NOTES["done_already"]), outcome="repeated")
            return self._asking(log, call, again=True)
        if decision is Decision.RUN:
            return "policy"
        return "grant" if covered(state, call, log.clock()) else self._asking(log, call)

    def _effect(self, call: ToolCall) -> Effect:
        tool = self.tools.get(call.name)
        return tool.effect if tool else Effect.READ

    def _asking(self, log: ThreadLog, call: ToolCall, *, again: bool = False) -> ApprovalAsked | ToolEnded:
        requester, tool = log.state.turn.requester, self.tools.get(call.name)
        assert requester is not None, "a turn begins with somebody's words"
        assert tool is not None, "unknown tools are answered before anybody is asked"
        rule = self.rules.rule(call.name)
        who = approvers(rule, requester.id)
        if too_few(who, rule.needed):
            why = failure(call, "nobody_may_approve", NOTES["nobody_may_approve"], hint=f"Rule for {call.name}.")
            return ToolEnded(result=why, outcome="not_run")
        resource = {name: call.arguments.get(name) for name in tool.resource}
        # What cannot be undone, and what several people must agree on, is asked for each time.
        alone = tool.effect is Effect.DESTROY or rule.needed > 1
        return ApprovalAsked(
            call_id=call.id,
            digest=digest(call),
            requester=requester,
            approvers=who,
            needed=rule.needed,
            expires_at=log.clock() + self.rules.seconds,
            again=again,
            resource=None if not resource or again or alone or log.state.tainted else resource,
        )

    async def _run_reads(self, log: ThreadLog, scene: Scene, calls: list[ToolCall]) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(log, scene, call)) for call in calls]
        results = [(call, task.result()) for call, task in zip(calls, tasks, strict=True)]
        await self._take_results(log.keep, log, scene, results)

    async def _run_write(self, log: ThreadLog, scene: Scene, call: ToolCall, allowance: Allowance) -> None:
        tool = self.tools.get(call.name)
        repeatable = tool is not None and tool.idempotent
        start = ToolStarted(call_id=call.id, digest=digest(call), repeatable=repeatable, by=allowance)
        await self._append(log, scene, start)
        running = asyncio.ensure_future(self._run(log, scene, call))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            # An effect under way is seen through (its time-out bounds it): an unknown outcome would be worse.
            await self._take_results(log.append, log, scene, [(call, await running)])
            raise
        await self._take_results(log.append, log, scene, [(call, running.result())])

    async def _run(self, log: ThreadLog, scene: Scene, call: ToolCall) -> Ran:
        scene.emit(CallStarted(call))
        ran = await self.tools.run(call, scene.tool_context(call.id), _handle(log, call), scene.channel.cap)
        scene.emit(CallFinished(call.id, ran.result.line, not ran.result.is_error))
        return ran

    async def _take_results(
        self, take: Take, log: ThreadLog, scene: Scene, results: list[tuple[ToolCall, Ran]]
    ) -> None:
        """``take`` writes at once what a change came to; what was read may be written with the model's next answer."""
        ended = [self._ended(log, call, ran) for call, ran in results]
        whole = [keep_whole(log.id, _handle(log, call), ran.whole) for call, ran in results if ran.whole is not None]
        for one in await take(*ended, also=whole):
            scene.emit(Recorded(one))

    def _ended(self, log: ThreadLog, call: ToolCall, ran: Ran) -> ToolEnded:
        tool, turn = self.tools.get(call.name), log.state.turn
        polling = tool is not None and tool.polling
        times = turn.repeats.get(digest(call), 0) + 1
        return ToolEnded(
            result=ran.result,
            outcome=ran.outcome,
            handle=_handle(log, call),
            warning="" if polling else warning(times, turn.stale + ((call.name, ran.result.text) in turn.seen)),
            counted=not polling,
        )

    async def refuse(self, log: ThreadLog, step: Refuse, scene: Scene) -> None:
        """Close a call that must not run, with the reason the model reads."""
        text = NOTES[f"refused_{step.why}"]
        if step.reason:
            text = f"{text} {step.reason}"
        result = failure(step.call, step.why, text)
        await self._append(log, scene, ToolEnded(result=result, outcome=step.outcome))

    async def give_up(self, log: ThreadLog, step: GiveUp, scene: Scene) -> None:
        await self._append(log, scene, Stopped(reason="limit", detail=step.reason))

    async def _append(self, log: ThreadLog, scene: Scene, *records: Record) -> None:
        requester = log.state.turn.requester
        dollars = sum(record.usage.dollars for record in records if isinstance(record, ModelSaid))
        cost = [self.spend.adding(log.clock(), requester.id, dollars)] if requester and dollars else []
        for stored in await log.append(*records, also=cost):
            scene.emit(Recorded(stored))


def _handle(log: ThreadLog, call: ToolCall) -> str:
    """The name of a result that stays the same for ever: r and the number of the call in its thread."""
    return f"r{log.state.ordinals.get(call.id, log.state.calls_made)}"


def _made_since(state: ThreadState, call_id: CallId, name: str) -> bool:
    """Whether the same change was made after it was asked for here: the yes was to making it once."""
    approval = state.approval_of(call_id)
    return approval is not None and not approval.asked.again and name in state.writes

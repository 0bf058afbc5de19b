"""One turn at a time for each thread: take the mail, ask the log what comes next, do it, until it parks.

Nothing waits inside: a turn that needs a person returns, and is woken when there is news.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import structlog

from bot.agent import Agent, Scene
from bot.catalog import say
from bot.channel import Channels
from bot.compactor import Compactor
from bot.events import Recorded
from bot.keeper import Keeper
from bot.learner import Learner
from bot.mail import Mail, interrupts
from bot.model import TooLong
from bot.surface import Notice, PostKey, Surface, SurfaceError
from bot.view import View
from memory.inbox import Inbox, Said
from memory.log import CorruptLog, Fenced, Logs, ThreadLog
from memory.records import ApprovalAsked, ApprovalGiven, Briefed, Stopped, UserSaid
from memory.state import ThreadState
from memory.steps import AskModel, Compact, Deliver, GiveUp, Refuse, Rest, RunCalls, Wait, next_step
from memory.types import CallId, MessageId, ThreadKey, ToolCall, ToolResult
from tools.base import Chat, ToolContext

GIVE_UP_AFTER = 3
"""After this many failures in a row that nobody expected, the turn is ended and people are told."""


@dataclass(slots=True)
class _News:
    """What came in for a thread that is being worked on: ``unread`` until its mail is taken."""

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    unread: bool = True


@dataclass(slots=True)
class Turns:
    logs: Logs
    inbox: Inbox
    surface: Surface
    agent: Agent
    compactor: Compactor
    chat: Chat
    channels: Channels = field(default_factory=Channels)
    grant_seconds: float = 3_600.0
    keeper: Keeper | None = None
    learner: Learner | None = None
    clock: Callable[[], float] = field(default=lambda: datetime.now(UTC).timestamp())
    _news: dict[ThreadKey, _News] = field(default_factory=dict[ThreadKey, _News])
    _marked: set[MessageId] = field(default_factory=set[MessageId])

    def interrupt(self, thread: ThreadKey) -> None:
        """Something arrived for a thread that is being worked on."""
        if (news := self._news.get(thread)) is not None:
            news.unread = True
            news.arrived.set()

    async def advance(self, thread: ThreadKey, failures: int) -> float | None:
        """Work on a thread until it parks; returns when to come back, in seconds since 1970.

        Whatever goes wrong here is tried again later, from what the log says then.
        """
        self._news[thread] = _News()
        try:
            log = await self.logs.open(thread)
            view = View(self.surface, log, round(self.grant_seconds / 60))
            if failures >= GIVE_UP_AFTER and not log.state.turn.over:
                await log.append(Stopped(reason="error", detail="internal"))
            try:
                if log.fresh:
                    await self._catch_up(log, view)
                until = await self._advance(log, view)
                await log.flush()
            finally:
                await view.settle()
            if until is None and self.learner is not None:
                self.learner.rested(thread)
            return until
        except Fenced as error:  # the other process goes on with it
            self.logs.forget(thread)
            structlog.get_logger().critical(str(error), action="fenced", thread=thread)
            return None
        except CorruptLog as error:  # trying again mends nothing; the next start looks again
            structlog.get_logger().critical(str(error), action="corrupt_log", thread=thread)
            await self._say_unreadable(thread)
            return None
        except BaseException:
            self.logs.forget(thread)
            raise
        finally:
            del self._news[thread]

    async def _say_unreadable(self, thread: ThreadKey) -> None:
        """Tell people once: the platform is asked whether it stands there, since there is no log to keep it in."""
        words = "\n".join(say("notice.unreadable", locale) for locale in ("en", "zh"))
        try:
            await self.surface.post(thread, PostKey(0, 0, "notice"), Notice(words), check=True)
        except SurfaceError as error:
            structlog.get_logger().warning("not said", action="notice_refused", thread=thread, why=str(error))

    async def _catch_up(self, log: ThreadLog, view: View) -> None:
        """What happened to a thread while no process was at work on it."""
        log.fresh = False
        if isinstance(next_step(log.state), Wait):
            for stored in await self._mail.missed(log):
                view.tell(Recorded(stored))

    async def _advance(self, log: ThreadLog, view: View) -> float | None:
        while True:
            await self._take_mail(log, view)
            await view.begin()
            match next_step(log.state):
                case Rest():
                    if not await self._tidy(log, view):
                        await self.logs.close(log.key)
                        return None
                case Wait() as wait if wait.until > self.clock():
                    return wait.until
                case Wait(asked=asked):
                    await self._expire(log, view, asked)
                case Deliver() as due:
                    await view.deliver(due)
                case RunCalls(calls=calls) if not self._settled(log, calls):
                    return min(undo_until(log.state, call) for call in calls)
                case RunCalls(calls=calls) as step:
                    settled = replace(step, calls=self._settled(log, calls))
                    await self._interruptibly(log, self._step(log, view, settled))
                case step:
                    await self._interruptibly(log, self._step(log, view, step))

    async def _take_mail(self, log: ThreadLog, view: View) -> None:
        news = self._news[log.key]
        if news.unread:
            news.unread = False  # before the mail is read: what comes meanwhile is read the next time
            for stored in await self._mail.take(log):
                view.tell(Recorded(stored))

    def _settled(self, log: ThreadLog, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """Calls whose approval cannot be taken back any more."""
        now = self.clock()
        return tuple(call for call in calls if undo_until(log.state, call) <= now)

    async def _tidy(self, log: ThreadLog, view: View) -> bool:
        """Between two turns: shorten what has grown long, before the next words come. Whether anything changed."""
        before = log.state.last_seq
        await self._interruptibly(log, self.compactor.tidy(log, self._scene(log, view), mid_turn=False))
        return log.state.last_seq != before

    def _scene(self, log: ThreadLog, view: View) -> Scene:
        place = self.surface.place(log.key)
        return Scene(view.tell, lambda call_id: self._tool_context(log, call_id), place, self.channels.of(place))

    async def _step(self, log: ThreadLog, view: View, step: AskModel | RunCalls | Refuse | Compact | GiveUp) -> None:
        scene = self._scene(log, view)
        match step:
            case AskModel():
                await self._ask(log, view, scene)
            case Compact(focus=focus):
                await self.compactor.compact(log, scene, focus)
            case RunCalls():
                await self.agent.run_calls(log, step, scene)
            case Refuse():
                await self.agent.refuse(log, step, scene)
            case GiveUp():
                await self.agent.give_up(log, step, scene)

    async def _ask(self, log: ThreadLog, view: View, scene: Scene) -> None:
        if (unread := log.state.turn.unread) is not None:
            await self._brief(log, view, unread)
        if self.keeper is not None and (notes := await self.keeper.brief(log)) is not None:
            for stored in await log.append(notes):
                view.tell(Recorded(stored))
        await self.compactor.tidy(log, scene, mid_turn=True)
        try:
            await self.agent.ask(log, scene)
        except TooLong as error:
            if not await self.compactor.rescue(log, scene):
                for stored in await log.append(
                    Stopped(reason="error", detail=f"the conversation is too long ({error})")
                ):
                    view.tell(Recorded(stored))

    async def _brief(self, log: ThreadLog, view: View, unread: MessageId) -> None:
        """Let the model read what was said before it came, as the result of a call of our own."""
        since = last_heard(log, unread)
        output = await self.surface.earlier(log.key, unread, since)
        call = ToolCall(id=f"bobbin_{log.state.calls_made + 1}", name="read_thread", arguments={})
        result = ToolResult(call_id=call.id, text=output.text, line=output.line, untrusted=True)
        for stored in await log.append(Briefed(call=call, result=result)):
            view.tell(Recorded(stored))

    async def _expire(self, log: ThreadLog, view: View, asked: Sequence[ApprovalAsked]) -> None:
        now = self.clock()
        expired = [
            ApprovalGiven(call_id=ask.call_id, digest=ask.digest, verdict="expired")
            for ask in asked
            if ask.expires_at <= now
        ]
        for stored in await log.append(*expired):
            view.tell(Recorded(stored))

    async def _interruptibly(self, log: ThreadLog, step: Coroutine[None, None, None]) -> None:
        """Run a step; a stop that arrives meanwhile ends it, other news is marked as seen and waits."""
        task, news, stopping = asyncio.ensure_future(step), self._news[log.key].arrived, False
        try:
            while not task.done():
                waiter = asyncio.ensure_future(news.wait())
                await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
                waiter.cancel()
                if news.is_set() and not task.done():
                    news.clear()
                    if not stopping and await self._must_stop(log):
                        stopping = task.cancel()  # once: a second time would cut off what is being seen through
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    async def _must_stop(self, log: ThreadLog) -> bool:
        inbound = [waiting.inbound for waiting in await self.inbox.waiting(log.key)]
        stop = any(interrupts(log, one) for one in inbound)
        if not stop:
            for one in inbound:
                if isinstance(one, Said) and one.message not in self._marked:
                    self._marked.add(one.message)
                    await self.surface.mark_seen(one.message)
        return stop

    def _tool_context(self, log: ThreadLog, call_id: CallId) -> ToolContext:
        turn = log.state.turn
        assert turn.requester is not None, "calls are made in a turn, which begins with somebody's words"
        now = datetime.fromtimestamp(self.clock(), UTC)
        return ToolContext(log.key, call_id, turn.requester, now, self.chat, turn.sources[0] if turn.sources else None)

    @property
    def _mail(self) -> Mail:
        return Mail(self.inbox, self.surface, self.agent.rules, self.grant_seconds, self.keeper)


def undo_until(state: ThreadState, call: ToolCall) -> float:
    """Until when the yes to a call can still be taken back, in seconds since 1970; 0 if there is none."""
    approval = state.approval_of(call.id)
    return approval.given.not_before if approval is not None and approval.given is not None else 0.0


def last_heard(log: ThreadLog, before: MessageId) -> MessageId | None:
    """The message of a person that we read last before this one."""
    said = [stored.record.source for stored in log.records if isinstance(stored.record, UserSaid)]
    return next((source for source in reversed(said) if source != before), None)

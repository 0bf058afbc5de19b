"""One turn at a time for each thread: take the mail, ask the log what comes next, do it, until it parks.

Nothing waits inside: a turn that needs a person returns, and is woken when there is news.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from bot.agent import Agent, Scene
from bot.events import Recorded
from bot.mail import Mail, interrupts
from bot.surface import Surface
from bot.view import View
from memory.inbox import Inbox, Said
from memory.log import Fenced, Logs, ThreadLog
from memory.records import ApprovalAsked, ApprovalGiven, Briefed, Stopped, UserSaid
from memory.steps import AskModel, Deliver, GiveUp, Refuse, Rest, RunCalls, Wait, next_step
from memory.types import CallId, MessageId, ThreadKey, ToolCall, ToolResult
from tools.base import Chat, ToolContext

GIVE_UP_AFTER = 3
"""After this many failures in a row that nobody expected, the turn is ended and people are told."""


@dataclass(slots=True)
class Turns:
    logs: Logs
    inbox: Inbox
    surface: Surface
    agent: Agent
    chat: Chat
    approvers: tuple[str, ...] = ()
    clock: Callable[[], float] = field(default=lambda: datetime.now(UTC).timestamp())
    _news: dict[ThreadKey, asyncio.Event] = field(default_factory=dict[ThreadKey, asyncio.Event])
    _marked: set[MessageId] = field(default_factory=set[MessageId])

    def interrupt(self, thread: ThreadKey) -> None:
        """Something arrived for a thread that is being worked on."""
        if (news := self._news.get(thread)) is not None:
            news.set()

    async def advance(self, thread: ThreadKey, failures: int) -> float | None:
        """Work on a thread until it parks; returns when to come back, in seconds since 1970.

        Whatever goes wrong here is tried again later, from what the log says then.
        """
        self._news[thread] = asyncio.Event()
        try:
            log = await self.logs.open(thread)
            view = View(self.surface, log)
            if failures >= GIVE_UP_AFTER and not log.state.turn.over:
                await log.append(Stopped(reason="error", detail="internal"))
            try:
                return await self._advance(log, view)
            finally:
                await view.settle()
        except Fenced as error:
            self.logs.forget(thread)
            structlog.get_logger().critical(str(error), action="fenced", thread=thread)
            return None
        except BaseException:
            self.logs.forget(thread)
            raise
        finally:
            del self._news[thread]

    async def _advance(self, log: ThreadLog, view: View) -> float | None:
        while True:
            for stored in await self._mail.take(log):
                view.tell(Recorded(stored))
            await view.begin()
            match next_step(log.state):
                case Rest():
                    await self.logs.close(log.key)
                    return None
                case Wait() as wait if wait.until > self.clock():
                    return wait.until
                case Wait(asked=asked):
                    await self._expire(log, view, asked)
                case Deliver() as due:
                    await view.deliver(due)
                case step:
                    await self._interruptibly(log, self._step(log, view, step))

    async def _step(self, log: ThreadLog, view: View, step: AskModel | RunCalls | Refuse | GiveUp) -> None:
        scene = Scene(view.tell, lambda call_id: self._tool_context(log, call_id), self.approvers)
        match step:
            case AskModel():
                if (unread := log.state.turn.unread) is not None:
                    await self._brief(log, view, unread)
                await self.agent.ask(log, scene)
            case RunCalls():
                await self.agent.run_calls(log, step, scene)
            case Refuse():
                await self.agent.refuse(log, step, scene)
            case GiveUp():
                await self.agent.give_up(log, step, scene)

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
        task, news, stopping = asyncio.ensure_future(step), self._news[log.key], False
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
        return Mail(self.inbox, self.surface)


def last_heard(log: ThreadLog, before: MessageId) -> MessageId | None:
    """The message of a person that we read last before this one."""
    said = [stored.record.source for stored in log.records if isinstance(stored.record, UserSaid)]
    return next((source for source in reversed(said) if source != before), None)

"""Tools of every kind. What they change is written into a ledger, which no crash of ours undoes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from memory.log import ThreadLog
from memory.records import Stored, digest
from memory.types import CallId, ToolCall
from tests.doubles import Around, RecordingChat, undisturbed
from tools.base import Arguments, Effect, Output, ToolContext, ToolError, UnknownOutcome, tool
from tools.registry import Registry


@dataclass(frozen=True, slots=True)
class Done:
    """An effect that took place: the call with its digest, when, and what the log said at that moment."""

    call_id: CallId
    name: str
    digest: str
    at: float
    log: tuple[Stored, ...]


@dataclass(slots=True)
class Ledger(RecordingChat):
    """The part of the world that tools change. It comes to them as the chat does, in their context."""

    done: list[Done] = field(default_factory=list[Done])
    around: Around = undisturbed
    log: Callable[[], ThreadLog] | None = None
    """The thread's log as it is when a tool runs."""

    async def effect(self, name: str, arguments: Words, context: ToolContext) -> Output:
        assert self.log is not None
        await self.around(f"before {name}")
        call = ToolCall(id=context.call_id, name=name, arguments=arguments.model_dump())
        log = tuple(self.log().records)
        self.done.append(Done(context.call_id, name, digest(call), context.now.timestamp(), log))
        await self.around(f"after {name}")
        match arguments.text:
            case "lost":
                raise UnknownOutcome("")
            case "broken":
                raise ToolError("broken", "it is broken")
            case text:
                return Output(f"{name} did {text}")


class Words(Arguments):
    text: str = ""


def _ledger(context: ToolContext) -> Ledger:
    return cast("Ledger", context.chat)


@tool(Effect.READ)
async def look(arguments: Words, context: ToolContext) -> Output:
    """Look."""
    await _ledger(context).around("during look")
    if arguments.text == "broken":
        raise ValueError("a fault of the tool")
    return Output(f"seen {arguments.text} " * (2_000 if arguments.text == "long" else 1))


@tool(Effect.READ, untrusted=True)
async def page(arguments: Words, context: ToolContext) -> Output:
    """Read a page that anybody may have written."""
    await _ledger(context).around("during page")
    return Output(f"page {arguments.text}")


@tool(Effect.WRITE)
async def post(arguments: Words, context: ToolContext) -> Output:
    """Post."""
    return await _ledger(context).effect("post", arguments, context)


@tool(Effect.WRITE, idempotent=True)
async def tidy(arguments: Words, context: ToolContext) -> Output:
    """Tidy up; doing it twice is doing it once."""
    return await _ledger(context).effect("tidy", arguments, context)


@tool(Effect.WRITE)
async def jot(arguments: Words, context: ToolContext) -> Output:
    """Jot down, without being asked."""
    return await _ledger(context).effect("jot", arguments, context)


@tool(Effect.WRITE)
async def banned(arguments: Words, context: ToolContext) -> Output:
    """Never allowed."""
    return await _ledger(context).effect("banned", arguments, context)


@tool(Effect.DESTROY)
async def wipe(arguments: Words, context: ToolContext) -> Output:
    """Wipe."""
    return await _ledger(context).effect("wipe", arguments, context)


@cache
def toolbox() -> Registry:
    """Made once: its schemas take longer than a story."""
    return Registry([look, page, post, tidy, jot, banned, wipe])

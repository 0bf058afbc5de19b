"""All tools by name: what the model is offered, and running a call to exactly one result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from pydantic import ValidationError

from memory.types import ToolCall, ToolResult
from tools.base import Tool, ToolContext, ToolError, UnknownOutcome


@dataclass(frozen=True, slots=True)
class Ran:
    """The result the model reads. ``whole`` is the full text if the model was shown a part of it."""

    result: ToolResult
    outcome: Literal["done", "failed", "uncertain"]
    whole: str | None = None


class Registry:
    """A frozen set of tools in one fixed order, so that requests begin with the same bytes."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        ordered = sorted(tools, key=lambda tool: tool.name)
        self._tools = {tool.name: tool for tool in ordered}
        if len(self._tools) != len(ordered):
            raise ValueError("two tools have the same name")
        self.description = json.dumps([[t.name, t.description, t.schema] for t in ordered], ensure_ascii=False)

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool[Any] | None:
        return self._tools.get(name)

    def problem(self, call: ToolCall) -> ToolResult | None:
        """Why a call cannot run at all (unknown tool, wrong arguments); None if it can."""
        tool = self._tools.get(call.name)
        if tool is None:
            return failure(
                call,
                "unknown_tool",
                f"There is no tool named {call.name!r}.",
                hint=f"The tools are: {', '.join(self._tools)}.",
            )
        try:
            tool.input.model_validate(call.arguments)
        except ValidationError as error:
            wrong = "; ".join(f"{_path(item['loc'])}: {item['msg']}" for item in error.errors(include_url=False))
            return failure(call, "bad_arguments", wrong, hint=_fields(tool))
        return None

    async def run(self, call: ToolCall, context: ToolContext, handle: str, most: int = 0) -> Ran:
        """Run a call. Never raises for what a tool does: a failure is something the model can read.

        ``handle`` is the name under which the caller keeps a result that is too large to show: longer than the tool's
        cap, or than ``most`` characters if that is less.
        """
        if (refused := self.problem(call)) is not None:
            return Ran(refused, "failed")
        tool = self._tools[call.name]
        try:
            async with asyncio.timeout(tool.timeout):
                output = await tool.run(tool.input.model_validate(call.arguments), context)
        except UnknownOutcome as error:
            return Ran(_uncertain(call, str(error)), "uncertain")
        except ToolError as error:
            result = failure(call, error.code, error.message, hint=error.hint, retryable=error.retryable)
            return Ran(result, "failed")
        except TimeoutError:
            return _timed_out(call, tool)
        except Exception as error:
            structlog.get_logger().exception("tool failed", action="tool_failed", tool=call.name)
            result = failure(
                call, "internal", f"The tool broke ({type(error).__name__}).", hint="Try another way, or say so."
            )
            return Ran(result, "failed")
        text = output.text if output.text.strip() else "(empty result)"
        cap = min(tool.cap, most or tool.cap)
        shown = text if len(text) <= cap else excerpt(text, cap, handle)
        result = ToolResult(call_id=call.id, text=shown, line=output.line, untrusted=tool.untrusted)
        return Ran(result, "done", None if shown is text else text)


def failure(call: ToolCall, code: str, message: str, *, hint: str = "", retryable: bool = False) -> ToolResult:
    """An error result in the form that every tool uses."""
    lines = [f"code: {code}", f"message: {message}", f"retryable: {'yes' if retryable else 'no'}"]
    if hint:
        lines.append(f"hint: {hint}")
    return ToolResult(call_id=call.id, text="\n".join(lines), line=code.replace("_", " "), is_error=True)


def excerpt(text: str, cap: int, handle: str) -> str:
    """Head and tail of a long text, and how to read the rest."""
    head, tail = text[: cap * 2 // 3], text[-(cap // 3) :]
    left_out = len(text) - len(head) - len(tail)
    how = f'read_result(handle="{handle}", offset=...) or read_result(handle="{handle}", query=...)'
    return f"{head}\n\n[... {left_out:,} of {len(text):,} characters are not shown: {how} ...]\n\n{tail}"


def _uncertain(call: ToolCall, why: str) -> ToolResult:
    return failure(
        call,
        "unknown_outcome",
        why or "The connection broke after the request was sent.",
        hint="It may or may not have happened. Check before you do it again, and tell the person.",
    )


def _timed_out(call: ToolCall, tool: Tool[Any]) -> Ran:
    message = f"No answer within {tool.timeout:g} seconds."
    if tool.effect != "read" and not tool.idempotent:
        return Ran(_uncertain(call, message), "uncertain")
    return Ran(failure(call, "timeout", message, hint="Try again or ask for less.", retryable=True), "failed")


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "arguments"


def _fields(tool: Tool[Any]) -> str:
    fields = tool.input.model_fields
    if not fields:
        return f"{tool.name} takes no arguments."
    named = ", ".join(f"{name}{'' if field.is_required() else ' (optional)'}" for name, field in fields.items())
    return f"The arguments of {tool.name} are: {named}."

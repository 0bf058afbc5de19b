"""Claude's Messages API: the one file that knows its words.

Turns a ``Request`` into a body whose beginning never changes, a stream of the SDK into
``ModelEvent``s, and every failure into one of the errors of ``bot/model.py``. The facts that it
relies on are those of the provider's documentation of autumn 2026.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import anthropic
import httpx2
import structlog

from bot.claude_failures import explained
from bot.claude_stream import Growing
from bot.model import (
    Busy,
    Misconfigured,
    ModelEvent,
    Request,
    TooLong,
)
from memory.records import ModelSaid
from memory.types import Message, Opaque, Part, Text, Thinking, ThreadKey, ToolCall, ToolResult, Usage
from tools.registry import Registry

Json = dict[str, Any]

UPDATES = "thinking-display-updates-2026-08-18"
BINDING = "thinking-binding-controls-2026-08-01"
COMPACTION = "compact-2026-09-04"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens; ``read`` is a share of ``input``. Writes cost 1.25 (5 m) or 2 (1 h) times it."""

    input: float
    output: float
    read: float
    long_above: int = 0
    long_factor: float = 1.0


PRICES = {
    "claude-sonnet-5-5": Price(2, 10, 0.05),
    "claude-opus-5-5": Price(4, 20, 0.05),
    "claude-haiku-5-5": Price(0.10, 0.50, 0.1, long_above=100_000, long_factor=5),
}
UNKNOWN_PRICE = Price(4, 20, 0.1)
"""For models that are not listed: rather too dear than a budget that never ends."""


@dataclass(slots=True)
class Claude:
    """The adapter. Keeps the wire form of each thread's messages, so that a step converts only what is new."""

    client: anthropic.AsyncAnthropic
    """Or its siblings for Bedrock and Vertex, which have the same methods."""
    fallback_model: str
    prices: dict[str, Price] = field(default_factory=lambda: dict(PRICES))
    thinking: bool = True
    _converted: dict[ThreadKey, tuple[list[Message], list[Json]]] = field(
        default_factory=dict[ThreadKey, tuple[list[Message], list[Json]]]
    )
    _tools: tuple[Registry, list[Json]] | None = None
    _missing: set[str] = field(default_factory=set[str])
    _summarizes: dict[str, bool] = field(default_factory=dict[str, bool])

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """See ``Model``. A model that does not exist is replaced by the fallback, for good."""
        model = self.fallback_model if request.model in self._missing else request.model
        try:
            async for event in self._stream(self._body(request, model), self._betas(request)):
                yield event
        except anthropic.NotFoundError as error:
            if model == self.fallback_model:
                raise Misconfigured(f"the model {model} does not exist for this key; set BOBBIN_MODEL") from error
            structlog.get_logger().warning("model not found", action="model_fallback", model=model)
            self._missing.add(model)
            async for event in self.stream(request):
                yield event
        except (anthropic.AnthropicError, httpx2.HTTPError, ValueError) as error:
            raise explained(error) from error

    async def count(self, request: Request) -> int | None:
        """See ``Model``. Not worth a failed turn: whatever goes wrong, the estimate has to do."""
        body = self._body(request, request.model)
        del body["max_tokens"]
        try:
            counted = await self.client.messages.count_tokens(**body, extra_headers=_headers(self._betas(request)))
        except (anthropic.AnthropicError, httpx2.HTTPError, ValueError, AttributeError) as error:
            structlog.get_logger().info("no exact count", action="not_counted", why=type(error).__name__)
            return None
        return counted.input_tokens

    async def summarizes(self, model: str) -> bool:
        """See ``Model``: what the provider's list of models says, asked for once."""
        if model not in self._summarizes:
            try:
                about = await self.client.beta.models.retrieve(model)
            except (anthropic.AnthropicError, httpx2.HTTPError, ValueError, AttributeError):
                return False
            offered = about.capabilities and about.capabilities.compaction
            self._summarizes[model] = bool(offered and offered.supported and offered.summarize.supported)
        return self._summarizes[model]

    async def _stream(self, body: Json, betas: list[str]) -> AsyncGenerator[ModelEvent, None]:
        answer, create = Growing(), self._messages_api(body).create
        async with await create(**body, stream=True, extra_headers=_headers(betas)) as stream:
            async for event in stream:
                if (news := answer.take(event)) is not None:
                    yield news
        if not answer.whole:
            raise Busy("the model's answer broke off")
        yield self._said(answer, str(body["model"]))

    def _messages_api(self, body: Json) -> Any:
        """Only the client's beta knows the answer that is a summary."""
        return self.client.beta.messages if "compaction" in body else self.client.messages

    def _said(self, answer: Growing, model: str) -> ModelSaid:
        if answer.stop == "model_context_window_exceeded":
            raise TooLong("the conversation fills the model's whole window")
        message = Message(role="assistant", parts=tuple(_part(block) for block in answer.blocks))
        stop = _STOPS.get(answer.stop, "end")
        if message.calls and stop != "calls":
            stop = "length"  # calls of an answer that did not end with them are never run
        usage = _usage(answer.usage, self.prices.get(model, UNKNOWN_PRICE))
        return ModelSaid(message=message, usage=usage, stop=stop, model=model)

    # -- the request -----------------------------------------------------------------------------

    def _body(self, request: Request, model: str) -> Json:
        body: Json = {
            "model": model,
            "max_tokens": request.max_output,
            "system": [{"type": "text", "text": request.system, **self._mark(request.cached.prefix)}],
            "tools": self._tool_list(request.tools),
            "messages": self._messages(request),
        }
        if self.thinking:
            thinking: Json = {"type": "adaptive", "display": "updates"}
            if request.context.stale_thinking:
                thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
            body["thinking"] = thinking
        if request.summarize:
            body["compaction"] = {"type": "summarize", "instructions": request.summarize}
        return body

    def _betas(self, request: Request) -> list[str]:
        wanted = {
            UPDATES: self.thinking,
            BINDING: self.thinking and request.context.stale_thinking,
            COMPACTION: bool(request.summarize),
        }
        return [name for name, needed in wanted.items() if needed]

    def _tool_list(self, tools: Registry) -> list[Json]:
        if self._tools is None or self._tools[0] is not tools:
            wire = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in tools]
            self._tools = (tools, wire)
        return self._tools[1]

    def _messages(self, request: Request) -> list[Json]:
        """The messages with their cache marks: the two newest words of people, and the moving end."""
        messages = request.context.messages
        wire = list(self._convert(request.thread, messages))
        end = len(wire) - 1
        for index in request.context.anchors:
            wire[index] = _marked(wire[index], self._mark(request.cached.prefix))
        if end not in request.context.anchors:
            wire[end] = _marked(wire[end], self._mark(request.cached.moving))
        return wire

    def _convert(self, thread: ThreadKey, messages: Sequence[Message]) -> list[Json]:
        known, wire = self._converted.pop(thread, ([], []))
        same = 0
        while same < min(len(known), len(messages)) and known[same] is messages[same]:
            same += 1
        known[same:] = messages[same:]
        wire[same:] = [_message(message) for message in messages[same:]]
        self._converted[thread] = (known, wire)
        while len(self._converted) > 32:
            del self._converted[next(iter(self._converted))]
        return wire

    @staticmethod
    def _mark(ttl: str) -> Json:
        return {"cache_control": {"type": "ephemeral", "ttl": ttl}}


_STOPS: dict[str, Literal["end", "calls", "length", "refusal", "pause"]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}


def _usage(usage: Json, price: Price) -> Usage:
    """What was read and written. A summary by the provider is counted beside the answer, not in it."""
    total = _cost(usage, price)
    for one in usage.get("iterations") or ():
        if one["type"] == "compaction":
            total += _cost(one, price)
    return total


def _cost(usage: Json, price: Price) -> Usage:
    fresh, output = int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
    read, written = int(usage.get("cache_read_input_tokens") or 0), int(usage.get("cache_creation_input_tokens") or 0)
    split: Json = usage.get("cache_creation") or {}
    hour = int(split.get("ephemeral_1h_input_tokens") or 0)
    factor = price.long_factor if price.long_above and fresh + read + written > price.long_above else 1.0
    inputs = fresh + price.read * read + 1.25 * (written - hour) + 2 * hour
    dollars = (inputs * price.input + output * price.output) * factor / 1e6
    return Usage(fresh=fresh, cache_read=read, cache_write=written, output=output, dollars=dollars)


def _headers(betas: Sequence[str]) -> dict[str, str]:
    return {"anthropic-beta": ",".join(betas)} if betas else {}


def _marked(message: Json, mark: Json) -> Json:
    *rest, last = message["content"]
    return {"role": message["role"], "content": [*rest, {**last, **mark}]}


def _message(message: Message) -> Json:
    return {"role": message.role, "content": [_block(part) for part in message.parts]}


def _block(part: Part) -> Any:
    match part:
        case Text(text=text, opaque=opaque):
            return opaque or {"type": "text", "text": text}
        case ToolCall(id=call_id, name=name, arguments=arguments, opaque=opaque):
            return opaque or {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        case ToolResult(call_id=call_id, text=text, is_error=is_error):
            result: Json = {"type": "tool_result", "tool_use_id": call_id, "content": text}
            return {**result, "is_error": True} if is_error else result
        case Thinking(opaque=opaque) | Opaque(opaque=opaque):
            return opaque


def _part(block: Json) -> Part:
    """A content block as a part. What has more fields than we know is kept whole, to be sent back as it came."""
    match block:
        case {"type": "text", "text": text}:
            return Text(text=text, opaque=_extra(block, {"type", "text"}))
        case {"type": "tool_use", "id": call_id, "name": name, "input": arguments}:
            extra = _extra(block, {"type", "id", "name", "input"})
            return ToolCall(id=call_id, name=name, arguments=arguments, opaque=extra)
        case {"type": "thinking", "thinking": text}:
            return Thinking(text=text, opaque=block)
        case {"type": "compaction", "content": str(text)}:
            return Text(text=text)  # put into a text of our own, so it needs no signature
        case {"type": "redacted_thinking"}:
            return Thinking(text="", opaque=block)
        case _:
            return Opaque(opaque=block)


def _extra(block: Json, known: set[str]) -> Json | None:
    return block if any(value is not None for key, value in block.items() if key not in known) else None

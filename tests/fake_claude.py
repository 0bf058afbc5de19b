"""The model's provider on a free port of this machine: scripted answers, its rules enforced, every request kept."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from aiohttp import web

from tests.message_rules import Json, beginning, blocks, problem

USAGE: Json = {"input_tokens": 120, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 9}


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong when ``after`` events of the stream are out. ``error`` is the type in an ``error`` event."""

    kind: Literal["error", "drop", "end", "hang", "garbage", "half"]
    after: int
    error: str = "overloaded_error"


@dataclass(frozen=True, slots=True)
class Says:
    """An answer. A ``tool_use`` block may carry ``_raw``: the text of its arguments as it is streamed."""

    blocks: tuple[Json, ...]
    stop: str = "end_turn"
    usage: Json = field(default_factory=lambda: dict(USAGE))
    fault: Fault | None = None
    hold: asyncio.Event | None = None
    """The answer does not begin before this is set."""

    def after(self, hold: asyncio.Event) -> Says:
        return replace(self, hold=hold)


@dataclass(frozen=True, slots=True)
class Fails:
    """A refusal by status, before any event. ``code`` is the ``error_code`` in its details."""

    status: int
    type: str = "api_error"
    message: str = "something failed"
    retry_after: float | None = None
    code: str | None = None


Answer = Says | Fails
Planned = Answer | Callable[[Json], Answer]


def text(said: str, **more: Any) -> Says:
    return Says(({"type": "text", "text": said},), **more)


def call(name: str, arguments: Json | None = None, **more: Any) -> Says:
    return calls((name, arguments or {}), **more)


def calls(*wanted: tuple[str, Json], before: tuple[Json, ...] = (), **more: Any) -> Says:
    made = tuple({"type": "tool_use", "id": new_id("toolu"), "name": name, "input": given} for name, given in wanted)
    return Says((*before, *made), "tool_use", **more)


def thinking(said: str = "") -> Json:
    return {"type": "thinking", "thinking": said, "signature": new_id("sig")}


_NUMBERS = itertools.count(1)


def new_id(prefix: str) -> str:
    return f"{prefix}_{next(_NUMBERS):06d}"


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came, and why it was refused if it broke a rule."""

    body: Json
    headers: dict[str, str]
    problem: str | None

    @property
    def words(self) -> str:
        return json.dumps(self.body["messages"], ensure_ascii=False)

    @property
    def newest(self) -> str:
        """The last user message as JSON."""
        return json.dumps(self.body["messages"][-1], ensure_ascii=False)


@dataclass(slots=True)
class FakeClaude:
    """Answers by plan: the first plan whose word stands in the conversation and that has answers left."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])
    models: frozenset[str] = frozenset({"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"})
    summarizing: frozenset[str] = frozenset({"claude-sonnet-5-5"})
    """Models whose conversations the provider can summarize itself."""
    counted: list[Seen] = field(default_factory=list[Seen])
    default: Planned = field(default_factory=lambda: text("(nothing was planned)"))
    _plans: list[tuple[str, deque[Planned]]] = field(default_factory=list[tuple[str, "deque[Planned]"]])
    _thoughts: dict[str, tuple[Json, str]] = field(default_factory=dict[str, tuple[Json, str]])
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    # -- for tests -------------------------------------------------------------------------------

    def plan(self, word: str, *answers: Planned) -> None:
        """These answers, one after the other, for conversations that hold ``word``."""
        self._plans.append((word, deque(answers)))

    def about(self, word: str) -> list[Seen]:
        return [seen for seen in self.seen if word in seen.words]

    @property
    def problems(self) -> list[str]:
        return [seen.problem for seen in self.seen if seen.problem]

    async def asked(self, word: str, times: int = 1, seconds: float = 40) -> list[Seen]:
        """Wait until conversations with ``word`` were asked about so often."""
        async with asyncio.timeout(seconds):
            while len(self.about(word)) < times:
                self._arrived.clear()
                await self._arrived.wait()
        return self.about(word)

    # -- the server ------------------------------------------------------------------------------

    async def answer(self, request: web.Request) -> web.StreamResponse:
        try:
            body: Json = await request.json()
        except ConnectionResetError:  # who asked was killed while it was asking
            return web.Response()
        wrong = problem(body, request.headers.get("anthropic-beta", "")) or self._changed_thoughts(body)
        self.seen.append(Seen(body, dict(request.headers), wrong))
        self._arrived.set()
        if wrong is not None:
            return _refusal(Fails(400, "invalid_request_error", wrong))
        if body["model"] not in self.models:
            return _refusal(Fails(404, "not_found_error", f"model: {body['model']}"))
        planned = self._next(self.seen[-1].words)
        answer = planned(body) if callable(planned) else planned
        if "compaction" in body and isinstance(answer, Says):
            answer = replace(answer, blocks=tuple(_as_summary(block) for block in answer.blocks), stop="compaction")
        match answer:
            case Fails():
                return _refusal(answer)
            case Says():
                return await self._stream(request, body, answer)

    async def count(self, request: web.Request) -> web.StreamResponse:
        """Four characters a token, of what is really said."""
        body: Json = await request.json()
        wrong = problem({**body, "max_tokens": 1}, request.headers.get("anthropic-beta", ""))
        self.counted.append(Seen(body, dict(request.headers), wrong))
        if wrong is not None or body["model"] not in self.models:
            return _refusal(Fails(400, "invalid_request_error", wrong or "unknown model"))
        return web.json_response({"input_tokens": len(beginning(body, len(body["messages"]))) // 4})

    async def about_model(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in self.models:
            return _refusal(Fails(404, "not_found_error", f"model: {name}"))
        able = {"supported": name in self.summarizing}
        offered = {"compaction": {**able, "summarize": able}}
        return web.json_response({"type": "model", "id": name, "display_name": name, "capabilities": offered})

    async def _stream(self, request: web.Request, body: Json, says: Says) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        with suppress(ConnectionError):  # who asked may have gone away
            await self._say(request, response, body, says)
        return response

    def _next(self, words: str) -> Planned:
        return next((answers.popleft() for word, answers in self._plans if answers and word in words), self.default)

    def _changed_thoughts(self, body: Json) -> str | None:
        drops = "block_binding" in body.get("thinking", {})
        for index, message in enumerate(body["messages"]):
            for block in blocks(message):
                if block["type"] != "thinking":
                    continue
                said, before = self._thoughts.get(block["signature"], (None, ""))
                if said != block:
                    return f"messages.{index}: Invalid signature: `thinking` blocks cannot be modified"
                if before != beginning(body, index) and not drops:
                    return f"messages.{index}: this thinking block is bound to a different conversation"
        return None

    async def _say(self, request: web.Request, response: web.StreamResponse, body: Json, says: Says) -> None:
        bound = beginning(body, len(body["messages"]))
        self._thoughts |= {b["signature"]: (b, bound) for b in says.blocks if b["type"] == "thinking"}
        if says.hold is not None:
            await self._until(says.hold)
        await response.prepare(request)
        for number, event in enumerate([*stream_events(says, str(body["model"])), None]):
            if says.fault is not None and says.fault.after == number:
                await self._break(request, response, says.fault)
                return
            if event is not None:
                await response.write(_line(event))

    async def _break(self, request: web.Request, response: web.StreamResponse, fault: Fault) -> None:
        match fault.kind:
            case "error":
                error = {"type": fault.error, "message": "it broke"}
                await response.write(_line({"type": "error", "error": error}))
            case "drop":
                assert request.transport is not None
                request.transport.abort()
            case "garbage":
                await response.write(b'event: content_block_delta\ndata: {"type": "content_bl@@\n\n')
            case "half":
                await response.write(b'event: content_block_delta\ndata: {"type": "content_')
            case "hang":
                await self._until(asyncio.Event())
            case "end":
                pass

    async def _until(self, event: asyncio.Event) -> None:
        """Wait for an event, or for the end of the server."""
        waits = {asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._closing.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def close(self) -> None:
        self._closing.set()


def stream_events(says: Says, model: str) -> list[Json]:
    """The events of an answer, in the order in which the provider sends them."""
    message: Json = {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**says.usage, "output_tokens": 1},
    }
    events: list[Json] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, block in enumerate(says.blocks):
        empty, deltas = _deltas(block)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": says.stop, "stop_sequence": None}
    used = {key: value for key, value in says.usage.items() if key != "cache_creation"}
    return [*events, {"type": "message_delta", "delta": ended, "usage": used}, {"type": "message_stop"}]


def _deltas(block: Json) -> tuple[Json, list[Json]]:
    """How a block begins, and what it grows by."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        case "thinking":
            grown = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*grown, signed]
        case "tool_use":
            raw = block.get("_raw", json.dumps(block["input"], ensure_ascii=False))
            start: Json = {key: value for key, value in block.items() if key != "_raw"}
            start["input"] = {}
            return start, [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(raw)]
        case "compaction":
            return {**block, "content": None}, [{"type": "compaction_delta", "content": block["content"]}]
        case _:
            return block, []


def _as_summary(block: Json) -> Json:
    if block["type"] != "text":
        return block
    return {"type": "compaction", "content": block["text"], "signature": new_id("sig")}


def _pieces(said: str, size: int = 12) -> list[str]:
    return [said[i : i + size] for i in range(0, len(said), size)]


def _line(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _refusal(fails: Fails) -> web.Response:
    error: Json = {"type": fails.type, "message": fails.message}
    if fails.code is not None:
        error["details"] = {"error_code": fails.code}
    headers = {} if fails.retry_after is None else {"retry-after": f"{fails.retry_after:g}"}
    return web.json_response({"type": "error", "error": error}, status=fails.status, headers=headers)


@asynccontextmanager
async def fake_claude() -> AsyncGenerator[FakeClaude]:
    claude = FakeClaude()
    application = web.Application(client_max_size=64 * 1024 * 1024)
    application.add_routes(
        [
            web.post("/v1/messages", claude.answer),
            web.post("/v1/messages/count_tokens", claude.count),
            web.get("/v1/models/{name}", claude.about_model),
        ]
    )
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    claude.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield claude
    finally:
        claude.close()
        await runner.cleanup()

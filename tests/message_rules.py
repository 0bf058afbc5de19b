"""What the provider refuses in a request, as pure questions about its body. Sources: its documentation of 2026."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Json = dict[str, Any]

MARKS = 4
SUMMARIES = "compact-2026-09-04"
"""The beta under which the provider writes summaries itself."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_NEEDS_BETA = {
    "display": ("updates", "thinking-display-updates-2026-08-18"),
    "block_binding": (None, "thinking-binding-controls-2026-08-01"),
}


def problem(body: Json, betas: str) -> str | None:
    """Why the provider would refuse this body; None if it takes it."""
    return next((wrong for check in _CHECKS for wrong in check(body)), None) or _missing_beta(body, betas)


def blocks(message: Json) -> list[Json]:
    content: str | list[Json] = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def marks(body: Json) -> list[tuple[str, str]]:
    """(where, ttl) of each cache mark, in the order in which the provider reads: tools, system, messages."""
    places = [("tools", tool) for tool in body.get("tools", [])]
    places += [("system", block) for block in body.get("system", [])]
    places += [(f"messages.{i}", block) for i, message in enumerate(body["messages"]) for block in blocks(message)]
    return [(where, block["cache_control"].get("ttl", "5m")) for where, block in places if block.get("cache_control")]


def unmarked(value: Any) -> Any:
    """A body or a part of one without its cache marks, which are no part of what is said."""
    if isinstance(value, dict):
        inner: Json = value  # pyright: ignore[reportUnknownVariableType] - JSON
        return {key: unmarked(one) for key, one in inner.items() if key != "cache_control"}
    if isinstance(value, list):
        return [unmarked(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    return value


def beginning(body: Json, messages: int) -> str:
    """The bytes that stand before a message, which caches and thinking are bound to."""
    said = [body.get("tools"), body.get("system"), body["messages"][:messages]]
    return json.dumps(unmarked(said), sort_keys=True)


def _frame(body: Json) -> Iterator[str]:
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            yield f"{name}: Extra inputs are not permitted"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: Input should be greater than or equal to 1"
    names = [tool["name"] for tool in body.get("tools", [])]
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."
    for tool in body.get("tools", []):
        if not _NAME.fullmatch(tool["name"]) or tool["input_schema"].get("type") != "object":
            yield f"tools: {tool['name']!r} is no valid tool"


def _order(body: Json) -> Iterator[str]:
    roles = [message["role"] for message in body["messages"]]
    if not roles or roles[0] != "user":
        yield "messages: first message must use the user role"
    elif roles[-1] != "user" and "compaction" not in body:
        yield "messages: This model does not support assistant message prefill; it must end with a user message"
    if any(one == other for one, other in pairwise(roles)):
        yield "messages: roles must alternate"


def _words(body: Json) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        if not blocks(message):
            yield f"messages.{index}: content must not be empty"
        for block in blocks(message):
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages.{index}: text content blocks must contain non-whitespace text"
            if block["type"] == "tool_result" and block.get("is_error") and not block.get("content"):
                yield f"messages.{index}: content cannot be empty if is_error is true"


def _pairs(body: Json) -> Iterator[str]:
    """Each call has one result, at the beginning of the very next message, and each result its call."""
    waiting: list[str] = []
    for index, message in enumerate(body["messages"]):
        kinds = [block["type"] for block in blocks(message)]
        results = [block["tool_use_id"] for block in blocks(message) if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield f"messages.{index}: tool_use ids {waiting} and tool_result ids {results} do not belong together"
        if "tool_result" in kinds[len(results) :]:
            yield f"messages.{index}: tool_result blocks must come first"
        waiting = [block["id"] for block in blocks(message) if block["type"] == "tool_use"]


def _cache(body: Json) -> Iterator[str]:
    found = marks(body)
    if len(found) > MARKS:
        yield f"A maximum of {MARKS} blocks with cache_control may be provided. Found {len(found)}."
    times = [ttl for _, ttl in found]
    if times != sorted(times, key=["1h", "5m"].index):
        yield "cache_control: a ttl='1h' block must not come after a ttl='5m' block"


def _missing_beta(body: Json, betas: str) -> str | None:
    if "compaction" in body and SUMMARIES not in betas:
        return "compaction: Extra inputs are not permitted"
    for name, (value, beta) in _NEEDS_BETA.items():
        given = body.get("thinking", {}).get(name)
        if given is not None and value in (None, given) and beta not in betas:
            return f"thinking.{name} requires the beta {beta}"
    return None


_CHECKS = (_frame, _order, _words, _pairs, _cache)

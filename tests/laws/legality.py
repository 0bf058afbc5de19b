"""The provider's rules for a request, as a check of the wire body: written from its pages, not from our code."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Json = dict[str, Any]

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
THINKING = {"thinking", "redacted_thinking"}


def problems(body: Json) -> list[str]:
    """What the provider would refuse this body for. Looks both ways: calls to results, and results to calls."""
    messages: list[Json] = body["messages"]
    return [*_roles(messages), *_pairs(messages), *_texts(messages), *_names(body), *_marks(body)]


def _roles(messages: list[Json]) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if roles != (["user", "assistant"] * len(roles))[: len(roles)]:
        yield f"roles do not alternate from user on: {roles}"
    if roles[-1] != "user" and messages[-1]["content"][-1]["type"] in {"text", "tool_use", *THINKING}:
        yield "the last message is not the user's, and the model did not pause"
    if not all(message["content"] for message in messages):
        yield "a message without content"


def _pairs(messages: list[Json]) -> Iterator[str]:
    ever = set[str]()
    nothing: Json = {"content": []}
    for before, message in pairwise([nothing, *messages, nothing]):
        asked = [str(block["id"]) for block in before["content"] if block["type"] == "tool_use"]
        if len(asked) != len(set(asked)) or ever & set(asked):
            yield f"a call id is used twice: {asked}"
        ever |= set(asked)
        content: list[Json] = message["content"]
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if sorted(results) != sorted(asked):
            yield f"calls {asked} are followed by results {results}"
        if any(block["type"] != "tool_result" for block in content[: len(results)]):
            yield "something stands before a result"


def _texts(messages: list[Json]) -> Iterator[str]:
    for message in messages:
        for block in message["content"]:
            match block:
                case {"type": "text", "text": text} if not text.strip():
                    yield "an empty text"
                case {"type": "tool_result", "content": text} if not str(text).strip():
                    yield "an empty result"
                case _:
                    pass


def _names(body: Json) -> Iterator[str]:
    names = [tool["name"] for tool in body["tools"]]
    if len(names) != len(set(names)) or not all(NAME.match(name) for name in names):
        yield f"names of tools: {names}"
    if any(tool["input_schema"].get("type") != "object" for tool in body["tools"]):
        yield "a schema that is not of an object"


def _marks(body: Json) -> Iterator[str]:
    blocks = [*body["tools"], *body["system"], *(block for _, _, block in flat(body, marks=True))]
    ttls = [block["cache_control"]["ttl"] for block in blocks if "cache_control" in block]
    if len(ttls) > 4:
        yield f"{len(ttls)} cache marks"
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        yield "an hour's cache mark behind one of five minutes"


def flat(body: Json, *, marks: bool = False) -> list[tuple[int, str, Json]]:
    """Every block with its message and role, without cache marks unless they are wanted."""
    return [
        (number, message["role"], block if marks else _unmarked(block))
        for number, message in enumerate(body["messages"])
        for block in message["content"]
    ]


def head(body: Json) -> Json:
    """What stands before the messages, and the settings that the cache and the thinking depend on."""
    return {
        "model": body["model"],
        "tools": body["tools"],
        "system": [_unmarked(block) for block in body["system"]],
        "thinking": body.get("thinking"),
    }


def _unmarked(block: Json) -> Json:
    return {key: value for key, value in block.items() if key != "cache_control"}


# -- thinking, bound to everything before it -----------------------------------------------------


def seal(body: Json, upto: int | None = None) -> str:
    """The signature of thinking that follows the first ``upto`` blocks: of all that is not thinking itself."""
    before = [(role, block) for _, role, block in flat(body)[:upto] if block["type"] not in THINKING]
    bound = [body["system"][0]["text"], body["tools"], before]
    return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()


def signatures(body: Json) -> list[str]:
    """The thinking in a body, oldest first."""
    return [block["signature"] for _, _, block in flat(body) if block["type"] == "thinking"]


def broken_seals(body: Json) -> list[str]:
    """Thinking that no longer stands behind what it stood behind when it was thought."""
    return [
        block["signature"]
        for index, (_, _, block) in enumerate(flat(body))
        if block["type"] == "thinking" and block["signature"] != seal(body, index)
    ]


def drops_stale(body: Json) -> bool:
    binding: Json = body["thinking"].get("block_binding", {})
    return binding.get("prefix_mismatch_behavior") == "drop_block"

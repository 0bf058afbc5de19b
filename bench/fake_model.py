"""A small Messages API on loopback, in a process of its own: ``python -m bench.fake_model`` prints its port.

What a person writes says what it plays: ``steps=10`` calls of the first tool offered, then a text;
``delay=0.3`` seconds before each answer. ``GET /requests`` tells how many questions it was asked.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from itertools import count
from typing import Any

Json = dict[str, Any]

ANSWER = "Here is what I found, in a sentence or two that arrive word by word."


@dataclass(frozen=True, slots=True)
class Play:
    """What is answered to one request."""

    delay: float
    content: Json
    stop: str


def play(body: Json, number: int) -> Play:
    """The next answer, by the newest words of a person and the results that came after them."""
    results, words = 0, ""
    for message in reversed(body["messages"]):
        if message["role"] != "user":
            continue
        blocks: list[Json] = message["content"]
        results += sum(block["type"] == "tool_result" for block in blocks)
        if words := " ".join(block["text"] for block in blocks if block["type"] == "text"):
            break
    delay = re.search(r"delay=([\d.]+)", words)
    steps = re.search(r"steps=(\d+)", words)
    seconds = float(delay[1]) if delay else 0.0
    if results < (int(steps[1]) if steps else 0):
        tool = next((t for t in body["tools"] if t["name"] in ("echo", "calculate")), body["tools"][0])
        field = next(iter(tool["input_schema"]["properties"]))
        call = {"type": "tool_use", "id": f"toolu_{number:09d}", "name": tool["name"], "input": {field: f"{number}"}}
        return Play(seconds, call, "tool_use")
    return Play(seconds, {"type": "text", "text": ANSWER}, "end_turn")


def sse(answer: Play, model: str, number: int) -> bytes:
    """The answer as the stream of events that the API sends."""
    block = answer.content
    start: Json = {"type": "text", "text": ""}
    deltas: list[Json] = [{"type": "text_delta", "text": f"{word} "} for word in block.get("text", "").split()]
    if block["type"] == "tool_use":
        start = {**block, "input": Json()}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 990, "cache_creation_input_tokens": 20}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": list[Json]()}
    events: list[Json] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": answer.stop, "stop_sequence": None},
            "usage": {"output_tokens": 20},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


async def serve() -> None:
    numbers, asked = count(1), [0]

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    writer.write(_http(b"application/json", str(asked[0]).encode()))
                    continue
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                body: Json = json.loads(await reader.readexactly(int(length[1]) if length else 0))
                asked[0] += 1
                number = next(numbers)
                answer = play(body, number)
                await asyncio.sleep(answer.delay)
                writer.write(_http(b"text/event-stream", sse(answer, body["model"], number)))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _http(kind: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (kind, len(body), body)


if __name__ == "__main__":
    asyncio.run(serve())

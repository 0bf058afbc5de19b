"""What the adapter makes of an answer: events as it grows, parts that go back as they came, tokens and dollars."""

from __future__ import annotations

from typing import Any

import pytest

from bot.claude import UNKNOWN_PRICE, Price
from bot.model import Busy, CallNamed, TextGrew, ThoughtGrew, TooLong
from memory.records import ModelSaid
from memory.types import Opaque, Text, Thinking, ToolCall
from tests.bot.adapter import adapter, events, human, of, request, results, said
from tests.fake_claude import FakeClaude, Says, call, calls, text, thinking


async def test_partial_events_then_the_answer(server: FakeClaude) -> None:
    server.plan("hello", calls(("weather", {"city": "Porto"}), before=(thinking("Let me look."),)))
    async with adapter(server) as claude:
        seen = await events(claude, request(human("hello")))
    assert "".join(event.text for event in of(seen, ThoughtGrew)) == "Let me look."
    assert [event.name for event in of(seen, CallNamed)] == ["weather"]
    assert [event.stop for event in of(seen, ModelSaid)] == ["calls"]
    server.plan("hello", text("It is sunny in Porto."))
    async with adapter(server) as claude:
        seen = await events(claude, request(human("hello")))
    assert "".join(event.text for event in of(seen, TextGrew)) == "It is sunny in Porto."


async def test_parallel_calls_keep_their_order_and_arguments(server: FakeClaude) -> None:
    wanted: list[tuple[str, dict[str, Any]]] = [("weather", {"city": "Porto"}), ("weather", {"city": "北京", "n": 1.5})]
    server.plan("hello", calls(*wanted))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("hello")))
    assert [(one.name, one.arguments) for one in answer.message.calls] == wanted


CITED: dict[str, Any] = {
    "type": "web_search_result_location",
    "url": "https://example.org",
    "title": "Example",
    "cited_text": "cited",
    "encrypted_index": "aW5kZXg=",
}
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "plain"},
    {"type": "text", "text": "cited", "citations": [CITED]},
    {"type": "thinking", "thinking": "", "signature": "sig-empty"},
    {"type": "thinking", "thinking": "words", "signature": "sig-words", "extra": {"deep": [1, None]}},
    {"type": "redacted_thinking", "data": "c2VhbGVk"},
    {"type": "mystery", "payload": {"a": [1, 2, {"b": None}]}},
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block['type']}-{len(block)}")
async def test_a_block_goes_back_byte_for_byte(server: FakeClaude, block: dict[str, Any]) -> None:
    server.plan("hello", Says((block, {"type": "text", "text": "end"})))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("hello")))
        await said(claude, request(human("hello"), answer.message, human("go on")))
    assert server.seen[-1].body["messages"][1]["content"][0] == block


async def test_a_call_with_fields_we_do_not_know_goes_back_whole(server: FakeClaude) -> None:
    block: dict[str, Any] = {
        "type": "tool_use",
        "id": "t1",
        "name": "weather",
        "input": {"city": "Porto"},
        "caller": {"type": "direct"},
    }
    server.plan("hello", Says((block,), "tool_use"))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("hello")))
        await said(claude, request(human("hello"), answer.message, results(("t1", "sunny"))))
    assert server.seen[-1].body["messages"][1]["content"] == [block]


async def test_what_kind_of_part_each_block_becomes(server: FakeClaude) -> None:
    made: list[dict[str, Any]] = [*BLOCKS, {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": ""}}]
    server.plan("hello", Says(tuple(made), "tool_use"))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("hello")))
    kinds = [type(part) for part in answer.message.parts]
    assert kinds == [Text, Text, Thinking, Thinking, Thinking, Opaque, ToolCall]
    assert answer.message.parts[0] == Text(text="plain")


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("a_reason_of_next_year", "end"),
    ],
)
async def test_stop_reasons(server: FakeClaude, reason: str, stop: str) -> None:
    server.plan("hello", text("so far", stop=reason))
    async with adapter(server) as claude:
        assert (await said(claude, request(human("hello")))).stop == stop


@pytest.mark.parametrize("reason", ["max_tokens", "end_turn", "refusal", "stop_sequence"])
async def test_calls_of_an_answer_that_did_not_end_with_them_do_not_run(server: FakeClaude, reason: str) -> None:
    made = call("weather", {"city": "Porto"})
    server.plan("hello", Says(made.blocks, reason))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("hello")))
    assert answer.message.calls
    assert answer.stop == "length"


async def test_a_full_window_is_too_long(server: FakeClaude) -> None:
    server.plan("hello", text("half", stop="model_context_window_exceeded"))
    async with adapter(server) as claude:
        with pytest.raises(TooLong):
            await said(claude, request(human("hello")))


@pytest.mark.parametrize("raw", ['{"city": "Po', '{"city"', "{", '{"city": "Porto"} oops', '{"city": "Porto", oops}'])
async def test_arguments_that_arrive_damaged_are_never_a_call(server: FakeClaude, raw: str) -> None:
    block: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": ""}, "_raw": raw}
    server.plan("hello", Says((block,), "tool_use"))
    async with adapter(server) as claude:
        with pytest.raises(Busy):
            await events(claude, request(human("hello")))


@pytest.mark.parametrize("raw", ["[1]", '"text"', "12", "null"])
async def test_arguments_that_are_no_object_are_never_a_call(server: FakeClaude, raw: str) -> None:
    block: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": ""}, "_raw": raw}
    server.plan("hello", Says((block,), "tool_use"))
    async with adapter(server) as claude:
        with pytest.raises(Busy):
            await events(claude, request(human("hello")))


async def test_a_call_without_arguments(server: FakeClaude) -> None:
    block: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": ""}, "_raw": ""}
    server.plan("hello", Says((block,), "tool_use"))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("hello")))
    assert answer.message.calls[0].arguments == {}


USED: dict[str, Any] = {
    "input_tokens": 100_000,
    "cache_read_input_tokens": 200_000,
    "cache_creation_input_tokens": 300_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 200_000, "ephemeral_1h_input_tokens": 100_000},
    "output_tokens": 10_000,
}


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        # (100k + 0.05 x 200k + 1.25 x 200k + 2 x 100k) x 2 + 10k x 10, a million tokens each
        ("claude-sonnet-5-5", (100 + 10 + 250 + 200) * 2 / 1000 + 0.1),
        ("claude-opus-5-5", (100 + 10 + 250 + 200) * 4 / 1000 + 0.2),
        # read at 0.1, and five times the price above 100k tokens
        ("claude-haiku-5-5", ((100 + 20 + 250 + 200) * 0.10 / 1000 + 0.005) * 5),
        ("claude-next-9", (100 + 20 + 250 + 200) * 4 / 1000 + 0.2),
    ],
)
async def test_tokens_and_dollars(server: FakeClaude, model: str, dollars: float) -> None:
    server.models = server.models | {model}
    server.plan("hello", text("done", usage=USED))
    async with adapter(server) as claude:
        usage = (await said(claude, request(human("hello"), model=model))).usage
    assert (usage.fresh, usage.cache_read, usage.cache_write, usage.output) == (100_000, 200_000, 300_000, 10_000)
    assert usage.dollars == pytest.approx(dollars)  # pyright: ignore[reportUnknownMemberType] - untyped in pytest


async def test_an_answer_whose_usage_lacks_the_cache_counts_as_fresh(server: FakeClaude) -> None:
    server.plan("hello", text("done", usage={"input_tokens": 1_000_000, "output_tokens": 0}))
    async with adapter(server, prices={"claude-sonnet-5-5": Price(3, 15, 0.1)}) as claude:
        usage = (await said(claude, request(human("hello")))).usage
    assert (usage.prompt, usage.dollars) == (1_000_000, 3.0)
    assert UNKNOWN_PRICE.input >= 4

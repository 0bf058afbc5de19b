"""What the provider counts and summarizes itself, on this machine's provider and on the strict one beside it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import anthropic
import pytest

from bot.claude import COMPACTION, Claude
from bot.model import Request
from memory.types import Message, Text
from tests.bot.adapter import MODEL, adapter, human, request, results, said
from tests.fake_claude import FakeClaude, call, fake_claude, text

SIMULATOR = Path(__file__).parents[3] / "shared" / "sim"
INSTRUCTIONS = "Summarize the conversation so far under the heading Goal."


@asynccontextmanager
async def strict_claude(reply: str) -> AsyncGenerator[Claude]:
    """The adapter before the strict simulator, which answers all with ``reply``."""
    if not (SIMULATOR / "claudesim.py").is_file():
        pytest.skip(f"there is no simulator in {SIMULATOR}")
    if str(SIMULATOR) not in sys.path:
        sys.path.append(str(SIMULATOR))
    simulator: Any = importlib.import_module("claudesim")

    def answer(_: object) -> dict[str, str]:
        return {"text": reply}

    async with simulator.ClaudeSim(scenario=answer) as sim:
        client = anthropic.AsyncAnthropic(api_key="sk-ant-sim", base_url=sim.url, max_retries=0)
        async with client:
            yield Claude(client, MODEL)
        assert [one["error"] for one in sim.requests if one["status"] >= 400] == []


def long_thread(pairs: int) -> Request:
    answers = [Message(role="assistant", parts=(Text(text=f"The answer number {n}. " * 5),)) for n in range(pairs)]
    words = [human(f"Question {n} about the release of the product. " * 5) for n in range(pairs)]
    return request(*(message for pair in zip(words, answers, strict=True) for message in pair), human("And now?"))


async def test_a_request_is_counted_as_it_would_be_sent(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        asked = long_thread(3)
        counted = await claude.count(asked)
        await said(claude, asked)
    (body,) = [seen.body for seen in server.counted]
    assert body == {key: value for key, value in server.seen[0].body.items() if key not in {"max_tokens", "stream"}}
    assert counted is not None
    assert counted > 100


async def test_the_strict_provider_counts_what_it_then_bills() -> None:
    async with strict_claude("ok") as claude:
        asked = long_thread(6)
        counted = await claude.count(asked)
        assert counted == (await said(claude, asked)).usage.prompt


@pytest.mark.parametrize("gone", ["model", "server"])
async def test_without_a_count_the_estimate_has_to_do(gone: str) -> None:
    async with fake_claude() as server, adapter(server) as claude:
        asked = replace(long_thread(1), model="no-such-model") if gone == "model" else long_thread(1)
        if gone == "server":
            claude.client = anthropic.AsyncAnthropic(api_key="none", base_url="http://127.0.0.1:9", max_retries=0)
        assert await claude.count(asked) is None


async def test_the_list_of_models_says_who_summarizes_and_is_asked_once(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        assert await claude.summarizes("claude-sonnet-5-5")
        server.summarizing = frozenset()
        assert await claude.summarizes("claude-sonnet-5-5")
        assert not await claude.summarizes("claude-opus-5-5")
        assert not await claude.summarizes("no-such-model")


@pytest.mark.parametrize("provider", ["here", "strict"])
@pytest.mark.parametrize("ends_with", ["user", "assistant"])
async def test_the_provider_writes_the_summary(
    server: FakeClaude, provider: Literal["here", "strict"], ends_with: str
) -> None:
    whole = long_thread(4)
    messages = whole.context.messages if ends_with == "user" else whole.context.messages[:-1]
    asked = replace(whole, context=replace(whole.context, messages=messages), summarize=INSTRUCTIONS)
    server.plan("Question", text("## Goal\nship it; 先不要通知客户"))
    made = adapter(server) if provider == "here" else strict_claude("## Goal\nship it; 先不要通知客户")
    async with made as claude:
        assert await claude.summarizes(MODEL)
        answer = await said(claude, asked)
    assert (answer.message.text, answer.stop) == ("## Goal\nship it; 先不要通知客户", "end")
    assert answer.usage.prompt > 0
    if provider == "here":
        assert server.seen[0].body["compaction"] == {"type": "summarize", "instructions": INSTRUCTIONS}
        assert COMPACTION in server.seen[0].headers["anthropic-beta"]


async def test_a_turn_after_such_a_request_goes_on_in_the_same_words(server: FakeClaude) -> None:
    """Asking for a summary leaves nothing behind: the next request begins with the same bytes."""
    first = request(human("Look at the weather"))
    server.plan("weather", call("weather", {}), text("sum"), text("sunny"))
    async with adapter(server) as claude:
        answer = await said(claude, first)
        grown = (*first.context.messages, answer.message, results((answer.message.calls[0].id, "sunny")))
        await said(claude, replace(request(*grown), summarize=INSTRUCTIONS))
        await said(claude, request(*grown))
    asked, again = server.seen[1].body, server.seen[2].body
    assert {key: value for key, value in asked.items() if key != "compaction"} == again
    assert server.problems == []

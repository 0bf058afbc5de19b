"""Every way in which a question to the provider can fail, and what it is called for those who asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import anthropic
import pytest

from bot.claude import Claude
from bot.model import Busy, Misconfigured, ModelError, Rejected, StaleThinking, TooLong
from memory.records import ModelSaid
from tests.bot.adapter import THREAD, adapter, events, human, request, results, said
from tests.fake_claude import Fails, FakeClaude, Fault, Says, calls, fake_claude, stream_events, text, thinking

TABLE: list[tuple[Fails, type[ModelError], float | None]] = [
    (Fails(400, "invalid_request_error", "prompt is too long: 1200000 tokens > 1000000 maximum"), TooLong, None),
    (Fails(400, "invalid_request_error", "Request exceeds the maximum size"), TooLong, None),
    (Fails(413, "request_too_large", "Request exceeds the maximum allowed number of bytes."), TooLong, None),
    (
        Fails(400, "invalid_request_error", "messages.1: Invalid `signature` in `thinking` block"),
        StaleThinking,
        None,
    ),
    (
        Fails(400, "invalid_request_error", "this thinking block is bound to a different conversation"),
        StaleThinking,
        None,
    ),
    (
        Fails(400, "invalid_request_error", "`thinking` blocks in the latest message cannot be modified"),
        StaleThinking,
        None,
    ),
    (Fails(400, "invalid_request_error", "tools.0.name: String should match pattern"), Rejected, None),
    (Fails(401, "authentication_error", "invalid x-api-key"), Misconfigured, None),
    (Fails(402, "billing_error", "Your credit balance is too low"), Misconfigured, None),
    (Fails(403, "permission_error", "not allowed"), Misconfigured, None),
    (Fails(404, "not_found_error", "model: claude-sonnet-5-5"), Misconfigured, None),
    (Fails(408, "timeout_error", "timed out"), Busy, None),
    (Fails(409, "conflict_error", "conflict"), Busy, None),
    (Fails(422, "invalid_request_error", "unprocessable"), Rejected, None),
    (Fails(429, "rate_limit_error", "slow down", retry_after=7), Busy, 7),
    (Fails(429, "rate_limit_error", "slow down"), Busy, None),
    (Fails(429, "rate_limit_error", "spend limit", code="spend_limit_reached"), Misconfigured, None),
    (Fails(429, "rate_limit_error", "credits", code="credit_balance_exhausted"), Misconfigured, None),
    (Fails(500, "api_error", "internal"), Busy, None),
    (Fails(502, "api_error", "bad gateway"), Busy, None),
    (Fails(503, "api_error", "unavailable", retry_after=2.5), Busy, 2.5),
    (Fails(504, "timeout_error", "gateway time-out"), Busy, None),
    (Fails(529, "overloaded_error", "Overloaded", retry_after=-3), Busy, 0),
]


@pytest.mark.parametrize(
    ("failure", "kind", "wait"), TABLE, ids=[f"{row[0].status}-{row[0].message[:24]}" for row in TABLE]
)
async def test_each_row_of_the_table(
    server: FakeClaude, failure: Fails, kind: type[ModelError], wait: float | None
) -> None:
    server.plan("hello", failure)
    async with adapter(server) as claude:
        with pytest.raises(ModelError) as caught:
            await events(claude, request(human("hello")))
    assert type(caught.value) is kind
    assert getattr(caught.value, "retry_after", None) == wait
    assert len(server.seen) == 1, "retries belong to those who can show them"
    assert str(caught.value)


async def test_what_an_administrator_must_mend_names_the_cause(server: FakeClaude) -> None:
    server.plan("hello", Fails(401, "authentication_error", "invalid x-api-key"))
    async with adapter(server) as claude:
        with pytest.raises(Misconfigured, match=r"401.*invalid x-api-key"):
            await events(claude, request(human("hello")))


# -- streams that break ----------------------------------------------------------------------------

WHOLE = calls(
    ("weather", {"city": "Porto"}), before=(thinking("Let me look."), {"type": "text", "text": "One moment."})
)
BOUNDARIES = len(stream_events(WHOLE, "claude-sonnet-5-5"))

BREAKS: dict[str, Callable[[int], Fault]] = {
    "overloaded": lambda after: Fault("error", after, "overloaded_error"),
    "internal": lambda after: Fault("error", after, "api_error"),
    "rate limit": lambda after: Fault("error", after, "rate_limit_error"),
    "cut": lambda after: Fault("drop", after),
    "early end": lambda after: Fault("end", after),
    "half an event": lambda after: Fault("half", after),
    "garbage": lambda after: Fault("garbage", after),
    "silence": lambda after: Fault("hang", after),
}


@pytest.mark.parametrize("kind", BREAKS)
async def test_a_stream_that_breaks_at_any_boundary_says_nothing(server: FakeClaude, kind: str) -> None:
    async def broken(claude: Claude, boundary: int) -> None:
        word = f"at {boundary:03d}"
        server.plan(word, Says(WHOLE.blocks, WHOLE.stop, fault=BREAKS[kind](boundary)))
        seen = list[object]()
        with pytest.raises(Busy):
            await _into(seen, claude, word)
        assert not any(isinstance(event, ModelSaid) for event in seen), word

    async with adapter(server, patience=0.3) as claude:
        await _all([lambda n=n: broken(claude, n) for n in range(BOUNDARIES)])
    assert len(server.seen) == BOUNDARIES


async def _into(seen: list[object], claude: Claude, word: str) -> None:
    async for event in claude.stream(request(human(word))):
        seen.append(event)


async def _all(jobs: list[Callable[[], Awaitable[None]]]) -> None:
    async with asyncio.TaskGroup() as group:
        for job in jobs:
            group.create_task(_one(job))


async def _one(job: Callable[[], Awaitable[None]]) -> None:
    await job()


async def test_an_invalid_request_inside_a_stream_is_not_repeated(server: FakeClaude) -> None:
    server.plan("hello", text("half", fault=Fault("error", 3, "invalid_request_error")))
    async with adapter(server) as claude:
        with pytest.raises(Rejected):
            await events(claude, request(human("hello")))


async def test_nobody_listens_at_the_address() -> None:
    async with fake_claude() as gone:
        pass
    async with adapter(gone) as claude:
        with pytest.raises(Busy, match="connection"):
            await events(claude, request(human("hello")))


async def test_a_client_without_credentials_is_misconfigured(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        claude.client = anthropic.AsyncAnthropic(api_key="", base_url=server.url, max_retries=0)
        with pytest.raises((Misconfigured, Busy)):
            await events(claude, request(human("hello")))


# -- a model that is not there ---------------------------------------------------------------------


async def test_a_missing_model_is_replaced_for_good(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        first = await said(claude, request(human("hello"), model="claude-gone-1"))
        second = await said(claude, request(human("hello"), model="claude-gone-1"))
    assert [seen.body["model"] for seen in server.seen] == ["claude-gone-1", "claude-sonnet-5-5", "claude-sonnet-5-5"]
    assert (first.model, second.model) == ("claude-sonnet-5-5", "claude-sonnet-5-5")


async def test_a_missing_fallback_is_for_an_administrator(server: FakeClaude) -> None:
    server.models = frozenset()
    async with adapter(server) as claude:
        with pytest.raises(Misconfigured, match="BOBBIN_MODEL"):
            await events(claude, request(human("hello"), model="claude-gone-1"))


async def test_the_provider_s_own_refusal_of_old_thinking_is_recognised(server: FakeClaude) -> None:
    server.plan("hello", calls(("weather", {"city": "Porto"}), before=(thinking(),)))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("hello")))
        made = results((answer.message.calls[0].id, "sunny"))
        with pytest.raises(StaleThinking):
            await events(claude, request(human("hello, edited"), answer.message, made))
        await events(claude, request(human("hello, edited"), answer.message, made, stale_thinking=True))
    assert server.problems == [server.seen[1].problem]
    assert request(human("")).thread == THREAD

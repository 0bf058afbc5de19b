"""The real adapter over the real client, talking to the provider on this machine."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import httpx2

from bot.claude import Claude
from bot.model import ModelEvent, Request
from memory.context import Context
from memory.records import ModelSaid
from memory.types import Message, Text, ThreadKey, ToolResult
from tests.fake_claude import FakeClaude
from tools.base import Arguments, Effect, Output, ToolContext, tool
from tools.registry import Registry

THREAD = ThreadKey("T1:C1:1.0")
MODEL = "claude-sonnet-5-5"


class City(Arguments):
    city: str = ""


@tool(Effect.READ)
async def weather(arguments: City, context: ToolContext) -> Output:
    """Tell the weather of a city."""
    return Output("sunny", "sunny")


TOOLS = Registry([weather])


@asynccontextmanager
async def adapter(server: FakeClaude, patience: float = 5.0, **more: Any) -> AsyncGenerator[Claude]:
    """``patience`` in seconds: how long the client waits for the next byte."""
    timeout = httpx2.Timeout(patience, connect=5)
    client = anthropic.AsyncAnthropic(api_key="sk-ant-test", base_url=server.url, max_retries=0, timeout=timeout)
    async with client:
        yield Claude(client, MODEL, **more)


def request(*messages: Message, model: str = MODEL, tools: Registry = TOOLS, **context: Any) -> Request:
    return Request(THREAD, "You are a test.", tools, Context(messages, **context), model, 1_000)


def human(said: str) -> Message:
    return Message(role="user", parts=(Text(text=said),))


def results(*pairs: tuple[str, str]) -> Message:
    return Message(role="user", parts=tuple(ToolResult(call_id=call_id, text=text) for call_id, text in pairs))


async def events(claude: Claude, asked: Request) -> list[ModelEvent]:
    return [event async for event in claude.stream(asked)]


async def said(claude: Claude, asked: Request) -> ModelSaid:
    """The one answer, which comes last."""
    *partial, last = await events(claude, asked)
    assert isinstance(last, ModelSaid)
    assert not any(isinstance(event, ModelSaid) for event in partial)
    return last


def of(event: Sequence[ModelEvent], kind: type[Any]) -> list[Any]:
    return [one for one in event if isinstance(one, kind)]

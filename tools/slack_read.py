"""Reading the chat: this thread, and channels."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tools.base import Arguments, Effect, Output, Tool, ToolContext, tool


class ReadThread(Arguments):
    limit: int = Field(default=80, ge=1, le=500, description="How many of the newest messages.")


class ReadChannel(Arguments):
    channel: str = Field(description="The channel's name (#ops), id or mention.")
    limit: int = Field(default=40, ge=1, le=200, description="How many of the newest messages.")


@tool(Effect.READ, untrusted=True, polling=True)
async def read_thread(arguments: ReadThread, context: ToolContext) -> Output:
    """Read the newest messages of this thread in Slack, also those of people who did not talk to you."""
    return await context.chat.read_thread(context, arguments.limit)


@tool(Effect.READ, untrusted=True, polling=True)
async def read_channel(arguments: ReadChannel, context: ToolContext) -> Output:
    """Read the newest messages of a channel, oldest first. Private channels only from inside them."""
    return await context.chat.read_channel(context, arguments.channel, arguments.limit)


SLACK_READ_TOOLS: tuple[Tool[Any], ...] = (read_thread, read_channel)

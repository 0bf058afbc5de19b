"""Changing things in the chat. Each call is shown to a person first, with exactly these arguments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from tools.base import Arguments, Effect, Output, Tool, ToolContext, ToolError, tool

FURTHEST = timedelta(days=120)
"""Slack schedules at most 120 days ahead."""
SOONEST = timedelta(seconds=20)

_CHANNEL = "The channel's name (#news), id or mention."
_TEXT = "Standard Markdown, exactly as it will be posted."
_AT = "ISO date and time, e.g. 2026-12-01T09:30; without an offset it is in the requester's time zone."
_TS = "The id of the message, as it stands in messages and results (1764511531.000200)."


class PostMessage(Arguments):
    channel: str = Field(description=_CHANNEL)
    text: str = Field(min_length=1, max_length=11_000, description=_TEXT)


class SendDm(Arguments):
    user: str = Field(description="The person's name, id or mention.")
    text: str = Field(min_length=1, max_length=11_000, description=_TEXT)


class AddReaction(Arguments):
    channel: str = Field(description=_CHANNEL)
    ts: str = Field(pattern=r"^\d{10}\.\d{6}$", description=_TS)
    name: str = Field(min_length=1, max_length=100, description="The emoji's name without colons, e.g. tada.")


class PinMessage(Arguments):
    channel: str = Field(description=_CHANNEL)
    ts: str = Field(pattern=r"^\d{10}\.\d{6}$", description=_TS)


class ScheduleMessage(Arguments):
    channel: str = Field(description=_CHANNEL)
    text: str = Field(min_length=1, max_length=11_000, description=_TEXT)
    at: datetime = Field(description=_AT)


class CreateReminder(Arguments):
    text: str = Field(min_length=1, max_length=3_000, description="What to remind of, as it will be posted here.")
    at: datetime = Field(description=_AT)


class UploadFile(Arguments):
    channel: str = Field(description=_CHANNEL)
    name: str = Field(
        min_length=1,
        max_length=120,
        pattern=r"^[^/\\\x00-\x1f]+$",
        description="File name with ending, e.g. report.csv.",
    )
    content: str = Field(min_length=1, max_length=500_000, description="The file's text.")


class SetTopic(Arguments):
    channel: str = Field(description=_CHANNEL)
    topic: str = Field(max_length=250, description="The new topic, at most 250 characters.")


class InviteToChannel(Arguments):
    channel: str = Field(description=_CHANNEL)
    user: str = Field(description="The person's name, id or mention.")


class DeleteMessage(Arguments):
    channel: str = Field(description=_CHANNEL)
    ts: str = Field(pattern=r"^\d{10}\.\d{6}$", description=_TS)


@tool(Effect.WRITE, resource=("channel",))
async def post_message(arguments: PostMessage, context: ToolContext) -> Output:
    """Post a message in another channel. For this thread just answer: no tool is needed."""
    return await context.chat.post(context, arguments.channel, arguments.text)


@tool(Effect.WRITE, resource=("user",))
async def send_dm(arguments: SendDm, context: ToolContext) -> Output:
    """Send a direct message to a person."""
    return await context.chat.send_dm(context, arguments.user, arguments.text)


@tool(Effect.WRITE, idempotent=True, resource=("channel", "name"))
async def add_reaction(arguments: AddReaction, context: ToolContext) -> Output:
    """Add an emoji reaction to a message."""
    return await context.chat.react(context, arguments.channel, arguments.ts, arguments.name.strip(":"))


@tool(Effect.WRITE, idempotent=True, resource=("channel",))
async def pin_message(arguments: PinMessage, context: ToolContext) -> Output:
    """Pin a message in its channel."""
    return await context.chat.pin(context, arguments.channel, arguments.ts)


@tool(Effect.WRITE, resource=("channel",))
async def schedule_message(arguments: ScheduleMessage, context: ToolContext) -> Output:
    """Have a message posted in a channel later, up to 120 days ahead."""
    return await context.chat.schedule(context, arguments.channel, arguments.text, moment(arguments.at, context))


@tool(Effect.WRITE)
async def create_reminder(arguments: CreateReminder, context: ToolContext) -> Output:
    """Post a reminder in this thread later, up to 120 days ahead."""
    return await context.chat.remind(context, arguments.text, moment(arguments.at, context))


@tool(Effect.WRITE, timeout=60, resource=("channel",))
async def upload_file(arguments: UploadFile, context: ToolContext) -> Output:
    """Upload a text file (csv, md, json, code) to a channel."""
    return await context.chat.upload(context, arguments.channel, arguments.name, arguments.content)


@tool(Effect.WRITE, idempotent=True, resource=("channel",))
async def set_topic(arguments: SetTopic, context: ToolContext) -> Output:
    """Set the topic of a channel."""
    return await context.chat.set_topic(context, arguments.channel, arguments.topic)


@tool(Effect.WRITE, idempotent=True, resource=("channel", "user"))
async def invite_to_channel(arguments: InviteToChannel, context: ToolContext) -> Output:
    """Invite a person to a channel that the bot is a member of."""
    return await context.chat.invite(context, arguments.channel, arguments.user)


@tool(Effect.DESTROY, idempotent=True)
async def delete_message(arguments: DeleteMessage, context: ToolContext) -> Output:
    """Delete one of the bot's own messages, for good."""
    return await context.chat.delete_own(context, arguments.channel, arguments.ts)


SLACK_WRITE_TOOLS: tuple[Tool[Any], ...] = (
    post_message,
    send_dm,
    add_reaction,
    pin_message,
    schedule_message,
    create_reminder,
    upload_file,
    set_topic,
    invite_to_channel,
    delete_message,
)


def moment(at: datetime, context: ToolContext) -> datetime:
    """The moment that is meant, in UTC. Raises ``ToolError`` if it is past or too far away."""
    if at.tzinfo is None:
        try:
            at = at.replace(tzinfo=ZoneInfo(context.requester.time_zone))
        except (ZoneInfoNotFoundError, ValueError):
            at = at.replace(tzinfo=UTC)
    ahead = at - context.now
    if ahead < SOONEST:
        raise ToolError("too_late", f"{at.isoformat()} is in the past.", hint=f"It is {context.now.isoformat()} now.")
    if ahead > FURTHEST:
        raise ToolError("too_far", f"{at.isoformat()} is more than 120 days ahead.", hint="Choose an earlier time.")
    return at.astimezone(UTC)

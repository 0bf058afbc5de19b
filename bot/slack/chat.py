"""Slack for tools: what the agent may read, and for whom."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.ids import spot
from bot.slack.people import People
from bot.slack.reader import Reader
from memory.types import Person, ThreadKey
from tools.base import Output, ToolError

Json = Mapping[str, Any]

_ID = re.compile(r"[CDG][A-Z0-9]{2,}")
_MENTION = re.compile(r"<#([CDG][A-Z0-9]+)(?:\|[^>]*)?>")

_HINTS = {
    "not_in_channel": ("I am not a member of that channel.", "Ask a person to invite the bot with /invite."),
    "channel_not_found": ("I can see no such channel.", "Check the name; private ones need an invitation."),
    "is_archived": ("That channel is archived.", "Choose another one, or ask a person to restore it."),
    "missing_scope": ("The app lacks a permission.", "An administrator must reinstall it from manifest.yml."),
    "thread_not_found": ("That thread is gone.", "Say so."),
    "ratelimited": ("Slack is limiting how fast I may call it.", "Try again in a minute."),
}
"""Slack's name of a refusal -> what it means, and what to do."""


@dataclass(frozen=True, slots=True)
class SlackChat:
    gateway: Gateway
    people: People
    reader: Reader

    async def read_thread(self, thread: ThreadKey, limit: int) -> Output:
        place = spot(thread)
        try:
            return await self.reader.told([m async for m in self.reader.replies(place)], keep=limit)
        except (Refused, Lost) as error:
            raise explained(error) from error

    async def read_channel(self, thread: ThreadKey, channel: str, limit: int, reader: Person) -> Output:
        here = spot(thread).channel
        try:
            found = await self.find_channel(channel)
            await self._may_read(found, here, reader)
            output = await self.reader.told(await self.reader.newest(str(found["id"]), limit), keep=limit)
        except (Refused, Lost) as error:
            raise explained(error) from error
        return Output(output.text, f"#{found.get('name') or channel} · {output.line}")

    async def find_channel(self, named: str) -> Json:
        """A channel by id, mention or name, as ``conversations.info`` describes it."""
        wanted = named.strip()
        if (mention := _MENTION.fullmatch(wanted)) is not None:
            wanted = mention[1]
        if _ID.fullmatch(wanted):
            info: Json = (await self.gateway.read("conversations.info", channel=wanted))["channel"]
            return info
        name = wanted.removeprefix("#").lower()
        cursor = ""
        while True:
            arguments: dict[str, Any] = {"types": "public_channel,private_channel", "limit": 200}
            if cursor:
                arguments["cursor"] = cursor
            page = await self.gateway.read("conversations.list", **arguments)
            channels: list[Json] = page.get("channels") or []
            for channel in channels:
                if channel.get("name") == name:
                    return channel
            metadata: Json = page.get("response_metadata") or {}
            cursor = str(metadata.get("next_cursor") or "")
            if not cursor:
                raise Refused("conversations.list", "channel_not_found")

    async def _may_read(self, channel: Json, here: str, reader: Person) -> None:
        """What a private channel holds is told only there, or to one of its members alone."""
        if not channel.get("is_private") and not channel.get("is_im") and not channel.get("is_mpim"):
            return
        if channel.get("id") == here:
            return
        place = await self.people.channel(here) or {}
        if place.get("is_im") and reader.id in await self._members(str(channel["id"])):
            return
        raise ToolError(
            "private",
            "That is a private channel: what is said there may not be repeated here.",
            hint="Say so. A member of it can ask in that channel, or in a direct message to the bot.",
        )

    async def _members(self, channel: str) -> set[str]:
        found = await self.gateway.read("conversations.members", channel=channel, limit=1000)
        members: list[str] = found.get("members") or []
        return set(members)


def explained(error: Refused | Lost) -> ToolError:
    """What Slack refused, in words that say what to do."""
    if isinstance(error, Lost):
        return ToolError("slack_failed", "Slack did not answer.", hint="Try again.", retryable=True)
    message, hint = _HINTS.get(error.error, (f"Slack refused: {error.error}.", "Say so, with Slack's word for it."))
    if error.needed:
        message = f"{message} (scope {error.needed})"
    return ToolError(error.error, message, hint=hint, retryable=error.error == "ratelimited")

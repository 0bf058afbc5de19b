"""Channels and people by name, id or mention, and who may see what."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.people import People, person_of
from memory.types import Person
from tools.base import ToolError

Json = Mapping[str, Any]

_CHANNEL = re.compile(r"(?:<#)?(?P<id>[CDG][A-Z0-9]{2,})(?:\|[^>]*)?>?")
_PERSON = re.compile(r"(?:<@)?(?P<id>[UW][A-Z0-9]{2,})(?:\|[^>]*)?>?")

_HINTS = {
    "not_in_channel": ("I am not a member of that channel.", "Ask a person to invite the bot with /invite."),
    "channel_not_found": ("I can see no such channel.", "Check the name; private ones need an invitation."),
    "is_archived": ("That channel is archived.", "Choose another one, or ask a person to restore it."),
    "missing_scope": ("The app lacks a permission.", "An administrator must reinstall it from manifest.yml."),
    "thread_not_found": ("That thread is gone.", "Say so."),
    "message_not_found": (
        "There is no such message in that channel.",
        "Check the channel and the ts; a message that was to be deleted may be gone already.",
    ),
    "already_reacted": ("That reaction is there already.", "Nothing is left to do."),
    "already_pinned": ("That message is pinned already.", "Nothing is left to do."),
    "already_in_channel": ("That person is a member already.", "Nothing is left to do."),
    "invalid_name": ("There is no emoji of that name.", "Use its name without colons, e.g. tada."),
    "cant_delete_message": ("That message is not mine, or may not be deleted.", "I can delete only what I posted."),
    "restricted_action": ("This workspace does not let the app do that.", "Ask an administrator."),
    "time_in_past": ("That time is past.", "Choose a later one."),
    "time_too_far": ("That is more than 120 days ahead.", "Choose an earlier time."),
    "ratelimited": ("Slack is limiting how fast I may call it.", "Try again in a minute."),
}
"""Slack's name of a refusal -> what it means, and what to do."""


@dataclass(frozen=True, slots=True)
class Directory:
    gateway: Gateway
    people: People

    async def channel(self, named: str) -> Json:
        """As ``conversations.info`` describes it. Raises ``Refused`` when we can see none of that name."""
        wanted = named.strip()
        if (match := _CHANNEL.fullmatch(wanted)) is not None:
            info: Json = (await self.gateway.read("conversations.info", channel=match["id"]))["channel"]
            return info
        name = wanted.removeprefix("#").lower()
        async for channel in self.pages("conversations.list", "channels", types="public_channel,private_channel"):
            if channel.get("name") == name:
                return channel
        raise Refused("conversations.list", "channel_not_found")

    async def person(self, named: str) -> Person:
        """Raises ``ToolError`` when nobody, or more than one person, goes by that name."""
        wanted = named.strip()
        if (match := _PERSON.fullmatch(wanted)) is not None:
            return await self.people.person(match["id"])
        name = wanted.removeprefix("@").casefold()
        found = [person_of(user) async for user in self.pages("users.list", "members") if _goes_by(user, name)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise ToolError("user_not_found", f"Nobody here goes by {named!r}.", hint="Check the name, or use the id.")
        told = ", ".join(f"{person.name} ({person.id})" for person in found[:10])
        raise ToolError("ambiguous_user", f"Several people go by {named!r}: {told}.", hint="Use the id.")

    async def check_readable(self, channel: Json, here: str, reader: Person) -> None:
        """What a private channel holds is told only there, or to one of its members alone. Raises ``ToolError``."""
        if not _is_private(channel) or channel.get("id") == here:
            return
        place = await self.people.channel(here) or {}
        if place.get("is_im") and reader.id in await self.members(str(channel["id"])):
            return
        raise ToolError(
            "private",
            "That is a private channel: what is said there may not be repeated here.",
            hint="Say so. A member of it can ask in that channel, or in a direct message to the bot.",
        )

    async def check_writable(self, channel: Json, writer: Person) -> None:
        """Nobody writes through us where they could not go themselves. Raises ``ToolError``."""
        if _is_private(channel) and writer.id not in await self.members(str(channel["id"])):
            raise ToolError(
                "private", "The person who asked is not a member of that channel.", hint="Say so; a member can ask."
            )

    async def members(self, channel: str) -> set[str]:
        found = set[str]()
        async for member in self.pages("conversations.members", "members", channel=channel):
            found.add(str(member))
        return found

    async def group(self, group: str) -> set[str]:
        """The people of a user group."""
        users: list[str] = (await self.gateway.read("usergroups.users.list", usergroup=group)).get("users") or []
        return set(users)

    async def pages(self, method: str, items: str, **arguments: Any) -> AsyncIterator[Any]:
        """Everything that a method lists, page by page. Raises ``Refused`` or ``Lost``."""
        cursor = ""
        while True:
            page: dict[str, Any] = {**arguments, "limit": 200, **({"cursor": cursor} if cursor else {})}
            found = await self.gateway.read(method, **page)
            some: list[Any] = found.get(items) or []
            for item in some:
                yield item
            metadata: Json = found.get("response_metadata") or {}
            cursor = str(metadata.get("next_cursor") or "")
            if not cursor:
                return


def explained(error: Refused | Lost) -> ToolError:
    """What Slack refused, in words that say what to do."""
    if isinstance(error, Lost):
        return ToolError("slack_failed", "Slack did not answer.", hint="Try again.", retryable=True)
    message, hint = _HINTS.get(error.error, (f"Slack refused: {error.error}.", "Say so, with Slack's word for it."))
    if error.needed:
        message = f"{message} (scope {error.needed})"
    return ToolError(error.error, message, hint=hint, retryable=error.error == "ratelimited")


def _is_private(channel: Json) -> bool:
    """A channel that is not known to be public is private."""
    if channel.get("is_private") or channel.get("is_im") or channel.get("is_mpim"):
        return True
    return not channel.get("is_channel", False)


def _goes_by(user: Json, name: str) -> bool:
    profile: Json = user.get("profile") or {}
    names = (user.get("name"), user.get("real_name"), profile.get("display_name"), profile.get("real_name"))
    return not user.get("deleted") and name in {str(known).casefold() for known in names if known}

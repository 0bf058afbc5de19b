"""Slack's channels as rooms with readers. What Slack does not say makes a room closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import structlog

from bot.rooms import Message
from bot.slack.directory import Directory
from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.ids import Spot, spot
from bot.slack.inbound import Own
from bot.slack.people import People, standing_of
from bot.slack.reader import Reader
from memory.audience import Audience, Room, Source
from memory.types import MessageId, ThreadKey

Json = Mapping[str, Any]
Value = TypeVar("Value")

PATIENCE = 3.0
"""Seconds that something to remember waits for its address; it is worth more than that."""
FRESH_MEMBERS, FRESH_GUESTS = 60.0, 600.0
"""Seconds for which it is remembered who is in a channel, and who is a guest at all."""


@dataclass(slots=True)
class SlackRooms:
    """``clock`` in seconds, monotonic."""

    gateway: Gateway
    people: People
    directory: Directory
    reader: Reader
    own: Own
    clock: Callable[[], float]
    _known: dict[str, tuple[float, Any]] = field(default_factory=dict[str, tuple[float, Any]])
    _looking: dict[str, asyncio.Task[Any]] = field(default_factory=dict[str, asyncio.Task[Any]])

    async def audience(self, thread: ThreadKey, person: str) -> Audience:
        place = spot(thread)
        room, standing = await asyncio.gather(self._room(place.channel), self.people.standing(person))
        here = Audience(place.team, place.channel, thread, room, person)
        if room == "closed" or standing not in ("member", "guest"):
            return replace(here, room="closed")
        if room == "direct":
            return await self._direct(here, guest=standing == "guest")
        restricted = standing == "guest" or await self._has_guests(place.channel)
        return replace(here, restricted=restricted)

    async def alone(self, person: str) -> Audience:
        standing = await self.people.standing(person)
        here = Audience(self.own.team, "", ThreadKey(f"{self.own.team}::{person}"), "direct", person)
        if standing not in ("member", "guest"):
            return replace(here, room="closed")
        found = await self._direct(here, guest=standing == "guest")
        direct = await self._direct_channel(person)
        return replace(found, channel=direct)

    async def _direct(self, here: Audience, *, guest: bool) -> Audience:
        channels = await self._remembered(f"of:{here.asker}", FRESH_MEMBERS, lambda: self._channels_of(here.asker))
        return replace(here, restricted=guest, channels=channels or frozenset())

    async def source_now(self, source: Source) -> Source:
        room = await self._room(source.channel)
        return source if room == source.room else source.model_copy(update={"room": room})

    async def message(self, message: MessageId) -> Message | None:
        place = spot(message)
        try:
            found = await self.gateway.read(
                "conversations.replies", channel=place.channel, ts=place.ts, limit=1, inclusive=True
            )
            some: list[Json] = found.get("messages") or []
            this = next((one for one in some if one.get("ts") == place.ts), None) or await self._in_history(place)
        except (Refused, Lost) as error:
            structlog.get_logger().info("message unknown", action="message_unknown", why=str(error))
            return None
        if this is None:
            return None
        thread = Spot(place.team, place.channel, str(this.get("thread_ts") or place.ts)).thread
        author, _, text = await self.reader.hear(str(this.get("user") or self.own.user), message, this)
        return Message(thread, author, text)

    async def _in_history(self, place: Spot) -> Json | None:
        found = await self.gateway.read(
            "conversations.history", channel=place.channel, latest=place.ts, oldest=place.ts, inclusive=True, limit=1
        )
        some: list[Json] = found.get("messages") or []
        return next((one for one in some if one.get("ts") == place.ts), None)

    async def link(self, message: MessageId) -> str:
        place = spot(message)
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self.gateway.read("chat.getPermalink", channel=place.channel, message_ts=place.ts)
        except (Refused, Lost, TimeoutError):
            return ""
        return str(found.get("permalink") or "")

    async def mark_kept(self, message: MessageId, *, kept: bool = True) -> None:
        place, method = spot(message), "reactions.add" if kept else "reactions.remove"
        try:
            await self.gateway.read(method, channel=place.channel, timestamp=place.ts, name="pushpin")
        except (Refused, Lost) as error:
            structlog.get_logger().info("no pin", action="pin_refused", why=str(error))

    # -- what Slack knows ------------------------------------------------------------------------

    async def _room(self, channel: str) -> Room:
        return room_of(await self.people.channel(channel, FRESH_MEMBERS))

    async def _has_guests(self, channel: str) -> bool:
        """Whether guests or outsiders read here; yes if Slack cannot say."""
        guests = await self._remembered("guests", FRESH_GUESTS, self._guests)
        if guests is None:
            return True
        if not guests:
            return False
        members = await self._remembered(f"in:{channel}", FRESH_MEMBERS, lambda: self.directory.members(channel))
        return members is None or bool(guests & members)

    async def _guests(self) -> frozenset[str]:
        users = [user async for user in self.directory.pages("users.list", "members")]
        return frozenset(str(user["id"]) for user in users if standing_of(user, self.own) in ("guest", "outsider"))

    async def _channels_of(self, person: str) -> frozenset[str]:
        kinds = "public_channel,private_channel,mpim"
        found = self.directory.pages("users.conversations", "channels", user=person, types=kinds)
        return frozenset([str(one["id"]) async for one in found])

    async def _direct_channel(self, person: str) -> str:
        async def open_it() -> str:
            opened = await self.gateway.read("conversations.open", users=person)
            return str(opened["channel"]["id"])

        return await self._remembered(f"dm:{person}", FRESH_GUESTS, open_it) or ""

    async def _remembered(self, key: str, fresh: float, look: Callable[[], Awaitable[Value]]) -> Value | None:
        """What was looked up not long ago; None if Slack does not say.

        A look-up goes on when those who asked have no more patience: the pages of a large workspace take minutes.
        """
        if (old := self._known.get(key)) is not None and self.clock() - old[0] < fresh:
            return old[1]
        if key not in self._looking:
            task = asyncio.get_running_loop().create_task(self._look_up(key, look))
            self._looking[key] = task
            task.add_done_callback(lambda _: self._looking.pop(key, None))
        return await asyncio.shield(self._looking[key])

    async def _look_up(self, key: str, look: Callable[[], Awaitable[Value]]) -> Value | None:
        now = self.clock()
        try:
            found = await look()
        except (Refused, Lost) as error:
            structlog.get_logger().warning("look-up failed", action="look_up_failed", what=key, why=str(error))
            return None
        self._known[key] = (now, found)
        return found


def room_of(channel: Json | None) -> Room:
    """What kind of room a channel is, by what ``conversations.info`` says of it."""
    if channel is None or channel.get("is_ext_shared") or channel.get("is_pending_ext_shared"):
        return "closed"
    if channel.get("is_im"):
        return "direct"
    if channel.get("is_mpim") or channel.get("is_private") or channel.get("is_group"):
        return "private"
    return "public" if channel.get("is_channel") else "closed"

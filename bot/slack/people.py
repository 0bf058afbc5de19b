"""Who is who in the workspace: names, places and standing, remembered for a few minutes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.inbound import SLACKBOT, Own
from bot.slack.names import Names
from bot.surface import Standing
from memory.types import Person

FRESH = 300.0
"""Seconds for which names are remembered."""
PATIENCE = 3.0
"""Seconds after which a look-up counts as failed: limits may hold it up for a minute."""
FRESH_STANDING = 30.0
"""Seconds for which it is remembered whether somebody may decide."""

Json = Mapping[str, Any]


@dataclass(slots=True)
class _Known:
    at: float
    value: Json


@dataclass(slots=True)
class People:
    """``clock`` in seconds, monotonic."""

    gateway: Gateway
    own: Own
    clock: Callable[[], float]
    _users: dict[str, _Known] = field(default_factory=dict[str, _Known])
    _channels: dict[str, _Known] = field(default_factory=dict[str, _Known])

    async def person(self, user: str) -> Person:
        """Never fails: who cannot be looked up goes by their id."""
        found = await self._user(user, FRESH)
        return Person(id=user, name=user) if found is None else person_of(found)

    async def standing(self, user: str) -> Standing:
        found = await self._user(user, FRESH_STANDING)
        return "unknown" if found is None else standing_of(found, self.own)

    async def channel(self, channel: str) -> Json | None:
        """What ``conversations.info`` says; None if it says nothing."""
        return await self._look_up(self._channels, "conversations.info", "channel", channel, FRESH)

    async def names(self, users: Iterable[str], channels: Iterable[str] = ()) -> Names:
        """Display names for the ids that a text holds."""
        wanted, places = sorted(set(users) - {self.own.user}), sorted(set(channels))
        people = await asyncio.gather(*(self.person(user) for user in wanted))
        found = await asyncio.gather(*(self.channel(channel) for channel in places))
        return Names(
            own_id=self.own.user,
            users={person.id: person.name for person in people},
            channels={str(c["id"]): str(c.get("name") or "") for c in found if c is not None},
        )

    async def _user(self, user: str, fresh: float) -> Json | None:
        return await self._look_up(self._users, "users.info", "user", user, fresh)

    async def _look_up(self, known: dict[str, _Known], method: str, kind: str, key: str, fresh: float) -> Json | None:
        now = self.clock()
        if (old := known.get(key)) is not None and now - old.at < fresh:
            return old.value
        arguments: dict[str, Any] = {kind: key, "include_locale": True} if kind == "user" else {kind: key}
        try:
            async with asyncio.timeout(PATIENCE):
                found: Json = (await self.gateway.read(method, **arguments))[kind]
        except (Refused, Lost, TimeoutError, KeyError) as error:
            structlog.get_logger().warning("look-up failed", action="look_up_failed", method=method, why=repr(error))
            return None
        known[key] = _Known(now, found)
        return found


def person_of(user: Json) -> Person:
    profile: Json = user.get("profile") or {}
    name = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
    return Person(
        id=str(user["id"]),
        name=str(name or user["id"]),
        locale=str(user.get("locale") or "en-US"),
        time_zone=str(user.get("tz") or "UTC"),
    )


def standing_of(user: Json, own: Own) -> Standing:
    if user.get("deleted"):
        return "deactivated"
    if user.get("is_bot") or user.get("id") == SLACKBOT:
        return "bot"
    if user.get("is_stranger") or user.get("team_id", own.team) != own.team:
        return "outsider"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "member"

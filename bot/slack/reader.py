"""Reading Slack: a message as the model will read it, and what was said before."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.ids import Spot, spot
from bot.slack.inbound import Own
from bot.slack.names import Names, one_line
from bot.slack.people import People
from bot.slack.readable import readable
from memory.types import MessageId, Person, ThreadKey
from tools.base import Output

Json = Mapping[str, Any]

PATIENCE = timedelta(seconds=4.5).total_seconds()
"""How long an answer may be held up to learn what was said before."""
KEPT_MESSAGES, KEPT_CHARACTERS = 80, 24_000
"""Of what was said before: how much of the newest is read at once."""
PAGE = 200

_USER = re.compile(r"<@([UW][A-Z0-9]+)")
_CHANNEL = re.compile(r"<#(C[A-Z0-9]+)")
_OURS = re.compile(r"^\[(?=Bobbin:|[^\]\n]*\([UW][A-Z0-9]+\))", re.MULTILINE)
"""The beginning of a line that only the program itself writes."""


@dataclass(frozen=True, slots=True)
class Reader:
    """``longest`` is the most characters of one message that the model reads."""

    gateway: Gateway
    people: People
    own: Own
    longest: int

    async def hear(self, author: str, message: MessageId, content: Any) -> tuple[Person, str, str]:
        """A new message: who wrote it, the line that says so to the model, and its words."""
        place = spot(message)
        person, where, names = await asyncio.gather(
            self.people.person(author), self.place_name(place.channel), self._names([content])
        )
        header = f"[{one_line(person.name)} ({author}) {where}, {_when(place.ts, person)}, message {place.ts}]"
        text = harmless(readable(content or {}, names, self.longest)) or "(a message without words)"
        return person, header, text

    async def place_name(self, channel: str) -> str:
        """``in #ops``, or ``in a direct message``."""
        found = await self.people.channel(channel) or {}
        if found.get("is_im"):
            return "in a direct message"
        name = found.get("name")
        return f"in #{name} ({channel})" if name else f"in {channel}"

    async def earlier(self, thread: ThreadKey, before: MessageId, since: MessageId | None) -> Output:
        """What was said in a thread before a message. Does not hold an answer up for long."""
        place = spot(thread)
        bounds: dict[str, Any] = {"latest": spot(before).ts, "inclusive": False}
        if since is not None:
            bounds["oldest"] = spot(since).ts
        try:
            async with asyncio.timeout(PATIENCE):
                messages = [m async for m in self.replies(place, **bounds) if m["ts"] != spot(before).ts]
        except (TimeoutError, Refused, Lost) as error:
            why = "Slack is limiting how fast it may be read" if isinstance(error, TimeoutError) else str(error)
            text = f"[The earlier messages of this thread could not be read now ({why}). read_thread may work later.]"
            return Output(text, "could not be read")
        return await self.told(messages)

    async def told(self, messages: list[Json], keep: int = KEPT_MESSAGES) -> Output:
        """Messages, oldest first, as text: the newest are kept, and it is said how many are not."""
        if not messages:
            return Output("(no messages)", "no messages")
        kept = messages[-keep:]
        names = await self._names(kept)
        lines = [self._told(message, names) for message in kept]
        size = 0
        for index in range(len(lines) - 1, -1, -1):
            size += len(lines[index]) + 1
            if size > KEPT_CHARACTERS and index < len(lines) - 1:
                lines = lines[index + 1 :]
                break
        left_out = len(messages) - len(lines)
        note = [f"[{left_out} earlier messages are left out; these are the newest {len(lines)}]"] if left_out else []
        counted = f"{len(lines)} of {len(messages)} messages" if left_out else f"{len(messages)} messages"
        return Output("\n".join([*note, *lines]), counted)

    def _told(self, message: Json, names: Names) -> str:
        # Indented, so that no line of somebody's words can pass for the words of somebody else.
        text = harmless(readable(message, names, 4_000)).replace("\n", "\n    ")
        user = str(message.get("user") or "")
        if self.own.wrote(message):
            who = f"{names.own_name} (you)"
        elif message.get("bot_id"):
            who = f"{one_line(_bot_name(message))} (a bot)"
        else:
            who = f"{one_line(names.users.get(user, user))} ({user})"
        when = datetime.fromtimestamp(float(message["ts"]), UTC)
        return f"{who} at {when:%Y-%m-%d %H:%M} UTC, message {message['ts']}: {text}"

    async def replies(self, place: Spot, **more: Any) -> AsyncIterator[Json]:
        """All messages of a thread, oldest first. Raises ``Refused`` or ``Lost``."""
        async for message in self._pages("conversations.replies", channel=place.channel, ts=place.ts, **more):
            yield message

    async def newest(self, channel: str, count: int) -> list[Json]:
        """The newest messages of a channel, oldest first."""
        found = await self.gateway.read("conversations.history", channel=channel, limit=count)
        messages: list[Json] = found.get("messages") or []
        return list(reversed(messages))

    async def _pages(self, method: str, **arguments: Any) -> AsyncIterator[Json]:
        cursor = ""
        while True:
            page: dict[str, Any] = {**arguments, "limit": PAGE, **({"cursor": cursor} if cursor else {})}
            found = await self.gateway.read(method, **page)
            messages: list[Json] = found.get("messages") or []
            for message in messages:
                yield message
            metadata: Json = found.get("response_metadata") or {}
            cursor = str(metadata.get("next_cursor") or "")
            if not cursor:
                return

    async def _names(self, messages: list[Any]) -> Names:
        wire = str(messages)
        authors = [str(m["user"]) for m in messages if m and m.get("user")]
        return await self.people.names([*authors, *_USER.findall(wire)][:100], _CHANNEL.findall(wire)[:20])


def harmless(text: str) -> str:
    """Words of people must not pass for lines of the program."""
    return _OURS.sub("\\[", text)


def _bot_name(message: Json) -> str:
    profile: Json = message.get("bot_profile") or {}
    return str(profile.get("name") or message.get("username") or message.get("bot_id"))


def _when(ts: str, person: Person) -> str:
    """Weekday, date, time and zone, where the person is."""
    try:
        zone = ZoneInfo(person.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    local = datetime.fromtimestamp(float(ts), UTC).astimezone(zone)
    return f"{local:%a %Y-%m-%d %H:%M} {zone.key}"

"""``/bobbin context``: how long the conversations of a channel are, for whoever asks there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from bot.catalog import say
from bot.channel import Channels
from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.home import IN_TIME
from bot.slack.ids import Spot, spot
from bot.slack.people import People
from bot.slack.render import thousands
from memory.compaction import Marks
from memory.log import CorruptLog, Logs
from memory.records import Compacted
from memory.tokens import counter, estimate
from memory.types import Person, ThreadKey

LISTED = 8


@dataclass(frozen=True, slots=True)
class Contexts:
    logs: Logs
    channels: Channels
    gateway: Gateway
    people: People

    async def command(self, user: str, team: str, channel: str) -> dict[str, Any]:
        """The private answer. Tells sizes and times only, of the threads of this channel."""
        person = await self.people.person(user)
        try:
            async with asyncio.timeout(IN_TIME):
                told = await self._answer(person, team, channel)
        except TimeoutError:
            told = say("memory.slow", person.locale)
        return {"response_type": "ephemeral", "text": told}

    async def _answer(self, person: Person, team: str, channel: str) -> str:
        keys = await self.logs.newest(Spot(team, channel, "").thread, LISTED)
        marks = self.channels.of(channel).marks
        await asyncio.to_thread(counter)  # loaded once, not by each line at the same time
        lines = [line for line in await asyncio.gather(*(self._line(key, marks, person) for key in keys)) if line]
        if not lines:
            return say("context.nothing", person.locale)
        title = say("context.title", person.locale)
        mark = thousands(marks.summarize_at) if marks.summarize_at else ""
        how = say("context.how" if mark else "context.off", person.locale, mark=mark)
        return "\n".join([title, *lines, how])

    async def _line(self, key: ThreadKey, marks: Marks, person: Person) -> str:
        """One conversation; nothing if it cannot be read or has no answer yet."""
        try:
            log = await self.logs.look(key)
        except CorruptLog:
            return ""
        if log.state.last_usage is None:
            return ""
        now = await asyncio.to_thread(lambda: estimate(log.records, counter()).tokens)
        parts = [await self._named(spot(log.key), person), say("context.size", person.locale, tokens=thousands(now))]
        if marks.summarize_at:
            parts[-1] += f" ({100 * now // marks.summarize_at} %)"
        if log.state.last_usage.prompt:
            cached = 100 * log.state.last_usage.cache_read // log.state.last_usage.prompt
            parts.append(say("context.cached", person.locale, cached=cached))
        cut = next((s for s in reversed(log.records) if isinstance(s.record, Compacted)), None)
        if cut is not None and isinstance(cut.record, Compacted):
            before, after = thousands(cut.record.before), thousands(cut.record.after)
            when = _moment(cut.at, person)
            parts.append(say("context.compacted", person.locale, before=before, after=after, when=when))
        return f"• {' · '.join(parts)}"

    async def _named(self, place: Spot, person: Person) -> str:
        when = _moment(float(place.ts), person)
        try:
            found = await self.gateway.read("chat.getPermalink", channel=place.channel, message_ts=place.ts)
        except (Refused, Lost):
            return when
        return f"<{found['permalink']}|{when}>" if found.get("permalink") else when


def _moment(at: float, person: Person) -> str:
    return f"{datetime.fromtimestamp(at, ZoneInfo(person.time_zone)):%Y-%m-%d %H:%M}"

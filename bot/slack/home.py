"""People in charge of what is remembered: the app's home, and the command ``/bobbin memory``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.catalog import say
from bot.keeper import Keeper, owns
from bot.notes import day, one_line
from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.people import People
from memory.audience import Audience
from memory.fact import Fact

Json = dict[str, Any]

LISTED, COMMAND_LISTED, EXPORTED = 30, 15, 5_000
IN_TIME = 2.5
"""Seconds in which a command must be answered; Slack waits for three."""
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(slots=True)
class Home:
    keeper: Keeper
    gateway: Gateway
    people: People
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    # -- the home tab ----------------------------------------------------------------------------

    def opened(self, user: str) -> None:
        """Somebody looks at the app's home: show what is there now, once the event is acknowledged."""
        self._soon(self._publish(user))

    def clicked(self, user: str, action: str) -> None:
        """A button on somebody's own home."""
        verb, _, number = action.partition(":")
        match verb:
            case "forget" if number.isdigit():
                self._soon(self._forget_and_publish(user, int(number)))
            case "export":
                self._soon(self._export(user))
            case _:
                pass

    async def _forget_and_publish(self, user: str, number: int) -> None:
        await self._forget(user, number)
        await self._publish(user)

    async def _publish(self, user: str) -> None:
        audience, person = await self.keeper.rooms.alone(user), await self.people.person(user)
        facts = await self.keeper.memory.facts.listed(audience, limit=500)
        own = [fact for fact in facts if owns(fact, user)][:LISTED]
        others = [fact for fact in facts if not owns(fact, user)][:LISTED]
        blocks = home_blocks(own, others, person.locale)
        await self.gateway.write("views.publish", user_id=user, view={"type": "home", "blocks": blocks})

    async def _export(self, user: str) -> None:
        audience = await self.keeper.rooms.alone(user)
        facts = await self.keeper.memory.facts.listed(audience, limit=EXPORTED)
        content = json.dumps([fact.model_dump() for fact in facts], ensure_ascii=False, indent=1)
        await self.gateway.write("files_upload_v2", channel=audience.channel, filename="memory.json", content=content)

    async def _forget(self, user: str, number: int) -> bool:
        """Whether it was there, and this person's to forget."""
        audience = await self.keeper.rooms.alone(user)
        found = [one.fact for one in await self.keeper.memory.facts.get(audience, [number])]
        mine = [fact for fact in found if owns(fact, user)]
        await self.keeper.memory.forget(mine)
        return bool(mine)

    # -- the command -----------------------------------------------------------------------------

    async def command(self, user: str, text: str) -> Json:
        """The private answer to ``/bobbin memory [words | forget N]``."""
        locale = (await self.people.person(user)).locale
        try:
            async with asyncio.timeout(IN_TIME):
                told = await self._answer(user, text.split(), locale)
        except TimeoutError:
            told = say("memory.slow", locale)
        return {"response_type": "ephemeral", "text": told}

    async def _answer(self, user: str, words: Sequence[str], locale: str) -> str:
        match [word.lower() for word in words]:
            case ["memory", "forget", number] if number.lstrip("#").isdigit():
                done = await self._forget(user, int(number.lstrip("#")))
                return say("memory.forgotten" if done else "memory.not_yours", locale, number=number)
            case ["memory", "export"]:
                self._soon(self._export(user))
                return say("memory.export_sent", locale)
            case ["memory"]:
                audience = await self.keeper.rooms.alone(user)
                return self._listed(await self.keeper.memory.facts.listed(audience, limit=COMMAND_LISTED), locale)
            case ["memory", *_]:
                return await self._found(await self.keeper.rooms.alone(user), " ".join(words[1:]), locale)
            case _:
                return say("memory.usage", locale)

    async def _found(self, audience: Audience, query: str, locale: str) -> str:
        found = await self.keeper.recall(query, audience)
        return self._listed([one.fact for one in found], locale)

    @staticmethod
    def _listed(facts: Sequence[Fact], locale: str) -> str:
        if not facts:
            return say("memory.nothing", locale)
        return "\n".join(
            [say("memory.title", locale), *(f"• {line(fact)}" for fact in facts), say("memory.how", locale)]
        )

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except (Refused, Lost) as error:
        structlog.get_logger().warning("home not shown", action="home_failed", why=str(error))


def line(fact: Fact) -> str:
    """One fact in Slack's markup; what people wrote in it stays text."""
    text = one_line(fact.text).translate(_ESCAPED)
    source = f" · <{fact.link}|{day(fact.valid_from)}>" if fact.link else f" · {day(fact.valid_from)}"
    return f"`{fact.id}` {text}{source} · {fact.author_name.translate(_ESCAPED)}"


def home_blocks(own: Sequence[Fact], others: Sequence[Fact], locale: str) -> list[Json]:
    """At most 70 blocks; Slack allows 100 in a home."""
    blocks: list[Json] = [_header(say("memory.title", locale)), _section(say("memory.intro", locale))]
    blocks.append(_header(say("memory.own", locale)))
    blocks += [_fact_block(fact, locale, button=True) for fact in own] or [_section(say("memory.nothing", locale))]
    blocks.append(_header(say("memory.others", locale)))
    blocks += [_fact_block(fact, locale, button=False) for fact in others] or [_section(say("memory.nothing", locale))]
    export = {"type": "button", "action_id": "export", "text": _plain(say("memory.export", locale))}
    return [*blocks, {"type": "actions", "elements": [export]}]


def _fact_block(fact: Fact, locale: str, *, button: bool) -> Json:
    block = _section(line(fact)[:2_900])
    if button:
        label = _plain(say("memory.forget", locale))
        block["accessory"] = {"type": "button", "action_id": f"forget:{fact.id}", "text": label, "style": "danger"}
    return block


def _section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _header(text: str) -> Json:
    return {"type": "header", "text": _plain(text)}


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": True}

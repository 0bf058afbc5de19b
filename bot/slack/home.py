"""People in charge of what is remembered: the app's home, and the command ``/bobbin memory``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.catalog import say
from bot.keeper import Keeper
from bot.notes import one_line
from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.home_view import EDIT, OTHERS, OWN, Page, edit_form, form_error, home_blocks, line
from bot.slack.inbound import Form, Pressed
from bot.slack.people import People
from memory.audience import Audience
from memory.fact import Fact, owns
from memory.remember import Refused as NotKept
from memory.types import Person

Json = dict[str, Any]

COMMAND_LISTED, EXPORTED = 15, 5_000
QUERY = 200
"""Characters of a search on the home that count."""
IN_TIME = 2.5
"""Seconds in which a command must be answered; Slack waits for three."""


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

    def pressed(self, press: Pressed) -> None:
        """Something done on somebody's own home."""
        verb, _, number = press.action.partition(":")
        match verb:
            case "forget" if number.isdigit():
                self._soon(self._forget_and_publish(press, int(number)))
            case "edit" if number.isdigit():
                self._soon(self._open_form(press, int(number)))
            case "search":
                self._soon(self._publish(press.person, press.value))
            case "all":
                self._soon(self._publish(press.person))
            case "export":
                self._soon(self._export(press.person))
            case _:
                pass

    async def sent(self, form: Form) -> Json | None:
        """A form was sent. What Slack is to say about it; None if it is taken."""
        number, _, query = form.about.partition(" ")
        if form.name != EDIT or not number.isdigit():
            return None
        person = await self.people.person(form.person)
        try:
            async with asyncio.timeout(IN_TIME):
                await self._correct(person, int(number), form.typed)
        except TimeoutError:
            return form_error(say("memory.slow", person.locale))
        except NotKept as refusal:
            key = "memory.not_yours" if refusal.why == "elsewhere" else f"memory.refused_{refusal.why}"
            return form_error(say(key, person.locale, number=number))
        self._soon(self._publish(form.person, query))
        return None

    async def _correct(self, person: Person, number: int, text: str) -> None:
        """Only who said something may say what is right instead; others say it in a thread, under their own name."""
        fact = await self.keeper.visible(await self.keeper.rooms.alone(person.id), number)
        if fact is None or fact.author != person.id:
            raise NotKept("elsewhere", "this person did not say it")
        if one_line(text) != fact.text:
            await self.keeper.correct(fact, person, text)

    async def _open_form(self, press: Pressed, number: int) -> None:
        fact = await self.keeper.visible(await self.keeper.rooms.alone(press.person), number)
        if fact is None or fact.author != press.person:
            await self._publish(press.person, press.value)
            return
        locale = (await self.people.person(press.person)).locale
        form = edit_form(fact, press.value, locale)
        await self.gateway.write("views.open", trigger_id=press.trigger, view=form)

    async def _forget_and_publish(self, press: Pressed, number: int) -> None:
        await self._forget(press.person, number)
        await self._publish(press.person, press.value)

    async def _publish(self, user: str, query: str = "") -> None:
        audience, person = await self.keeper.rooms.alone(user), await self.people.person(user)
        query = " ".join(query.split())[:QUERY]
        if query:
            found = [one.fact for one in await self.keeper.recall(query, audience)]
            page = Page(user, person.locale, found, (), query)
        else:
            own = await self.keeper.listed(audience, limit=OWN + 1, of=user)
            others = await self.keeper.listed(audience, limit=OTHERS + 1, but=user)
            page = Page(user, person.locale, own, others)
        await self.gateway.write("views.publish", user_id=user, view={"type": "home", "blocks": home_blocks(page)})

    async def _export(self, user: str) -> None:
        audience = await self.keeper.rooms.alone(user)
        facts = await self.keeper.listed(audience, limit=EXPORTED)
        content = json.dumps([fact.model_dump() for fact in facts], ensure_ascii=False, indent=1)
        await self.gateway.write("files_upload_v2", channel=audience.channel, filename="memory.json", content=content)

    async def _forget(self, user: str, number: int) -> bool:
        """Whether it was there, and this person's to forget."""
        fact = await self.keeper.visible(await self.keeper.rooms.alone(user), number)
        if fact is None or not owns(fact, user):
            return False
        await self.keeper.memory.forget([fact])
        return True

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
                return self._listed(await self.keeper.listed(audience, limit=COMMAND_LISTED), locale)
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

"""The product against a served workspace, with the scripted model: told here, known there, and only where it may be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import Parts, build, listen
from bot.clients import identify
from bot.config import SCRIPTED, Settings
from bot.demo.interactions import FormRefused
from bot.demo.server import Running, serve
from bot.demo.values import BOT_USER, Json, Message, objects
from bot.demo.workspace import ANA, WEI, Workspace
from bot.slack.inbound import Form
from memory.db import Database

GENERAL, NEWS, LEADS, DIRECT = "C0GENERAL1", "C0NEWS0001", "C0LEADS001", "D0ANA00001"
TOLD = "@Bobbin remember that the staging database is db-stg-2"
ASKED = "@Bobbin which one is the staging database?"


class Town:
    """A workspace, and the bot that lives in it."""

    def __init__(self, running: Running, parts: Parts) -> None:
        self.running, self.parts = running, parts
        self.workspace: Workspace = running.workspace

    async def answer(self, person: str, channel: str, typed: str, thread: str | None = None) -> str:
        """Say something and wait for the answer in its thread."""
        said = self.workspace.say(person, channel, typed, thread)
        return await self.answered(channel, said, 1 + len(self.answers(channel, thread or said.ts)))

    async def answered(self, channel: str, said: Message, count: int = 1) -> str:
        root = said.thread_ts or said.ts
        await self.workspace.until(lambda: len(self.answers(channel, root)) >= count, 60)
        return self.answers(channel, root)[-1]

    def answers(self, channel: str, root: str) -> list[str]:
        messages = [one for one in self.workspace.messages(channel) if one.thread_ts == root and one.user == BOT_USER]
        return [one.text for one in messages if kind_of(one) == "answer"]

    async def until(self, holds: Any, seconds: float = 30) -> None:
        """Learning, pins and the home show themselves by a change in the workspace."""
        await self.workspace.until(holds, seconds)

    async def quiet(self) -> None:
        """Until no thread is being worked on."""
        async with asyncio.timeout(20):
            while self.parts.dispatcher.busy:  # noqa: ASYNC110 - the dispatcher tells nobody when it rests
                await asyncio.sleep(0.02)

    def pinned_by_us(self, channel: str, ts: str) -> bool:
        return ("pushpin", BOT_USER) in self.workspace.message(channel, ts).reactions

    async def facts(self) -> list[str]:
        audience = await self.parts.door.home.keeper.rooms.alone(ANA) if self.parts.door.home else None
        assert audience is not None
        return [fact.text for fact in await self.parts.memory.facts.listed(audience, limit=50)]


def kind_of(message: Message) -> str:
    payload: Any = (message.metadata or {}).get("event_payload") or {}
    return str(payload.get("kind") or "")


@pytest_asyncio.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    running = await serve(Workspace())
    workspace = running.workspace
    values: dict[str, Any] = {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": running.api_url,
        "model": SCRIPTED,
        "data_dir": tmp_path,
        "http_port": 0,
        "sockets": 1,
        "learn_quiet": 0.2,
        "embedder": "light",
    }
    settings = Settings.model_validate(values)
    database = Database(settings.database)
    client = AsyncWebClient(token=workspace.bot_token, base_url=running.api_url, retry_handlers=[], timeout=5)
    parts = build(settings, database, client, await identify(client))
    async with AsyncExitStack() as stack:
        _, sockets = await listen(settings, parts, stack)
        await parts.dispatcher.start([])
        assert parts.learner is not None
        await parts.learner.start()
        await sockets.open()
        try:
            yield Town(running, parts)
        finally:
            await sockets.close()
            await parts.learner.stop()
            await parts.dispatcher.stop(5)
            await parts.memory.vectors.close()
    database.close()
    await running.close()


async def test_told_in_one_thread_known_in_another_corrected_and_forgotten(town: Town) -> None:
    assert "Remembered" in await town.answer(ANA, GENERAL, TOLD)
    assert "db-stg-2" in await town.answer(WEI, NEWS, ASKED)

    # "That's wrong, it is X" in the thread where it was told.
    asked = town.workspace.say(ANA, GENERAL, ASKED)
    assert "db-stg-2" in await town.answered(GENERAL, asked)
    assert "db-stg-3" in await town.answer(ANA, GENERAL, "that's wrong, it is db-stg-3", asked.ts)
    corrected = await town.answer(WEI, NEWS, ASKED)
    assert "db-stg-3" in corrected
    assert "db-stg-2" not in corrected

    assert "Forgotten" in await town.answer(ANA, GENERAL, "@Bobbin forget that staging database")
    assert "db-stg" not in await town.answer(WEI, NEWS, ASKED)
    assert await town.facts() == []


async def test_what_is_said_in_private_stays_there(town: Town) -> None:
    await town.answer(ANA, LEADS, "@Bobbin remember that layoffs start in May")
    assert "know nothing" in await town.answer(ANA, GENERAL, "@Bobbin when do layoffs start?")
    assert "layoffs" not in await town.answer(WEI, GENERAL, "@Bobbin when do layoffs start?")
    assert "layoffs" in await town.answer(ANA, LEADS, "@Bobbin when do layoffs start?")
    assert "layoffs" in await town.answer(ANA, DIRECT, "when do layoffs start?")


async def test_a_pin_keeps_a_message_and_its_deletion_forgets_it(town: Town) -> None:
    said = town.workspace.say(WEI, GENERAL, "The on-call phone is number 4711.")
    town.workspace.react(ANA, GENERAL, said.ts, "pushpin")
    await town.until(lambda: town.pinned_by_us(GENERAL, said.ts))
    assert "4711" in await town.answer(ANA, NEWS, "@Bobbin what is the number of the on-call phone?")
    town.workspace.delete(WEI, GENERAL, said.ts)
    await town.answer(ANA, GENERAL, "@Bobbin hello")
    await town.quiet()
    assert await town.facts() == []
    assert "4711" not in await town.answer(ANA, NEWS, "@Bobbin what is the number of the on-call phone?")


async def test_dont_remember_is_respected(town: Town) -> None:
    await town.answer(ANA, GENERAL, "@Bobbin remember that the code is 99, no, don't remember that")
    assert town.parts.learner is not None
    for thread in await town.parts.learner.learned.behind():
        await town.parts.learner.learn(thread)
    assert await town.facts() == []


async def test_the_home_and_the_command_put_people_in_charge(town: Town) -> None:
    await town.answer(ANA, GENERAL, TOLD)
    await town.answer(WEI, GENERAL, "@Bobbin remember that tea is in the kitchen")
    town.workspace.open_home(ANA)
    await town.until(lambda: "db-stg-2" in str(town.workspace.homes.get(ANA)))
    home = town.workspace.homes[ANA]
    assert "tea is in the kitchen" in str(home)
    edit, forget = buttons(home)  # only what Ana said is hers to change

    await town.running.interactions.command(WEI, NEWS, "memory staging")
    whisper = await shown_to(town, WEI, NEWS, "db-stg-2")
    assert "kitchen" not in whisper or whisper.index("db-stg-2") < whisper.index("kitchen")
    await town.running.interactions.command(WEI, NEWS, f"memory forget {forget.split(':')[1]}")
    await shown_to(town, WEI, NEWS, "不是你说的")

    await town.running.interactions.click_home(ANA, "search", "where is the tea?")
    await town.until(lambda: "Found for" in str(town.workspace.homes[ANA]))
    assert "tea is in the kitchen" in str(town.workspace.homes[ANA])
    await town.running.interactions.click_home(ANA, "all")
    await town.until(lambda: forget in str(town.workspace.homes[ANA]))

    await town.running.interactions.click_home(ANA, edit)
    await town.until(lambda: town.workspace.modals)
    (form,) = town.workspace.modals
    with pytest.raises(FormRefused, match="secret"):
        await town.running.interactions.submit(ANA, form, {"text": {"text": "the key is sk-ant-abcdefghijklmnopqrstu"}})
    await town.running.interactions.submit(ANA, form, {"text": {"text": "the staging database is db-stg-4"}})
    await town.until(lambda: "db-stg-4" in str(town.workspace.homes[ANA]))
    assert "db-stg-2" not in str(town.workspace.homes[ANA])

    _, forget = buttons(town.workspace.homes[ANA])
    await town.running.interactions.click_home(ANA, forget)
    await town.until(lambda: "db-stg-4" not in str(town.workspace.homes[ANA]))
    assert await town.facts() == ["tea is in the kitchen"]


async def test_nobody_edits_what_another_said(town: Town) -> None:
    await town.answer(WEI, GENERAL, "@Bobbin remember that tea is in the kitchen")
    home = town.parts.door.home
    assert home is not None
    refused = await home.sent(Form(ANA, "edit", "1", "tea is in the cellar"))
    assert "not said by you" in str(refused)
    assert await town.facts() == ["tea is in the kitchen"]


async def test_what_was_said_where_it_is_private_now_is_on_nobody_elses_page(town: Town) -> None:
    town.workspace.put_channel(replace(town.workspace.channel(NEWS), members=(ANA, BOT_USER)))
    await town.answer(ANA, NEWS, "@Bobbin remember that the launch is in May")
    town.workspace.put_channel(replace(town.workspace.channel(NEWS), kind="group"))
    people = town.parts.door.home.people if town.parts.door.home is not None else None
    assert people is not None
    people.clock = lambda: time.monotonic() + 3_600  # what Slack said before is not fresh any more
    town.workspace.open_home(WEI)
    await town.until(lambda: town.workspace.homes.get(WEI))
    assert "launch" not in str(town.workspace.homes[WEI])
    assert await town.facts() == ["the launch is in May"]
    await town.running.interactions.command(WEI, GENERAL, "memory")
    assert "launch" not in await shown_to(town, WEI, GENERAL, "暂无")


def buttons(home: Json) -> list[str]:
    """Those on facts."""
    return [
        str(element["action_id"])
        for block in objects(home["blocks"])
        for element in objects(block.get("elements"))
        if ":" in str(element.get("action_id"))
    ]


async def shown_to(town: Town, person: str, channel: str, words: str) -> str:
    """What only this person sees in a channel, once it holds these words."""

    def seen() -> list[str]:
        return [m.text for m in town.workspace.messages(channel) if m.seen_by == person and words in m.text]

    await town.until(seen)
    return seen()[-1]

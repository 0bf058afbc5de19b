"""The door over real sockets: stored before it is acknowledged, each thing once, nothing lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.server import Running
from bot.demo.socket import NotAcknowledged
from bot.demo.values import BOT_USER, TEAM, Json, Timing
from bot.demo.workspace import ANA, WEI
from bot.slack.door import Door
from bot.slack.ids import Spot
from bot.slack.inbound import Follow
from memory.db import Database
from memory.inbox import Deleted, Edited, Gestured, Inbound, Inbox, Said
from memory.log import Logs
from memory.records import Posted
from memory.types import ThreadKey
from tests.slack.parts import (
    DM,
    GENERAL,
    LEADS,
    OWN,
    callback,
    changed,
    deleted,
    mention,
    message,
    reaction,
    served,
)

TS = "1700000000.000100"
THREAD = Spot(TEAM, GENERAL, TS).thread
BUTTON = {"type": "button", "action_id": "approve", "text": {"type": "plain_text", "text": "Approve"}}


@dataclass(slots=True)
class Entrance:
    """A door that Slack reaches over a socket. ``woken`` holds every wake of a thread."""

    running: Running
    client: Any
    file: Path
    door: Door
    woken: list[ThreadKey] = field(default_factory=list[ThreadKey])
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self, thread: ThreadKey) -> None:
        self.woken.append(thread)
        self.arrived.set()

    async def send(self, payload: Json) -> None:
        """As Slack does, once; returns with the ack. Raises ``NotAcknowledged``."""
        await self.running.socket.send("events_api", payload)

    async def rows(self, thread: ThreadKey = THREAD) -> list[Inbound]:
        return [waiting.inbound for waiting in await self.door.inbox.waiting(thread)]

    def on_disk(self) -> int:
        """How many rows another process would find."""
        with sqlite3.connect(self.file) as connection:
            count: int = connection.execute("SELECT count(*) FROM inbox").fetchone()[0]
        connection.close()
        return count

    def break_database(self, *, mend: bool = False) -> None:
        names = ("away", "inbox") if mend else ("inbox", "away")
        with sqlite3.connect(self.file) as connection:
            connection.execute("ALTER TABLE {} RENAME TO {}".format(*names))
        connection.close()

    async def until_woken(self) -> None:
        async with asyncio.timeout(5):
            await self.arrived.wait()


@asynccontextmanager
async def entrance_of(running: Running, folder: Path, follow: Follow = "own") -> AsyncGenerator[Entrance]:
    database = Database(f"sqlite:///{folder / 'bobbin.db'}")
    client = AsyncWebClient(running.workspace.bot_token, running.api_url, retry_handlers=[])
    door = Door(Inbox(database), Logs(database), OWN, lambda _: None, follow)
    entrance = Entrance(running, client, folder / "bobbin.db", door)
    door.wake = entrance.wake
    handler = AsyncSocketModeHandler(door.app(client, ""), running.workspace.app_token, ping_interval=0.1)
    await handler.connect_async()  # pyright: ignore[reportUnknownMemberType] - untyped in Bolt
    try:
        await running.workspace.until(lambda: running.socket.online)
        yield entrance
    finally:
        await handler.close_async()
        database.close()


@pytest.fixture
async def entrance(running: Running, tmp_path: Path) -> AsyncIterator[Entrance]:
    async with entrance_of(running, tmp_path) as one:
        yield one


# -- durable before the ack ----------------------------------------------------------------------


async def test_what_is_acknowledged_is_on_the_disk(entrance: Entrance) -> None:
    await entrance.send(callback(mention()))
    assert entrance.on_disk() == 1
    assert entrance.woken == [THREAD]


async def test_a_message_is_stored_as_it_was_said(entrance: Entrance) -> None:
    await entrance.send(callback(mention(f"<@{BOT_USER}> what is 1 &lt; 2?")))
    assert await entrance.rows() == [
        Said(
            thread=THREAD,
            message=Spot(TEAM, GENERAL, TS).message,
            author=ANA,
            words="what is 1 < 2?",
            at=1700000000.0001,
            follow=True,
            catch_up=False,
            opaque={"text": f"<@{BOT_USER}> what is 1 &lt; 2?"},
        )
    ]


async def test_what_is_not_for_us_is_acknowledged_and_not_stored(entrance: Entrance) -> None:
    for event in (message(), message(user=BOT_USER), {"type": "app_uninstalled"}, {"type": "never_heard_of"}):
        await entrance.send(callback(event))
    await entrance.running.socket.send("slash_commands", {"type": "slash", "command": "/bobbin", "user_id": ANA})
    assert (entrance.on_disk(), entrance.woken) == (0, [])


async def test_a_failing_database_is_not_acknowledged_and_loses_nothing(entrance: Entrance) -> None:
    payload = callback(mention())
    entrance.running.workspace.timing = Timing(ack=0.3)
    entrance.break_database()
    with pytest.raises(NotAcknowledged):
        await entrance.send(payload)
    entrance.break_database(mend=True)
    entrance.running.workspace.timing = Timing(ack=3)
    await entrance.send(payload)
    assert len(await entrance.rows()) == 1


async def test_slack_sends_again_until_the_database_is_back(tmp_path: Path) -> None:
    async with (
        served(Timing(ack=0.2, retries=(0.05, 0.05, 0.05, 0.05))) as running,
        entrance_of(running, tmp_path) as entrance,
    ):
        entrance.break_database()
        said = running.workspace.say(ANA, GENERAL, "@Bobbin are you there?")
        await asyncio.sleep(0.3)
        entrance.break_database(mend=True)
        thread = Spot(TEAM, GENERAL, said.ts).thread
        await entrance.until_woken()
        assert len(await entrance.rows(thread)) == 1


# -- each thing once -----------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [0.0, 0.3])
@pytest.mark.parametrize("mention_first", [True, False])
async def test_twins_are_one_message(entrance: Entrance, mention_first: bool, apart: float) -> None:
    twins = [callback(message(f"<@{BOT_USER}> hi")), callback(mention(f"<@{BOT_USER}> hi"))]
    first, second = reversed(twins) if mention_first else twins
    sent = asyncio.create_task(entrance.send(first))
    await asyncio.sleep(apart)
    await asyncio.gather(sent, entrance.send(second))
    assert len(await entrance.rows()) == 1
    assert entrance.woken == [THREAD]


ONCE = {"words": mention(), "reaction": reaction("octagonal_sign"), "deletion": deleted(message())}


@pytest.mark.parametrize("event", ONCE.values(), ids=list(ONCE))
@pytest.mark.parametrize("same_id", [True, False])
async def test_a_second_delivery_is_known(entrance: Entrance, event: dict[str, Any], same_id: bool) -> None:
    await entrance.send(callback(mention(), "Ev0"))
    await entrance.send(callback(event, "Ev1"))
    before = await entrance.rows()
    for number in range(3):
        await entrance.send(callback(event, "Ev1" if same_id else f"Ev{number + 2}"))
    assert await entrance.rows() == before


async def test_a_retry_that_is_the_only_delivery_counts(entrance: Entrance) -> None:
    await entrance.running.socket.send("events_api", callback(mention()), attempt=1, reason="timeout")
    assert len(await entrance.rows()) == 1


async def test_taking_a_reaction_back_and_making_it_again_are_three_things(entrance: Entrance) -> None:
    await entrance.send(callback(mention()))
    for number, kind in enumerate(("reaction_added", "reaction_removed", "reaction_added")):
        await entrance.send(callback(reaction("octagonal_sign", type=kind, event_ts=f"170000000{number}.5")))
    made = [row for row in await entrance.rows() if isinstance(row, Gestured)]
    assert [(row.on, row.at) for row in made] == [(True, 1700000000.5), (False, 1700000001.5), (True, 1700000002.5)]


# -- whose words ---------------------------------------------------------------------------------


async def test_a_thread_that_began_with_us_is_followed(entrance: Entrance) -> None:
    await entrance.send(callback(mention()))
    await entrance.send(callback(message("and then?", ts="1700000001.0", thread_ts=TS)))
    first, second = await entrance.rows()
    assert isinstance(first, Said)
    assert isinstance(second, Said)
    assert (first.follow, second.words, second.catch_up) == (True, "and then?", False)


@pytest.mark.parametrize(("follow", "stored"), [("own", 1), ("all", 2), ("mention", 1)])
async def test_a_foreign_thread_is_answered_and_followed_only_if_wanted(
    running: Running, tmp_path: Path, follow: Follow, stored: int
) -> None:
    async with entrance_of(running, tmp_path, follow) as entrance:
        await entrance.send(callback(mention(ts="1700000001.0", thread_ts=TS)))
        await entrance.send(callback(message("without a mention", ts="1700000002.0", thread_ts=TS)))
        rows = await entrance.rows()
    assert len(rows) == stored
    assert isinstance(rows[0], Said)
    assert rows[0].catch_up


async def test_a_reply_to_what_a_tool_posted_is_for_us(entrance: Entrance) -> None:
    reply = message("which build?", ts="1700000001.0", thread_ts=TS, parent_user_id=BOT_USER)
    await entrance.send(callback(reply))
    (said,) = await entrance.rows()
    assert isinstance(said, Said)
    assert (said.follow, said.catch_up) == (True, True)


@pytest.mark.parametrize("channel", [GENERAL, LEADS])
async def test_what_follows_after_a_restart(running: Running, tmp_path: Path, channel: str) -> None:
    async with entrance_of(running, tmp_path) as first:
        await first.send(callback(mention(channel=channel)))
    async with entrance_of(running, tmp_path) as second:
        await second.send(callback(message("still there?", ts="1700000001.0", thread_ts=TS, channel=channel)))
        assert len(await second.rows(Spot(TEAM, channel, TS).thread)) == 2


async def test_each_top_level_message_is_a_thread_of_its_own(entrance: Entrance) -> None:
    for ts in ("1700000001.0", "1700000002.0"):
        await entrance.send(callback(message("hi", ts=ts, channel=DM, channel_type="im")))
    assert entrance.woken == [Spot(TEAM, DM, "1700000001.0").thread, Spot(TEAM, DM, "1700000002.0").thread]


# -- corrections, reactions, buttons -------------------------------------------------------------


async def test_edits_and_deletions_reach_the_thread_of_the_message(entrance: Entrance) -> None:
    reply = message("b", ts="1700000001.0", thread_ts=TS)
    await entrance.send(callback(changed(reply, reply | {"text": "a"})))
    await entrance.send(callback(deleted(reply)))
    assert [type(row) for row in await entrance.rows()] == [Edited, Deleted]


async def test_words_that_come_after_their_own_deletion_start_nothing(entrance: Entrance) -> None:
    await entrance.send(callback(deleted(message())))
    await entrance.running.socket.send("events_api", callback(mention()), attempt=1, reason="timeout")
    assert [type(row) for row in await entrance.rows()] == [Deleted]


async def test_a_stop_sign_on_the_root_of_our_thread(entrance: Entrance) -> None:
    await entrance.send(callback(mention()))
    await entrance.send(callback(reaction("octagonal_sign")))
    await entrance.send(callback(reaction("octagonal_sign", ts="1700000077.0")))  # not ours
    assert [type(row) for row in await entrance.rows()] == [Said, Gestured]
    assert entrance.on_disk() == 2


async def posted(entrance: Entrance) -> str:
    """A request in the thread, as the log knows it."""
    ask = {"type": "actions", "elements": [BUTTON]}
    root = entrance.running.workspace.say(ANA, GENERAL, "root")
    sent = await entrance.client.chat_postMessage(channel=GENERAL, thread_ts=root.ts, text="?", blocks=[ask])
    log = await entrance.door.logs.open(THREAD)
    await log.append(Posted(of=4, what="approval", messages=(Spot(TEAM, GENERAL, str(sent["ts"])).message,)))
    return str(sent["ts"])


async def test_a_reaction_on_a_post_of_ours_goes_to_its_thread(entrance: Entrance) -> None:
    ts = await posted(entrance)
    entrance.running.workspace.react(WEI, GENERAL, ts, "+1::skin-tone-4")
    await entrance.until_woken()
    (made,) = await entrance.rows()
    assert isinstance(made, Gestured)
    assert (made.author, made.gesture, made.door, made.on) == (WEI, "approve", "reaction", True)
    assert made.at > 0


async def test_a_button_is_stored_before_its_ack(entrance: Entrance) -> None:
    ts = await posted(entrance)
    await entrance.running.interactions.click(ANA, GENERAL, ts, "approve")
    (made,) = await entrance.rows()
    assert isinstance(made, Gestured)
    assert (made.author, made.gesture, made.door) == (ANA, "approve", "button")


async def test_a_click_that_cannot_be_stored_is_not_acknowledged(entrance: Entrance) -> None:
    ts = await posted(entrance)
    entrance.running.workspace.timing = Timing(ack=0.3)
    entrance.break_database()
    with pytest.raises(NotAcknowledged):
        await entrance.running.interactions.click(ANA, GENERAL, ts, "approve")
    entrance.break_database(mend=True)

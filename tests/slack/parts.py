"""The Slack edge, put together as the program does it, and the payloads that Slack sends."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.server import Running, serve
from bot.demo.values import BOT, BOT_USER, TEAM, Call, Json, Timing
from bot.demo.workspace import ANA, Workspace
from bot.secrets import Mask
from bot.slack.chat import SlackChat
from bot.slack.directory import Directory
from bot.slack.editor import Editor
from bot.slack.gateway import Gateway
from bot.slack.ids import Spot
from bot.slack.inbound import Own
from bot.slack.pacer import RATES, Pacer, Rate
from bot.slack.people import People
from bot.slack.reader import Reader
from bot.slack.surface import SlackSurface
from memory.types import ThreadKey

GENERAL, NEWS, LEADS, DM = "C0GENERAL1", "C0NEWS0001", "C0LEADS001", "D0ANA00001"
OWN = Own(TEAM, BOT_USER, BOT)
QUICK = {name: Rate(10_000, rate.seconds) for name, rate in RATES.items()}
"""Limits that a test never meets; Slack's own are the pacer's tests."""
SECRET = "a-configured-secret"
_ids = itertools.count(1)


@dataclass(slots=True)
class Edge:
    """Everything between the program and a workspace that is being served. ``slept`` holds the pauses asked for."""

    running: Running
    client: AsyncWebClient
    gateway: Gateway
    people: People
    reader: Reader
    surface: SlackSurface
    chat: SlackChat
    now: list[float]
    slept: list[float] = field(default_factory=list[float])

    @property
    def workspace(self) -> Workspace:
        return self.running.workspace

    def calls(self, method: str, *, refused: bool = True) -> list[Call]:
        return [call for call in self.workspace.calls if call.method == method and (refused or call.error is None)]

    def thread(self, channel: str = GENERAL, words: str = "root") -> ThreadKey:
        """A new thread that Ana began."""
        return Spot(TEAM, channel, self.workspace.say(ANA, channel, words).ts).thread


@asynccontextmanager
async def edge_of(running: Running) -> AsyncGenerator[Edge]:
    """Pauses between tries take no time; names are remembered by a clock that the test moves."""
    client = AsyncWebClient(running.workspace.bot_token, running.api_url, timeout=15, retry_handlers=[])
    slept, now = list[float](), [0.0]

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    gateway = Gateway(client, Pacer(time.monotonic, dict(QUICK)), sleep=sleep)
    people = People(gateway, OWN, lambda: now[0])
    reader = Reader(gateway, people, OWN, 40_000)
    directory = Directory(gateway, people)
    surface = SlackSurface(gateway, directory, reader, Editor(gateway, interval=0.02), time.time, Mask((SECRET,)))
    chat = SlackChat(gateway, people, reader, directory)
    yield Edge(running, client, gateway, people, reader, surface, chat, now, slept)
    await surface.editor.settle()


@asynccontextmanager
async def served(timing: Timing | None = None) -> AsyncGenerator[Running]:
    running = await serve(Workspace(timing=timing or Timing(ack=3, retries=(0.1, 0.1, 0.1))))
    try:
        yield running
    finally:
        await running.close()


class Always(dict[str, int]):
    """Limits that stay: every call of these methods is refused."""

    def pop(self, key: str, *_: Any) -> int:
        return self[key]


# -- payloads ------------------------------------------------------------------------------------


def message(text: str | None = "hello", **more: Any) -> dict[str, Any]:
    """A message event of Ana in #general; None takes a field away."""
    event: dict[str, Any] = {
        "type": "message",
        "user": ANA,
        "text": text,
        "ts": "1700000000.000100",
        "team": TEAM,
        "channel": GENERAL,
        "channel_type": "channel",
        "event_ts": "1700000000.000100",
    } | more
    return {key: value for key, value in event.items() if value is not None}


def mention(text: str = f"<@{BOT_USER}> hello", **more: Any) -> dict[str, Any]:
    """The twin of a message that mentions us."""
    return message(text, type="app_mention", channel_type=None, **more)


def reaction(name: str, ts: str = "1700000000.000100", **more: Any) -> dict[str, Any]:
    item = {"type": "message", "channel": GENERAL, "ts": ts}
    event: dict[str, Any] = {"type": "reaction_added", "user": ANA, "reaction": name, "item": item}
    return event | {"event_ts": "1700000009.000000"} | more


def callback(event: dict[str, Any], event_id: str = "", **more: Any) -> Json:
    """The payload around an event, with an id of its own unless one is given."""
    payload: Json = {
        "token": "verification",
        "team_id": TEAM,
        "api_app_id": "A0BOBBIN01",
        "type": "event_callback",
        "event_id": event_id or f"Ev{next(_ids):06d}",
        "event_time": 1_700_000_000,
        "is_ext_shared_channel": False,
        "event": event,
    }
    return payload | more


def changed(now: dict[str, Any], before: dict[str, Any], **more: Any) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "message", "subtype": "message_changed", "hidden": True, "channel": GENERAL}
    return event | {"message": now, "previous_message": before, "ts": "1700000005.000000"} | more


def deleted(before: dict[str, Any], **more: Any) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "message", "subtype": "message_deleted", "hidden": True, "channel": GENERAL}
    return event | {"deleted_ts": before["ts"], "previous_message": before, "ts": "1700000006.000000"} | more

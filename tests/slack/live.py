"""Slack's edge, whole and unchanged, in front of a workspace that is served on this machine."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.server import Running, serve
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
from memory.types import Person, ThreadKey, ToolCall
from tools.base import ToolContext
from tools.registry import Ran, Registry
from tools.slack_write import SLACK_WRITE_TOOLS

GENERAL, NEWS, LEADS = "C0GENERAL1", "C0NEWS0001", "C0LEADS001"
_IDS = count(1)


async def at_once(_: float) -> None: ...


@dataclass(slots=True)
class Edge:
    """``here`` is the thread in which the bot was asked."""

    chat: SlackChat
    surface: SlackSurface
    here: ThreadKey
    requester: Person = field(default_factory=lambda: Person(id=ANA, name="Ana", time_zone="Europe/Lisbon"))
    tools: Registry = field(default_factory=lambda: Registry(SLACK_WRITE_TOOLS))

    async def run(self, name: str, /, **arguments: Any) -> Ran:
        """Run a tool as the agent does, asked for by the requester."""
        call = ToolCall(id=f"call{next(_IDS)}", name=name, arguments=arguments)
        context = ToolContext(self.here, call.id, self.requester, datetime.now(UTC), self.chat)
        return await self.tools.run(call, context, "r1")

    def asked_by(self, person: str) -> Edge:
        return replace(self, requester=Person(id=person, name=person))


def edge(client: AsyncWebClient, own: Own, here: ThreadKey, mask: Mask | None = None) -> Edge:
    fast = {method: Rate(1_000, 1) for method in RATES}
    gateway = Gateway(client, Pacer(time.monotonic, fast), sleep=at_once)
    people = People(gateway, own, time.monotonic)
    reader = Reader(gateway, people, own, 40_000)
    directory = Directory(gateway, people)
    surface = SlackSurface(gateway, directory, reader, Editor(gateway, 0.0), time.time, mask or Mask())
    return Edge(SlackChat(gateway, people, reader, directory), surface, here)


@dataclass(frozen=True, slots=True)
class Place:
    workspace: Workspace
    edge: Edge
    root: str
    """The message that asks the bot."""


@asynccontextmanager
async def place(mask: Mask | None = None) -> AsyncGenerator[Place]:
    """A workspace in which Ana has asked the bot something in #general."""
    running: Running = await serve(Workspace())
    workspace = running.workspace
    root = workspace.say(ANA, GENERAL, "@Bobbin please").ts
    client = AsyncWebClient(token=workspace.bot_token, base_url=running.api_url, retry_handlers=[], timeout=5)
    found: Any = await client.auth_test()  # pyright: ignore[reportUnknownMemberType] - **kwargs without a type
    own = Own(found["team_id"], found["user_id"], found["bot_id"])
    try:
        yield Place(workspace, edge(client, own, Spot(own.team, GENERAL, root).thread, mask), root)
    finally:
        await running.close()

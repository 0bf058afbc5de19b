"""The composition root: every part is made here, in plain sight, and handed what it needs."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_sdk.web.async_client import AsyncWebClient
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.agent import Agent
from bot.approvals import Rules
from bot.budget import Limits, Patience
from bot.channel import Channel, Channels
from bot.clients import check_app_token, identify, make_model, slack_client
from bot.compactor import Compactor
from bot.config import ConfigurationError, Settings
from bot.dispatcher import InProcessDispatcher
from bot.health import Counters, Server, operator_app, server
from bot.keeper import Keeper
from bot.learner import Learner
from bot.lock import FolderLock, Locked
from bot.model import Cached
from bot.notebook import KeeperNotebook
from bot.prompts import SYSTEM
from bot.remembering import make_learner, make_memory
from bot.secrets import Mask
from bot.slack.chat import SlackChat
from bot.slack.contexts import Contexts
from bot.slack.directory import Directory
from bot.slack.door import Door
from bot.slack.editor import Editor
from bot.slack.gateway import Gateway
from bot.slack.home import Home
from bot.slack.inbound import Own
from bot.slack.pacer import Pacer
from bot.slack.people import People
from bot.slack.reader import Reader
from bot.slack.rooms import SlackRooms
from bot.slack.sockets import PING, Sockets
from bot.slack.surface import SlackSurface
from bot.turns import Turns
from memory.compaction import Marks
from memory.db import Database, DatabaseError
from memory.failpoints import FailPoint, Reach, nothing
from memory.inbox import Inbox
from memory.log import Logs
from memory.remember import Memory
from memory.spend import Spend
from tools.base import Tool
from tools.clock import now
from tools.fetch import PageFetcher
from tools.history import history_tools
from tools.math import calculate
from tools.memory import memory_tools
from tools.policy import Policy
from tools.registry import Registry
from tools.slack_read import SLACK_READ_TOOLS
from tools.slack_write import SLACK_WRITE_TOOLS
from tools.web import web_tools

GRACE = 7.0
"""Seconds that a stop waits for turns; what is not done by then goes on at the next start."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What runs, once everything is put together."""

    database: Database
    inbox: Inbox
    dispatcher: InProcessDispatcher
    door: Door
    surface: SlackSurface
    client: AsyncWebClient
    counters: Counters
    memory: Memory
    learner: Learner | None


async def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. Raises ``ConfigurationError`` for what an operator must mend."""
    if problems := settings.missing():
        raise ConfigurationError(*problems)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        lock = _lock(settings)
        stack.callback(lock.release)
        reach = FailPoint(settings.failpoint).reach if settings.failpoint else nothing
        database = _open_database(settings, reach)
        stack.callback(database.close)
        client = slack_client(settings)
        own = await identify(client)
        if settings.mode == "socket":
            await check_app_token(client, settings.slack_app_token.get_secret_value())
        parts = build(settings, database, client, own, reach)
        web, sockets = await listen(settings, parts, stack)
        await parts.inbox.purge()
        await parts.dispatcher.start(await parts.inbox.open_threads())
        await _begin_memory(parts, stack)
        stopped, opened = asyncio.create_task(stop.wait()), asyncio.create_task(sockets.open())
        await asyncio.wait({stopped, opened}, return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            opened.result()
            gc.freeze()  # what is there now stays: going through it took 0.2 s each time, with all events waiting
            gc.enable()
            print("bobbin ready", flush=True)
            structlog.get_logger().info("ready", action="ready", team=own.team, mode=settings.mode)
        await stopped
        opened.cancel()
        structlog.get_logger().info("stopping", action="stopping", busy=parts.dispatcher.busy)
        await sockets.close()
        await parts.dispatcher.stop(GRACE)
        web.should_exit = True


def build(settings: Settings, database: Database, client: AsyncWebClient, own: Own, reach: Reach = nothing) -> Parts:
    """Wire everything together; nothing is started yet."""
    gateway = Gateway(client, Pacer(time.monotonic), reach)
    people = People(gateway, own, time.monotonic)
    reader = Reader(gateway, people, own, settings.message_characters)
    directory = Directory(gateway, people)
    surface = SlackSurface(gateway, directory, reader, Editor(gateway), time.time, Mask(settings.secrets))
    logs, inbox = Logs(database), Inbox(database)
    rooms = SlackRooms(gateway, people, directory, reader, own, time.monotonic)
    keeper = Keeper(make_memory(settings, database), rooms)
    spend = Spend(database)
    learner = make_learner(settings, keeper, rooms, spend)
    agent = Agent(
        model=make_model(settings),
        tools=offered(logs, *memory_tools(KeeperNotebook(keeper))),
        system=SYSTEM,
        model_name=settings.model,
        spend=spend,
        limits=Limits(
            steps=settings.steps,
            calls=settings.calls,
            tokens=settings.tokens,
            dollars=settings.dollars,
            seconds=settings.seconds,
            daily_dollars=settings.daily_dollars,
        ),
        policy=Policy(frozenset(settings.free_tools), frozenset(settings.forbidden_tools)),
        rules=Rules(settings.approval_rules, settings.approval_hours * 3600, settings.undo_seconds),
        patience=Patience(attempts=settings.model_attempts, longest=settings.model_wait),
        max_output=settings.max_output,
        reach=reach,
    )
    chat = SlackChat(gateway, people, reader, directory)
    turns = Turns(
        logs,
        inbox,
        surface,
        agent,
        Compactor(agent),
        chat,
        channels(settings),
        settings.grant_minutes * 60,
        keeper,
        learner,
    )
    dispatcher = InProcessDispatcher(turns.advance, turns.interrupt, time.time)
    home = Home(keeper, gateway, people)
    shared = frozenset(settings.shared_channels)
    contexts = Contexts(logs, turns.channels, gateway, people)
    door = Door(inbox, logs, own, dispatcher.wake, settings.follow, shared, home, contexts)
    return Parts(database, inbox, dispatcher, door, surface, client, Counters(), keeper.memory, learner)


async def _begin_memory(parts: Parts, stack: AsyncExitStack) -> None:
    """Models and index are loaded in the background, and only where there is something to find."""
    stack.push_async_callback(parts.memory.vectors.close)
    if not await parts.memory.facts.none():
        parts.memory.vectors.begin()
    if parts.learner is not None:
        await parts.learner.start()
        stack.push_async_callback(parts.learner.stop)


def channels(settings: Settings) -> Channels:
    others = {name: channel(settings.in_channel(name)) for name in settings.channels}
    return Channels(channel(settings), others)


def channel(settings: Settings) -> Channel:
    marks = Marks(
        clear_at=settings.clear_at,
        clear_to=settings.clear_to,
        clear_gain=settings.clear_gain,
        summarize_at=settings.summarize_at,
        summarize_hard=settings.summarize_hard,
        summary=settings.summary_tokens,
        words=settings.words_tokens,
        pinned=frozenset(settings.pinned_tools),
    )
    cached = Cached(settings.prefix_ttl, settings.moving_ttl)
    on_server = settings.summaries == "server"
    return Channel(marks, settings.result_characters, cached, settings.summary_model, on_server)


def offered(logs: Logs, *more: Tool[Any]) -> Registry:
    """The tools that the model is offered. A tool of your own is added to this list."""
    return Registry(
        [
            calculate,
            now,
            *SLACK_READ_TOOLS,
            *SLACK_WRITE_TOOLS,
            *web_tools(PageFetcher()),
            *history_tools(logs.whole_result, logs.search),
            *more,
        ]
    )


def _lock(settings: Settings) -> FolderLock:
    try:
        return FolderLock(settings.data_dir)
    except Locked as error:
        raise ConfigurationError(str(error)) from error
    except OSError as error:
        raise ConfigurationError(
            f"BOBBIN_DATA_DIR {settings.data_dir} cannot be written ({error.strerror}). Choose a folder that can."
        ) from error


def _open_database(settings: Settings, reach: Reach) -> Database:
    try:
        return Database(settings.database, reach)
    except DatabaseError as error:
        raise ConfigurationError(str(error)) from error


async def listen(
    settings: Settings, parts: Parts, stack: AsyncExitStack, ping_interval: float = PING
) -> tuple[Server, Sockets]:
    """The operators' page, and either sockets (to be opened) or an address for Slack on the same port."""
    bolt = parts.door.app(parts.client, settings.slack_signing_secret.get_secret_value())
    token = settings.slack_app_token.get_secret_value()

    def handler() -> AsyncSocketModeHandler:
        made = AsyncSocketModeHandler(bolt, token, ping_interval=ping_interval)
        made.client.proxy = parts.client.proxy
        return made

    sockets = Sockets(handler, settings.sockets if settings.mode == "socket" else 0, ping_interval)
    routes = list[Route]()
    if settings.mode == "http":
        inner = AsyncSlackRequestHandler(bolt)

        async def slack(request: Request) -> Response:
            return await inner.handle(request)

        routes = [Route("/slack/events", slack, methods=["POST"])]

    async def checks() -> dict[str, str]:
        deaf = sockets.deaf
        slack_state = f"{deaf} of {sockets.count} sockets hear nothing" if deaf else "ok"
        database = await _database_state(parts.database)
        return {"database": database, "slack": slack_state, "memory": parts.memory.vectors.state}

    def metrics() -> str:
        parts.counters.values["threads_busy"] = parts.dispatcher.busy
        return parts.counters.text()

    web = server(operator_app(checks, metrics, routes), settings.http_host, settings.http_port)
    serving = asyncio.create_task(_serve(web, settings))
    stack.push_async_callback(_finish, web, serving)
    while not web.started:
        if serving.done():
            serving.result()
        await asyncio.sleep(0.01)
    return web, sockets


async def _serve(web: Server, settings: Settings) -> None:
    try:
        await web.serve()
    except SystemExit as error:
        raise ConfigurationError(
            f"BOBBIN_HTTP_PORT {settings.http_port} is taken on {settings.http_host}. Choose another one, or 0."
        ) from error


async def _finish(web: Server, serving: asyncio.Task[None]) -> None:
    web.should_exit = True
    await asyncio.wait({serving})


async def _database_state(database: Database) -> str:
    try:
        async with asyncio.timeout(3):
            await database.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
    except Exception as error:
        return f"failing: {type(error).__name__}"
    return "ok"

"""One port for the whole workspace: Web API, Socket Mode and the page. Loopback only, since it acts as people."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.demo.interactions import Interactions
from bot.demo.page import UPLOAD_BYTES, Page
from bot.demo.socket import SocketMode
from bot.demo.webapi import WebApi
from bot.demo.workspace import Workspace

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SCHEDULE_TICK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Running:
    """A workspace being served. `url` is the page; `api_url` is what the Slack client takes as base_url."""

    workspace: Workspace
    socket: SocketMode
    interactions: Interactions
    port: int
    _runner: web.AppRunner
    _clock: asyncio.Task[None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def api_url(self) -> str:
        return f"{self.url}api/"

    async def close(self) -> None:
        self._clock.cancel()
        await self.socket.close()
        await self._runner.cleanup()


async def serve(
    workspace: Workspace, port: int = 0, on_restart: Callable[[], Awaitable[None]] | None = None
) -> Running:
    """Serve the workspace on 127.0.0.1; port 0 takes any free one.

    `on_restart` stops the app and starts it again; without it the page has no button for that.
    Raises OSError if the port is taken.
    """
    socket = SocketMode(workspace)
    interactions = Interactions(workspace, socket)
    page = Page(workspace, socket, interactions, on_restart)
    application = web.Application(middlewares=[refuse_strangers], client_max_size=UPLOAD_BYTES)
    application.add_routes(WebApi(workspace, socket, interactions).routes())
    application.add_routes(page.routes())
    application.add_routes([web.get("/link/", socket.handle)])

    async def end_streams(_: web.Application) -> None:
        await page.close()

    application.on_shutdown.append(end_streams)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    port = runner.addresses[0][1]
    workspace.base_url = f"http://127.0.0.1:{port}"
    clock = asyncio.get_running_loop().create_task(_post_scheduled(workspace))
    return Running(workspace, socket, interactions, port, runner, clock)


@web.middleware
async def refuse_strangers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what another site's page could send: a name that only resolves to us, or a foreign origin."""
    hostname = request.url.host
    origin = request.headers.get("Origin")
    if hostname not in LOOPBACK:
        raise web.HTTPForbidden(text="This server answers to 127.0.0.1 and localhost only.")
    if origin is not None and origin != f"http://{request.host}":
        raise web.HTTPForbidden(text="This server takes requests of its own page only.")
    return await handler(request)


async def _post_scheduled(workspace: Workspace) -> None:
    while True:
        workspace.post_due(time.time())
        await asyncio.sleep(SCHEDULE_TICK_SECONDS)

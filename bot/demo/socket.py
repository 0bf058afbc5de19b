"""Socket Mode: envelopes over websockets, each to one connection, sent again until the app acknowledges it."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from aiohttp import WSMsgType, web

from bot.demo.values import APP, Json
from bot.demo.workspace import Workspace


class NotAcknowledged(Exception):
    """No connection took the envelope, or no ack came in time."""


@dataclass(eq=False, slots=True)
class Connection:
    socket: web.WebSocketResponse
    transport: asyncio.Transport
    waiting: dict[str, asyncio.Future[Json]] = field(default_factory=dict[str, "asyncio.Future[Json]"])
    draining: bool = False


class SocketMode:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._connections: list[Connection] = []
        self._tickets: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened = asyncio.Event()
        workspace.on_event.append(self.deliver)

    @property
    def online(self) -> bool:
        return any(not connection.draining for connection in self._connections)

    @property
    def count(self) -> int:
        """How many connections the app holds."""
        return len(self._connections)

    def ticket(self) -> str:
        """The websocket address for one connection."""
        ticket = secrets.token_hex(16)
        self._tickets.add(ticket)
        return f"{self._workspace.base_url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={APP}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets or request.transport is None:
            raise web.HTTPForbidden(text="This address was used before. Ask apps.connections.open for a new one.")
        self._tickets.remove(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        connection = Connection(socket, request.transport)
        await self._greet(connection)
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    _acknowledge(connection, frame.data)
        finally:
            self._forget(connection)
        return socket

    def deliver(self, payload: Json) -> None:
        """Send an event until it is acknowledged or Slack's attempts are used up."""
        self._start(self._attempts(payload))

    async def send(self, kind: str, payload: Json, attempt: int = 0, reason: str = "") -> Json:
        """Send one envelope once and return the payload of its ack. Raises NotAcknowledged."""
        ready = [connection for connection in self._connections if not connection.draining]
        if not ready:
            raise NotAcknowledged("no connection")
        # The connection that was served longest ago takes the next envelope.
        connection = ready[0]
        self._connections.remove(connection)
        self._connections.append(connection)
        envelope: Json = {"envelope_id": secrets.token_hex(16), "type": kind, "payload": payload}
        envelope["accepts_response_payload"] = kind != "events_api"
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        answer = asyncio.get_running_loop().create_future()
        connection.waiting[str(envelope["envelope_id"])] = answer
        try:
            async with asyncio.timeout(self._workspace.timing.ack):
                await connection.socket.send_json(envelope)
                return await answer
        except (TimeoutError, ConnectionError):
            raise NotAcknowledged("timeout") from None
        finally:
            connection.waiting.pop(str(envelope["envelope_id"]), None)

    async def refresh(self) -> None:
        """Ask the app to open new connections, then close the old ones, as Slack does every few hours."""
        for connection in tuple(self._connections):
            connection.draining = True
            frame = {"type": "disconnect", "reason": "refresh_requested", "debug_info": {"host": "demo"}}
            await connection.socket.send_json(frame)

    def drop(self) -> None:
        """Cut every connection without a word, as a failing network does."""
        for connection in self._connections:
            connection.transport.abort()

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        for connection in tuple(self._connections):
            await connection.socket.close()

    async def _greet(self, connection: Connection) -> None:
        self._connections.append(connection)
        about = {"app_id": APP}
        hello = {
            "type": "hello",
            "num_connections": self.count,
            "connection_info": about,
            "debug_info": {"host": "demo"},
        }
        await connection.socket.send_json(hello)
        self._workspace.changed({"kind": "bot", "online": self.online})
        # Wakes every delivery that waits for another attempt.
        self._opened.set()
        self._opened.clear()

    def _forget(self, connection: Connection) -> None:
        self._connections.remove(connection)
        for answer in connection.waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError())
        self._workspace.changed({"kind": "bot", "online": self.online})

    async def _attempts(self, payload: Json) -> None:
        reason = ""
        for attempt, delay in enumerate((0.0, *self._workspace.timing.retries)):
            if attempt:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._opened.wait(), delay)
            try:
                await self.send("events_api", payload, attempt, reason)
            except NotAcknowledged as failure:
                reason = str(failure)
            else:
                return

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _acknowledge(connection: Connection, data: str) -> None:
    frame = cast("Json", json.loads(data))
    answer = connection.waiting.get(str(frame.get("envelope_id")))
    if answer is not None and not answer.done():
        payload = frame.get("payload")
        answer.set_result(cast("Json", payload) if isinstance(payload, dict) else {})

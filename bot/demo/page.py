"""The page's own interface: a stream of changes out, acts of people in."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import cast
from urllib.parse import quote

from aiohttp import web

from bot.demo import wire
from bot.demo.arguments import Arguments
from bot.demo.interactions import FormRefused, Interactions
from bot.demo.socket import NotAcknowledged, SocketMode
from bot.demo.values import BOT_USER, Json, SlackError
from bot.demo.workspace import Workspace

PICTURES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif"}
UPLOAD_BYTES = 20 * 1024 * 1024


class Page:
    def __init__(
        self,
        workspace: Workspace,
        socket: SocketMode,
        interactions: Interactions,
        on_restart: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._workspace = workspace
        self._socket = socket
        self._interactions = interactions
        self._on_restart = on_restart
        self._streams: set[asyncio.Queue[Json | None]] = set()
        self._restarting = False

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self.show),
            web.get("/archives/{channel}/{message}", self.show),
            web.get("/demo/files/{file}", self.file),
            web.get("/demo/changes", self.changes),
            web.post("/demo/act", self.act),
            web.post("/demo/upload", self.upload),
        ]

    async def show(self, _: web.Request) -> web.Response:
        nonce = secrets.token_urlsafe(16)
        page = files("bot.demo").joinpath("page.html").read_text("utf-8").replace("{{nonce}}", nonce)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
            "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def changes(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: first a snapshot, then each change, for as long as the page is open."""
        queue: asyncio.Queue[Json | None] = asyncio.Queue()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        queue.put_nowait(self._snapshot())
        self._workspace.on_change.append(queue.put_nowait)
        self._streams.add(queue)
        try:
            while (change := await queue.get()) is not None:
                await response.write(f"data: {json.dumps(change)}\n\n".encode())
        except ConnectionError:
            pass  # The page was closed.
        finally:
            self._workspace.on_change.remove(queue.put_nowait)
            self._streams.discard(queue)
        return response

    async def act(self, request: web.Request) -> web.Response:
        """An act of a person. Answers 400 with words for that person if it could not be done."""
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="Send JSON.")
        arguments = Arguments(cast("Json", await request.json()))
        try:
            await self._carry_out(arguments)
        except SlackError as refusal:
            return web.json_response({"error": f"Slack would not do this: {refusal.code}."}, status=400)
        except FormRefused as refusal:
            return web.json_response({"error": str(refusal)}, status=400)
        except NotAcknowledged:
            words = "Bobbin did not respond. Is it online? Try again in a moment."
            return web.json_response({"error": words}, status=400)
        return web.json_response({})

    async def upload(self, request: web.Request) -> web.Response:
        """A person's file, to be named in the `files` of the next message."""
        content = await request.read()
        name = request.query.get("name", "file").replace("/", "_")
        file = self._workspace.upload(request.query.get("person", ""), name, content)
        return web.json_response({"id": file.id})

    async def file(self, request: web.Request) -> web.Response:
        """A file for people: pictures are shown, anything else is saved, so that no file runs as a page."""
        file = self._workspace.files.get(request.match_info["file"])
        if file is None or file.content is None:
            raise web.HTTPNotFound(text="No such file.")
        picture = PICTURES.get(file.name.rpartition(".")[2].lower())
        headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
        if picture is None:
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(file.name)}"
        return web.Response(body=file.content, content_type=picture or "application/octet-stream", headers=headers)

    async def close(self) -> None:
        for queue in self._streams:
            queue.put_nowait(None)

    async def _carry_out(self, act: Arguments) -> None:
        person = self._workspace.person(act.need("person")).id
        channel, ts = act.text("channel"), act.text("ts")
        match act.need("kind"):
            case "say":
                self._workspace.say(
                    person, channel, act.text("text"), act.text("thread_ts") or None, act.listed("files")
                )
            case "edit":
                self._workspace.edit(person, channel, ts, act.need("text"))
            case "delete":
                self._workspace.delete(person, channel, ts)
            case "react":
                self._workspace.react(person, channel, ts, act.need("name"))
            case "unreact":
                self._workspace.unreact(person, channel, ts, act.need("name"))
            case "home":
                self._workspace.open_home(person)
            case _:
                await self._interact(person, act)

    async def _interact(self, person: str, act: Arguments) -> None:
        match act.need("kind"):
            case "click" if act.has("ts"):
                await self._interactions.click(person, act.need("channel"), act.need("ts"), act.need("action_id"))
            case "click":
                typed = act.text("value") if act.has("value") else None
                await self._interactions.click_home(person, act.need("action_id"), typed)
            case "command":
                await self._interactions.command(person, act.need("channel"), act.text("text"))
            case "submit":
                values = cast("dict[str, dict[str, str]]", act.object("values") or {})
                await self._interactions.submit(person, act.need("view"), values)
            case "restart":
                await self._restart()
            case _:
                raise SlackError("unknown_act")

    async def _restart(self) -> None:
        if self._on_restart is None or self._restarting:
            raise SlackError("restart_not_possible_now")
        self._restarting = True
        self._workspace.changed({"kind": "restart", "running": True})
        try:
            await self._on_restart()
        finally:
            self._restarting = False
            self._workspace.changed({"kind": "restart", "running": False})

    def _snapshot(self) -> Json:
        workspace = self._workspace
        people = [wire.person_json(person, with_locale=True) for person in workspace.people.values()]
        channels = [
            wire.channel_json(channel) | {"members": list(channel.members)} for channel in workspace.channels.values()
        ]
        messages = [
            workspace.for_page(message) for channel in workspace.channels for message in workspace.messages(channel)
        ]
        return {
            "kind": "snapshot",
            "name": "Bobbin demo",
            "bot": BOT_USER,
            "online": self._socket.online,
            "restarting": self._restarting,
            "can_restart": self._on_restart is not None,
            "notice": workspace.notice,
            "suggestions": workspace.suggestions,
            "people": people,
            "channels": channels,
            "messages": messages,
            "homes": workspace.homes,
        }

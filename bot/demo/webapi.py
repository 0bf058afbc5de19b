"""The Web API over HTTP: reads a call, checks its token, applies the faults that a test asked for, answers."""

from __future__ import annotations

from typing import cast

from aiohttp import web

from bot.demo import chat, lookups
from bot.demo.arguments import Arguments
from bot.demo.interactions import Interactions
from bot.demo.socket import SocketMode
from bot.demo.values import Call, Json, SlackError
from bot.demo.workspace import Workspace

SCOPES = (
    "app_mentions:read,channels:history,channels:manage,channels:read,channels:write.invites,channels:write.topic,"
    "chat:write,commands,files:read,files:write,groups:history,groups:read,groups:write,groups:write.invites,"
    "groups:write.topic,im:history,im:read,im:write,mpim:history,mpim:read,pins:write,reactions:read,reactions:write,"
    "usergroups:read,users:read"
)


class WebApi:
    def __init__(self, workspace: Workspace, socket: SocketMode, interactions: Interactions) -> None:
        self._workspace = workspace
        self._socket = socket
        self._interactions = interactions
        self._methods = chat.methods() | lookups.methods()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/api/{method}", self.call),
            web.get("/api/{method}", self.call),
            web.post("/upload/{file}", self.upload),
            web.get("/files/{file}/{name}", self.download),
            web.post("/response/{response}", self.respond),
        ]

    async def call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        arguments = await _arguments(request)
        if method in self._workspace.rate_limits:
            wait = self._workspace.rate_limits.pop(method)
            self._workspace.calls.append(Call(method, arguments.values, "ratelimited"))
            body = {"ok": False, "error": "ratelimited"}
            return web.json_response(body, status=429, headers={"Retry-After": str(wait)})
        answer = self._answer(method, arguments, _token(request, arguments))
        if method in self._workspace.lost_answers:
            self._workspace.lost_answers.remove(method)
            if request.transport is not None:
                request.transport.abort()
        return web.json_response(answer, headers={"X-OAuth-Scopes": SCOPES})

    async def upload(self, request: web.Request) -> web.Response:
        file = self._workspace.files.get(request.match_info["file"])
        if file is None or file.content is not None:
            raise web.HTTPNotFound(text="Ask files.getUploadURLExternal for an address to upload to.")
        self._workspace.store(file, await _uploaded(request))
        return web.Response(text="OK")

    async def download(self, request: web.Request) -> web.Response:
        file = self._workspace.files.get(request.match_info["file"])
        if file is None or file.content is None:
            raise web.HTTPNotFound(text="No such file.")
        if request.headers.get("Authorization") != f"Bearer {self._workspace.bot_token}":
            # Slack shows its sign-in page with status 200 to those who may not read the file.
            return web.Response(text="<!doctype html><title>Sign in | Slack</title>", content_type="text/html")
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=file.content, content_type="application/octet-stream", headers=headers)

    async def respond(self, request: web.Request) -> web.Response:
        try:
            self._interactions.respond(request.match_info["response"], await _arguments(request))
        except SlackError as refusal:
            return web.json_response({"ok": False, "error": refusal.code}, status=404)
        return web.Response(text="ok")

    def _answer(self, method: str, arguments: Arguments, token: str) -> Json:
        try:
            answer = {"ok": True} | self._carry_out(method, arguments, token)
            error = None
        except SlackError as refusal:
            error = refusal.code
            answer = {"ok": False, "error": error} | refusal.details
        self._workspace.calls.append(Call(method, arguments.values, error))
        return answer

    def _carry_out(self, method: str, arguments: Arguments, token: str) -> Json:
        if not token:
            raise SlackError("not_authed")
        if token not in (self._workspace.bot_token, self._workspace.app_token):
            raise SlackError("invalid_auth")
        if (token == self._workspace.app_token) != (method == "apps.connections.open"):
            raise SlackError("not_allowed_token_type")
        if method == "apps.connections.open":
            return {"url": self._socket.ticket()}
        if method not in self._methods:
            raise SlackError("unknown_method", req_method=method)
        for (refused, argument), error in self._workspace.refusals.items():
            if method == refused and arguments.has(argument):
                raise SlackError(error)
        return self._methods[method](self._workspace, arguments)


async def _arguments(request: web.Request) -> Arguments:
    values: Json = dict(request.query)
    if request.content_type == "application/json":
        body: object = await request.json() if request.can_read_body else {}
        return Arguments(values | (cast("Json", body) if isinstance(body, dict) else {}))
    form = await request.post()
    return Arguments(values | {name: value for name, value in form.items() if isinstance(value, str)})


async def _uploaded(request: web.Request) -> bytes:
    """The content, sent as the body itself or as the file of a form."""
    if request.content_type != "multipart/form-data":
        return await request.read()
    for value in (await request.post()).values():
        if isinstance(value, web.FileField):
            return value.file.read()
    raise web.HTTPBadRequest(text="Send the file as the body or as a field of a form.")


def _token(request: web.Request, arguments: Arguments) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ") or arguments.text("token")

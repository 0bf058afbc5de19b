"""Buttons, the slash command and forms of the app, and its replies to a response_url."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from bot.demo.arguments import Arguments
from bot.demo.chat import compose
from bot.demo.socket import SocketMode
from bot.demo.values import APP, BOT_USER, TEAM, Channel, Json, SlackError, objects
from bot.demo.workspace import Workspace

RESPONSE_USES = 5
RESPONSE_SECONDS = 30 * 60


class FormRefused(Exception):
    """The app does not take what was typed into a form; its words for the person."""


@dataclass(slots=True)
class ResponseUrl:
    """Where a response_url leads: the person and, for a click, the message that was clicked."""

    person: str
    channel: str
    ts: str | None
    opened: float
    uses: int = 0


class Interactions:
    def __init__(self, workspace: Workspace, socket: SocketMode) -> None:
        self._workspace = workspace
        self._socket = socket
        self._responses: dict[str, ResponseUrl] = {}

    async def click(self, person: str, channel: str, ts: str, action_id: str) -> None:
        """Press a button of a message. Raises SlackError("action_not_found"), NotAcknowledged."""
        message = self._workspace.message(channel, ts)
        payload = self._action(person, self._workspace.channels[channel], message.blocks, action_id, ts)
        container = {"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": bool(message.seen_by)}
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        payload |= {"container": container, "message": self._workspace.shown(message)}
        await self._socket.send("interactive", payload)

    async def click_home(self, person: str, action_id: str, typed: str | None = None) -> None:
        """Press a button of the App Home, or Enter in a field where something was typed.

        Raises SlackError("action_not_found"), NotAcknowledged.
        """
        view = self._workspace.homes.get(person, {})
        channel = self._workspace.direct_channel(person)
        payload = self._action(person, channel, objects(view.get("blocks")), action_id, None)
        if typed is not None:
            payload["actions"] = [one | {"value": typed} for one in objects(payload["actions"])]
        await self._socket.send("interactive", payload | {"container": {"type": "view"}, "view": view})

    async def command(self, person: str, channel: str, text: str, command: str = "/bobbin") -> None:
        """Type the slash command; what the ack carries is shown to the person. Raises NotAcknowledged."""
        where = self._workspace.channel(channel)
        payload: Json = {
            "token": "verification",
            "team_id": TEAM,
            "team_domain": "bobbin-demo",
            "channel_id": where.id,
            "channel_name": "directmessage" if where.kind == "im" else where.name,
            "user_id": person,
            "user_name": self._workspace.person(person).name,
            "command": command,
            "text": text,
            "api_app_id": APP,
            "is_enterprise_install": "false",
            "response_url": self._response_url(person, where.id, None),
            "trigger_id": self._trigger(person),
        }
        answer = await self._socket.send("slash_commands", payload)
        if answer:
            self._reply(ResponseUrl(person, where.id, None, time.time()), Arguments(answer))

    async def submit(self, person: str, view_id: str, values: dict[str, dict[str, str]]) -> None:
        """Send a form; `values` are texts by block_id, then action_id.

        Raises SlackError, NotAcknowledged, and FormRefused with the app's words about what was typed.
        """
        view = self._workspace.modals.get(view_id)
        if view is None:
            raise SlackError("not_found")
        state = {
            block: {action: {"type": "plain_text_input", "value": value} for action, value in actions.items()}
            for block, actions in values.items()
        }
        payload = self._envelope("view_submission", person) | {"view": view | {"state": {"values": state}}}
        answer = await self._socket.send("interactive", payload)
        if answer.get("response_action") == "errors":
            raise FormRefused(" ".join(map(str, cast("dict[str, object]", answer["errors"]).values())))
        del self._workspace.modals[view_id]

    def respond(self, response: str, arguments: Arguments) -> None:
        """A post of the app to a response_url. Raises SlackError("expired_url", "used_url")."""
        target = self._responses.get(response)
        if target is None or time.time() - target.opened > RESPONSE_SECONDS:
            raise SlackError("expired_url")
        if target.uses >= RESPONSE_USES:
            raise SlackError("used_url")
        target.uses += 1
        self._reply(target, arguments)

    def _reply(self, target: ResponseUrl, arguments: Arguments) -> None:
        before = self._workspace.message(target.channel, target.ts) if target.ts else None
        if before and arguments.flag("delete_original"):
            self._workspace.remove(before)
            return
        message = compose(self._workspace, self._workspace.channels[target.channel], arguments)
        if before and arguments.flag("replace_original"):
            self._workspace.revise(replace(before, text=message.text, blocks=message.blocks), BOT_USER)
            return
        seen_by = None if arguments.text("response_type") == "in_channel" else target.person
        self._workspace.publish(replace(message, seen_by=seen_by))

    def _action(self, person: str, channel: Channel, blocks: tuple[Json, ...], action_id: str, ts: str | None) -> Json:
        element = next((one for one in _elements(blocks) if one.get("action_id") == action_id), None)
        if element is None:
            raise SlackError("action_not_found")
        action = {"type": "button"} | element | {"action_ts": self._workspace.new_ts()}
        name = "directmessage" if channel.kind == "im" else channel.name
        return self._envelope("block_actions", person) | {
            "channel": {"id": channel.id, "name": name},
            "response_url": self._response_url(person, channel.id, ts),
            "actions": [action],
        }

    def _envelope(self, kind: str, person: str) -> Json:
        name = self._workspace.person(person).name
        return {
            "type": kind,
            "user": {"id": person, "username": name, "name": name, "team_id": TEAM},
            "api_app_id": APP,
            "token": "verification",
            "trigger_id": self._trigger(person),
            "team": {"id": TEAM, "domain": "bobbin-demo"},
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def _trigger(self, person: str) -> str:
        return f"{self._workspace.new_id('Tr')}-{person}"

    def _response_url(self, person: str, channel: str, ts: str | None) -> str:
        response = self._workspace.new_id("R0")
        self._responses[response] = ResponseUrl(person, channel, ts, time.time())
        return f"{self._workspace.base_url}/response/{response}"


def _elements(blocks: tuple[Json, ...]) -> Iterator[Json]:
    for block in blocks:
        inner = (*objects(block.get("elements")), *objects([block.get("accessory"), block.get("element")]))
        for element in inner:
            yield {"block_id": block.get("block_id")} | element

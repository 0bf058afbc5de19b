"""The door through which Slack comes in: everything is stored before it is acknowledged.

One middleware of Bolt answers every request itself. It is awaited before the acknowledgement, so
what could not be stored is not acknowledged, and Slack delivers it again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.contexts import Contexts
from bot.slack.home import Home
from bot.slack.ids import spot
from bot.slack.inbound import (
    Click,
    Event,
    Follow,
    Heard,
    Own,
    Reaction,
    accept,
    bare_words,
    follows_from_now,
    form_sent,
    home_press,
    home_visitor,
    kept,
    understand,
    understand_click,
)
from memory.inbox import Deleted, Edited, Gesture, Gestured, Inbound, Inbox, Said
from memory.log import Logs
from memory.types import MessageId, ThreadKey

VERDICTS: frozenset[Gesture] = frozenset({"approve", "refuse", "grant"})
"""What is meant only where a request was shown."""


@dataclass(slots=True)
class Door:
    inbox: Inbox
    logs: Logs
    own: Own
    wake: Callable[[ThreadKey], None]
    follow: Follow = "own"
    shared_channels: frozenset[str] = frozenset()
    home: Home | None = None
    contexts: Contexts | None = None

    def app(self, client: AsyncWebClient, signing_secret: str) -> AsyncApp:
        """Bolt, with us in front of it. It checks signatures when it is reached over HTTP."""

        async def authorize(**_: Any) -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=self.own.team,
                bot_user_id=self.own.user,
                bot_id=self.own.bot,
                bot_token=client.token,
            )

        app = AsyncApp(
            client=client,
            signing_secret=signing_secret,
            authorize=authorize,
            ignoring_self_events_enabled=False,  # we tell our own echoes from other bots ourselves
            process_before_response=True,
            logger=logging.getLogger("slack_bolt"),  # otherwise Bolt's loggers take their level from the root
        )
        app.middleware(self.enter)  # pyright: ignore[reportUnknownMemberType] - Bolt leaves it untyped
        return app

    async def enter(self, req: AsyncBoltRequest, next: Callable[[], Awaitable[None]]) -> BoltResponse:
        """Store what is for us; say thanks for everything else."""
        body: dict[str, Any] = dict(req.body)
        match body.get("type"):
            case "event_callback":
                await self._event(body)
            case "block_actions":
                if self.home is not None and (pressed := home_press(body)) is not None:
                    self.home.pressed(pressed)
                elif (click := understand_click(body, self.own)) is not None:
                    trigger = str(body.get("trigger_id") or body.get("action_ts") or "")
                    await self._gesture(click, trigger, on=True, at=0.0)
            case "view_submission" if self.home is not None and (form := form_sent(body)) is not None:
                if (refused := await self.home.sent(form)) is not None:
                    return BoltResponse(status=200, body=refused)
            case None if self.home is not None and body.get("command"):
                return BoltResponse(status=200, body=await self._command(self.home, body))
            case kind:
                structlog.get_logger().debug("not for us", action="ignored", kind=kind)
        return BoltResponse(status=200, body="")

    async def _command(self, home: Home, body: dict[str, Any]) -> dict[str, Any]:
        user, text = str(body["user_id"]), str(body.get("text") or "")
        if self.contexts is not None and text.strip().lower() == "context":
            return await self.contexts.command(user, self.own.team, str(body["channel_id"]))
        return await home.command(user, text)

    async def _event(self, body: dict[str, Any]) -> None:
        event_id = str(body["event_id"])
        if self.home is not None and (visitor := home_visitor(body)) is not None:
            self.home.opened(visitor)
        event: Event | None = understand(body, self.own, self.shared_channels)
        match event:
            case None:
                pass
            case Heard():
                await self._heard(event, event_id)
            case Edited():
                await self._put(event_id, f"edited:{event.message}:{event_id}", event)
            case Deleted():
                await self._put(event_id, _deletion(event.message), event)
            case Reaction():
                await self._gesture(event, _identity(event, event_id), on=event.on, at=event.at)

    async def _heard(self, heard: Heard, event_id: str) -> None:
        thread = heard.thread.thread
        follows = heard.is_reply and self.follow != "mention" and await self.logs.follows(thread)
        if not accept(heard, self.follow, follows=follows):
            return
        if await self.inbox.knows(_deletion(heard.spot.message)):
            return  # a late delivery: it was taken back before it came
        said = Said(
            thread=thread,
            message=heard.spot.message,
            author=heard.author,
            words=bare_words(heard.message, self.own),
            at=float(heard.spot.ts),
            follow=follows_from_now(heard, self.follow),
            catch_up=heard.is_reply and not heard.direct and not follows,
            opaque=kept(heard.message),
        )
        await self._put(event_id, f"said:{heard.spot.message}", said)

    async def _gesture(self, made: Reaction | Click, made_id: str, *, on: bool, at: float) -> None:
        place = await self.logs.place_of(made.message)
        if made.gesture in VERDICTS and (place is None or place.what != "approval"):
            return  # a thumb up for an answer, or for somebody's words, decides nothing
        thread = place.thread if place else await self._thread_of(made.message, made.gesture)
        if thread is None:
            return
        door = "button" if isinstance(made, Click) else "reaction"
        gestured = Gestured(
            thread=thread, message=made.message, author=made.author, gesture=made.gesture, on=on, door=door, at=at
        )
        await self._put(f"{door}:{made_id}", f"gesture:{door}:{made_id}", gestured)

    async def _thread_of(self, message: MessageId, gesture: Gesture) -> ThreadKey | None:
        """A stop sign may also be put on the message that began a thread of ours, a pin on any message."""
        root = spot(message).thread
        if gesture == "remember":
            return root
        return root if await self.logs.follows(root) else None

    async def _put(self, event_id: str, identity: str, inbound: Inbound) -> None:
        if await self.inbox.put(event_id, identity, inbound):
            self.wake(inbound.thread)


def _deletion(message: MessageId) -> str:
    return f"deleted:{message}"


def _identity(made: Reaction, event_id: str) -> str:
    """The same act, whatever the event is called when it is delivered again."""
    if not made.at:
        return event_id
    return f"{made.message}:{made.author}:{made.gesture}:{made.on}:{made.at}"

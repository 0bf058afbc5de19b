"""Slack's payloads -> what we understand of them. Pure; what is not for us becomes None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bot.slack.ids import Spot
from bot.slack.mentions import mentions
from bot.slack.names import unescaped
from memory.inbox import Deleted, Edited, Gesture
from memory.types import MessageId

Json = Mapping[str, Any]

Follow = Literal["own", "all", "mention"]
"""Whose threads we follow without a mention: those that began with us, every one we were called into, or none."""

GESTURES: dict[str, Gesture] = {
    "white_check_mark": "approve",
    "heavy_check_mark": "approve",
    "+1": "approve",
    "thumbsup": "approve",
    "x": "refuse",
    "-1": "refuse",
    "thumbsdown": "refuse",
    "no_entry_sign": "refuse",
    "octagonal_sign": "stop",
    "repeat": "grant",
    "pushpin": "remember",
    "compression": "compact",
}
"""Names of reactions, without skin tones."""

SPOKEN = {None, "thread_broadcast", "file_share", "me_message"}
"""Subtypes of messages that carry somebody's words."""

SLACKBOT = "USLACKBOT"
"""Slack's own voice: it writes without a ``bot_id``, and repeats mentions (in reminders, for example)."""


@dataclass(frozen=True, slots=True)
class Own:
    """Who we are in this workspace."""

    team: str
    user: str
    bot: str

    def wrote(self, message: Json) -> bool:
        return message.get("user") == self.user or (bool(self.bot) and message.get("bot_id") == self.bot)


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of a person that may be for us; ``accept`` decides."""

    spot: Spot
    thread: Spot
    author: str
    direct: bool
    mentioned: bool
    under_ours: bool
    """It replies to a message of ours."""
    message: Json

    @property
    def is_reply(self) -> bool:
        return self.thread.ts != self.spot.ts


@dataclass(frozen=True, slots=True)
class Reaction:
    message: MessageId
    author: str
    gesture: Gesture
    on: bool
    at: float


@dataclass(frozen=True, slots=True)
class Click:
    """A button on one of our messages."""

    message: MessageId
    author: str
    gesture: Gesture


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button, or a field and Enter, on somebody's own home. ``trigger`` opens a form, for three seconds."""

    person: str
    action: str
    value: str
    trigger: str


@dataclass(frozen=True, slots=True)
class Form:
    """A form with one field. ``about`` is what we gave it along when it was opened."""

    person: str
    name: str
    about: str
    typed: str


Event = Heard | Edited | Deleted | Reaction


def understand(payload: Json, own: Own, shared_channels: frozenset[str]) -> Event | None:
    """An ``event_callback`` payload. None: not for us (our own echo, another bot, a join, an outsider...)."""
    event: Json = payload.get("event") or {}
    if payload.get("is_ext_shared_channel") and _channel(event) not in shared_channels:
        return None
    match event.get("type"):
        case "app_mention" | "message":
            return _message(event, own)
        case ("reaction_added" | "reaction_removed") as kind:
            return _reaction(event, own, on=kind == "reaction_added")
        case _:
            return None


def _channel(event: Json) -> str:
    item: Json = event.get("item") or {}
    return str(event.get("channel") or item.get("channel") or "")


def _message(event: Json, own: Own) -> Event | None:
    match event.get("subtype"):
        case "message_changed":
            return _changed(event, own)
        case "message_deleted":
            return _deleted(event, str(event.get("deleted_ts")), own)
        case subtype if subtype in SPOKEN:
            return _heard(event, own)
        case _:
            return None


def _heard(event: Json, own: Own) -> Heard | None:
    if not _by_a_person(event, own) or event.get("edited"):
        return None
    channel, ts = str(event["channel"]), str(event["ts"])
    return Heard(
        spot=Spot(own.team, channel, ts),
        thread=Spot(own.team, channel, str(event.get("thread_ts") or ts)),
        author=str(event["user"]),
        direct=event.get("channel_type") == "im",
        mentioned=mentions(str(event.get("text") or ""), own.user),
        under_ours=event.get("parent_user_id") == own.user,
        message=event,
    )


def _by_a_person(message: Json, own: Own) -> bool:
    """Whether somebody of this workspace wrote it: not we, not another bot, nobody of another organisation."""
    user = message.get("user")
    if not user or user == SLACKBOT or message.get("bot_id") or own.wrote(message):
        return False
    return (message.get("user_team") or message.get("source_team") or own.team) == own.team


def _changed(event: Json, own: Own) -> Event | None:
    now: Json = event.get("message") or {}
    before: Json = event.get("previous_message") or {}
    if now.get("subtype") == "tombstone":
        return _deleted(event, str(now.get("ts")), own)
    if not _by_a_person(now, own):
        return None
    if now.get("text") == before.get("text") and _file_ids(now) == _file_ids(before):
        return None
    channel, ts = str(event["channel"]), str(now["ts"])
    return Edited(
        thread=Spot(own.team, channel, str(now.get("thread_ts") or ts)).thread,
        message=Spot(own.team, channel, ts).message,
        author=str(now["user"]),
        words=bare_words(now, own),
        opaque=kept(now),
    )


def _deleted(event: Json, ts: str, own: Own) -> Deleted | None:
    before: Json = event.get("previous_message") or {}
    if own.wrote(before):
        return None
    channel = str(event["channel"])
    thread = Spot(own.team, channel, str(before.get("thread_ts") or ts)).thread
    return Deleted(thread=thread, message=Spot(own.team, channel, ts).message)


def _file_ids(message: Json) -> list[object]:
    files: list[Json] = message.get("files") or []
    return [file.get("id") for file in files]


def gesture_of(name: str) -> Gesture | None:
    """What a reaction means; its skin tone means nothing."""
    return GESTURES.get(name.split("::", maxsplit=1)[0])


def _reaction(event: Json, own: Own, *, on: bool) -> Reaction | None:
    item: Json = event.get("item") or {}
    gesture = gesture_of(str(event.get("reaction", "")))
    if gesture is None or item.get("type") != "message" or event.get("user") in {None, own.user}:
        return None
    message = Spot(own.team, str(item["channel"]), str(item["ts"])).message
    return Reaction(message, str(event["user"]), gesture, on, float(event.get("event_ts") or 0))


def understand_click(payload: Json, own: Own) -> Click | None:
    """A ``block_actions`` payload."""
    container: Json = payload.get("container") or {}
    actions: list[Json] = payload.get("actions") or []
    user: Json = payload.get("user") or {}
    gesture = next((a["action_id"] for a in actions if a.get("action_id") in {"approve", "refuse", "stop"}), None)
    if gesture is None or not container.get("message_ts"):
        return None
    message = Spot(own.team, str(container["channel_id"]), str(container["message_ts"])).message
    return Click(message, str(user.get("id", "")), gesture)


def home_visitor(payload: Json) -> str | None:
    """Who opened the app's home, if that is what happened."""
    event: Json = payload.get("event") or {}
    return str(event["user"]) if event.get("type") == "app_home_opened" and event.get("tab") == "home" else None


def home_press(payload: Json) -> Pressed | None:
    """Something done on somebody's own home; None for clicks elsewhere."""
    container: Json = payload.get("container") or {}
    user: Json = payload.get("user") or {}
    actions: list[Json] = payload.get("actions") or []
    if container.get("type") != "view" or not actions:
        return None
    action, value = str(actions[0].get("action_id", "")), str(actions[0].get("value") or "")
    return Pressed(str(user.get("id", "")), action, value, str(payload.get("trigger_id") or ""))


def form_sent(payload: Json) -> Form | None:
    """A form of ours that somebody sent; None for any other."""
    view: Json = payload.get("view") or {}
    user: Json = payload.get("user") or {}
    state: Json = view.get("state") or {}
    blocks: Json = state.get("values") or {}
    fields = [field for block in blocks.values() for field in block.values()]
    if not view.get("callback_id") or not fields:
        return None
    typed = str(fields[0].get("value") or "")
    return Form(str(user.get("id", "")), str(view["callback_id"]), str(view.get("private_metadata") or ""), typed)


def accept(heard: Heard, follow: Follow, *, follows: bool) -> bool:
    """Whether a message is for us: written to us alone, with a mention, or in a thread that we follow.

    The same rule for both events that Slack sends for one mention.
    """
    if heard.direct or heard.mentioned:
        return True
    return follow != "mention" and heard.is_reply and (follows or heard.under_ours)


def follows_from_now(heard: Heard, follow: Follow) -> bool:
    """Whether accepting this message makes its thread one that we follow."""
    return heard.direct or heard.under_ours or not heard.is_reply or follow == "all"


def bare_words(message: Json, own: Own) -> str:
    """The words without our own mention, for what is said to the program itself ("stop", "yes")."""
    return unescaped(str(message.get("text") or "").replace(f"<@{own.user}>", "")).strip()


def kept(message: Json) -> Any:
    """The parts of a message that are read later."""
    return {key: message[key] for key in ("text", "blocks", "attachments", "files") if message.get(key)}

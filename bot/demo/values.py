"""The things a workspace is made of, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast

Json = dict[str, object]
"""An object on the wire. Slack's shapes stay open: fields come and go with their kind."""


def objects(value: object) -> tuple[Json, ...]:
    """The objects of a JSON list; anything else is left out."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(cast("Json", item) for item in items if isinstance(item, dict))


TEAM = "T0BOBBIN01"
APP = "A0BOBBIN01"
BOT = "B0BOBBIN01"
BOT_USER = "U0BOBBIN01"
SLACKBOT = "USLACKBOT"

Kind = Literal["channel", "group", "im"]


class SlackError(Exception):
    """A refused Web API call; `code` is Slack's name for the reason."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code = code
        self.details: Json = dict(details)


@dataclass(frozen=True, slots=True)
class Person:
    id: str
    name: str
    real_name: str
    locale: str = "en-US"
    timezone: str = "Europe/Lisbon"
    is_bot: bool = False
    is_guest: bool = False
    is_stranger: bool = False
    """True for someone of another organisation, seen through a shared channel."""
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Channel:
    id: str
    name: str
    kind: Kind = "channel"
    members: tuple[str, ...] = ()
    topic: str = ""
    archived: bool = False
    shared: bool = False
    """True for a channel shared with another organisation."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `ts` is Slack's id within its channel. A new version replaces the old one."""

    channel: str
    ts: str
    user: str
    text: str = ""
    blocks: tuple[Json, ...] = ()
    attachments: tuple[Json, ...] = ()
    thread_ts: str | None = None
    subtype: str | None = None
    by_app: bool = False
    metadata: Json | None = None
    files: tuple[str, ...] = ()
    reactions: tuple[tuple[str, str], ...] = ()
    """Pairs of (emoji name, user), oldest first."""
    edited: tuple[str, str] | None = None
    """(user, ts) of the last edit."""
    seen_by: str | None = None
    """The one person who sees an ephemeral message."""
    pinned: bool = False

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts


@dataclass(frozen=True, slots=True)
class StoredFile:
    id: str
    name: str
    size: int
    """In bytes, as announced before the upload."""
    user: str
    created: int
    title: str = ""
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    id: str
    post_at: int
    """Seconds since the epoch."""
    message: Message


@dataclass(frozen=True, slots=True)
class Call:
    """One Web API call, kept so that tests can look back."""

    method: str
    arguments: Json = field(repr=False)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """How long Slack waits for an ack, and before each new attempt, in seconds."""

    ack: float = 3.0
    retries: tuple[float, ...] = (1.0, 60.0, 300.0)

"""Who reads a reply, and which facts may therefore stand in it. Pure.

The rule behind everything here: a fact is shown only where everybody who reads the reply could
have read the message that the fact came from. What is not known for certain is not shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memory.types import ThreadKey, Value

Room = Literal["public", "private", "direct", "closed"]
"""What kind of place a message stands in. ``private`` is every place with a fixed list of members;
``direct`` is one person and us; ``closed`` is shared with outsiders, or not known: no memory there."""

ScopeKind = Literal["workspace", "channel", "thread", "user"]


class Scope(Value):
    """Where a fact holds. ``place`` is a channel, a thread or a person; empty for the workspace."""

    kind: ScopeKind
    place: str = ""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who reads a reply in this thread. ``asker`` is whose words are answered.

    ``restricted``: guests are among the readers, who may read no other channel than this one.
    ``channels``: the channels that the asker is a member of; filled for a direct conversation only.
    """

    workspace: str
    channel: str
    thread: ThreadKey
    room: Room
    asker: str
    restricted: bool = False
    channels: frozenset[str] = field(default_factory=frozenset[str])


class Source(Value):
    """Where a fact was said; ``shared`` when its author had it told to the whole workspace."""

    workspace: str
    channel: str
    room: Room
    shared: bool = False

    @property
    def public(self) -> bool:
        return self.room == "public" or self.shared


def may_see(scope: Scope, source: Source, audience: Audience) -> bool:
    """Whether a fact of this scope and source may be told to this audience."""
    if source.workspace != audience.workspace or "closed" in (audience.room, source.room):
        return False
    return _holds_here(scope, audience) and _readable(source, audience)


def _holds_here(scope: Scope, audience: Audience) -> bool:
    match scope.kind:
        case "workspace":
            return True
        case "channel":
            return audience.room == "direct" or scope.place == audience.channel
        case "thread":
            return scope.place == audience.thread
        case "user":
            return scope.place == audience.asker


def _readable(source: Source, audience: Audience) -> bool:
    """Whether everybody in the audience could have read the source."""
    if source.channel == audience.channel:
        return True
    if source.public and not audience.restricted:
        return True
    return audience.room == "direct" and source.room != "direct" and source.channel in audience.channels


def scope_of(audience: Audience, author: str, kind: str) -> Scope | None:
    """The scope of a fact that is learned from what ``author`` said here. None: nothing is learned here."""
    match audience.room:
        case "closed":
            return None
        case "direct":
            return Scope(kind="user", place=author)
        case _ if kind == "preference":
            return Scope(kind="user", place=author)
        case _ if kind == "task":
            return Scope(kind="thread", place=audience.thread)
        case "private":
            return Scope(kind="channel", place=audience.channel)
        case "public":
            return Scope(kind="workspace")


def source_of(audience: Audience) -> Source:
    return Source(workspace=audience.workspace, channel=audience.channel, room=audience.room)

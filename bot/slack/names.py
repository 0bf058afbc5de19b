"""Slack's wire text -> what a reader reads: names for ids, links with their labels, entities decoded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import regex

from bot.slack.visible import visible

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Names:
    """Display names by user id and names of channels by channel id, as far as they are known, and who we are."""

    own_id: str
    own_name: str = "Bobbin"
    users: Mapping[str, str] = field(default_factory=dict[str, str])
    channels: Mapping[str, str] = field(default_factory=dict[str, str])

    def user(self, user_id: str, label: str = "") -> str:
        """``@Ana (U1)``; ``@you`` for ourselves. A label is what the sender wrote: it yields to the name."""
        if user_id == self.own_id:
            return "@you"
        name = one_line(self.users.get(user_id) or label)
        return f"@{name} ({user_id})" if name else f"@{user_id}"

    def channel(self, channel_id: str, label: str = "") -> str:
        """``#ops``, or the id where nobody knows the name."""
        return f"#{one_line(self.channels.get(channel_id) or label) or channel_id}"


def decoded(wire: str, names: Names) -> str:
    """A text as Slack sends it, in one pass: what an entity decodes to is never read as markup or decoded again."""

    def read(match: regex.Match[str]) -> str:
        return _token(match["token"], names) if match["token"] is not None else unescaped(match[0])

    return regex.sub(r"<(?P<token>(?:[@#!]|[a-zA-Z][\w+.-]*:)[^<>\n]+)>|&(?:amp|lt|gt);", read, wire)


def unescaped(wire: str) -> str:
    """``&amp; &lt; &gt;`` decoded exactly once."""
    return regex.sub(r"&(amp|lt|gt);", lambda match: {"amp": "&", "lt": "<", "gt": ">"}[match[1]], wire)


def link(url: str, label: str = "") -> str:
    """``label (url)``, or the address alone where the label says no more."""
    if not label or url in {label, f"mailto:{label}", f"http://{label}", f"https://{label}"}:
        return label if url.startswith("mailto:") and label else url
    return f"{label} ({url})"


def date(timestamp: str, fallback: str = "") -> str:
    """The words the sender gave for a time, else the time in UTC."""
    if fallback or not regex.fullmatch(r"\d{1,11}", timestamp):
        return fallback or timestamp
    return datetime.fromtimestamp(int(timestamp), UTC).strftime("%Y-%m-%d %H:%M UTC")


def _token(token: str, names: Names) -> str:
    target, _, label = (unescaped(part) for part in token.partition("|"))
    match target[0], target[1:].split("^"):
        case "@", [user_id]:
            return names.user(user_id, label)
        case "#", [channel_id]:
            return names.channel(channel_id, label)
        case "!", ["subteam", group_id, *_]:
            return f"@{one_line(label.lstrip('@'))} ({group_id})" if label else f"@{group_id}"
        case "!", ["date", timestamp, *_]:
            return date(timestamp, label)
        case "!", [name, *_]:
            return f"@{name}"
        case _:
            return link(target, label)


def one_line(name: str) -> str:
    """A name that cannot pose as another: one short line, and no round brackets, which are ours for the id."""
    return visible(" ".join(name.split()))[:_LONGEST_NAME].replace("(", "[").replace(")", "]")

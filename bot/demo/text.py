"""Slack's text format: what the composer makes of typed words, and what the server makes of an app's text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from bot.demo.values import Channel, Json, Person

_CONTROL = re.compile(r"<(?:[@#!][^<>\s][^<>]*|(?:https?://|mailto:|tel:)[^<>\s|][^<>]*)>")
_BARE_URL = re.compile(r"(?<![<|\w])https?://[^\s<>|]*[^\s<>|.,;:!?)\]'\"]")
_STRAY_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt);)")
_BROADCASTS = ("channel", "here", "everyone")


def from_composer(typed: str, people: Iterable[Person], channels: Iterable[Channel]) -> str:
    """What a person typed, as Slack stores it: escaped, with names and addresses made into references."""
    text = _BARE_URL.sub(lambda url: f"<{url[0]}>", html.escape(typed, quote=False))
    references = {f"@{person.name}": f"<@{person.id}>" for person in people}
    references |= {f"@{person.real_name}": f"<@{person.id}>" for person in people}
    references |= {f"@{word}": f"<!{word}>" for word in _BROADCASTS}
    references |= {f"#{channel.name}": f"<#{channel.id}|{channel.name}>" for channel in channels}
    # The longest name first, so that "@Ana Maria" is not taken for "@Ana". An address keeps its own signs.
    names = "|".join(re.escape(name) for name in sorted(references, key=len, reverse=True))
    pattern = re.compile(rf"<[^>]*>|(?<![A-Za-z0-9_@#])(?:{names})(?![a-zA-Z0-9_])", re.IGNORECASE)
    folded = {name.casefold(): reference for name, reference in references.items()}
    return pattern.sub(lambda found: folded.get(found[0].casefold(), found[0]), text)


def to_composer(text: str, people: Iterable[Person]) -> str:
    """The inverse for the words of a person who edits a message."""
    for person in people:
        text = text.replace(f"<@{person.id}>", f"@{person.name}")
    text = re.sub(r"<#\w+\|([^>]*)>", r"#\1", text)
    text = re.sub(r"<!(\w+)>", r"@\1", text)
    text = re.sub(r"<((?:https?://|mailto:)[^>|]*)(?:\|[^>]*)?>", r"\1", text)
    return html.unescape(text)


def normalised(text: str) -> str:
    """An app's text as Slack keeps it: stray `&`, `<` and `>` are escaped, references stay."""
    pieces: list[str] = []
    position = 0
    for reference in _CONTROL.finditer(text):
        pieces += [_escape_stray(text[position : reference.start()]), _STRAY_AMPERSAND.sub("&amp;", reference[0])]
        position = reference.end()
    return "".join([*pieces, _escape_stray(text[position:])])


def rich_text(text: str) -> Json:
    """The block that Slack attaches to what a person typed, from the stored text."""
    elements: list[Json] = []
    for piece in re.split(r"(<[^>]+>)", text):
        if piece:
            elements.append(_element(piece))
    section: Json = {"type": "rich_text_section", "elements": elements}
    return {"type": "rich_text", "elements": [section]}


def mentions(text: str, user: str) -> bool:
    return re.search(rf"<@{user}(?:\|[^>]*)?>", text) is not None


def _escape_stray(text: str) -> str:
    return _STRAY_AMPERSAND.sub("&amp;", text).replace("<", "&lt;").replace(">", "&gt;")


def _element(piece: str) -> Json:
    if not piece.startswith("<"):
        return {"type": "text", "text": html.unescape(piece)}
    target, _, label = piece[1:-1].partition("|")
    if target.startswith("@"):
        return {"type": "user", "user_id": target[1:]}
    if target.startswith("#"):
        return {"type": "channel", "channel_id": target[1:]}
    if target.startswith("!"):
        return {"type": "broadcast", "range": target[1:]}
    link: Json = {"type": "link", "url": html.unescape(target)}
    return link | ({"text": html.unescape(label)} if label else {})

"""Links in text that was written under a stranger's influence: only hosts that people named stay clickable."""

from __future__ import annotations

import html
from collections.abc import Callable

import regex
from markdown_it import MarkdownIt

from bot.slack.code import code_ranges
from bot.slack.hosts import ADDRESS, ADDRESS_IN_CODE, defanged, host_of, is_named, named_hosts, trimmed
from bot.slack.visible import without_hidden

_DESTINATION = r"(?:<[^<>\n]*>|(?:[^\s()<>]|\([^\s()]*\))*+)"
_TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
_LINK = (
    rf"(?:\[(?P<label>[^\[\]]*)\]|(?P<tail>\]))\(\s*(?P<target>{_DESTINATION}){_TITLE}\s*\)"
    rf"|(?m:^)(?P<before>[ >]*)\[(?P<name>[^\[\]]+)\]:\s*(?P<defined>{_DESTINATION})"
    r"|<(?P<auto>[^\s<>|]+)(?:\|(?P<shown>[^<>\n]*))?>"
    rf"|(?P<address>{ADDRESS})"
)
# Escapes and entities of the characters that addresses and links are made of.
_ESCAPE = r"\\(?=[:/.@])"
_ENTITY = r"&(?!(?:amp|lt|gt|quot|nbsp)\b)(?:\w{2,32}|\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6});?"


def safe_links(markdown: str, named_hosts: frozenset[str]) -> str:
    """The text with only links to ``named_hosts`` (lower case, no ``www.``; see `bot.slack.hosts.named_hosts`).

    Any other address is printed with its dots and colon in brackets, in a code span; images become links or text; a
    label that reads like another host than the link's gives way to the address. Idempotent.
    """
    text = without_hidden(markdown)
    text = _outside_code(text, lambda part: regex.sub(r"!(?=\[)", "", _spelled_out(part)))
    text = _outside_code(text, lambda part: _relinked(part, named_hosts), lambda part: _in_code(part, named_hosts))
    # What the parser sees has the last word: tricks that the patterns missed cost the text its beauty.
    return text if _is_safe(text, named_hosts) else _disarmed(text)


def _relinked(text: str, named: frozenset[str]) -> str:
    def replaced(match: regex.Match[str]) -> str:
        if match["address"] is not None:
            address = trimmed(match["address"])
            return _shown(address, named) + match["address"].removeprefix(address)
        if match["name"] is not None:
            return f"{match['before']}{match['name']}: {_shown(match['defined'].strip('<>'), named)}"
        if match["tail"] is not None:
            return f"] ({_shown(match['target'].strip('<>'), named)})"
        if match["auto"] is None:
            return _labelled(match["label"], match["target"].strip("<>"), named)
        if not regex.search(r"[:.]", match["auto"]) or match["auto"][0] in "@#!":
            return match[0]
        return _labelled(match["shown"] or "", html.unescape(match["auto"]), named)

    return regex.sub(_LINK, replaced, text)


def _labelled(label: str, target: str, named: frozenset[str]) -> str:
    claimed = named_hosts(label)
    if not is_named(target, named) or not target.lower().startswith("http"):
        words = regex.sub(ADDRESS, lambda match: _shown(match[0], named), label)
        return f"{words} ({_shown(target, named)})" if label.strip() and label != target else _shown(target, named)
    if not label.strip() or claimed - {host_of(target)}:
        return f"<{target}>"
    return f"[{label}]({target})"


def _shown(address: str, named: frozenset[str]) -> str:
    if not address or is_named(address, named):
        return address
    return f"`{defanged(address.replace('`', ''))}`"


def _in_code(code: str, named: frozenset[str]) -> str:
    def replaced(match: regex.Match[str]) -> str:
        return match[0] if is_named(trimmed(match[0]), named) else defanged(match[0])

    return regex.sub(ADDRESS_IN_CODE, replaced, code)


def _spelled_out(text: str) -> str:
    return regex.sub(_ENTITY, lambda match: html.unescape(match[0]), regex.sub(_ESCAPE, "", text))


def _is_safe(text: str, named: frozenset[str]) -> bool:
    """Whether a markdown parser finds no image, no link and no address in prose that leads to a host nobody named."""
    for block in MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text):
        children = block.children or []
        targets = [str(token.attrs.get("href", "")) for token in children if token.type == "link_open"]
        prose = "".join(token.content for token in children if token.type == "text")
        found = [trimmed(match[0]) for match in regex.finditer(ADDRESS, prose)]
        if any(token.type == "image" for token in children):
            return False
        if not all(is_named(address, named) for address in [*targets, *found]):
            return False
    return True


def _disarmed(text: str) -> str:
    broken = _spelled_out(text).replace("![", "[").replace("](", "] (").replace("]:", "] :")
    return regex.sub(r"(?<!\[):(?=\S)(?!\])|(?<=\S)(?<!\[)\.(?=\w)", lambda match: f"[{match[0]}]", broken)


def _outside_code(text: str, prose: Callable[[str], str], code: Callable[[str], str] = str) -> str:
    parts: list[str] = []
    at = 0
    for start, end in code_ranges(text):
        parts += [prose(text[at:start]), code(text[start:end])]
        at = end
    return "".join([*parts, prose(text[at:])])

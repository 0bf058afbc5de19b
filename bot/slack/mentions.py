"""Whom a message addresses, and whom a message of ours may address."""

from __future__ import annotations

import html
import unicodedata

import regex

from bot.slack.code import code_ranges
from bot.slack.visible import without_hidden

_USER = r"<@(?P<user>[UW][A-Z0-9]+)(?:\|[^<>\n]*)?>"
_CHANNEL = r"<#[CGD][A-Z0-9]+(?:\|[\w.\-]*)?>"
_SHOWN_ONLY = r"^[ \t]*(?:&gt;|>)[^\n]*|```.*?```|`[^`\n]+`"

# Each sign in every spelling that one decoding of entities turns into it.
_LESS = r"(?:<|&(?:amp;)*(?:lt|\#0*60|\#x0*3c)\b;?)"
_MORE = r"(?:>|&(?:amp;)*(?:gt|\#0*62|\#x0*3e)\b;?)"
_SIGIL = r"(?:[!@\#]|&(?:amp;)*(?:excl|commat|num|\#0*(?:33|64|35)|\#x0*(?:21|40|23))\b;?)"
_AT = r"(?:@|&(?:amp;)*(?:commat|\#0*64|\#x0*40)\b;?)"
_GAP = r"[^\S\n]*+(?:\\++[^\S\n]*+)?+"
# Without our own signs inside: a token around one that was reworded is not complete a second time.
_TOKEN = rf"{_LESS}{_GAP}{_SIGIL}(?:(?!{_LESS}|{_MORE})[^\n\uff20\uff08]){{0,300}}{_MORE}"
_OPENING = rf"(?P<less>{_LESS})(?={_GAP}(?:{_SIGIL}|\Z))"
_LINK_TO_MENTION = r"\]\((?=\s*<?\s*\\*[!@])"
# The last branch: an unfinished "@chan" at the end, which the text that follows could finish.
_BARE = (
    rf"{_AT}\\*(?P<name>channel|here|everyone"
    r"|(?:c(?:h(?:a(?:n(?:n(?:e)?)?)?)?)?|h(?:e(?:r)?)?|e(?:v(?:e(?:r(?:y(?:o(?:n)?)?)?)?)?)?)?\Z)"
)
# Full-width: reads like the sign, and Slack does not take it for one.
_HARMLESS_AT = "\uff20"


def mentioned_users(text: str) -> frozenset[str]:
    """User ids that a text, as Slack sends it, addresses. A quote or code only shows a mention."""
    addressed = regex.sub(_SHOWN_ONLY, " ", text, flags=regex.MULTILINE | regex.DOTALL)
    return frozenset(match["user"] for match in regex.finditer(_USER, addressed))


def mentions(text: str, user_id: str) -> bool:
    """Whether the text, as Slack sends it, addresses this user."""
    return user_id in mentioned_users(text)


def neutralise(markdown: str, allowed_users: frozenset[str]) -> str:
    """Text that pings nobody but ``allowed_users``, and those only outside code.

    Mass, group and other user mentions become readable words, however they are spelled; no ``<!`` is left, no ``<@``
    of anyone else and no ``<#`` but that of a well-formed channel link. Idempotent, and still true for every part of
    the result and for two results joined.
    """
    text = without_hidden(markdown)
    code = code_ranges(text)

    def reworded(match: regex.Match[str]) -> str:
        in_code = any(start <= match.start() < end for start, end in code)
        return _reworded(match[0], frozenset[str]() if in_code else allowed_users)

    def escaped(match: regex.Match[str]) -> str:
        if match["less"] is None and (match["user"] is None or match["user"] in allowed_users):
            return match[0]
        return regex.sub("^<", "&lt;", match[0])

    text = regex.sub(_TOKEN, reworded, text, flags=regex.IGNORECASE)
    text = regex.sub(rf"<@(?P<user>[UW][A-Z0-9]+)>|{_CHANNEL}|(?i:{_OPENING})", escaped, text)
    text = regex.sub(_LINK_TO_MENTION, "] (", text)
    return harmless_names(text)


def harmless_names(text: str) -> str:
    """Text whose bare ``@channel``, ``@here`` and ``@everyone`` ping nobody, also where names are linked."""
    return regex.sub(_BARE, lambda match: _HARMLESS_AT + match["name"], text, flags=regex.IGNORECASE)


def _reworded(token: str, allowed: frozenset[str]) -> str:
    """A complete ``<!...>``, ``<@...>`` or ``<#...>`` in any spelling, as words; unchanged if no token."""
    user = regex.fullmatch(_USER, token)
    if user and user["user"] in allowed:
        return f"<@{user['user']}>"
    parts = regex.fullmatch(r"<[\s\\]*([!@#])([^|]*)\|?(.*)>", _decoded(token), flags=regex.DOTALL)
    if parts is None:
        return token
    name, label = _word(parts[2]), _word(parts[3])
    match parts[1], name.casefold().partition("^")[0]:
        case "!", ("channel" | "here" | "everyone") as everybody:
            return _HARMLESS_AT + everybody
        case "!", "subteam":
            return _HARMLESS_AT + (label or name.partition("^")[2])
        case "!", "date":
            return f"\uff08{label or 'date'}\uff09"
        case "@", _:
            return _HARMLESS_AT + (label or name)
        case _:
            return token


def _decoded(token: str) -> str:
    """Entities resolved, also entities of entities, and compatibility letters folded to plain ones."""
    while (once := html.unescape(token)) != token:
        token = once
    return unicodedata.normalize("NFKC", token)


def _word(part: str) -> str:
    """The readable characters of a part of a token."""
    return without_hidden(regex.sub(r"[^\w .^\-]", "", part)).strip()[:80]

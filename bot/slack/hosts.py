"""Addresses in text: where they are, which host they lead to, and how to show one that nothing makes clickable."""

from __future__ import annotations

import unicodedata

import regex

# An address ends where prose goes on: white space, quotes, brackets, table rules, East Asian punctuation.
_REST = r"[^\s<>`\"|\[\]，。；！？、）】》」』]*"
_SCHEME = r"(?<![a-z0-9.+-])[a-z][a-z0-9+.-]{1,30}:[/\\]"
# What starts a link even without slashes.
_OPAQUE = r"(?<![a-z0-9.+-])(?:javascript|vbscript|https?|ftp|mailto|tel|sms|slack|data):(?=\S)"
# Possessive, and never started in the middle of a run of labels: a long one would take quadratic time.
_LABELS = r"(?:[\w-]++\.(?=[\w-]))++(?:[a-z]{2,24}|xn--[a-z0-9-]{1,59})(?![a-z0-9-]|\.\w)"
_BARE = (
    rf"(?<![\w/\\-])(?<![\w-]\.)(?:[\w.+-]{{1,64}}@|//)?{_LABELS}(?::\d+)?(?:[/?\#\\]{_REST})?"
    rf"|(?<![a-z0-9.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?/{_REST}"
)
ADDRESS = rf"(?i:{_SCHEME}{_REST}|{_OPAQUE}{_REST}|{_BARE})"
"""Anything that some client would make clickable in prose."""
ADDRESS_IN_CODE = rf"(?i:(?<![a-z0-9.+-])[a-z][a-z0-9+.-]{{1,30}}:[/\\]{{2,}}{_REST}|\bwww\.{_REST})"
"""The same in code, where dotted names are the rule and not hosts."""

# The one shape that every client reads the same way; anything cleverer is not trusted.
_PLAIN = r"(?i:(?:https?://|[\w.+-]+@)?(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d{1,5})?(?:[/?\#][\w\-./?%&=+~\#:@,;!$'()*]*)?)"
_HOST = r"(?i:(?:[a-z][a-z0-9+.-]*:)?[/\\]*(?:[^/?\#\\@]*@)?(?P<host>[^/?\#\\:\s]+))"
# Names of files read like hosts: .md, .py and .sh are countries too.
_FILE = (
    r"(?i:[\w-]+\.(?:bat|c|cfg|conf|cpp|cs|css|csv|go|h|html|ini|java|jpg|js|json|jsx|kt|lock|log|md|pdf|php|png|pl|ps1"
    r"|py|rb|rs|sh|sql|svg|toml|ts|tsv|tsx|txt|xml|yaml|yml|zip))"
)
_EAST_ASIAN_START = r"^[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}_]+"


def named_hosts(text: str) -> frozenset[str]:
    """Hosts that a text names, in addresses or bare; lower case, without ``www.``."""
    folded = regex.sub("[。｡]", ".", unicodedata.normalize("NFKC", text))
    return frozenset(host for match in regex.finditer(ADDRESS, folded) if (host := host_of(trimmed(match[0]))))


def host_of(address: str) -> str:
    """The host an address leads to, empty if it is the name of a file or leads to none."""
    match = regex.match(_HOST, address)
    if match is None or regex.fullmatch(_FILE, address):
        return ""
    # Chinese runs on into a host without a space, and underscores around it are emphasis.
    bare = regex.sub(_EAST_ASIAN_START, "", match["host"]).strip("_.").casefold()
    return bare.removeprefix("www.")


def is_named(address: str, hosts: frozenset[str]) -> bool:
    """Whether the address is of the plain shape and leads to one of these hosts, or is the name of a file.

    A host with a path, as ``team.slack.com/archives/``, stands for the addresses that begin so.
    """
    if regex.fullmatch(_FILE, address):
        return True
    plain = regex.fullmatch(_PLAIN, regex.sub(_EAST_ASIAN_START, "", address))
    if plain is None:
        return False
    behind_scheme = regex.sub(r"(?i)^https?://", "", plain[0])
    return host_of(plain["host"]) in hosts or behind_scheme.startswith(tuple(one for one in hosts if "/" in one))


def trimmed(address: str) -> str:
    """Without the punctuation and marks of the sentence around it."""
    short = regex.sub(r"[.,;:!?'*_~]+\Z", "", address)
    while short.endswith(")") and short.count(")") > short.count("("):
        short = regex.sub(r"[.,;:!?'*_~]+\Z", "", short[:-1])
    return short


def defanged(address: str) -> str:
    """``https[:]//evil[.]example/x``: readable, and nothing makes a link of it. Idempotent."""
    return regex.sub(r"(?<!\[)([:.])(?!\])", r"[\1]", address)

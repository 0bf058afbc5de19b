"""Secrets never leave: masked by their value, and by the shape of well-known tokens."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, cast

_SHAPES = re.compile(
    r"""
    xox[abeoprs]-[\w-]{10,}             # Slack tokens
    | xapp-[\w-]{10,}
    | sk-(?:ant-)?[\w-]{20,}            # keys of model providers
    | gh[pousr]_\w{30,} | github_pat_\w{30,}
    | AKIA[0-9A-Z]{16}
    | eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}   # JSON web tokens
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | (?:xox[abeoprs]-|xapp-|\bsk-|gh[pousr]_|github_pat_|AKIA|eyJ)[\w.-]{4,}(?=…)   # the same, cut off
    | (?<=://)[^\s/:@]+:[^\s/@]+(?=@)   # user and password in an address
    """,
    re.VERBOSE,
)


CUT = "…"
"""Stands where a text was cut off."""


@dataclass(frozen=True, slots=True)
class Mask:
    """``values`` are the configured secrets."""

    values: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        for value in self.values:
            text = _without_beginning(text.replace(value, _shown(value)), value)
        return _SHAPES.sub(lambda match: _shown(match[0]), text)

    def any(self, value: Any) -> Any:
        """The same for every string inside a JSON value."""
        match value:
            case str():
                return self.text(value)
            case dict():
                inner = cast("dict[str, Any]", value)
                return {key: self.any(one) for key, one in inner.items()}
            case list() | tuple():
                return [self.any(one) for one in cast("list[Any]", value)]
            case _:
                return value

    def log_processor(self, _: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """For structlog: nothing secret in a log line."""
        return {key: self.any(value) for key, value in event.items()}


def _without_beginning(text: str, secret: str) -> str:
    """A long text is shown up to an ellipsis, which may stand in the middle of a secret."""
    if CUT not in text:
        return text
    for length in range(len(secret) - 1, len(_shown(secret)), -1):
        text = text.replace(secret[:length] + CUT, _shown(secret) + CUT)
    return text


def _shown(secret: str) -> str:
    """The first four characters, so that people can tell which one it was."""
    return f"{secret[:4]}•••"

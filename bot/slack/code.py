"""Where a markdown text is code: fenced blocks and code spans, by position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

# A fence may stand in quotes and list items; the info string of a backtick fence holds no backtick.
_OPEN = (
    r"(?P<prefix>(?:[ \t]*>|[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*+[ \t]*+)"
    r"(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)"
)
_SPAN = r"(?s)(?<![`\\])(?P<mark>`+)(?!`)(?:(?!\n[ \t>]*\n).)*?(?<!`)(?P=mark)(?!`)"


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of ``text``: ``text[start:end]``, its inner lines ``text[body:body_end]``.

    ``closed`` is false for a block that runs to the end of the text or of its quote.
    """

    start: int
    body: int
    body_end: int
    end: int
    prefix: str
    mark: str
    info: str
    closed: bool

    @property
    def continued(self) -> str:
        """What stands before the lines of the block: quote marks as they are, list markers as spaces."""
        return "".join(c if c in "> \t" else " " for c in self.prefix)


def fences(text: str) -> list[Fence]:
    """Every fenced block, in order."""
    found: list[Fence] = []
    opened: Fence | None = None
    for start, end in _lines(text):
        line = text[start:end].rstrip("\n")
        if opened is None:
            if match := regex.fullmatch(_OPEN, line):
                opened = Fence(start, end, end, end, match["prefix"], match["mark"], match["info"], closed=False)
        elif _closes(opened, line):
            found.append(_ended(opened, start, end, closed=True))
            opened = None
        elif ">" in opened.prefix and not line.lstrip().startswith(">"):
            found.append(_ended(opened, start, start, closed=False))
            opened = None
    if opened is not None:
        found.append(_ended(opened, len(text), len(text), closed=False))
    return found


def code_ranges(text: str) -> list[tuple[int, int]]:
    """Half-open ranges of all code, fences and spans, in order and without overlap."""
    ranges: list[tuple[int, int]] = []
    at = 0
    for fence in fences(text):
        ranges += _spans(text, at, fence.start)
        ranges.append((fence.start, fence.end))
        at = fence.end
    return ranges + _spans(text, at, len(text))


def plain_spaces_in_code(text: str) -> str:
    """Code with ordinary spaces where it has non-breaking ones: a shell does not know those."""
    parts: list[str] = []
    at = 0
    for start, end in code_ranges(text):
        parts += [text[at:start], text[start:end].replace("\u00a0", " ").replace("\u202f", " ")]
        at = end
    return "".join([*parts, text[at:]])


def _spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [match.span() for match in regex.finditer(_SPAN, text, pos=start, endpos=end)]


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text):
        newline = text.find("\n", at)
        end = len(text) if newline < 0 else newline + 1
        yield at, end
        at = end


def _closes(fence: Fence, line: str) -> bool:
    bare = line.lstrip(" \t>").rstrip()
    return len(bare) >= len(fence.mark) and set(bare) == {fence.mark[0]}


def _ended(fence: Fence, body_end: int, end: int, *, closed: bool) -> Fence:
    return Fence(fence.start, fence.body, body_end, end, fence.prefix, fence.mark, fence.info, closed)

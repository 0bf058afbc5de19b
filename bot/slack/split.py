"""One long markdown text -> several that each fit, cut where a reader would cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import regex

from bot.slack.code import fences

_MINIMUM = 64
# Ends of paragraphs, lines, sentences and words, best first.
_ENDS = (
    r"\n(?:[ \t]*\n)+",
    r"\n",
    r"[.!?\u2026][\"')\]*_]*\s+|[。！？；…][」』”’）]*\s*",
    r"\s+|[，、：]",
)
# A cut inside one of these would break a mention, a link, an entity or a code span.
_WHOLE = r"<[^<>\s][^<>\n]*>|!?\[[^\[\]\n]*\]\([^()\n]*\)|&\#?\w{1,10};|(?<!`)(`+)(?!`)[^`\n]+(?<!`)\1(?!`)"
_LONGEST_WHOLE = 500


@dataclass(frozen=True, slots=True)
class Limit:
    """The most one piece may hold: characters (code points), UTF-8 bytes, or both; at least 64 of either."""

    characters: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        given = [size for size in (self.characters, self.bytes) if size is not None]
        if not given or min(given) < _MINIMUM:
            raise ValueError(f"A limit needs characters or bytes, each at least {_MINIMUM}: got {self}.")

    def fits(self, text: str, share: int = 1) -> bool:
        """Whether the text takes no more than one ``share``-th of the limit."""
        return (self.characters is None or len(text) * share <= self.characters) and (
            self.bytes is None or len(text.encode("utf-8", "surrogatepass")) * share <= self.bytes
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text; ``opening`` and ``closing`` are what was added to it, ``body`` is the author's."""

    opening: str
    body: str
    closing: str

    @property
    def text(self) -> str:
        return self.opening + self.body + self.closing


@dataclass(frozen=True, slots=True)
class _Region:
    """A fence or a table, ``[start:end]``: parted only at line starts, ``cuts_from`` to ``cuts_to`` exclusive.

    ``opening`` comes before the next part, ``closing`` after the one that ends here.
    """

    start: int
    cuts_from: int
    cuts_to: int
    end: int
    opening: str
    closing: str


def split(markdown: str, limit: Limit) -> list[str]:
    """Parts in order, none empty, none above the limit; nothing but white space at the cuts is lost.

    A fence that is cut is closed and opened again with its info string and indentation; a table that is cut repeats
    its header. Rows, mentions, links and code spans stay whole as long as one fits at all. A fence that the author
    left open is closed.
    """
    return [piece.text for piece in pieces(markdown, limit)]


def pieces(markdown: str, limit: Limit) -> list[Piece]:
    """`split`, with what was added kept apart."""
    regions = [*_fence_regions(markdown, limit), *_table_regions(markdown, limit)]
    regions.sort(key=lambda region: region.start)
    found: list[Piece] = []
    at = 0
    while at < len(markdown):
        region = _region_at(regions, at)
        opening = region.opening if region else ""
        to = _next_cut(markdown, at, opening, limit, regions)
        inside = _region_at(regions, to)
        piece = _piece(opening, markdown[at:to], inside)
        if piece.body.strip():
            found.append(piece)
        at = to if inside else _after_seam(markdown, to)
    return found


def _fence_regions(markdown: str, limit: Limit) -> list[_Region]:
    found: list[_Region] = []
    for fence in fences(markdown):
        opening = f"{fence.continued}{fence.mark}{fence.info}\n"
        closing = fence.continued + fence.mark
        body = markdown[fence.body : fence.body_end]
        # Both parts of a cut keep something of the code; a fence whose marks alone fill a piece is text.
        blank = " \t\n>" if ">" in fence.prefix else " \t\n"
        cuts_from = fence.body + len(body) - len(body.lstrip(blank)) + 1
        cuts_to = fence.body + len(body.rstrip(blank))
        end = fence.end if fence.closed or fence.end < len(markdown) else fence.end + 1
        if limit.fits(opening + closing, share=4):
            found.append(_Region(fence.start, cuts_from, cuts_to, end, opening, closing))
    return found


def _table_regions(markdown: str, limit: Limit) -> list[_Region]:
    found: list[_Region] = []
    code = [(fence.start, fence.end) for fence in fences(markdown)]
    lines = list(regex.finditer(r"[^\n]*\n|[^\n]+\Z", markdown))
    number = 0
    while number + 2 < len(lines):
        header, delimiter = lines[number], lines[number + 1]
        if "|" not in header[0] or not _is_delimiter(delimiter[0]) or any(a <= header.start() < b for a, b in code):
            number += 1
            continue
        number += 2
        while number < len(lines) and "|" in lines[number][0]:
            number += 1
        end = lines[number - 1].end()
        opening = markdown[header.start() : delimiter.end()]
        if limit.fits(opening, share=2):
            found.append(_Region(header.start(), delimiter.end() + 1, end, end, opening, ""))
    return found


def _is_delimiter(line: str) -> bool:
    return "|" in line and "-" in line and set(line) <= set("|:- \t>\n")


def _region_at(regions: list[_Region], position: int) -> _Region | None:
    """The region that a cut at this position would part."""
    before = bisect_left(regions, position, key=lambda region: region.start)
    return regions[before - 1] if before and position < regions[before - 1].end else None


def _piece(opening: str, body: str, inside: _Region | None) -> Piece:
    if inside is None:
        return Piece(opening, body.rstrip(), "")
    return Piece(opening, body.removesuffix("\n"), f"\n{inside.closing}" if inside.closing else "")


def _after_seam(markdown: str, at: int) -> int:
    """Where the next piece starts: past the white space of the seam, but before the indentation of a line."""
    if match := regex.match(r"(?:[ \t]*\n)+", markdown, pos=at):
        return match.end()
    if markdown[at - 1] != "\n" and (match := regex.match(r"[ \t]+", markdown, pos=at)):
        return match.end()
    return at


def _next_cut(markdown: str, at: int, opening: str, limit: Limit, regions: list[_Region]) -> int:
    """The end of the piece that starts at ``at``: the best cut in its second half, else any, else a hard one."""
    size = len(markdown)
    if limit.fits(_piece(opening, markdown[at:], _region_at(regions, size)).text):
        return size
    furthest = _furthest(markdown, at, opening, limit, regions)
    near = markdown[at : furthest + _LONGEST_WHOLE]
    whole = [(at + match.start(), at + match.end()) for match in regex.finditer(_WHOLE, near)]
    allowed = partial(_allowed, markdown, whole, regions)
    best = [next(filter(allowed, _ends(markdown, at, furthest, end)), at) for end in _ENDS]
    for least in (at + (furthest - at) // 2, at + 1):
        if cuts := [cut for cut in best if cut >= least]:
            return cuts[0]
    return _hard_cut(markdown, at, furthest, whole, regions)


def _furthest(markdown: str, at: int, opening: str, limit: Limit, regions: list[_Region]) -> int:
    """The last position that still fits, with room for whatever must be closed there."""
    high = min(len(markdown), at + min(size for size in (limit.characters, limit.bytes) if size is not None))
    crossed = (region.closing for region in regions if region.start < high and region.end > at)
    closing = max(crossed, key=len, default="")
    reserve = f"{opening}\n{closing}" if closing else opening
    low = at + 1
    while low < high:
        middle = (low + high + 1) // 2
        if limit.fits(reserve + markdown[at:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _ends(markdown: str, at: int, furthest: int, end: str) -> Iterator[int]:
    """Where this kind of end is, up to ``furthest``, the last one first."""
    return reversed([match.end() for match in regex.finditer(end, markdown, pos=at, endpos=furthest)])


def _allowed(markdown: str, whole: list[tuple[int, int]], regions: list[_Region], cut: int) -> bool:
    if region := _region_at(regions, cut):
        return region.cuts_from <= cut < region.cuts_to and markdown[cut - 1] == "\n"
    return not any(start < cut < end for start, end in whole)


def _hard_cut(markdown: str, at: int, furthest: int, whole: list[tuple[int, int]], regions: list[_Region]) -> int:
    """Between two grapheme clusters; between two code points where one cluster is longer than a piece."""
    top = furthest
    if region := _region_at(regions, top):
        # Leave a character of the code, so that the next part is not an empty fence.
        last = region.cuts_to - 1
        top = last if max(at, region.cuts_from) < last < top else top
    else:
        top = next((start for start, end in whole if at < start < top < end), top)
    clusters = (match.end() for match in regex.finditer(r"\X", markdown, pos=at, endpos=top + 100))
    return max((end for end in clusters if end <= top), default=top)

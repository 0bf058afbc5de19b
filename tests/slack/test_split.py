"""Laws of splitting, on texts made of what makes splitting hard."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.slack.code import fences
from bot.slack.split import Limit, Piece, pieces, split

FAMILY = "👨‍👩‍👧‍👦"
HARD = ["```", "```py", "~~~", "\n", "\n\n", "  ", "    ", "|", "| a | b |\n| - | - |\n| 1 | 2 |\n", "> ", "- ", "1. "]
HARD += ["<@U123>", "<!here>", "`", "`a b`", "[x](https://a.b/c)", "&amp;", "。", "，", ". ", "word ", "中文字", FAMILY]
HARD += ["\u200b", "🇩🇪", "e\u0301", "x" * 40, "@", "\t", "\u00a0", "# "]
texts = st.lists(st.sampled_from(HARD) | st.text("ab|`~<>!@ \n中", max_size=12), max_size=60).map("".join)
limits = st.builds(Limit, characters=st.none() | st.integers(64, 300), bytes=st.integers(64, 300)) | st.integers(
    64, 300
).map(lambda size: Limit(characters=size))


def walks_back(text: str, found: list[Piece]) -> bool:
    """The bodies, in order, are the text: between them nothing but white space is missing."""
    at = 0
    for piece in found:
        while not text.startswith(piece.body, at):
            if at >= len(text) or not text[at].isspace():
                return False
            at += 1
        at += len(piece.body)
    return not text[at:].strip()


def balanced(chunk: str) -> bool:
    return all(fence.closed or fence.end < len(chunk) for fence in fences(chunk))


@settings(max_examples=400, deadline=None)
@given(texts, limits)
@example("word " * 30, Limit(characters=64))
def test_every_piece_fits_is_not_empty_and_together_they_are_the_text(text: str, limit: Limit):
    found = pieces(text, limit)
    assert all(limit.fits(piece.text) and piece.text.strip() for piece in found)
    assert walks_back(text, found)
    assert [piece.text for piece in found] == split(text, limit)

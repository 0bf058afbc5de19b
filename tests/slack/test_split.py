"""Laws of splitting, on texts made of what makes splitting hard, and the cases that users met."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.slack.code import fences
from bot.slack.split import Limit, Piece, pieces, split

FAMILY = "👨‍👩‍👧‍👦"
TABLE = "| name | size |\n| --- | ---: |\n"
HARD = [
    "```",
    "```py",
    "~~~",
    "\n",
    "\n\n",
    "  ",
    "    ",
    "|",
    "| a | b |\n| - | - |\n| 1 | 2 |\n",
    "> ",
    "- ",
    "1. ",
    "# ",
]
WORDS = ["<@U123>", "<!here>", "`", "`a b`", "[x](https://a.b/c)", "&amp;", "。", "，", ". ", "word ", "中文字", FAMILY]
RARE = ["\u200b", "🇩🇪", "e\u0301", "x" * 40, "@", "\t", "\u00a0", "\n```\n", "\n```py\ncode()\n", "| 1 | 2 |\n"]
texts = st.lists(st.sampled_from(HARD + WORDS + RARE) | st.text("ab|`~<>!@ \n中", max_size=12), max_size=60).map(
    "".join
)
sizes = st.integers(64, 300)
limits = st.builds(Limit, characters=st.none() | sizes, bytes=sizes) | st.builds(Limit, characters=sizes)


def is_walked_back(text: str, found: list[Piece]) -> bool:
    """The bodies, in order, are the text: between them nothing but white space is missing."""
    at = 0
    for piece in found:
        while not text.startswith(piece.body, at):
            if at >= len(text) or not text[at].isspace():
                return False
            at += 1
        at += len(piece.body)
    return not text[at:].strip()


@settings(max_examples=500, deadline=None)
@given(texts, limits)
@example("word " * 30, Limit(characters=64))
@example("```\n" + "x" * 60 + "\n```", Limit(characters=64))
@example("\ud800" * 70, Limit(bytes=64))
@example(FAMILY * 40, Limit(bytes=64))
@example("e" + "\u0301" * 200, Limit(characters=64))
def test_every_piece_fits_none_is_empty_and_together_they_are_the_text(text: str, limit: Limit):
    found = pieces(text, limit)
    assert all(limit.fits(piece.text) and piece.body.strip() for piece in found)
    assert is_walked_back(text, found)
    assert [piece.text for piece in found] == split(text, limit)


@settings(max_examples=300, deadline=None)
@given(texts, limits)
def test_what_was_added_is_a_fence_or_a_header_of_the_text(text: str, limit: Limit):
    opened = {line.lstrip(" \t>-+*0123456789.)") for line in text.split("\n")}
    for piece in pieces(text, limit):
        added = [line.lstrip(" \t>-+*0123456789.)") for line in piece.opening.splitlines()]
        assert set(added) <= opened
        assert set(piece.closing.strip(" \t>\n")) <= {"`", "~"}


code_lines = st.lists(st.text("ab {}中", max_size=30).map(lambda line: f"    {line}x"), min_size=1, max_size=40)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["", "  ", "> ", "- "]),
    st.sampled_from(["```", "~~~~"]),
    st.sampled_from(["", "py", "c++"]),
    code_lines,
    limits,
)
def test_a_cut_fence_is_a_fence_in_every_part(prefix: str, mark: str, info: str, lines: list[str], limit: Limit):
    inner = prefix.replace("-", " ")
    text = "\n".join([f"before\n\n{prefix}{mark}{info}", *(inner + line for line in lines), f"{inner}{mark}\n\nafter"])
    for chunk in split(text, limit):
        assert all(fence.closed for fence in fences(chunk))
        assert all(fence.info == info and fence.continued == inner for fence in fences(chunk))
        bodies = [chunk[fence.body : fence.body_end] for fence in fences(chunk)]
        assert all(body.strip(" >\n") for body in bodies)
        outside = chunk
        for fence in reversed(fences(chunk)):
            outside = outside[: fence.start] + outside[fence.end :]
        assert set(outside.split()) <= {"before", "after"}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab 中", min_size=1, max_size=8), min_size=1, max_size=40), limits)
def test_a_cut_table_has_whole_rows_and_its_header_in_every_part(names: list[str], limit: Limit):
    rows = [f"| {name} | {number} |" for number, name in enumerate(names)]
    chunks = split(f"intro\n\n{TABLE}" + "\n".join(rows), limit)
    shown = [line for chunk in chunks for line in chunk.split("\n") if line.startswith("|")]
    assert [line for line in shown if line not in TABLE.split("\n")] == rows
    assert all(TABLE in chunk for chunk in chunks if any(row in chunk.split("\n") for row in rows))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["<@U123ABC>", "[a b](https://c.d)", "`x y`", "&lt;", FAMILY, "e\u0301", "🇩🇪"]), max_size=60
    ),
    limits,
)
def test_mentions_links_spans_entities_and_clusters_stay_whole(tokens: list[str], limit: Limit):
    for chunk in split("·".join(tokens), limit):
        left = chunk
        for token in set(tokens):
            left = left.replace(token, "")
        assert set(left) <= {"·"}


def prefers(text: str, first: str) -> None:
    assert split(text, Limit(characters=64))[0] == first


def test_the_cut_is_at_the_best_place_in_reach():
    tail = "word " * 30
    prefers(f"{'a' * 40}\n\n{'b ' * 5}\n{tail}", "a" * 40)
    prefers(f"{'a' * 40}\n{'b' * 10}. {tail}", "a" * 40)
    prefers(f"{'a' * 40}. {'b' * 10} {tail}", f"{'a' * 40}.")
    prefers(f"{'a' * 40} {'b' * 50}", "a" * 40)
    prefers("中" * 50 + "。" + "文" * 50, "中" * 50 + "。")
    prefers("x" * 100, "x" * 64)
    # A short paragraph is no reason to cut so early, but the only place that breaks nothing is.
    prefers(f"hi\n\n{'a' * 50} {tail}", f"hi\n\n{'a' * 50} word")
    prefers(f"hi\n\n{'a' * 100}", "hi")


def test_indentation_survives_the_cut():
    text = "- one\n" + "  - two words here and there\n" * 6
    assert all(line in text.split("\n") for chunk in split(text, Limit(characters=64)) for line in chunk.split("\n"))


def test_a_fence_of_12000_characters_is_code_in_every_message():
    code = "\n".join(f"        value_{number} = compute({number}, 'x')" for number in range(340))
    chunks = split(f"Here:\n\n```python\n{code}\n```\nDone.", Limit(characters=11_500, bytes=3_900))
    assert len(chunks) > 3
    assert all(chunk.count("```") == 2 and "```python\n        value_" in chunk for chunk in chunks)
    lines = [line for chunk in chunks for line in chunk.split("\n") if "value_" in line]
    assert "\n".join(lines) == code


@pytest.mark.parametrize(
    "text",
    [
        "One sentence here. " * 2_400,
        "第一句话在这里。" * 5_700,
        "无标点的长文本" * 6_500,
        "x" * 45_000,
        FAMILY * 4_100,
        "`" * 45_000,
        "[" * 45_000,
        "<" * 45_000,
        "|" * 45_000,
        "\n" * 44_000 + "end",
        "a `b " * 9_000,
        "> " * 22_500,
        "```\n" * 11_250,
        f"| {'x' * 9_990} |\n" * 4,
    ],
)
def test_45000_characters_of_anything_arrive_whole_and_soon(text: str):
    limit = Limit(characters=11_500, bytes=3_900)
    found = pieces(text, limit)
    assert all(limit.fits(piece.text) for piece in found)
    assert is_walked_back(text, found)
    assert len(found) <= 2 * len(text.encode()) // 3_900 + 2


def test_one_long_line_of_families_is_cut_between_them():
    chunks = split(FAMILY * 900, Limit(bytes=3_900))
    assert all(regex.fullmatch(rf"(?:{FAMILY})+", chunk) for chunk in chunks)


@pytest.mark.parametrize("prefix", ["", "> "])
def test_blank_lines_at_the_ends_of_code_make_no_empty_fence(prefix: str):
    code = "\n" * 30 + "x = 1\n" * 20 + "\n" * 40
    text = "\n".join(prefix + line for line in f"```\n{code}```".split("\n"))
    chunks = split(text, Limit(characters=200))
    assert all("x = 1" in chunk for chunk in chunks if "```" in chunk)
    assert sum(chunk.count("x = 1") for chunk in chunks) == 20


def test_a_text_that_fits_is_left_alone_but_for_its_end():
    assert split("  a\n\n    code\n", Limit(characters=64)) == ["  a\n\n    code"]
    assert split(" \n\t\n", Limit(characters=64)) == []
    assert split("", Limit(bytes=64)) == []


def test_a_fence_left_open_is_closed():
    assert split("```py\nx = 1", Limit(characters=64)) == ["```py\nx = 1\n```"]
    assert split("> ```\n> x\nafter", Limit(characters=64)) == ["> ```\n> x\nafter"]


@pytest.mark.parametrize("limit", [{"characters": 63}, {"bytes": 10}, {"characters": 100, "bytes": 0}, {}])
def test_a_limit_too_small_to_cut_for_is_refused(limit: dict[str, int]):
    with pytest.raises(ValueError, match=re.escape("at least 64")):
        Limit(**limit)

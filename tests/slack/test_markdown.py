"""Markdown as Slack's mrkdwn and as one plain line."""

from __future__ import annotations

import html
import re

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from bot.slack.markdown import plain, to_mrkdwn
from bot.slack.table import aligned

PARTS = [
    "**",
    "*",
    "_",
    "~~",
    "`",
    "```\n",
    "# ",
    "- ",
    "1. ",
    "> ",
    "| a | b |\n|--|--|\n",
    "|",
    "\n",
    "\n\n",
    "    ",
    "<",
    ">",
    "&",
    "&amp;",
    "&lt;",
    "<!here>",
    "<@U1>",
    "<#C1|ops>",
    "<https://a.b/?x=1&y=2|c & d>",
    "<b>",
    "word",
    "[x](https://a.b)",
    "[x](!here)",
    "[x](@U1)",
    "[x](#C1)",
    "![x](u)",
    "[",
    "](",
    ")",
    "中文",
    "：",
    "👩‍👧",
    "\u200b",
]
texts = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)
TOKEN = r"<(?:@[UW][A-Z0-9]+|#[CGD][A-Z0-9]+(?:\|[\w.-]*)?|(?:https?://|mailto:|tel:)[^\s<>|]+(?:\|[^<>\n]*)?)>"


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("**bold** and __bold__", "*bold* and *bold*"),
        ("*it* and _it_", "_it_ and _it_"),
        ("~~gone~~ and ~gone~", "~gone~ and ~gone~"),
        ("***both***", "_*both*_"),
        ("# Head **strong** *soft*", "*Head strong _soft_*"),
        ("Setext\n===", "*Setext*"),
        ("[a & b](https://x.y/?p=1&q=2)", "<https://x.y/?p=1&amp;q=2|a &amp; b>"),
        ("[https://x.y](https://x.y)", "<https://x.y>"),
        ("[**a** `b`](https://x.y)", "<https://x.y|a b>"),
        ("[a|b](https://x.y/p|q>r)", "<https://x.y/p%7Cq%3Er|a|b>"),
        ("<https://x.y>", "<https://x.y>"),
        ("[mail](mailto:a@b.c)", "<mailto:a@b.c|mail>"),
        ("![alt](https://x.y/i.png)", "<https://x.y/i.png|alt>"),
        ("[ref][1]\n\n[1]: https://x.y", "<https://x.y|ref>"),
        ("[local](docs/a.md)", "local (docs/a.md)"),
        ("- a\n- b\n  - c\n    - d", "• a\n• b\n    ◦ c\n        ▪ d"),
        ("3. a\n4. b\n   - c", "3. a\n4. b\n    ◦ c"),
        ("- [ ] open\n- [x] done", "• ☐ open\n• ☑ done"),
        ("- a\n\n  more\n- b", "• a\n    more\n• b"),
        ("- a\n  ```py\n    x = 1\n  ```", "• a\n```\n  x = 1\n```"),
        ("> a\n> b\n>\n> c", "> a\n> b\n>\n> c"),
        ("> **a**\n> ```\n> x < y\n> ```", "> *a*\n>\n> ```\n> x &lt; y\n> ```"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("a\\\nb  \nc", "a\nb\nc"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("`a ** b & <c>`", "`a ** b &amp; &lt;c&gt;`"),
        ("``a ` b``", "`a ' b`"),
        ("```py\n\tx = a & b  # **no**\n```", "```\n\tx = a &amp; b  # **no**\n```"),
        ("    indented\n      more", "```\nindented\n  more\n```"),
        ("````\n```\ninner\n```\n````", "```\n'''\ninner\n'''\n```"),
        ("", ""),
        ("  \n\n", ""),
    ],
)
def test_each_construct(markdown: str, mrkdwn: str):
    assert to_mrkdwn(markdown) == mrkdwn


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("AT&T a<b c>d", "AT&amp;T a&lt;b c&gt;d"),
        ("AT&amp;T &lt;b&gt;", "AT&amp;T &lt;b&gt;"),
        ("&amp;lt; &amp;amp;", "&amp;lt; &amp;amp;"),
        ("`&lt;` and `&amp;`", "`&amp;lt;` and `&amp;amp;`"),
        ("`&lt;!DOCTYPE html>`", "`&lt;!DOCTYPE html&gt;`"),
        ("<https://x.y/?a=1&b=2|see & know>", "<https://x.y/?a=1&amp;b=2|see &amp; know>"),
        ("<https://x.y/?a=1&amp;b=2|see &amp; know>", "<https://x.y/?a=1&amp;b=2|see &amp; know>"),
        ("<@U1> in <#C1|ops> <!here> <b>x</b>", "<@U1> in <#C1|ops> &lt;!here&gt; &lt;b&gt;x&lt;/b&gt;"),
        ("`<@U1>` &lt;@U1&gt;", "`&lt;@U1&gt;` &lt;@U1&gt;"),
        ("[x](!here) [x](@U1) [x](#C1)", "x (!here) x (@U1) x (#C1)"),
    ],
)
def test_signs_are_escaped_once_and_only_slack_tokens_pass(markdown: str, mrkdwn: str):
    assert to_mrkdwn(markdown) == mrkdwn


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("这是**重点**内容", "这是\u200b*重点*\u200b内容"),
        ("**粗体：**后文", "*粗体：*\u200b后文"),
        ("用`code`吧", "用\u200b`code`\u200b吧"),
        ("**a**。", "*a*。"),
        ("**left open", "left open"),
        ("2**3 and 2 ** 3", "2∗∗3 and 2 ∗∗ 3"),
        ("# 标题**重**", "*标题重*"),
    ],
)
def test_bold_holds_in_chinese_and_stars_are_never_raw(markdown: str, mrkdwn: str):
    assert to_mrkdwn(markdown) == mrkdwn


@settings(max_examples=500, deadline=None)
@given(texts)
@example("- " * 50 + "**x")
@example("> " * 80 + "x")
def test_the_wire_is_escaped_and_shows_no_raw_stars(markdown: str):
    wire = to_mrkdwn(markdown)
    bare = re.sub(TOKEN, "", re.sub(r"(?m)^(?:> ?)+", "", wire))
    assert not re.search(r"[<>]|&(?!(?:amp|lt|gt);)", bare), wire
    prose = re.sub(r"(?s)```.*?```|`[^`\n]*`|``", "", wire)
    assert "**" not in prose or "`" in wire


def test_nesting_beyond_reason_loses_no_words():
    assert to_mrkdwn("> " * 80 + "deep").endswith("deep")
    assert "deep" in to_mrkdwn("- " * 80 + "deep")
    assert plain("> " * 500 + "deep", 5_000).endswith("deep")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["word", "中文", "a < b", "R&D", "x > y", "5 % 2"]), min_size=1).map(" ".join))
def test_prose_means_the_same_on_the_wire(text: str):
    assert html.unescape(to_mrkdwn(text)) == text


cells = st.text("ab中文👍é <&`", max_size=8).map(str.strip)


def test_a_table_is_aligned_in_columns():
    markdown = "| 名字 | n |\n|:--|--:|\n| 中文 `x` | 1 |\n| **a** [l](https://z.z) & | 200 |\n| short |"
    assert to_mrkdwn(markdown).split("\n") == [
        "```",
        "名字                   n",
        "-------------------  ---",
        "中文 x                 1",
        "a l (https://z.z) &amp;  200",
        "short",
        "```",
    ]


def test_a_table_in_a_fence_is_code():
    table = "| a | b |\n|---|---|\n| 1 | **2** |"
    assert to_mrkdwn(f"```\n{table}\n```") == f"```\n{table}\n```"


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6))
def test_columns_start_at_the_same_place_in_every_row(rows: list[tuple[str, str, str]]):
    widths = [max(cell_len(row[column]) for row in rows) for column in range(3)]
    lines = aligned(rows, [False, False, False]).split("\n")
    assert lines.pop(1) == "  ".join("-" * width for width in widths)
    for line, row in zip(lines, rows, strict=True):
        rest = line
        for cell, width in zip(row, widths, strict=True):
            assert rest.startswith(cell) or not rest.strip()
            rest = rest[len(cell) + width - cell_len(cell) + 2 :]
    assert aligned([["a", "b"], ["longer"]], [True, False]).split("\n")[0] == "     a  b"


def test_plain_is_one_line_of_words():
    markdown = "# Done **now**\n\n- a [link](https://x.y) <@U1> <#C1|ops>\n- `code` <b>\n\n```py\nx\n```\n"
    markdown += "\n|a|b|\n|-|-|\n|1|2|"
    assert plain(markdown) == "Done now a link @U1 #ops code &lt;b&gt; x a b 1 2"
    assert plain("这是**重点**内容，**粗体：**后文") == "这是重点内容，粗体：后文"
    assert plain("one two three", 8) == "one two…"
    assert plain("👩‍👧👩‍👧👩‍👧", 8) == "👩‍👧👩‍👧…"


@settings(max_examples=300, deadline=None)
@given(texts, st.integers(1, 60))
def test_plain_is_short_escaped_and_cut_between_clusters(markdown: str, limit: int):
    line = plain(markdown, limit)
    assert len(line) <= limit
    assert not re.search(r"[<>\n]|\*\*|&(?!(?:amp|lt|gt);)", line)
    kept, whole = html.unescape(line.removesuffix("…")), html.unescape(plain(markdown, 10_000))
    assert whole.startswith(kept)
    assert regex.findall(r"\X", whole)[: len(regex.findall(r"\X", kept))] == regex.findall(r"\X", kept)

"""An answer in every form that Slack might take."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.slack.answer import Body, answer_messages

ANA = frozenset({"U1"})


def block_text(body: Body) -> str:
    return "".join(str(block["text"]) for block in body.blocks)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["word ", "中文", "\n\n", "```\n", "<!here>", "&", "<", "| a | b |\n|-|-|\n", "@here"]),
        max_size=40,
    ),
    st.integers(1, 400),
)
def test_each_form_is_within_its_limit_and_pings_nobody(parts: list[str], times: int):
    for body in answer_messages("".join(parts) * times, ANA):
        assert 0 < len(block_text(body)) <= 11_500
        assert body.markdown_text == block_text(body)
        assert body.text == body.texts[0]
        assert all(0 < len(text.encode()) <= 3_900 for text in body.texts)
        for wire in (body.markdown_text, *body.texts):
            assert "<!" not in wire
            assert "@here" not in wire


@pytest.mark.parametrize("nothing", ["", " ", "\n\t\n", "\u200b", "\u2060\n\ufeff", "\u00a0"])
def test_an_answer_without_words_is_no_message(nothing: str):
    assert answer_messages(nothing, ANA) == []


def test_45000_characters_arrive_in_order_in_both_forms():
    lines = [f"Line {number} of the long answer, with R&D in it." for number in range(1_000)]
    bodies = answer_messages("\n".join(lines), ANA)
    assert "\n".join(body.markdown_text for body in bodies).split("\n") == lines
    texts = "\n".join(text for body in bodies for text in body.texts)
    assert texts.replace("&amp;", "&").split("\n") == lines


def test_code_from_slack_gets_plain_spaces_and_keeps_its_indentation():
    markdown = "  a\u00a0b\n\n```sh\n\u00a0\u00a0ls\u00a0-l\n```\n`x\u00a0y`"
    [body] = answer_messages(markdown, ANA)
    assert body.markdown_text == "  a\u00a0b\n\n```sh\n  ls -l\n```\n`x y`"
    assert "```\n  ls -l\n```" in body.text


def test_a_real_table_stays_a_table_and_becomes_monospace_as_text():
    [body] = answer_messages("| a | b |\n|---|---|\n| 1 | 2 |", ANA)
    assert body.blocks == ({"type": "markdown", "text": "| a | b |\n|---|---|\n| 1 | 2 |"},)
    assert body.text == "```\na  b\n-  -\n1  2\n```"


def test_mentions_are_those_allowed_and_markup_cannot_hide_one():
    [body] = answer_messages("<@U1> ask <@U2>, @**channel** [here](x) @[here](x) <!here> `<!DOCTYPE>`", ANA)
    assert "<@U1> ask ＠U2" in body.markdown_text
    assert "<@U1> ask ＠U2" in body.text
    assert "`&lt;!DOCTYPE&gt;`" in body.text
    assert "@here" not in body.text


def test_only_a_turn_that_read_strangers_loses_links():
    markdown = "see [this](https://evil.com/x) and https://good.com/y"
    assert "<https://evil.com/x|this>" in answer_messages(markdown, ANA)[0].text
    [body] = answer_messages(markdown, ANA, frozenset({"good.com"}))
    assert "evil.com" not in body.text + body.markdown_text
    assert "https://good.com/y" in body.text


def test_what_renders_to_nothing_still_says_something():
    [body] = answer_messages("[a]: https://x.y", ANA)
    assert body.texts == ("(nothing that can be shown as text)",)


@pytest.mark.parametrize("part", ["a.", "-.", "中中.", "< ", "<!", "_a ", "&#58;"])
def test_hostile_repetition_takes_no_quadratic_time(part: str):
    # Each took a minute or more while a pattern could backtrack: the suite would not end.
    markdown = part * (45_000 // len(part))
    assert answer_messages(markdown, ANA, frozenset({"good.com"}))
    assert answer_messages("<" + " " * 44_000, ANA, frozenset())

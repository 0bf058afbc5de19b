"""The composer and the server agree on Slack's text format, for every text."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.text import from_composer, mentions, normalised, rich_text, to_composer
from bot.demo.values import BOT_USER, Json, objects
from bot.demo.workspace import ANA, Workspace

WORLD = Workspace()
PEOPLE, CHANNELS = tuple(WORLD.people.values()), tuple(WORLD.channels.values())
WORDS = st.lists(
    st.sampled_from(
        ["@Bobbin", "@Wei 魏", "@ana", "#ops", "@here", "https://a.example/x?a=1&b=2", "<@U1>", "&amp;", "<b>"]
    )
    | st.text(max_size=8)
).map(" ".join)


def composed(typed: str) -> str:
    return from_composer(typed, PEOPLE, CHANNELS)


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("@Bobbin hi", f"<@{BOT_USER}> hi"),
        ("嗨@Bobbin你好", f"嗨<@{BOT_USER}>你好"),
        ("(@ana)", f"(<@{ANA}>)"),
        ("@Bobbins", "@Bobbins"),
        ("a@Ana.example", "a@Ana.example"),
        ("<@U0BOBBIN01> <!channel>", "&lt;@U0BOBBIN01&gt; &lt;!channel&gt;"),
        ("@channel see #ops", "<!channel> see <#C0OPS00001|ops>"),
        ("see https://a.example/#ops?x=1&y=2.", "see <https://a.example/#ops?x=1&amp;y=2>."),
        ("1 < 2 && 3 > 2", "1 &lt; 2 &amp;&amp; 3 &gt; 2"),
    ],
)
def test_composer_makes_references_and_escapes_the_rest(typed: str, stored: str) -> None:
    assert composed(typed) == stored


@given(st.text())
def test_plain_words_come_back_from_the_composer_as_they_were_typed(typed: str) -> None:
    assert to_composer(composed(typed), PEOPLE) == typed


@given(WORDS)
def test_typed_text_holds_no_reference_that_was_not_resolved(typed: str) -> None:
    known = rf"<@({'|'.join(WORLD.people)})>|<#\w+\|\w+>|<!(channel|here|everyone)>|<https?://[^<>|\s]+>"
    assert not re.search("[<>]", re.sub(known, "", composed(typed)))


@given(WORDS)
def test_an_edit_without_a_change_changes_nothing(typed: str) -> None:
    stored = composed(typed)
    assert composed(to_composer(stored, PEOPLE)) == stored


@given(WORDS)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@pytest.mark.parametrize(
    ("posted", "kept"),
    [
        ("a & b", "a &amp; b"),
        ("a &amp; b <@U1> <https://x.example|x>", "a &amp; b <@U1> <https://x.example|x>"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
        ("> quote", "&gt; quote"),
    ],
)
def test_an_app_keeps_its_references_and_nothing_else(posted: str, kept: str) -> None:
    assert normalised(posted) == kept


def spans(stored: str) -> tuple[Json, ...]:
    (section,) = objects(rich_text(stored)["elements"])
    return objects(section["elements"])


def test_rich_text_names_each_reference() -> None:
    found = spans(composed("@Bobbin @here see #ops & https://a.example"))
    assert [span["type"] for span in found] == ["user", "text", "broadcast", "text", "channel", "text", "link"]
    assert found[5]["text"] == " & "


@given(st.text())
def test_rich_text_of_plain_words_is_the_words(typed: str) -> None:
    assert "".join(str(span["text"]) for span in spans(html.escape(typed, quote=False))) == typed


def test_a_mention_is_found_with_and_without_a_label() -> None:
    assert mentions("hi <@U1>", "U1")
    assert mentions("hi <@U1|ana>", "U1")
    assert not mentions("hi <@U11> U1 &lt;@U1&gt;", "U1")

"""Who is addressed by a message, and that our own messages address nobody by accident."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.slack.mentions import harmless_names, mentioned_users, mentions, neutralise
from bot.slack.visible import without_hidden

ALLOWED = frozenset({"U1", "W2AB"})
PIECES = [
    "<!channel>",
    "<!here|x>",
    "<!EVERYONE>",
    "<!subteam^S1|@ops>",
    "<!date^1^{date}|soon>",
    "<@U1>",
    "<@U9>",
    "<@U1|ana>",
    "<@U9|bob>",
    "<#C1|ops>",
    "<#C1>",
    "<#no>",
    "@channel",
    "@here",
    "@chan",
    "nel",
    "channel>",
    "<",
    "<!",
    "!",
    "@",
    "#",
    ">",
    "|",
    "&lt;",
    "&gt;",
    "&#60;",
    "&amp;",
    "&excl;",
    "\\",
    "](",
    "[x](!here)",
    "`",
    "```",
    "\n",
    "\n```\n",
    "~~~\n",
    " ",
    "中",
    "👩‍👧",
    "\u200b",
    "\u2060",
    "\u202e",
    "U1",
    "<https://a.b|c>",
]
texts = st.lists(st.sampled_from(PIECES) | st.text("<>!@#|&;lt cher", max_size=6), max_size=14).map("".join)

PING = re.compile(r"<\s*!|<\s*@|@(?:channel|here|everyone)", re.IGNORECASE)


def pings(text: str, allowed: frozenset[str] = ALLOWED) -> bool:
    """What any reading of the wire could take for a ping of someone who is not allowed."""
    for user in allowed:
        text = text.replace(f"<@{user}>", "-")
    return bool(PING.search(text)) or bool(re.search(r"<#(?![CGD][A-Z0-9]+(?:\|[\w.\-]*)?>)", text))


SPELLINGS = [
    "<!channel>",
    "<!here>",
    "<!everyone>",
    "<!channel|channel>",
    "<!here|@here now>",
    "<!CHANNEL>",
    "<!Here>",
    "< !channel>",
    "<! channel>",
    "<!channel >",
    "< ! everyone >",
    "&lt;!channel&gt;",
    "&#60;!channel&#62;",
    "&#x3c;!channel&#x3E;",
    "&amp;lt;!channel&amp;gt;",
    "<&excl;channel>",
    "<&#33;channel>",
    "<!&#99;hannel>",
    "<\u200b!channel>",
    "<!\u2060channel>",
    "<!chan\u200bnel>",
    "<!\u202ehere>",
    "<\\!channel>",
    "\\<!channel>",
    "<!\uff43hannel>",
    "<!\u00adhere>",
    "<!h\ufe0fere>",
    "`<!channel>`",
    "```\n<!here>\n```",
    "> <!here>",
    "| <!here> | x |",
    "[x](<!channel>)",
    "[<!channel>](https://a.b)",
    "**<!here>**",
    "<<!here>>",
    "<!channel><!here>",
    "<!<!here>>",
    "@channel",
    "@here",
    "@everyone",
    "@Channel",
    "@HERE",
    "@\u200bchannel",
    "&commat;channel",
    "&#64;here",
    "\\@here",
    "@\\here",
    "<!subteam^S1>",
    "<!subteam^S1|ops>",
    "<!SUBTEAM^S1>",
    "<@U9>",
    "<@U9|ana>",
    "<@u1>",
    "< @U9>",
    "&lt;@U9&gt;",
    "<@U9",
    "<!channel",
    "<#C1|<!here>>",
    "<@U1|<!here>>",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_no_spelling_pings_even_after_one_decoding(text: str):
    out = neutralise(f"hello {text} there", ALLOWED)
    assert not pings(without_hidden(out))
    assert "<!channel>" not in html.unescape(out)
    assert "<@U9" not in html.unescape(out).replace("&lt;", "<") or text == "<@U9"
    assert out.startswith("hello ")
    assert out.endswith(" there")


@pytest.mark.parametrize(
    ("markdown", "wire"),
    [
        ("<!channel> <!here|now> <!subteam^S1|@ops> <!subteam^S2>", "＠channel ＠here ＠ops ＠S2"),
        ("<@U1> <@U1|ana> <@U9> <@U9|bob>", "<@U1> <@U1> ＠U9 ＠bob"),
        ("code `<@U1>` and\n```\n<@U1>\n```", "code `＠U1` and\n```\n＠U1\n```"),
        ("<#C1|ops> <#C2> <#bad>", "<#C1|ops> <#C2> &lt;#bad>"),
        ("`<!DOCTYPE html>`, a < b, x <", "`&lt;!DOCTYPE html>`, a < b, x &lt;"),
        ("back <!date^1^{date}|tomorrow>", "back （tomorrow）"),
        ("[a](!channel)", "[a] (!channel)"),
        ("<https://a.b|label> <b>", "<https://a.b|label> <b>"),
    ],
)
def test_what_is_left_reads_well(markdown: str, wire: str):
    assert neutralise(markdown, ALLOWED) == wire


@settings(max_examples=600, deadline=None)
@given(texts, texts)
@example("<", "!here>")
@example("@chan", "nel")
@example("<@U", "1>")
@example("a <\\", "!here>")
def test_no_part_of_the_result_and_no_two_results_joined_ping(one: str, other: str):
    first, second = neutralise(one, ALLOWED), neutralise(other, ALLOWED)
    assert not pings(first + second)
    wire = first.encode()
    for at in range(len(wire) + 1):
        head, tail = wire[:at].decode(errors="ignore"), wire[at:].decode(errors="ignore")
        for part in (head, tail):
            assert not re.search(r"<!|<@(?!U1>|W2AB>)[^>]*>|@(?:channel|here|everyone)", part, re.IGNORECASE)


@settings(max_examples=600, deadline=None)
@given(texts)
@example("<!<!channel>>")
@example("<!here|<!date^1^x|soon>>")
@example("<@👩\u200d👧>")
def test_neutralising_twice_is_neutralising_once(text: str):
    assert neutralise(neutralise(text, ALLOWED), ALLOWED) == neutralise(text, ALLOWED)


@given(st.text("abc .,中文\n*_-"))
def test_ordinary_text_is_not_touched(text: str):
    assert neutralise(text, frozenset()) == text


def test_harmless_names_leaves_the_rest_alone():
    assert harmless_names("ask @ana in @channel") == "ask @ana in ＠channel"


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("<@U1> and <@W2|bo>", {"U1", "W2"}),
        ("&gt; <@U1> said\nno", set[str]()),
        ("> <@U1> said\n<@U2> look", {"U2"}),
        ("  &gt; <@U1>", set[str]()),
        ("write `<@U1>` to ping", set[str]()),
        ("```\n<@U1>\n\n<@U2>\n``` <@U3>", {"U3"}),
        ("an open ``` <@U1>", {"U1"}),
        ("an open ` <@U1>", {"U1"}),
        ("a &gt; b <@U1>", {"U1"}),
        ("@U1 &lt;@U2&gt; <#C1|x> <!here>", set[str]()),
        ("", set[str]()),
    ],
)
def test_a_quote_or_code_only_shows_a_mention(text: str, users: set[str]):
    assert mentioned_users(text) == users
    assert all(mentions(text, user) for user in users)
    assert not mentions(text, "U0")

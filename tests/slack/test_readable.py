"""Whatever shape a Slack message has, the model reads its words once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.slack.names import Names, decoded
from bot.slack.readable import readable

NAMES = Names("UBOT", users={"U1": "Ana", "U2": "Bo (you)\n", "UBOT": "someone else"}, channels={"C1": "ops"})


def section(text: str) -> dict[str, object]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def rich(*elements: Mapping[str, object], kind: str = "rich_text_section", **more: object) -> dict[str, object]:
    return {"type": "rich_text", "elements": [{"type": kind, "elements": list(elements), **more}]}


def typed(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def blocks(*parts: Mapping[str, object]) -> str:
    return readable({"text": "", "blocks": list(parts)}, NAMES)


def attached(**attachment: object) -> str:
    return readable({"text": "", "attachments": [attachment]}, NAMES)


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("<@UBOT> ask <@U1>", "@you ask @Ana (U1)"),
        ("<@U9> <@U9|cy> <@U1|not Ana>", "@U9 @cy (U9) @Ana (U1)"),
        ("<@U2>", "@Bo [you] (U2)"),
        ("<#C1|old> <#C1|> <#C2|new> <#C3>", "#ops #ops #new #C3"),
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("&amp;lt; &amp;amp;", "&lt; &amp;"),
        ("&lt;@U1&gt; &lt;!here&gt;", "<@U1> <!here>"),
        ("<https://a.b/?x=1&amp;y=2>", "https://a.b/?x=1&y=2"),
        ("<https://a.b|A &amp; B>", "A & B (https://a.b)"),
        ("<https://a.b|a.b> <mailto:x@y.z|x@y.z> <mailto:x@y.z|Xi>", "https://a.b x@y.z Xi (mailto:x@y.z)"),
        ("<!here> <!channel|channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@ops> <!subteam^S2>", "@ops (S1) @S2"),
        ("<!date^1392734382^{date} at {time}|Feb 18>", "Feb 18"),
        ("<!date^1392734382^{date}^https://a.b>", "2014-02-18 14:39 UTC"),
        ("<!date^soon^{date}>", "soon"),
        ("a < b, c > d <> <|x>", "a < b, c > d <> <|x>"),
    ],
)
def test_wire_text_is_decoded_once(wire: str, text: str):
    assert readable({"text": wire}, NAMES) == text


@given(st.text("<>&;ampltgb #@!"))
def test_what_a_person_typed_comes_back_as_typed(typed_text: str):
    wire = typed_text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert decoded(wire, NAMES) == typed_text


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (section("*CPU* &gt; 90 % on <https://a.b|web-1>"), "*CPU* > 90 % on web-1 (https://a.b)"),
        ({"type": "header", "text": {"type": "plain_text", "text": "R&amp;D <up>"}}, "R&D <up>"),
        (
            {
                "type": "section",
                "fields": [{"type": "mrkdwn", "text": "*Env*"}, {"type": "plain_text", "text": "prod"}],
            },
            "*Env*\nprod",
        ),
        (
            {
                "type": "context",
                "elements": [{"type": "image", "alt_text": "dot"}, {"type": "mrkdwn", "text": "by <@U1>"}],
            },
            "[image: dot] by @Ana (U1)",
        ),
        ({"type": "markdown", "text": "**a** & b"}, "**a** & b"),
        (
            {"type": "image", "alt_text": "a chart", "title": {"type": "plain_text", "text": "Load"}},
            "Load [image: a chart]",
        ),
        (
            {
                "type": "actions",
                "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Open"}, "url": "https://a.b"}],
            },
            "[button: Open (https://a.b)]",
        ),
        (
            {
                "type": "table",
                "rows": [[{"type": "raw_text", "text": "a"}, rich(typed("b"))], [{"type": "raw_text", "text": "1"}]],
            },
            "| a | b |\n| 1 |",
        ),
        (
            {
                "type": "video",
                "title": {"type": "plain_text", "text": "Demo"},
                "description": {"type": "plain_text", "text": "how"},
            },
            "Demo\nhow",
        ),
        (
            {"type": "plan", "title": "Plan", "tasks": [{"title": "step", "details": rich(typed("done"))}]},
            "Plan\nstep\ndone",
        ),
        ({"type": "not_invented_yet", "body": {"text": "words"}}, "words"),
        ({"type": "divider"}, ""),
    ],
)
def test_each_kind_of_block_gives_its_words(block: dict[str, object], text: str):
    assert blocks(block) == text


def test_rich_text_reads_as_it_looks():
    styled = {"type": "text", "text": "rm -rf", "style": {"code": True}}
    link, labelled = {"type": "link", "url": "https://a.b"}, {"type": "link", "url": "https://a.b", "text": "docs"}
    line = [typed("a < &amp; "), {"type": "user", "user_id": "U1"}, {"type": "channel", "channel_id": "C1"}, styled]
    assert blocks(rich(*line)) == "a < &amp; @Ana (U1)#ops`rm -rf`"
    assert blocks(rich(link, typed(" "), labelled)) == "https://a.b docs (https://a.b)"
    more = [
        {"type": "emoji", "name": "wave"},
        {"type": "broadcast", "range": "here"},
        {"type": "usergroup", "usergroup_id": "S1"},
    ]
    assert blocks(rich(*more, {"type": "date", "timestamp": 0, "fallback": ""})) == ":wave:@here@S11970-01-01 00:00 UTC"
    assert blocks(rich(typed("a\nb"), kind="rich_text_quote")) == "> a\n> b"
    assert blocks(rich(typed("x = 1\n  y"), kind="rich_text_preformatted")) == "```\nx = 1\n  y\n```"
    items = [{"type": "rich_text_section", "elements": [typed(word)]} for word in ("a", "b")]
    assert blocks(rich(*items, kind="rich_text_list", style="bullet", indent=1)) == "    • a\n    • b"
    assert blocks(rich(*items, kind="rich_text_list", style="ordered", offset=2)) == "3. a\n4. b"


@pytest.mark.parametrize(
    ("text", "block", "read"),
    [
        (
            "hello *you* &amp; <@U1>",
            rich(typed("hello you & "), {"type": "user", "user_id": "U1"}),
            "hello *you* & @Ana (U1)",
        ),
        ("Alert", section("*Alert*\nCPU is high"), "*Alert*\nCPU is high"),
        ("Alert\nsee below", section("*Alert*\nCPU is high"), "Alert\nsee below\nCPU is high"),
        ("books are here", section("ok"), "books are here\nok"),
        ("👍", rich({"type": "emoji", "name": "thumbsup"}), "👍\n:thumbsup:"),
        ("hi", rich(typed("👍")), "hi\n👍"),
        ("这是*重点*内容", rich(typed("这是重点内容")), "这是*重点*内容"),
        ("• a\n• b", rich(typed("a\nb")), "• a\n• b"),
        ("", section(" "), ""),
    ],
)
def test_text_and_blocks_that_say_the_same_are_read_once(text: str, block: dict[str, object], read: str):
    assert readable({"text": text, "blocks": [block]}, NAMES) == read


def test_an_alert_without_text_is_read():
    alert = attached(
        fallback="[FIRING:1] HighLoad | https://alerts.example",
        pretext="Cluster *west*",
        title="[FIRING:1] HighLoad",
        title_link="https://alerts.example/?a=1&amp;b=2",
        text="*Summary:* load &gt; 9\n",
        fields=[{"title": "severity", "value": "critical", "short": True}, {"value": "alone"}],
        footer="Alertmanager",
    )
    assert alert == (
        "Cluster *west*\n[FIRING:1] HighLoad (https://alerts.example/?a=1&b=2)\n*Summary:* load > 9\n\n"
        "severity: critical\nalone\nAlertmanager"
    )
    assert attached(fallback="only <https://a.b|this>") == "only this (https://a.b)"
    assert attached(fallback="unused", blocks=[section("words")]) == "words"


def test_a_forward_is_a_quote_that_names_its_author():
    content = {"blocks": [rich(typed("ship it\ntoday"))]}
    share: dict[str, object] = {"is_share": True, "author_id": "U1", "author_name": "x", "channel_id": "C1"}
    share |= {"text": "ship it\ntoday", "fallback": "[Feb 1] ana: ship it", "message_blocks": [{"message": content}]}
    share["files"] = [{"name": "a.txt"}]
    read = readable({"text": "look", "attachments": [share]}, NAMES)
    assert read == "look\n[message by Ana (U1) in #ops]\n> ship it\n> today\n> [file: a.txt]"


def test_files_are_named_with_type_and_size_and_many_are_counted():
    def named(**file: object) -> str:
        return readable({"text": "", "files": [file]}, NAMES)

    assert named(name="report.csv", mimetype="text/csv", size=14_200) == "[file: report.csv, text/csv, 14 kB]"
    assert named(name="a.bin", size=999) == "[file: a.bin, 999 B]"
    assert named(title="b", filetype="pdf", size=2_345_678) == "[file: b, pdf, 2.3 MB]"
    assert named(name="x] [file:\ny", size=5 * 10**10) == "[file: x) (file: y, 50 GB]"
    assert named(name="evil\u202ecod.exe") == "[file: evil[U+202E]cod.exe]"
    assert named(mode="tombstone") == "[file: deleted]"
    assert "storage limit" in named(mode="hidden_by_limit")
    assert "F1, shared from another workspace" in named(id="F1", file_access="check_file_info")
    assert named() == "[file: without a name]"
    many = readable({"text": "hi", "files": [{"name": "a"}] * 200}, NAMES)
    assert many == "hi\n" + "[file: a]\n" * 20 + "[and 180 more files]"


def test_200_attachments_are_read_up_to_20_and_the_rest_counted():
    read = readable({"text": "", "attachments": [{"text": f"alert {number}x"} for number in range(200)]}, NAMES)
    assert read.split("\n") == [f"alert {number}x" for number in range(20)] + ["[and 180 more attachments]"]


def test_attachments_beyond_the_limit_are_counted_where_they_are_not_read():
    read = readable({"text": "", "attachments": [{"text": f"{number} " * 200} for number in range(9)]}, NAMES, 500)
    assert len(read) <= 500
    assert read.endswith("characters left out]\n[and 7 more attachments]")


def test_hidden_characters_are_shown_to_the_model():
    assert readable({"text": "pay \u202eana\u202c now"}, NAMES) == "pay [U+202E]ana[U+202C] now"
    assert readable({"text": "<@U1>"}, Names("UBOT", users={"U1": "A\u200bna"})) == "@A[U+200B]na (U1)"


def test_a_long_message_says_how_much_is_missing_and_keeps_its_files():
    read = readable({"text": "word " * 20_000, "files": [{"name": "a.csv"}]}, NAMES)
    assert len(read) <= 40_000
    body, note, file = read.rsplit("\n", 2)
    assert file == "[file: a.csv]"
    assert note == f"[{100_000 - len(body):,} characters left out]"
    family = readable({"text": "👨‍👩‍👧‍👦" * 100}, NAMES, longest=200)
    assert regex.match(r"(?:👨‍👩‍👧‍👦)+\n\[[\d,]+ characters left out\]\Z", family)


keys = st.sampled_from(
    ["type", "text", "elements", "blocks", "attachments", "files", "fields", "message_blocks", "message", "rows"]
)
kinds = st.sampled_from(
    [
        "rich_text",
        "rich_text_list",
        "section",
        "context",
        "table",
        "mrkdwn",
        "plain_text",
        "link",
        "<|",
        "<@",
        "<!date^",
    ]
)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | kinds | st.text("<>|^!@# a", max_size=8)
)
payloads = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys | st.just("indent"), inner, max_size=5),
    max_leaves=30,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(keys, payloads, max_size=6), st.integers(200, 2_000))
def test_no_payload_breaks_it_or_exceeds_the_limit(message: dict[str, object], longest: int):
    assert len(readable(message, NAMES, longest)) <= longest


def test_a_bottomless_payload_ends():
    deep: dict[str, object] = {"text": "deep"}
    for _ in range(5_000):
        deep = {"elements": [deep]}
    assert blocks(deep, section("end")) == "end"

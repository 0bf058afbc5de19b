"""What each payload of Slack means to us, and which messages are for us."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from bot.demo.values import BOT, BOT_USER, TEAM
from bot.demo.workspace import ANA, WEI
from bot.slack.ids import Spot, spot
from bot.slack.inbound import (
    GESTURES,
    Click,
    Follow,
    Heard,
    Reaction,
    accept,
    bare_words,
    follows_from_now,
    kept,
    understand,
    understand_click,
)
from memory.inbox import Deleted, Edited
from memory.types import MessageId
from tests.slack.parts import GENERAL, OWN, callback, changed, deleted, mention, message, reaction

TS, ROOT = "1700000000.000100", "1699999999.000001"
HERE = Spot(TEAM, GENERAL, TS)
OURS = {"user": BOT_USER, "bot_id": BOT}
FILE = {"id": "F1", "name": "a.csv"}
NOBODY_SHARED = frozenset[str]()


def understood(event: dict[str, Any], **more: Any) -> Any:
    return understand(callback(event, **more), OWN, NOBODY_SHARED)


@pytest.mark.parametrize(
    "event",
    [
        message(),
        message(subtype="thread_broadcast", thread_ts=ROOT),
        message("", subtype="file_share", files=[FILE]),
        message(subtype="me_message"),
        message(user_team=TEAM, source_team=TEAM),
        mention(),
    ],
)
def test_words_of_people_are_heard(event: dict[str, Any]) -> None:
    heard = understood(event)
    assert isinstance(heard, Heard)
    assert (heard.spot, heard.author, heard.message) == (HERE, ANA, event)
    assert heard.thread == Spot(TEAM, GENERAL, event.get("thread_ts", TS))
    assert heard.is_reply == ("thread_ts" in event)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(message(**OURS), id="our own echo"),
        pytest.param(message(user=None, bot_id=BOT, subtype="bot_message"), id="our own echo by the bot's id alone"),
        pytest.param(mention(**OURS), id="our own mention of ourselves"),
        pytest.param(mention(bot_id="B0OTHER", user="U0OTHER"), id="another bot that mentions us"),
        pytest.param(message(bot_id="B0OTHER", user=None, subtype="bot_message"), id="a webhook"),
        pytest.param(message(user="USLACKBOT"), id="Slackbot"),
        pytest.param(message(user=None), id="nobody"),
        pytest.param(mention(edited={"user": ANA, "ts": "1700000004.000000"}), id="a mention that was edited in"),
        pytest.param(message(user_team="T0ELSEWHERE"), id="an outsider by user_team"),
        pytest.param(message(source_team="T0ELSEWHERE"), id="an outsider by source_team"),
        *(
            pytest.param(message(subtype=subtype), id=subtype)
            for subtype in (
                "channel_join",
                "channel_leave",
                "channel_topic",
                "group_join",
                "pinned_item",
                "message_replied",
                "assistant_app_thread",
                "reminder_add",
                "something_new",
            )
        ),
        pytest.param({"type": "app_home_opened", "user": ANA, "tab": "home"}, id="the home tab"),
        pytest.param({"type": "tokens_revoked"}, id="revoked tokens"),
        pytest.param({}, id="nothing at all"),
    ],
)
def test_everything_else_is_not_for_us(event: dict[str, Any]) -> None:
    assert understood(event) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<@{BOT_USER}> hi", True),
        (f"hi <@{BOT_USER}|bobbin>", True),
        ("hi", False),
        ("<@U0OTHER0001> hi", False),
        (f"&gt; <@{BOT_USER}> do this\nwhat did you mean?", False),
        (f"`<@{BOT_USER}>` is how it is written", False),
        (f"```\n<@{BOT_USER}>\n```", False),
        (f"&gt; <@{BOT_USER}> do this\n<@{BOT_USER}> yes, do", True),
    ],
)
def test_a_quoted_mention_is_none(text: str, expected: bool) -> None:
    assert understood(message(text)).mentioned is expected


def test_where_a_message_stands() -> None:
    assert understood(message(channel_type="im")).direct
    assert not understood(message(channel_type="mpim")).direct
    assert understood(message(thread_ts=ROOT, parent_user_id=BOT_USER)).under_ours
    assert not understood(message(thread_ts=ROOT, parent_user_id=WEI)).under_ours


@pytest.mark.parametrize("event", [message(), mention(), reaction("x"), changed(message("b"), message("a"))])
def test_shared_channels_are_silent_unless_an_administrator_allows_them(event: dict[str, Any]) -> None:
    payload = callback(event, is_ext_shared_channel=True)
    assert understand(payload, OWN, NOBODY_SHARED) is None
    assert understand(payload, OWN, frozenset({"C0OTHER"})) is None
    assert understand(payload, OWN, frozenset({GENERAL})) is not None


def test_outsiders_stay_outside_in_allowed_channels() -> None:
    for team in ({"user_team": "T0ELSEWHERE"}, {"source_team": "T0ELSEWHERE"}):
        for event in (message(**team), changed(message("b", **team), message("a", **team))):
            assert understand(callback(event, is_ext_shared_channel=True), OWN, frozenset({GENERAL})) is None


# -- edits and deletions -------------------------------------------------------------------------


def test_an_edit_says_who_where_and_what_now() -> None:
    now = message(f"<@{BOT_USER}> 1 &lt; 2", edited={"user": ANA, "ts": "1700000004.000000"}, thread_ts=ROOT)
    edited = understood(changed(now, message("before")))
    assert isinstance(edited, Edited)
    assert (edited.message, edited.thread) == (HERE.message, Spot(TEAM, GENERAL, ROOT).thread)
    assert (edited.author, edited.words, edited.opaque) == (ANA, "1 < 2", {"text": now["text"]})


def test_another_file_is_an_edit() -> None:
    assert isinstance(understood(changed(message("a", files=[FILE]), message("a"))), Edited)


@pytest.mark.parametrize(
    ("now", "before"),
    [
        pytest.param(message("a", attachments=[{"from_url": "https://x.example"}]), message("a"), id="an unfurl"),
        pytest.param(message("a", thread_ts=TS, reply_count=1), message("a"), id="counts of replies"),
        pytest.param(message("a", files=[FILE | {"title": "b"}]), message("a", files=[FILE]), id="details of a file"),
        pytest.param(message("b", **OURS), message("a", **OURS), id="our own edit"),
        pytest.param(message("a", **OURS, attachments=[{}]), message("a", **OURS), id="an unfurl of our own"),
        pytest.param(message("b", bot_id="B0OTHER"), message("a", bot_id="B0OTHER"), id="another bot's edit"),
        pytest.param(message("b", user=None), message("a", user=None), id="nobody's edit"),
    ],
)
def test_other_changes_are_nothing(now: dict[str, Any], before: dict[str, Any]) -> None:
    assert understood(changed(now, before)) is None


def test_deletions() -> None:
    reply = message("gone", thread_ts=ROOT)
    assert understood(deleted(reply)) == Deleted(thread=Spot(TEAM, GENERAL, ROOT).thread, message=HERE.message)
    assert understood(deleted(message())) == Deleted(thread=HERE.thread, message=HERE.message)
    assert understood(deleted(message(**OURS))) is None


def test_a_deleted_root_with_replies_is_a_deletion() -> None:
    tombstone = message("This message was deleted.", user="USLACKBOT", subtype="tombstone", thread_ts=TS)
    assert understood(changed(tombstone, message())) == Deleted(thread=HERE.thread, message=HERE.message)
    assert understood(changed(tombstone, message(**OURS))) is None


# -- reactions and buttons -----------------------------------------------------------------------


@pytest.mark.parametrize("tone", ["", *(f"::skin-tone-{number}" for number in range(2, 7))])
@pytest.mark.parametrize("name", GESTURES)
def test_reactions_in_every_skin(name: str, tone: str) -> None:
    expected = Reaction(HERE.message, ANA, GESTURES[name], True, 1700000009.0)
    assert understood(reaction(name + tone)) == expected
    assert understood(reaction(name + tone, type="reaction_removed")).on is False


@pytest.mark.parametrize(
    "event",
    [
        reaction("eyes"),
        reaction("tada::skin-tone-2"),
        reaction("+1", user=BOT_USER),
        reaction("+1", user=None),
        reaction("+1", item={"type": "file", "file": "F1"}),
        reaction("+1", item={}),
    ],
)
def test_other_reactions_are_nothing(event: dict[str, Any]) -> None:
    assert understood(event) is None


def test_what_contract_says_about_gestures() -> None:
    assert [GESTURES[name] for name in ("white_check_mark", "+1", "thumbsup")] == ["approve"] * 3
    assert [GESTURES[name] for name in ("x", "-1", "thumbsdown")] == ["refuse"] * 3
    assert GESTURES["octagonal_sign"] == "stop"


def click(*actions: str, **more: Any) -> dict[str, Any]:
    container = {"type": "message", "message_ts": TS, "channel_id": GENERAL}
    shown = [{"action_id": action, "action_ts": "1700000003.0"} for action in actions]
    return {"type": "block_actions", "user": {"id": WEI}, "container": container, "actions": shown} | more


@pytest.mark.parametrize("action", ["approve", "refuse", "stop"])
def test_buttons_on_our_messages(action: str) -> None:
    assert understand_click(click(action), OWN) == Click(HERE.message, WEI, action)  # pyright: ignore[reportArgumentType] - the table's words are gestures


@pytest.mark.parametrize(
    "payload", [click(), click("other"), click("approve", container={"type": "view"}), {"type": "block_actions"}]
)
def test_other_buttons_are_nothing(payload: dict[str, Any]) -> None:
    assert understand_click(payload, OWN) is None


# -- acceptance ----------------------------------------------------------------------------------


def heard(*, direct: bool, mentioned: bool, reply: bool, under_ours: bool) -> Heard:
    thread = Spot(TEAM, GENERAL, ROOT if reply else TS)
    return Heard(HERE, thread, ANA, direct, mentioned, under_ours, {})


MODES: tuple[Follow, ...] = ("own", "all", "mention")
TABLE = [
    (follow, *flags) for follow, *flags in product(MODES, *([[False, True]] * 5)) if flags[2] or not any(flags[3:])
]
"""Mode, direct, mentioned, reply, we follow the thread, we wrote its root: only replies can have the last two."""


@pytest.mark.parametrize(("follow", "direct", "mentioned", "reply", "follows", "under_ours"), TABLE)
def test_who_is_answered(
    follow: Follow, direct: bool, mentioned: bool, reply: bool, follows: bool, under_ours: bool
) -> None:
    one = heard(direct=direct, mentioned=mentioned, reply=reply, under_ours=under_ours)
    if direct or mentioned:
        expected = True
    elif follow == "mention" or not reply:
        expected = False
    else:
        expected = follows or under_ours
    assert accept(one, follow, follows=follows) is expected


@pytest.mark.parametrize(("follow", "direct", "mentioned", "reply", "follows", "under_ours"), TABLE)
def test_whose_threads_are_followed(
    follow: Follow, direct: bool, mentioned: bool, reply: bool, follows: bool, under_ours: bool
) -> None:
    one = heard(direct=direct, mentioned=mentioned, reply=reply, under_ours=under_ours)
    foreign = reply and not direct and not under_ours
    assert follows_from_now(one, follow) is (not foreign or follow == "all")


# -- words and ids -------------------------------------------------------------------------------


def test_words_for_the_program_itself() -> None:
    assert bare_words(message(f"  <@{BOT_USER}>  stop &amp;amp; wait "), OWN) == "stop &amp; wait"
    assert bare_words(message(text=None), OWN) == ""


def test_what_is_read_later_is_kept_and_nothing_else() -> None:
    said = message("a", blocks=[{"type": "divider"}], attachments=[], files=[FILE], client_msg_id="x")
    assert kept(said) == {"text": "a", "blocks": [{"type": "divider"}], "files": [FILE]}


def test_ids_come_back_as_they_went() -> None:
    assert spot(HERE.thread) == spot(HERE.message) == HERE
    with pytest.raises(ValueError, match="expected 3"):
        spot(MessageId("no key of ours"))

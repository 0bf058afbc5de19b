"""Every tool that changes something in Slack: what it does, and what is said when Slack will not have it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.demo.values import BOT_USER, Channel, Message
from bot.demo.workspace import ANA, WEI
from memory.types import Person
from tests.slack.live import GENERAL, LEADS, NEWS, Place, place
from tools.base import Effect
from tools.slack_write import SLACK_WRITE_TOOLS

NOBODY = "1764511531.000200"


@pytest.fixture
async def here() -> AsyncIterator[Place]:
    async with place() as made:
        yield made


def newest(here: Place, channel: str = NEWS) -> Message:
    return here.workspace.messages(channel)[-1]


def ahead(**more: float) -> str:
    return (datetime.now(UTC) + timedelta(**more)).isoformat()


# -- each tool works -------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["#news", "news", NEWS, f"<#{NEWS}>", f"<#{NEWS}|news>", " #news "])
async def test_a_channel_goes_by_name_id_or_mention(here: Place, channel: str) -> None:
    ran = await here.edge.run("post_message", channel=channel, text="Release **2.4** is out")
    assert ran.outcome == "done"
    posted = newest(here)
    assert posted.by_app
    assert posted.blocks[0]["text"] == "Release **2.4** is out"
    assert posted.ts in ran.result.text
    assert "/archives/" in ran.result.text
    assert ran.result.line == "#news"


async def test_a_post_notifies_the_people_it_names_and_no_crowd(here: Place) -> None:
    await here.edge.run("post_message", channel="#news", text=f"<@{WEI}> <@U0NOBODY99> <!channel> @here")
    said = str(newest(here).blocks)
    assert f"<@{WEI}>" in said
    assert not any(token in said for token in ("<!", "<@U0NOBODY99>", "@here"))


@pytest.mark.parametrize("user", ["Wei 魏", "@wei 魏", WEI, f"<@{WEI}>"])
async def test_a_direct_message(here: Place, user: str) -> None:
    ran = await here.edge.run("send_dm", user=user, text="hello")
    assert ran.outcome == "done"
    assert newest(here, "D0WEI00001").text == "hello"


async def test_a_reaction_a_pin_and_both_again(here: Place) -> None:
    for _ in range(2):
        assert (await here.edge.run("add_reaction", channel="#general", ts=here.root, name=":tada:")).outcome == "done"
        assert (await here.edge.run("pin_message", channel="#general", ts=here.root)).outcome == "done"
    message = here.workspace.message(GENERAL, here.root)
    assert (message.reactions, message.pinned) == ((("tada", BOT_USER),), True)


async def test_a_scheduled_message_and_a_reminder_in_this_thread(here: Place) -> None:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    assert (await here.edge.run("schedule_message", channel="#news", text="later", at=at.isoformat())).outcome == "done"
    assert (await here.edge.run("create_reminder", text="look again", at=at.isoformat())).outcome == "done"
    waiting = list(here.workspace.scheduled.values())
    assert [one.post_at for one in waiting] == [int(at.timestamp())] * 2
    assert [(one.message.channel, one.message.thread_ts) for one in waiting] == [(NEWS, None), (GENERAL, here.root)]
    calls = [call for call in here.workspace.calls if call.method == "chat.scheduleMessage"]
    assert all(str(call.arguments["unfurl_links"]).lower() in ("false", "0") for call in calls), "no outgoing requests"


async def test_a_time_without_a_zone_is_where_the_requester_is(here: Place) -> None:
    there = replace(here.edge, requester=Person(id=ANA, name="Ana", time_zone="Asia/Shanghai"))
    day = (datetime.now(UTC) + timedelta(days=3)).date()
    ran = await there.run("create_reminder", text="x", at=f"{day}T09:00")
    (scheduled,) = here.workspace.scheduled.values()
    assert datetime.fromtimestamp(scheduled.post_at, UTC).strftime("%H:%M") == "01:00"
    assert "01:00 UTC" in ran.result.text


async def test_a_file(here: Place) -> None:
    ran = await here.edge.run("upload_file", channel="#news", name="a.csv", content="a,b\n1,汉\n")
    assert ran.outcome == "done"
    (file,) = newest(here).files
    assert here.workspace.files[file].content == "a,b\n1,汉\n".encode()
    assert "10 bytes" in ran.result.text


async def test_a_topic_and_an_invitation(here: Place) -> None:
    here.workspace.put_channel(Channel("C0SMALL001", "small", members=(ANA, BOT_USER)))
    assert (await here.edge.run("set_topic", channel="#small", topic="Calm <and> quiet")).outcome == "done"
    for _ in range(2):
        assert (await here.edge.run("invite_to_channel", channel="#small", user="@Wei 魏")).outcome == "done"
    assert here.workspace.channels["C0SMALL001"].members == (ANA, BOT_USER, WEI)
    assert "Calm" in here.workspace.channels["C0SMALL001"].topic


async def test_an_own_message_is_deleted_and_no_other(here: Place) -> None:
    await here.edge.run("post_message", channel="#news", text="wrong")
    ts = newest(here).ts
    assert (await here.edge.run("delete_message", channel="#news", ts=ts)).outcome == "done"
    assert ts not in {message.ts for message in here.workspace.messages(NEWS)}
    ran = await here.edge.run("delete_message", channel="#general", ts=here.root)
    assert ran.outcome == "failed"
    assert "not mine" in ran.result.text


def test_effects_and_what_may_be_repeated() -> None:
    effects = {tool.name: tool.effect for tool in SLACK_WRITE_TOOLS}
    assert {name for name, effect in effects.items() if effect is Effect.DESTROY} == {"delete_message"}
    assert Effect.READ not in effects.values()
    repeatable = {tool.name for tool in SLACK_WRITE_TOOLS if tool.idempotent}
    assert repeatable == {"add_reaction", "pin_message", "set_topic", "invite_to_channel", "delete_message"}
    for tool in SLACK_WRITE_TOOLS:
        assert set(tool.resource) <= set(tool.input.model_fields)


# -- what is refused comes back with what to do ------------------------------------------------------


def archived(here: Place) -> None:
    here.workspace.put_channel(replace(here.workspace.channels[NEWS], archived=True))


def left(here: Place) -> None:
    here.workspace.put_channel(replace(here.workspace.channels[NEWS], members=(ANA, WEI)))


def unchanged(_: Place) -> None: ...


POST: dict[str, Any] = {"channel": "#news", "text": "x"}
REFUSED: list[tuple[Callable[[Place], None], str, dict[str, Any], str, str]] = [
    (archived, "post_message", POST, "is_archived", "Choose another"),
    (archived, "upload_file", {"channel": "#news", "name": "a.txt", "content": "x"}, "is_archived", "restore"),
    (archived, "set_topic", {"channel": "#news", "topic": "x"}, "is_archived", "Choose another"),
    (left, "post_message", POST, "not_in_channel", "/invite"),
    (left, "schedule_message", {**POST, "at": ahead(hours=1)}, "not_in_channel", "/invite"),
    (left, "invite_to_channel", {"channel": "#news", "user": WEI}, "not_in_channel", "/invite"),
    (unchanged, "post_message", {"channel": "#nowhere", "text": "x"}, "channel_not_found", "Check the name"),
    (unchanged, "post_message", {"channel": "C0NOWHERE1", "text": "x"}, "channel_not_found", "Check the name"),
    (unchanged, "send_dm", {"user": "Nobody", "text": "x"}, "user_not_found", "use the id"),
    (unchanged, "add_reaction", {"channel": "#general", "ts": NOBODY, "name": "x"}, "message_not_found", "the ts"),
    (unchanged, "pin_message", {"channel": "#general", "ts": NOBODY}, "message_not_found", "the ts"),
    (unchanged, "delete_message", {"channel": "#general", "ts": NOBODY}, "message_not_found", "gone already"),
    (unchanged, "post_message", {"channel": "#news", "text": " \u200b "}, "empty_text", "Write the text"),
    (unchanged, "post_message", {"channel": "#news", "text": ""}, "bad_arguments", "channel, text"),
    (unchanged, "post_message", {"channel": "#news", "text": "x" * 11_001}, "bad_arguments", "text"),
    (unchanged, "add_reaction", {"channel": "#general", "ts": "now", "name": "x"}, "bad_arguments", "ts"),
    (unchanged, "upload_file", {"channel": "#news", "name": "../x", "content": "x"}, "bad_arguments", "name"),
    (unchanged, "create_reminder", {"text": "x", "at": ahead(seconds=-60)}, "too_late", "now"),
    (unchanged, "create_reminder", {"text": "x", "at": ahead(seconds=10)}, "too_late", "now"),
    (unchanged, "schedule_message", {**POST, "at": ahead(days=121)}, "too_far", "earlier"),
]


@pytest.mark.parametrize(("given", "name", "arguments", "code", "hint"), REFUSED)
async def test_a_refusal_says_what_to_do(
    here: Place, given: Callable[[Place], None], name: str, arguments: dict[str, Any], code: str, hint: str
) -> None:
    given(here)
    before = {channel: len(here.workspace.messages(channel)) for channel in here.workspace.channels}
    ran = await here.edge.run(name, **arguments)
    assert (ran.outcome, ran.result.is_error) == ("failed", True)
    assert f"code: {code}" in ran.result.text
    assert hint in ran.result.text
    assert {channel: len(here.workspace.messages(channel)) for channel in here.workspace.channels} == before
    assert here.workspace.scheduled == {}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("post_message", {"text": "x"}),
        ("schedule_message", {"text": "x", "at": ahead(hours=1)}),
        ("upload_file", {"name": "a.txt", "content": "x"}),
        ("set_topic", {"topic": "x"}),
        ("invite_to_channel", {"user": WEI}),
        ("add_reaction", {"ts": NOBODY, "name": "x"}),
        ("pin_message", {"ts": NOBODY}),
        ("delete_message", {"ts": NOBODY}),
    ],
)
@pytest.mark.parametrize("channel", ["#leads", LEADS])
async def test_nobody_writes_into_a_private_channel_of_others(
    here: Place, name: str, arguments: dict[str, Any], channel: str
) -> None:
    ran = await here.edge.asked_by(WEI).run(name, channel=channel, **arguments)
    assert "code: private" in ran.result.text
    assert here.workspace.messages(LEADS) == []
    assert here.workspace.channels[LEADS].members == (ANA, BOT_USER)


async def test_a_member_writes_into_a_private_channel(here: Place) -> None:
    assert (await here.edge.run("post_message", channel="#leads", text="x")).outcome == "done"
    assert len(here.workspace.messages(LEADS)) == 1


@pytest.mark.parametrize(
    ("method", "name", "arguments"),
    [
        ("chat.postMessage", "post_message", POST),
        ("chat.postMessage", "send_dm", {"user": WEI, "text": "x"}),
        ("chat.scheduleMessage", "create_reminder", {"text": "x", "at": ahead(hours=1)}),
        ("files.completeUploadExternal", "upload_file", {"channel": "#news", "name": "a.txt", "content": "x"}),
        ("conversations.setTopic", "set_topic", {"channel": "#news", "topic": "x"}),
    ],
)
async def test_a_lost_answer_is_an_unknown_outcome_and_nothing_is_sent_twice(
    here: Place, method: str, name: str, arguments: dict[str, Any]
) -> None:
    here.workspace.lose_answer_once(method)
    ran = await here.edge.run(name, **arguments)
    assert ran.outcome == "uncertain"
    assert "Check before you do it again" in ran.result.text
    assert [call.method for call in here.workspace.calls].count(method) == 1


async def test_a_limit_is_waited_for_and_the_post_made_once(here: Place) -> None:
    here.workspace.rate_limit_once("chat.postMessage", 0)
    assert (await here.edge.run("post_message", **POST)).outcome == "done"
    assert len(here.workspace.messages(NEWS)) == 1

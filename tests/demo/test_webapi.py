"""The Web API as the real Slack client sees it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.demo import chat, lookups
from bot.demo.arguments import Arguments
from bot.demo.server import Running
from bot.demo.values import BOT_USER, Json, Person, objects
from bot.demo.workspace import ANA, WEI, Workspace
from tests.demo.conftest import GENERAL, Client


async def refusal(call: Awaitable[Any]) -> str:
    """Slack's name of the error that the call ends in."""
    with pytest.raises(SlackApiError) as caught:
        await call
    error: Any = caught.value
    return str(error.response["error"])


async def test_auth_shows_who_the_bot_is_and_what_it_may(client: Client) -> None:
    answer = await client.auth_test()
    assert (answer["user_id"], answer["team_id"]) == (BOT_USER, "T0BOBBIN01")
    assert "chat:write" in answer.headers["X-OAuth-Scopes"].split(",")


@pytest.mark.parametrize(("token", "error"), [("", "not_authed"), ("xoxb-other", "invalid_auth")])
async def test_tokens(running: Running, token: str, error: str) -> None:
    stranger: Client = AsyncWebClient(token=token, base_url=running.api_url)
    assert await refusal(stranger.auth_test()) == error
    assert (
        await refusal(stranger.apps_connections_open(app_token=running.workspace.bot_token)) == "not_allowed_token_type"
    )


CALLS: list[tuple[str, Callable[[Client], Awaitable[Any]]]] = [
    ("channel_not_found", lambda c: c.chat_postMessage(channel="C404", text="x")),
    ("not_in_channel", lambda c: c.chat_postMessage(channel="C0OUTSIDE1", text="x")),
    ("is_archived", lambda c: c.chat_postMessage(channel="C0ARCHIVE1", text="x")),
    ("no_text", lambda c: c.chat_postMessage(channel=GENERAL, text=" ", attachments=[])),
    ("thread_not_found", lambda c: c.chat_postMessage(channel=GENERAL, text="x", thread_ts="1.000001")),
    (
        "invalid_blocks",
        lambda c: c.chat_postMessage(channel=GENERAL, text="x", blocks=[{"type": "markdown", "text": "m" * 12_001}]),
    ),
    ("msg_too_long", lambda c: c.chat_postMessage(channel=GENERAL, markdown_text="m" * 12_001)),
    ("markdown_text_conflict", lambda c: c.chat_postMessage(channel=GENERAL, text="x", markdown_text="x")),
    ("invalid_metadata_schema", lambda c: c.chat_postMessage(channel=GENERAL, text="x", metadata={"event_type": "a"})),
    ("message_not_found", lambda c: c.chat_update(channel=GENERAL, ts="1.000001", text="x")),
    ("message_not_found", lambda c: c.reactions_add(channel=GENERAL, timestamp="1.000001", name="x")),
    ("user_not_found", lambda c: c.users_info(user="U404")),
    ("user_not_in_channel", lambda c: c.chat_postEphemeral(channel="C0LEADS001", user=WEI, text="x")),
    ("time_in_past", lambda c: c.chat_scheduleMessage(channel=GENERAL, post_at=1, text="x")),
    (
        "time_too_far",
        lambda c: c.chat_scheduleMessage(channel=GENERAL, post_at=int(time.time()) + 121 * 86_400, text="x"),
    ),
    (
        "invalid_scheduled_message_id",
        lambda c: c.chat_deleteScheduledMessage(channel=GENERAL, scheduled_message_id="Q"),
    ),
    ("invalid_cursor", lambda c: c.conversations_history(channel=GENERAL, cursor="???")),
    ("invalid_arguments", lambda c: c.conversations_history(channel=GENERAL, limit="few")),  # pyright: ignore[reportArgumentType] # wrong on purpose
    ("no_such_subteam", lambda c: c.usergroups_users_list(usergroup="S404")),
    ("file_not_found", lambda c: c.files_info(file="F404")),
    ("invalid_trigger_id", lambda c: c.views_open(trigger_id="1.2.3", view={"type": "modal", "blocks": []})),
    ("already_in_channel", lambda c: c.conversations_invite(channel=GENERAL, users=ANA)),
    ("unknown_method", lambda c: c.api_call("chat.shout")),
]


@pytest.mark.parametrize(("error", "call"), CALLS)
async def test_refusals(running: Running, client: Client, error: str, call: Callable[[Client], Awaitable[Any]]) -> None:
    general = running.workspace.channels[GENERAL]
    running.workspace.put_channel(replace(general, id="C0OUTSIDE1", name="outside", members=(ANA,)))
    running.workspace.put_channel(replace(general, id="C0ARCHIVE1", name="old", archived=True))
    assert await refusal(call(client)) == error
    assert running.workspace.calls[-1].error == error


async def test_only_own_messages_can_be_changed(running: Running, client: Client) -> None:
    said = running.workspace.say(ANA, GENERAL, "mine")
    assert await refusal(client.chat_update(channel=GENERAL, ts=said.ts, text="x")) == "cant_update_message"
    assert await refusal(client.chat_delete(channel=GENERAL, ts=said.ts)) == "cant_delete_message"


async def test_an_update_counts_bytes_and_a_text_replaces_blocks(client: Client) -> None:
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "block"}}
    ts = str((await client.chat_postMessage(channel=GENERAL, text="x", blocks=[block]))["ts"])
    assert await refusal(client.chat_update(channel=GENERAL, ts=ts, text="魏" * 1_334)) == "msg_too_long"
    kept = await client.chat_update(channel=GENERAL, ts=ts, text="魏" * 1_333, blocks=[block])
    plain = await client.chat_update(channel=GENERAL, ts=ts, text="plain")
    assert kept["message"]["blocks"][0]["text"] == block["text"]
    assert "blocks" not in plain["message"]


async def test_metadata_is_returned_only_when_asked_for(client: Client) -> None:
    metadata = {"event_type": "bobbin_post", "event_payload": {"turn": "t1", "part": 2}}
    root = str((await client.chat_postMessage(channel=GENERAL, text="x", metadata=metadata))["ts"])
    await client.chat_postMessage(channel=GENERAL, text="y", thread_ts=root, metadata=metadata)
    asked = await client.conversations_replies(channel=GENERAL, ts=root, include_all_metadata=True)
    assert [message["metadata"] for message in asked["messages"]] == [metadata, metadata]
    plain = await client.conversations_replies(channel=GENERAL, ts=root)
    assert not any("metadata" in message for message in plain["messages"])


async def test_a_lost_answer_was_applied(running: Running, client: Client) -> None:
    running.workspace.lose_answer_once("chat.postMessage")
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=GENERAL, text="once")
    await client.chat_postMessage(channel=GENERAL, text="twice")
    messages = (await client.conversations_history(channel=GENERAL))["messages"]
    assert [message["text"] for message in messages] == ["twice", "once"]


async def test_a_rate_limit_holds_for_one_call_and_says_how_long(running: Running, client: Client) -> None:
    running.workspace.rate_limit_once("chat.postMessage", retry_after=7)
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=GENERAL, text="x")
    error: Any = caught.value
    assert (error.response.status_code, error.response.headers["Retry-After"]) == (429, "7")
    assert (await client.chat_postMessage(channel=GENERAL, text="x"))["ok"]
    assert len(running.workspace.messages(GENERAL)) == 1


async def test_reactions_and_pins(running: Running, client: Client) -> None:
    ts = running.workspace.say(ANA, GENERAL, "hello").ts
    running.workspace.react(WEI, GENERAL, ts, "eyes")
    await client.reactions_add(channel=GENERAL, timestamp=ts, name="eyes")
    assert await refusal(client.reactions_add(channel=GENERAL, timestamp=ts, name="eyes")) == "already_reacted"
    got = await client.reactions_get(channel=GENERAL, timestamp=ts)
    assert got["message"]["reactions"] == [{"name": "eyes", "users": [WEI, BOT_USER], "count": 2}]
    await client.reactions_remove(channel=GENERAL, timestamp=ts, name="eyes")
    assert await refusal(client.reactions_remove(channel=GENERAL, timestamp=ts, name="eyes")) == "no_reaction"
    await client.pins_add(channel=GENERAL, timestamp=ts)
    assert await refusal(client.pins_add(channel=GENERAL, timestamp=ts)) == "already_pinned"
    await client.pins_remove(channel=GENERAL, timestamp=ts)
    assert await refusal(client.pins_remove(channel=GENERAL, timestamp=ts)) == "no_pin"


async def test_an_ephemeral_message_is_in_no_history(running: Running, client: Client) -> None:
    root = running.workspace.say(ANA, GENERAL, "root")
    await client.chat_postEphemeral(channel=GENERAL, user=ANA, text="psst")
    await client.chat_postEphemeral(channel=GENERAL, user=ANA, text="psst", thread_ts=root.ts)
    assert len((await client.conversations_history(channel=GENERAL))["messages"]) == 1
    assert len((await client.conversations_replies(channel=GENERAL, ts=root.ts))["messages"]) == 1
    assert [message.seen_by for message in running.workspace.messages(GENERAL)] == [None, ANA, ANA]


async def test_a_scheduled_message_is_posted_when_its_time_comes(running: Running, client: Client) -> None:
    at = int(time.time()) + 60
    kept = await client.chat_scheduleMessage(channel=GENERAL, post_at=at, text="later")
    gone = await client.chat_scheduleMessage(channel=GENERAL, post_at=at, text="never")
    await client.chat_deleteScheduledMessage(channel=GENERAL, scheduled_message_id=gone["scheduled_message_id"])
    listed = await client.chat_scheduledMessages_list()
    assert [one["id"] for one in listed["scheduled_messages"]] == [kept["scheduled_message_id"]]
    running.workspace.post_due(at - 1)
    assert running.workspace.messages(GENERAL) == []
    running.workspace.post_due(at)
    assert [message.text for message in running.workspace.messages(GENERAL)] == ["later"]


async def test_files_go_up_and_only_the_token_brings_them_down(running: Running, client: Client) -> None:
    root = running.workspace.say(ANA, GENERAL, "root")
    await client.files_upload_v2(
        channel=GENERAL, content="a,b", filename="数据.csv", thread_ts=root.ts, initial_comment="see"
    )
    (_, shared) = (await client.conversations_replies(channel=GENERAL, ts=root.ts))["messages"]
    assert (shared["text"], shared["files"][0]["name"], shared["files"][0]["size"]) == ("see", "数据.csv", 3)
    info = await client.files_info(file=shared["files"][0]["id"])
    async with aiohttp.ClientSession() as session:
        for token, content in ((running.workspace.bot_token, "a,b"), ("other", "<!doctype html>")):
            async with session.get(info["file"]["url_private"], headers={"Authorization": f"Bearer {token}"}) as answer:
                assert (answer.status, (await answer.text())[:15]) == (200, content)


async def test_people_have_their_language_and_rights(running: Running, client: Client) -> None:
    guest = Person("U0GUEST001", "guest", "A Guest", is_guest=True, is_stranger=True)
    running.workspace.people[guest.id] = guest
    wei = (await client.users_info(user=WEI, include_locale=True))["user"]
    assert (wei["locale"], wei["tz"], wei["tz_offset"]) == ("zh-CN", "Asia/Shanghai", 8 * 3600)
    assert "locale" not in (await client.users_info(user=WEI))["user"]
    shown = (await client.users_info(user=guest.id))["user"]
    assert (shown["is_restricted"], shown["is_stranger"], shown["team_id"] == "T0BOBBIN01") == (True, True, False)
    assert len((await client.users_list())["members"]) == 4


async def test_channels(running: Running, client: Client) -> None:
    async def names(**arguments: str) -> list[str]:
        return [channel["name"] for channel in (await client.conversations_list(**arguments))["channels"]]

    assert await names() == ["general", "news", "ops"]
    assert await names(types="private_channel") == ["leads"]
    mine = await client.users_conversations(user=WEI, types="public_channel,private_channel,im")
    assert len(mine["channels"]) == 4
    await client.conversations_setTopic(channel="C0OPS00001", topic="calm & quiet")
    topic = (await client.conversations_info(channel="C0OPS00001"))["channel"]["topic"]["value"]
    assert topic == "calm &amp; quiet"
    await client.conversations_invite(channel="C0LEADS001", users=WEI)
    assert (await client.conversations_members(channel="C0LEADS001"))["members"] == [ANA, BOT_USER, WEI]
    assert (await client.conversations_open(users=[ANA]))["channel"]["id"] == "D0ANA00001"
    assert (await client.chat_postMessage(channel=WEI, text="hello"))["channel"] == "D0WEI00001"
    assert (await client.usergroups_users_list(usergroup="S0OPS00001"))["users"] == [ANA]


async def test_a_permalink_names_the_thread(running: Running, client: Client) -> None:
    root = running.workspace.say(ANA, GENERAL, "root")
    reply = running.workspace.say(ANA, GENERAL, "reply", root.ts)
    link = str((await client.chat_getPermalink(channel=GENERAL, message_ts=reply.ts))["permalink"])
    assert link.endswith(f"/archives/{GENERAL}/p{reply.ts.replace('.', '')}?thread_ts={root.ts}&cid={GENERAL}")


def pages(workspace: Workspace, method: chat.Method, arguments: Json, after_page: Callable[[], object]) -> list[object]:
    seen: list[object] = []
    answer = method(workspace, Arguments(arguments))
    while True:
        seen += [message["text"] for message in objects(answer["messages"])]
        after_page()
        cursor = Arguments(Arguments(answer).object("response_metadata") or {}).text("next_cursor")
        if not cursor:
            return seen
        answer = method(workspace, Arguments(arguments | {"cursor": cursor}))


@given(count=st.integers(0, 9), limit=st.integers(1, 4))
def test_pages_together_are_the_whole_in_order_whatever_arrives_meanwhile(count: int, limit: int) -> None:
    workspace = Workspace()
    root = workspace.say(ANA, GENERAL, "root")
    numbers = [str(number) for number in range(count)]
    for number in numbers:
        workspace.say(WEI, GENERAL, number, root.ts)
        workspace.say(WEI, GENERAL, number)
    asked: Json = {"channel": GENERAL, "ts": root.ts, "limit": limit}
    thread = pages(workspace, lookups.replies, asked, lambda: workspace.say(ANA, GENERAL, "meanwhile"))
    assert thread == ["root", *numbers]
    before = [message.text for message in reversed(workspace.messages(GENERAL)) if not message.is_reply]
    assert pages(workspace, lookups.history, asked, lambda: workspace.say(ANA, GENERAL, "meanwhile")) == before


@given(inclusive=st.booleans(), low=st.integers(0, 4), high=st.integers(0, 4))
def test_oldest_and_latest_bound_the_history(inclusive: bool, low: int, high: int) -> None:
    workspace = Workspace()
    ts = [workspace.say(ANA, GENERAL, str(number)).ts for number in range(5)]
    bounds: Json = {"channel": GENERAL, "oldest": ts[low], "latest": ts[high], "inclusive": inclusive}
    found = [message["text"] for message in objects(lookups.history(workspace, Arguments(bounds))["messages"])]
    wanted = range(low, high + 1) if inclusive else range(low + 1, high)
    assert found == [str(number) for number in reversed(wanted)]


@given(st.lists(st.sampled_from([ANA, WEI, BOT_USER]), max_size=6))
def test_message_ids_rise_and_a_root_counts_its_replies(authors: list[str]) -> None:
    workspace = Workspace()
    root = workspace.say(ANA, GENERAL, "root")
    for author in authors:
        workspace.say(author, GENERAL, "reply", root.ts)
    messages = workspace.messages(GENERAL)
    ids = [message.ts for message in messages]
    assert ids == sorted(set(ids))
    shown = workspace.shown(root)
    assert shown.get("reply_count", 0) == len(authors)
    assert set(shown.get("reply_users", [])) == set(authors)  # pyright: ignore[reportArgumentType] # a JSON list


def test_every_method_is_named_as_slack_names_it() -> None:
    assert not chat.methods().keys() & lookups.methods().keys()

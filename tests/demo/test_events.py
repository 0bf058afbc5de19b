"""What people and the app do reaches a real Bolt app as the events that Slack sends."""

from __future__ import annotations

import asyncio

from bot.demo.server import Running, serve
from bot.demo.values import APP, BOT, BOT_USER, SLACKBOT, TEAM, Timing
from bot.demo.workspace import ANA, WEI, Workspace
from tests.demo.conftest import GENERAL, Bot, connected


async def test_a_mention_arrives_twice_with_two_event_ids_and_one_ts(running: Running, bot: Bot) -> None:
    said = running.workspace.say(ANA, GENERAL, "@Bobbin is 1 < 2?")
    await bot.until(lambda: len(bot.bodies) == 2)
    message, mention = await bot.one("message"), await bot.one("app_mention")
    assert message["ts"] == mention["ts"] == said.ts
    assert message["text"] == mention["text"] == f"<@{BOT_USER}> is 1 &lt; 2?"
    assert (message["channel"], message["channel_type"], message["team"]) == (GENERAL, "channel", TEAM)
    assert len({body["event_id"] for body in bot.bodies}) == 2
    assert bot.bodies[0]["authorizations"][0]["user_id"] == BOT_USER


async def test_direct_messages_come_once_and_private_channels_say_so(running: Running, bot: Bot) -> None:
    running.workspace.say(ANA, "D0ANA00001", "@Bobbin hello")
    running.workspace.say(ANA, "C0LEADS001", "hello")
    await bot.until(lambda: len(bot.bodies) == 2)
    assert [event["channel_type"] for event in bot.events("message")] == ["im", "group"]
    assert bot.events("app_mention") == []


async def test_nothing_comes_from_a_channel_without_the_bot(running: Running, bot: Bot) -> None:
    channel = running.workspace.channels["C0NEWS0001"]
    running.workspace.put_channel(type(channel)(channel.id, channel.name, members=(ANA, WEI)))
    running.workspace.say(ANA, channel.id, "@Bobbin are you here?")
    running.workspace.say(ANA, GENERAL, "later")
    assert (await bot.one("message"))["text"] == "later"


async def test_replies_name_their_thread_and_its_author(running: Running, bot: Bot) -> None:
    root = running.workspace.say(ANA, GENERAL, "root")
    reply = running.workspace.say(WEI, GENERAL, "first", root.ts)
    running.workspace.say(ANA, GENERAL, "a reply to the reply", reply.ts)
    await bot.until(lambda: len(bot.bodies) == 3)
    replies = bot.events("message")[1:]
    assert [(event["thread_ts"], event["parent_user_id"]) for event in replies] == [(root.ts, ANA)] * 2


async def test_own_posts_and_edits_come_back(running: Running, bot: Bot) -> None:
    posted = await bot.client.chat_postMessage(channel=GENERAL, text="one")
    await bot.client.chat_update(channel=GENERAL, ts=str(posted["ts"]), text="two")
    echo, edit = await bot.one("message"), await bot.one("message", "message_changed")
    assert (echo["user"], echo["bot_id"], echo["app_id"]) == (BOT_USER, BOT, APP)
    assert (edit["message"]["text"], edit["previous_message"]["text"]) == ("two", "one")
    assert edit["message"]["ts"] == posted["ts"] != edit["ts"]
    assert edit["message"]["bot_id"] == BOT


async def test_a_person_edits_and_deletes(running: Running, bot: Bot) -> None:
    said = running.workspace.say(ANA, GENERAL, "helo")
    running.workspace.edit(ANA, GENERAL, said.ts, "hello @Bobbin")
    running.workspace.delete(ANA, GENERAL, said.ts)
    edit, deleted = await bot.one("message", "message_changed"), await bot.one("message", "message_deleted")
    assert edit["message"]["edited"]["user"] == ANA
    assert (await bot.one("app_mention"))["edited"]
    assert (deleted["deleted_ts"], deleted["previous_message"]["text"]) == (said.ts, f"hello <@{BOT_USER}>")


async def test_a_deleted_root_with_replies_becomes_a_tombstone(running: Running, bot: Bot) -> None:
    root = running.workspace.say(ANA, GENERAL, "root")
    running.workspace.say(WEI, GENERAL, "reply", root.ts)
    running.workspace.delete(ANA, GENERAL, root.ts)
    changed = await bot.one("message", "message_changed")
    assert (changed["message"]["subtype"], changed["message"]["user"]) == ("tombstone", SLACKBOT)
    assert changed["previous_message"]["text"] == "root"
    assert bot.events("message", "message_deleted") == []


async def test_reactions_give_only_the_ts(running: Running, bot: Bot) -> None:
    said = running.workspace.say(ANA, GENERAL, "hello")
    running.workspace.react(WEI, GENERAL, said.ts, "+1::skin-tone-3")
    running.workspace.unreact(WEI, GENERAL, said.ts, "+1::skin-tone-3")
    added, removed = await bot.one("reaction_added"), await bot.one("reaction_removed")
    assert added["item"] == {"type": "message", "channel": GENERAL, "ts": said.ts}
    assert (added["user"], added["item_user"], added["reaction"]) == (WEI, ANA, "+1::skin-tone-3")
    assert removed["reaction"] == added["reaction"]
    assert "channel" not in added


async def test_files_and_the_home_tab(running: Running, bot: Bot) -> None:
    file = running.workspace.upload(ANA, "a.csv", b"1,2")
    running.workspace.say(ANA, GENERAL, "", files=(file.id,))
    running.workspace.open_home(ANA)
    shared, opened = await bot.one("message", "file_share"), await bot.one("app_home_opened")
    assert (shared["files"][0]["name"], shared["files"][0]["size"], shared["text"]) == ("a.csv", 3, "")
    assert (opened["user"], opened["tab"], opened["channel"]) == (ANA, "home", "D0ANA00001")


async def test_an_event_without_an_ack_is_sent_four_times_with_one_event_id() -> None:
    running = await serve(Workspace(timing=Timing(ack=0.1, retries=(0.01, 0.01, 0.01))))
    async with connected(running, kinds=()) as bot:
        running.workspace.say(ANA, GENERAL, "nobody listens")
        await bot.until(lambda: len(bot.bodies) == 4)
    await running.close()
    assert len({body["event_id"] for body in bot.bodies}) == 1


async def test_what_is_said_while_the_bot_is_away_is_delivered_when_it_returns(running: Running) -> None:
    running.workspace.timing = Timing(retries=(60,))
    running.workspace.say(ANA, GENERAL, "are you there?")
    async with connected(running) as bot:
        assert (await bot.one("message"))["text"] == "are you there?"


async def test_each_event_goes_to_one_of_several_connections(running: Running) -> None:
    async with connected(running) as first, connected(running) as second:
        for number in range(6):
            running.workspace.say(ANA, GENERAL, str(number))
        await asyncio.gather(first.until(lambda: len(first.bodies) == 3), second.until(lambda: len(second.bodies) == 3))
    texts = [event["text"] for one in (first, second) for event in one.events("message")]
    assert sorted(texts) == ["0", "1", "2", "3", "4", "5"]


async def test_what_was_sent_but_not_acknowledged_comes_again_after_a_drop(running: Running) -> None:
    running.workspace.timing = Timing(ack=60, retries=(60,))
    async with connected(running, kinds=()) as bot:
        running.workspace.say(ANA, GENERAL, "nobody listens")
        await bot.until(lambda: len(bot.bodies) == 1)
        running.socket.drop()
        await bot.until(lambda: len(bot.bodies) == 2)


async def test_a_dropped_connection_loses_no_event(running: Running, bot: Bot) -> None:
    running.socket.drop()
    running.workspace.say(ANA, GENERAL, "during the failure")
    assert (await bot.one("message"))["text"] == "during the failure"


async def test_a_refreshed_connection_loses_no_event(running: Running, bot: Bot) -> None:
    await running.socket.refresh()
    running.workspace.say(ANA, GENERAL, "during the change")
    assert (await bot.one("message"))["text"] == "during the change"

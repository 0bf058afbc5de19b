"""What Slack delivers, and who is addressed: each message is answered once, in its place."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.demo.values import BOT_USER, Message
from bot.demo.workspace import ANA, WEI
from tests.e2e.town import ALERTS, Thread, Town, kind, seen
from tests.fake_claude import call, text

pytestmark = pytest.mark.asyncio(loop_scope="module")
MENTION = f"<@{BOT_USER}>"


async def test_a_mention_a_card_a_tool_an_answer_and_a_reply_without_mention(running: Town) -> None:
    running.claude.plan("kiwi", call("calculate", {"expression": "17 * 23"}), text("It is 391."), text("Again 391."))
    thread = running.begin("@Bobbin kiwi: what is 17 * 23?")
    answer = await thread.says("It is 391.")
    await thread.rests()
    card, *_ = thread.messages
    assert kind(card) == "card"
    assert "1 step" in seen(card)
    assert card.ts < answer.ts
    thread.reply("and once more?")
    await thread.says("Again 391.")
    assert len(thread.of("answer")) == 2
    assert running.claude.problems == []


async def test_the_same_message_again_and_again(running: Town) -> None:
    running.claude.plan("lime", text("Once."), text("Twice!"))
    thread = running.begin("@Bobbin lime")
    await thread.says("Once.")
    message = running.workspace.message(thread.channel, thread.ts)
    for attempt in range(4):
        await running.deliver(running.event(message, "message"), attempt)
        await running.deliver(running.event(message, "app_mention"), attempt)
    await running.passes()
    assert len(running.claude.about("lime")) == 1
    assert len(thread.of("answer")) == 1


async def test_a_retry_that_is_the_only_delivery_is_answered(running: Town) -> None:
    running.claude.plan("plum", text("I heard you late."))
    message = running.written(f"{MENTION} plum")
    await running.deliver(running.event(message), attempt=1)
    await Thread(running, message.channel, message.ts).says("I heard you late.")


@pytest.mark.parametrize("order", [("message", "app_mention"), ("app_mention", "message")])
@pytest.mark.parametrize("together", [True, False])
async def test_twins_in_any_order_are_one_run(running: Town, order: tuple[str, str], together: bool) -> None:
    word = f"twin-{order[0]}-{together}"
    running.claude.plan(word, text("One run."), text("Two runs!"))
    message = running.written(f"{MENTION} {word}")
    events = [running.event(message, one) for one in order]
    if together:
        await asyncio.gather(*(running.deliver(event) for event in events))
    else:
        for event in events:
            await running.deliver(event)
    thread = Thread(running, message.channel, message.ts)
    await thread.says("One run.")
    await thread.rests()
    assert len(running.claude.about(word)) == 1
    assert len(thread.of("card")) == 1


async def test_every_message_of_a_burst_has_an_outcome(running: Town) -> None:
    channels = [running.channel(), running.channel()]
    for number in range(5):
        running.claude.plan(f"burst-{number}", text(f"Answer {number}."))
    threads = [running.begin(f"@Bobbin burst-{number}", channel=channels[number % 2]) for number in range(5)]
    for number, thread in enumerate(threads):
        await thread.says(f"Answer {number}.")
    assert [len(thread.of("answer")) for thread in threads] == [1] * 5


# -- who is addressed ------------------------------------------------------------------------------


async def test_a_reply_under_our_own_post_needs_no_mention(running: Town) -> None:
    channel = running.channel()
    post = running.written("Release 2.4 is out.", BOT_USER, channel, by_app=True)
    running.claude.plan("mango", text("It holds dark mode."))
    thread = Thread(running, channel, post.ts)
    thread.reply("mango: what is in it?")
    await thread.says("It holds dark mode.")


async def test_a_mention_in_a_thread_of_others_is_answered_once_and_the_thread_stays_theirs(running: Town) -> None:
    channel = running.channel()
    root = running.workspace.say(ANA, channel, "fig: the deploy is slow")
    running.workspace.say(WEI, channel, "fig: since when?", root.ts)
    running.claude.plan("fig", text("Since Tuesday."), text("I was not asked!"))
    thread = Thread(running, channel, root.ts)
    thread.reply("@Bobbin since when?")
    await thread.says("Since Tuesday.")
    thread.reply("thanks, Wei will look", WEI)
    await running.passes()
    assert len(thread.of("answer")) == 1
    first = running.claude.about("fig")[0].words
    assert "the deploy is slow" in first
    assert "since when?" in first


async def test_a_direct_message_needs_no_mention(running: Town) -> None:
    running.claude.plan("date-fruit", text("Hello Ana."))
    message = running.workspace.say(ANA, "D0ANA00001", "date-fruit")
    await Thread(running, "D0ANA00001", message.ts).says("Hello Ana.")


async def test_answers_stay_in_their_thread(running: Town) -> None:
    assert {m.thread_ts for c in running.workspace.channels for m in running.workspace.messages(c) if kind(m)} <= {
        m.thread_ts or m.ts for c in running.workspace.channels for m in running.workspace.messages(c)
    }
    posts = [c for c in running.workspace.calls if c.method == "chat.postMessage"]
    assert posts
    assert all(one.arguments.get("thread_ts") for one in posts)
    assert all(one.arguments.get("unfurl_links") is False for one in posts)
    assert all(one.arguments.get("unfurl_media") is False for one in posts)


async def test_talk_that_is_not_for_us_starts_nothing(running: Town) -> None:
    channel = running.channel()
    asked = len(running.claude.seen)
    running.workspace.say(ANA, channel, "quince: nobody is meant")
    root = running.workspace.say(WEI, channel, "quince: a thread of people")
    running.workspace.say(ANA, channel, "quince: yes", root.ts)
    await running.passes()
    assert len(running.claude.seen) == asked + 1
    assert not running.claude.about("quince")


async def test_our_own_echo_and_other_bots_start_nothing(running: Town) -> None:
    channel = running.channel()
    echo = running.written(f"{MENTION} cherry", BOT_USER, channel, by_app=True)
    for kind_of_event in ("message", "app_mention"):
        await running.deliver(running.event(echo, kind_of_event))
    other = running.written(f"{MENTION} cherry", ANA, channel)
    for more in ({"bot_id": "B0OTHER001"}, {"subtype": "bot_message", "bot_id": "B0OTHER001", "user": None}):
        await running.deliver(running.event(other, "message", **more))
    await running.passes()
    assert not running.claude.about("cherry")


async def test_posts_of_another_bot_are_context_with_its_name(running: Town) -> None:
    channel = running.channel()
    root = running.workspace.say(ANA, channel, "pear: the alerts of today")
    alert: Message = replace(running.written("pear: disk full", ALERTS, channel), thread_ts=root.ts)
    running.workspace.put(alert)
    running.claude.plan("pear", text("The disk is full."))
    thread = Thread(running, channel, root.ts)
    thread.reply("@Bobbin pear: what happened?")
    await thread.says("The disk is full.")
    body = running.claude.about("pear")[0].body
    said = [message["role"] for message in body["messages"] if "disk full" in str(message)]
    assert said == ["user"]

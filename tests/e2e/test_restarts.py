"""Kill it anywhere: nothing is lost, nothing is said or done twice."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.demo.values import BOT_USER
from tests.e2e.town import Town, town
from tests.fake_claude import call, text


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Town]:
    """A town whose bot each test starts and ends by itself."""
    async with town(tmp_path, started=False) as made:
        yield made


async def dies_at(place: Town, failpoint: str) -> None:
    """Start a bot that dies at this place."""
    await place.start(BOBBIN_FAILPOINT=failpoint)


async def test_killed_while_the_model_is_asked_and_then_between_two_turns(place: Town) -> None:
    hold = asyncio.Event()
    place.claude.plan("olive", call("calculate", {"expression": "1 + 1"}), text("lost").after(hold), text("Two."))
    await place.start()
    thread = place.begin("@Bobbin olive")
    await place.claude.asked("olive", 2)
    await place.end()
    hold.set()
    offline = place.begin("@Bobbin basil")
    place.claude.plan("basil", text("I was away."), text("And a second turn."))
    await place.start()
    await thread.says("Two.")
    await offline.says("I was away.")
    await thread.rests()
    assert len(thread.of("card")) == 1, "the run goes on with the card it had"
    assert [len(one.of("answer")) for one in (thread, offline)] == [1, 1]
    await place.end()
    await place.start()
    offline.reply("and without a mention?")
    await offline.says("And a second turn.")
    assert place.claude.problems == []


async def test_killed_between_the_answer_and_the_post(place: Town) -> None:
    place.claude.plan("thyme", text("Exactly once."), text("Twice!"))
    await dies_at(place, "slack.chat.postMessage.before@2")
    thread = place.begin("@Bobbin thyme")
    assert await place.ended() == 137
    assert thread.of("answer") == []
    await place.start()
    await thread.says("Exactly once.")
    await thread.rests()
    assert len(thread.of("answer")) == 1
    assert len(place.claude.about("thyme")) == 1


async def test_killed_between_the_post_and_its_note(place: Town) -> None:
    place.claude.plan("savory", text("Exactly once."), text("Twice!"))
    await dies_at(place, "slack.chat.postMessage.after@2")
    thread = place.begin("@Bobbin savory")
    assert await place.ended() == 137
    await place.start()
    await thread.rests()
    await place.passes()
    assert len(thread.of("answer")) == 1
    assert len(place.claude.about("savory")) == 1


async def test_killed_in_a_write_it_is_not_repeated_and_people_are_told(place: Town) -> None:
    news = place.channel(name="news-of-the-day")
    post = call("post_message", {"channel": "#news-of-the-day", "text": "release is out"})
    place.claude.plan("anise", post, text("It may be there."))
    await dies_at(place, "slack.chat.postMessage.after@4")
    thread = place.begin("@Bobbin anise")
    await place.until(lambda: [m for m in thread.of("approval") if ("x", BOT_USER) in m.reactions], "a request")
    thread.react(thread.of("approval")[0], "white_check_mark")
    assert await place.ended() == 137
    await place.start()
    await thread.says("may or may not have happened")
    await thread.says("It may be there.")
    assert len(place.workspace.messages(news)) <= 1
    assert (
        "unknown" in place.claude.about("anise")[-1].newest or "interrupted" in place.claude.about("anise")[-1].newest
    )


async def test_a_yes_given_while_nobody_listens_counts_at_the_start(place: Town) -> None:
    news = place.channel(name="news-at-night")
    place.claude.plan("clove", call("post_message", {"channel": "#news-at-night", "text": "good night"}), text("Done."))
    await place.start()
    thread = place.begin("@Bobbin clove")
    await place.until(lambda: [m for m in thread.of("approval") if ("x", BOT_USER) in m.reactions], "a request")
    assert await place.end(signal.SIGTERM) == 0
    place.served.workspace.timing = type(place.workspace.timing)(ack=0.05, retries=())
    thread.react(thread.of("approval")[0], "white_check_mark")
    await place.start()
    await thread.says("Done.")
    assert len(place.workspace.messages(news)) == 1


async def test_sigterm_lets_a_run_finish_or_leaves_it_for_the_next_start(place: Town) -> None:
    hold = asyncio.Event()
    place.claude.plan("dill", text("Finished in time.").after(hold))
    await place.start()
    thread = place.begin("@Bobbin dill")
    await place.claude.asked("dill")
    await thread.shows("card")
    ending = asyncio.create_task(place.end(signal.SIGTERM))
    hold.set()
    assert await ending == 0
    assert len(thread.of("answer")) == 1
    place.claude.plan("fennel", text("never").after(asyncio.Event()), text("By the next one."))
    await place.start()
    other = place.begin("@Bobbin fennel")
    await place.claude.asked("fennel")
    assert await place.end(signal.SIGTERM) == 0
    assert other.of("answer") == []
    await place.start()
    await other.says("By the next one.")


async def test_a_backlog_is_answered_after_a_restart(place: Town) -> None:
    for number in range(4):
        place.claude.plan(f"backlog-{number}", text(f"Answer {number}."))
    await place.start()
    await place.end()
    threads = [place.begin(f"@Bobbin backlog-{number}") for number in range(4)]
    await place.start()
    for number, thread in enumerate(threads):
        await thread.says(f"Answer {number}.")
        assert len(thread.of("answer")) == 1


async def test_a_corrupt_record_spoils_one_thread_only(place: Town) -> None:
    place.claude.plan("mint", text("First."), text("Never."))
    await place.start()
    thread = place.begin("@Bobbin mint")
    await thread.says("First.")
    await thread.rests()
    await place.end()
    with closing(sqlite3.connect(place.folder / "data" / "bobbin.db")) as database, database:
        triggers = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for trigger in triggers:
            database.execute(f"DROP TRIGGER {trigger}")
        database.execute("UPDATE records SET body = '{' WHERE seq = 1")
    await place.start()
    thread.reply("and now?")
    await place.passes()
    thread.reply("hello?")
    await place.passes()
    assert len(thread.of("notice")) == 1
    assert place.log.count("cannot be read") == place.log.count("corrupt_log") >= 1
    assert "Traceback" not in place.log
    assert len(thread.of("answer")) == 1

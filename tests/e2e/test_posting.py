"""Edits and deletions, which start nothing, and what stands in the chat in the end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.demo.values import BOT_USER
from bot.demo.workspace import ANA
from tests.e2e.town import EVA, Thread, Town, seen
from tests.fake_claude import text

pytestmark = pytest.mark.asyncio(loop_scope="module")
MENTION = f"<@{BOT_USER}>"


# -- edits and deletions ---------------------------------------------------------------------------


async def test_edits_start_nothing(running: Town) -> None:
    running.claude.plan("grape", text("First."), text("Second!"))
    thread = running.begin("@Bobbin grape one")
    await thread.says("First.")
    await thread.rests()
    running.workspace.edit(ANA, thread.channel, thread.ts, "@Bobbin grape two")
    running.workspace.edit(ANA, thread.channel, thread.ts, "@Bobbin grape two")
    message = running.workspace.message(thread.channel, thread.ts)
    running.workspace.revise(replace(message, attachments=({"title": "an unfurl"},)), ANA)
    await running.passes()
    assert len(running.claude.about("grape")) == 1
    assert len(thread.of("answer")) == 1


async def test_an_edit_is_told_with_the_next_question(running: Town) -> None:
    running.claude.plan("melon", text("First."), text("Second."))
    thread = running.begin("@Bobbin melon one")
    await thread.says("First.")
    running.workspace.edit(ANA, thread.channel, thread.ts, "@Bobbin melon ZWEI")
    thread.reply("and now?")
    await thread.says("Second.")
    assert "ZWEI" in running.claude.about("melon")[1].newest


async def test_an_edit_of_our_own_message_starts_nothing(running: Town) -> None:
    channel = running.channel()
    root = running.written(f"{MENTION} peach resolved", BOT_USER, channel, by_app=True)
    running.workspace.say(ANA, channel, "peach seen", root.ts)
    running.claude.plan("peach", text("Fine."), text("Again!"))
    await Thread(running, channel, root.ts).says("Fine.")
    running.workspace.revise(replace(root, text=f"{MENTION} peach resolved!"), BOT_USER)
    await running.passes()
    assert len(running.claude.about("peach")) == 1


async def test_a_mention_deleted_while_it_is_worked_on_ends_the_run_without_a_word(running: Town) -> None:
    hold = asyncio.Event()
    running.claude.plan("prune", text("Too late!").after(hold))
    thread = running.begin("@Bobbin prune")
    await running.claude.asked("prune")
    await thread.shows("card")
    running.workspace.delete(ANA, thread.channel, thread.ts)
    await thread.rests()
    hold.set()
    await running.passes()
    assert thread.of("answer") == []
    assert thread.of("notice") == []


async def test_a_mention_deleted_at_once_is_not_answered(running: Town) -> None:
    running.claude.plan("raisin", text("Too late!"))
    thread = running.begin("@Bobbin raisin")
    running.workspace.delete(ANA, thread.channel, thread.ts)
    await running.passes()
    assert thread.of("answer") == []


async def test_a_deleted_message_that_was_never_ours_is_nothing(running: Town) -> None:
    channel = running.channel()
    said = running.workspace.say(EVA, channel, "guava")
    running.workspace.delete(EVA, channel, said.ts)
    await running.passes()
    assert not running.claude.about("guava")


# -- what is posted --------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", ["  \n\n  ", " \u200b "])
async def test_an_answer_without_words_is_no_empty_message(running: Town, blank: str) -> None:
    word = f"blank-{len(blank)}"
    running.claude.plan(word, text(blank), text(blank), text(blank))
    thread = running.begin(f"@Bobbin {word}")
    await thread.rests()
    said = [seen(message) for message in (*thread.of("answer"), *thread.of("notice"))]
    assert len(said) == 1
    assert "no answer" in said[0]


async def test_a_long_answer_comes_whole_and_in_order(running: Town) -> None:
    lines = [f"line {number:04d} of the long answer" for number in range(900)]
    running.claude.plan("medlar", text("```python\n" + "\n".join(lines) + "\n```"))
    thread = running.begin("@Bobbin medlar")
    await thread.says("line 0899")
    posted = [str(message.blocks[0]["text"]) for message in thread.of("answer")]
    assert len(posted) > 1
    assert all(part.count("```") == 2 and part.startswith("```python\n") for part in posted)
    told = [line for part in posted for line in part.splitlines() if line.startswith("line ")]
    assert told == lines


async def test_nothing_that_the_model_writes_notifies_those_who_were_not_meant(running: Town) -> None:
    running.claude.plan("sloe", text("<!channel> <!here> @channel <!subteam^S0OPS00001|ops> <@U0STRANGER> hello"))
    thread = running.begin("@Bobbin sloe")
    answer = await thread.says("hello")
    for call_out in ("<!channel", "<!here", "<!subteam", "<@U0STRANGER"):
        assert call_out not in f"{answer.text} {answer.blocks}"


async def test_a_post_whose_answer_is_lost_stands_there_once(running: Town) -> None:
    hold = asyncio.Event()
    running.claude.plan("pomelo", text("Only once.").after(hold))
    thread = running.begin("@Bobbin pomelo")
    await running.claude.asked("pomelo")
    await thread.shows("card")
    running.workspace.lose_answer_once("chat.postMessage")
    hold.set()
    await thread.says("Only once.")
    await thread.rests()
    assert len(thread.of("answer")) == 1


async def test_the_card_closes_although_slack_limits_edits(running: Town) -> None:
    running.workspace.rate_limit_once("chat.update", 1)
    running.claude.plan("citron", text("Done."))
    thread = running.begin("@Bobbin citron")
    await thread.says("Done.")
    await thread.rests()
    await thread.shows("card", "✓")


async def test_a_limit_on_reading_holds_no_answer_up(running: Town) -> None:
    channel = running.channel()
    root = running.workspace.say(ANA, channel, "bergamot")
    running.workspace.rate_limit_once("conversations.replies", 60)
    running.claude.plan("bergamot", text("Without the rest."))
    thread = Thread(running, channel, root.ts)
    thread.reply("@Bobbin bergamot: and?")
    await thread.says("Without the rest.")
    assert "could not be read now" in running.claude.about("bergamot")[0].words


async def test_a_status_is_never_set_so_nothing_locks_the_composer(running: Town) -> None:
    assert not [call for call in running.workspace.calls if call.method == "assistant.threads.setStatus"]
    assert running.claude.problems == []
    assert [c.error for c in running.workspace.calls if c.error not in {None, "thread_not_found", "ratelimited"}] == []

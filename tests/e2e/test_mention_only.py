"""Where every message needs a mention, threads of our own do too; direct messages do not."""

from __future__ import annotations

import pytest

from bot.demo.workspace import ANA, WEI
from tests.e2e.town import Thread, Town
from tests.fake_claude import text

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_reply_without_a_mention_is_not_for_us(running: Town) -> None:
    running.claude.plan("acorn", text("One."), text("Two."))
    thread = running.begin("@Bobbin acorn")
    await thread.says("One.")
    thread.reply("acorn: and more?", WEI)
    await running.passes()
    assert len(thread.of("answer")) == 1
    thread.reply("@Bobbin and now?", WEI)
    await thread.says("Two.")
    assert "acorn: and more?" in running.claude.about("acorn")[-1].words, "what was said in between is read"


async def test_a_direct_message_is_for_us(running: Town) -> None:
    running.claude.plan("chestnut", text("Hello."))
    message = running.workspace.say(ANA, "D0ANA00001", "chestnut")
    await Thread(running, "D0ANA00001", message.ts).says("Hello.")

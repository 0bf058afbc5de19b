"""``python -m bot demo`` as a process: what it prints, that the bot answers, and that it survives a kill."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from bot.config import load_settings
from bot.demo.server import serve
from bot.demo.workspace import Workspace
from bot.trial import environment, is_scripted
from tests.e2e.visitor import NEWS, WEI, Demo, Visitor, demo, visiting

# One process, and so one event loop, for all tests that only use it.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncIterator[Demo]:
    async with demo() as one:
        await one.url()
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def visitor(running: Demo) -> AsyncIterator[Visitor]:
    async with visiting(await running.url()) as one:
        yield one


def bot_of(running: Demo) -> psutil.Process:
    (bot,) = [child for child in psutil.Process(running.process.pid).children() if "run" in child.cmdline()]
    return bot


def holds_data(folder: Path) -> bool:
    return (folder / "bobbin.db").exists()


async def test_a_mention_and_a_reply_are_answered_by_the_scripted_model(running: Demo, visitor: Visitor) -> None:
    assert "scripted model" in running.said
    asked = await visitor.say("@Bobbin what happened in #ops today?")
    (answer,) = await visitor.until(lambda: visitor.answers(asked))
    assert "#ops holds 6 messages" in answer
    assert "4.1 / 0.2 = 20.5" in answer
    assert "| Wei 魏 |" in answer
    await visitor.until(lambda: "✓ 3 steps" in visitor.card(asked))
    await visitor.say("谢谢", person=WEI, thread_ts=asked)
    _, chinese = await visitor.until(lambda: visitor.answers(asked)[1:] and visitor.answers(asked))
    assert "不客气" in chinese


async def test_new_words_set_a_request_aside_and_a_no_is_answered_with_its_reason(visitor: Visitor) -> None:
    def requests(asked: str) -> list[str]:
        shown = [json.dumps(message["blocks"], ensure_ascii=False) for message in visitor.posts(asked)]
        return [one for one in shown if "post_message" in one and "bound to" in one]

    asked = await visitor.say("@Bobbin post in #news that it is out")
    await visitor.until(lambda: requests(asked))
    await visitor.say("better: Version 2.4 is out", thread_ts=asked)
    first, second = await visitor.until(lambda: requests(asked)[1:] and requests(asked))
    assert "Set aside" in first
    assert "Version 2.4 is out" in second
    assert "Approve" in second
    await visitor.say("no, too early", thread_ts=asked)
    told = await visitor.until(lambda: [one for one in visitor.answers(asked) if "was refused" in one])
    assert "Reason: too early" in told[0]
    assert not any(message["channel"] == NEWS for message in visitor.messages.values())


async def test_killed_in_the_middle_of_a_turn_it_goes_on_and_answers_once(running: Demo, visitor: Visitor) -> None:
    asked = await visitor.say("@Bobbin what happened in #ops today?")
    await visitor.until(lambda: "Working" in visitor.card(asked))
    before = bot_of(running)
    assert visitor.answers(asked) == []
    await visitor.act("restart")
    assert bot_of(running).pid != before.pid
    await visitor.until(lambda: visitor.answers(asked))
    await visitor.until(lambda: "✓ 3 steps" in visitor.card(asked))
    assert len(visitor.posts(asked)) == 2


async def test_a_bot_that_dies_is_reported_and_started_again_from_the_page(running: Demo, visitor: Visitor) -> None:
    bot_of(running).kill()
    await running.read_until("The bot ended by itself (exit code -9)")
    asked = await visitor.say("@Bobbin what is 17 * 23?", channel="D0ANA00001")
    await visitor.act("restart")
    (answer,) = await visitor.until(lambda: visitor.answers(asked))
    assert "17 × 23 = 391" in answer


async def test_ctrl_c_ends_both_and_keeps_the_data_if_wanted() -> None:
    async with demo("--keep") as one:
        await one.url()
        bot = bot_of(one)
        folder = Path(bot.cwd())
        code, said = await one.end()
    assert (code, bot.is_running(), holds_data(folder)) == (0, False, True)
    assert f"kept in {folder}" in said
    assert "WARNING" not in said
    assert "Traceback" not in said
    shutil.rmtree(folder, ignore_errors=True)


async def test_a_taken_port_is_explained() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with demo("--port", str(taken.getsockname()[1])) as one:
            code, said = await one.ended()
    assert code == 2
    assert re.search(r"port \d+ on 127.0.0.1 cannot be used .*--port 0", " ".join(said.split()))


async def test_a_bot_that_cannot_start_is_heard_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with demo(BOBBIN_PROVIDER="bedrock", BOBBIN_MODEL="nothing", TMPDIR=str(tmp_path)) as one:
        code, said = await one.ended()
    assert code == 2
    assert "BOBBIN_PROVIDER" in said
    assert "did not start" in said
    assert list(os.scandir(tmp_path)) == []


async def test_the_bot_gets_the_demo_and_the_model_but_no_other_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith(("SLACK_", "BOBBIN_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bobbin.toml").write_text('anthropic_api_key = "sk-ant-mine"\ndatabase_url = "postgresql://real"\n')
    monkeypatch.setenv("BOBBIN_APPROVERS", "U1")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-real")
    settings = load_settings()
    served = await serve(Workspace())
    given = environment(os.environ, settings, served, tmp_path)
    await served.close()
    assert not is_scripted(settings)
    assert given["ANTHROPIC_API_KEY"] == "sk-ant-mine"
    assert given["BOBBIN_MODEL"] == settings.model
    assert given["SLACK_BOT_TOKEN"] == served.workspace.bot_token
    assert "BOBBIN_APPROVERS" not in given
    assert "postgresql://real" not in given.values()
    assert is_scripted(settings.model_copy(update={"model": "scripted"}))

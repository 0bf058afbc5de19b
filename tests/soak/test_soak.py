"""The short form of the soak, and what several processes do to each other."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.demo.server import Running, serve
from bot.demo.values import TEAM
from bot.demo.workspace import ANA, Workspace
from bot.slack.ids import Spot
from memory.db import Database
from memory.log import Logs
from memory.records import MessageDeleted
from memory.types import MessageId
from tests.soak.lives import ROOT
from tests.soak.office import kind_of
from tests.soak.soak import Plan, soak

GENERAL = "C0GENERAL1"


async def test_sixty_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    report = await soak(Plan(events=30, kills=60, faults=0.05, seconds=35), tmp_path)
    assert report.holds, report
    assert (report.kills, report.codes[-signal.SIGKILL]) == (60, 60)
    assert report.writes + report.uncertain > 0


async def test_restarts_under_load_are_quick_and_lose_nothing(tmp_path: Path) -> None:
    report = await soak(Plan(events=20, kills=8, faults=0.05, seconds=20, gently=True, seed=2), tmp_path)
    assert report.holds, report
    assert report.codes == {0: 9}, "each life ended cleanly"
    assert report.slowest < 10


# -- several processes -----------------------------------------------------------------------------


@dataclass(slots=True)
class Bot:
    process: asyncio.subprocess.Process

    async def read_until(self, words: str, seconds: float = 40) -> str:
        """What it prints, up to a line that holds these words."""
        assert self.process.stdout is not None
        said = ""
        async with asyncio.timeout(seconds):
            while words not in said and (line := (await self.process.stdout.readline()).decode()):
                said += line
        return said


@asynccontextmanager
async def bot(running: Running, folder: Path, **more: str) -> AsyncGenerator[Bot]:
    """``python -m bot run`` with the scripted model; both of its outputs are read as one."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(("SLACK_", "BOBBIN_"))}
    settings = {
        "SLACK_API_URL": running.api_url,
        "SLACK_BOT_TOKEN": running.workspace.bot_token,
        "SLACK_APP_TOKEN": running.workspace.app_token,
        "BOBBIN_MODEL": "scripted",
        "BOBBIN_HTTP_PORT": "0",
        "BOBBIN_SOCKETS": "1",
        "BOBBIN_DATA_DIR": str(folder),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "run"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=kept | settings | more,
        cwd=ROOT,
    )
    try:
        yield Bot(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def served() -> AsyncGenerator[Running]:
    running = await serve(Workspace())
    try:
        yield running
    finally:
        await running.close()


async def test_a_second_process_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    async with served() as running, bot(running, tmp_path) as first:
        await first.read_until("bobbin ready")
        async with bot(running, tmp_path) as second:
            said = await second.read_until("BOBBIN_DATABASE_URL")
            assert await second.process.wait() == 2
            assert f"process {first.process.pid}" in said
            assert "BOBBIN_DATA_DIR" in said
        assert first.process.returncode is None


async def test_a_process_whose_thread_another_one_has_written_stops_before_it_acts_and_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    async with served() as running, bot(running, tmp_path / "one", BOBBIN_DATABASE_URL=url) as first:
        await first.read_until("bobbin ready")
        root = running.workspace.say(ANA, GENERAL, "@Bobbin hello").ts
        await running.workspace.until(lambda: posts(running)[-1:] == ["answer"], 40)
        database = Database(url)
        log = await Logs(database).open(Spot(TEAM, GENERAL, root).thread)
        await log.append(MessageDeleted(source=MessageId("another process was here")))
        before = posts(running)
        running.workspace.say(ANA, GENERAL, "and now?", root)
        said = await first.read_until("another Bobbin process")
        database.close()
        assert "Run only one process for each database" in said
        assert posts(running) == before


def posts(running: Running) -> list[str]:
    """Kinds of what the bot has posted."""
    return [kind_of(message) for message in running.workspace.messages(GENERAL) if message.by_app]

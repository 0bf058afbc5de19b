"""A bot that cannot start says what is wrong and how to mend it, and leaves with the code for that."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from tests.e2e.town import Town, town

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("town"), started=False) as made:
        yield made


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "no model key": ({"ANTHROPIC_API_KEY": ""}, "ANTHROPIC_API_KEY is not set"),
    "no bot token": ({"SLACK_BOT_TOKEN": ""}, "SLACK_BOT_TOKEN is not set"),
    "another kind of token": ({"SLACK_APP_TOKEN": "xoxb-1"}, "SLACK_APP_TOKEN does not begin with xapp-"),
    "a token that Slack does not know": ({"SLACK_BOT_TOKEN": "xoxb-wrong"}, "SLACK_BOT_TOKEN is refused by Slack"),
    "an app token that Slack does not know": ({"SLACK_APP_TOKEN": "xapp-wrong"}, "SLACK_APP_TOKEN"),
    "nobody at Slack's address": ({"SLACK_API_URL": "http://127.0.0.1:9/api/"}, "Slack cannot be reached"),
    "no database": ({"BOBBIN_DATABASE_URL": "postgresql+psycopg://u:p4ssw0rd99@127.0.0.1:9/x"}, "cannot be opened"),
    "a database of an unknown kind": ({"BOBBIN_DATABASE_URL": "oracle9://x"}, "BOBBIN_DATABASE_URL"),
    "a database without its driver": ({"BOBBIN_DATABASE_URL": "mysql://u:p4ssw0rd99@h/x"}, "BOBBIN_DATABASE_URL"),
    "no address at all": ({"BOBBIN_DATABASE_URL": "the usual one"}, "BOBBIN_DATABASE_URL"),
    "a folder that is a file": ({"BOBBIN_DATA_DIR": "log.txt"}, "BOBBIN_DATA_DIR"),
    "a value that does not fit": ({"BOBBIN_STEPS": "many"}, "BOBBIN_STEPS"),
}


async def outcome(place: Town, **settings: str) -> tuple[int, str]:
    before = len(place.log)
    place.spawn(**settings)
    return await place.ended(), place.log[before:]


async def test_each_wrong_setting_is_named_with_its_fix(place: Town) -> None:
    for name, (settings, said) in WRONG.items():
        code, log = await outcome(place, **settings)
        assert code == 2, f"{name}: {log[-1500:]}"
        assert said in log, f"{name}: {log[-1500:]}"
        assert "Traceback" not in log, f"{name}: {log[-1500:]}"
        assert "p4ssw0rd99" not in log


async def test_everything_that_is_missing_at_once(place: Town) -> None:
    code, log = await outcome(place, ANTHROPIC_API_KEY="", SLACK_BOT_TOKEN="")
    assert code == 2
    assert len(re.findall("is not set", log)) == 2


async def test_a_second_process_on_the_same_folder_is_refused(place: Town, tmp_path: Path) -> None:
    await place.start(BOBBIN_DATA_DIR=str(tmp_path / "one"))
    first = place.process
    assert first is not None
    before = len(place.log)
    second = place.spawn(BOBBIN_DATA_DIR=str(tmp_path / "one"))
    await asyncio.to_thread(second.join, 60)
    assert second.exitcode == 2
    assert f"process {first.pid}" in place.log[before:]
    place.process = first
    await place.end()


async def test_the_command_is_ready_serves_its_health_and_ends_cleanly(place: Town, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = place.environment(BOBBIN_HTTP_PORT=str(port), BOBBIN_DATA_DIR=str(tmp_path / "two"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "run"), cwd=ROOT, env=environment, stdout=PIPE, stderr=PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"bobbin ready\n"
        async with httpx2.AsyncClient() as client:
            health = (await client.get(f"http://127.0.0.1:{port}/healthz")).json()
            metrics = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
        process.terminate()
        assert await process.wait() == 0
    assert (health["status"], health["database"], health["slack"]) == ("ok", "ok", "ok")
    assert "bobbin_threads_busy 0" in metrics

"""Slack's HTTP mode: the door behind a real web server that checks signatures."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from slack_sdk.signature import SignatureVerifier

from bot.demo.server import Running
from bot.demo.values import TEAM, Json
from bot.slack.ids import Spot
from memory.inbox import Gestured, Said
from memory.records import Posted
from tests.slack.parts import GENERAL, callback, mention
from tests.slack.program import SECRET, Program, program

THREAD = Spot(TEAM, GENERAL, "1700000000.000100").thread


@pytest.fixture
async def behind_http(running: Running, tmp_path: Path) -> AsyncIterator[Program]:
    async with program(running, tmp_path, SLACK_SIGNING_SECRET=SECRET) as one:
        yield one


def signed(body: str, *, secret: str = SECRET, age: int = 0) -> dict[str, str]:
    """Headers of a request made ``age`` seconds ago."""
    timestamp = str(int(time.time()) - age)
    signature = SignatureVerifier(secret).generate_signature(timestamp=timestamp, body=body)
    return {
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": str(signature),
        "Content-Type": "application/json" if body.startswith("{") else "application/x-www-form-urlencoded",
    }


async def post(to: Program, body: str, headers: dict[str, str]) -> int:
    async with to.http.post(f"{to.url}slack/events", data=body.encode(), headers=headers) as answer:
        await answer.read()
        return answer.status


def words(payload: Json | None = None) -> str:
    return json.dumps(payload or callback(mention(), "Ev1"))


async def test_a_signed_event_is_stored(behind_http: Program) -> None:
    assert await post(behind_http, words(), signed(words())) == 200
    (said,) = await behind_http.rows(THREAD)
    assert isinstance(said, Said)
    assert await behind_http.health() == (200, "ok")


def forged() -> dict[str, dict[str, str]]:
    good = signed(words())
    return {
        "another secret": signed(words(), secret="another one"),
        "another body": signed(words(callback(mention("something else"), "Ev1"))),
        "too old": signed(words(), age=301),
        "from the future": signed(words(), age=-900),
        "no signature": good | {"X-Slack-Signature": ""},
        "signature left out": {key: value for key, value in good.items() if key != "X-Slack-Signature"},
        "no timestamp": good | {"X-Slack-Request-Timestamp": ""},
        "a timestamp of its own": good | {"X-Slack-Request-Timestamp": str(int(time.time()) - 5)},
        "an older scheme": good | {"X-Slack-Signature": good["X-Slack-Signature"].replace("v0=", "v1=")},
    }


@pytest.mark.parametrize("headers", forged().values(), ids=list(forged()))
async def test_a_forged_request_is_refused(behind_http: Program, headers: dict[str, str]) -> None:
    assert await post(behind_http, words(), headers) in {401, 500}  # Bolt fails over a timestamp that is no number
    assert await behind_http.rows(THREAD) == []


async def test_a_replay_is_thanked_and_forgotten(behind_http: Program) -> None:
    headers = signed(words())
    answers = await asyncio.gather(*(post(behind_http, words(), headers) for _ in range(20)))
    assert answers == [200] * 20
    assert len(await behind_http.rows(THREAD)) == 1


async def test_slack_may_check_the_address(behind_http: Program) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1a", "token": "x"})
    async with behind_http.http.post(f"{behind_http.url}slack/events", data=body, headers=signed(body)) as answer:
        assert (answer.status, (await answer.json())["challenge"]) == (200, "3eZbrw1a")


async def test_a_button_comes_as_a_form(behind_http: Program) -> None:
    log = await behind_http.parts.door.logs.open(THREAD)
    await log.append(Posted(of=4, what="approval", messages=(Spot(TEAM, GENERAL, "1700000002.0").message,)))
    click = {
        "type": "block_actions",
        "trigger_id": "1.2.abc",
        "user": {"id": "U0ANA00001"},
        "container": {"type": "message", "channel_id": GENERAL, "message_ts": "1700000002.0"},
        "actions": [{"action_id": "refuse"}],
    }
    body = urlencode({"payload": json.dumps(click)})
    for _ in range(2):
        assert await post(behind_http, body, signed(body)) == 200
    (made,) = await behind_http.rows(THREAD)
    assert isinstance(made, Gestured)
    assert (made.gesture, made.door) == ("refuse", "button")


async def test_without_a_database_slack_is_told_to_come_again(behind_http: Program) -> None:
    await behind_http.parts.database.write(lambda c: c.exec_driver_sql("ALTER TABLE inbox RENAME TO away") and None)
    assert await post(behind_http, words(), signed(words())) == 500
    await behind_http.parts.database.write(lambda c: c.exec_driver_sql("ALTER TABLE away RENAME TO inbox") and None)
    assert await post(behind_http, words(), signed(words())) == 200
    assert len(await behind_http.rows(THREAD)) == 1

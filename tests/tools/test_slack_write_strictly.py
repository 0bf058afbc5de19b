"""The write tools against a strict simulator of Slack, where there is one beside this folder."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.ids import Spot
from bot.slack.inbound import Own
from memory.types import Person
from tests.slack.live import Edge, edge

ROOT = Path(__file__).parents[2]
SIMULATOR = Path(os.environ.get("STRICT_SIMULATOR", ROOT.parent / "shared" / "sim"))

pytestmark = pytest.mark.skipif(not SIMULATOR.is_dir(), reason="no simulator in STRICT_SIMULATOR")


@dataclass(frozen=True, slots=True)
class Strict:
    sim: Any
    edge: Edge
    root: str
    people: dict[str, str]

    async def said(self, channel: str) -> list[Any]:
        return await self.sim.transcript(channel=channel, deleted=False)


@pytest.fixture
async def strict(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Strict]:
    monkeypatch.setattr(sys, "path", [*sys.path, str(SIMULATOR)])
    simulator: Any = importlib.import_module("slacksim")
    async with simulator.SlackSim(port=0, manifest=str(ROOT / "manifest.yml"), rate_scale=0) as sim:
        people = {name: (await sim.create_user(name))["id"] for name in ("ann", "bob")}
        for name in ("general", "news"):
            await sim.create_channel(name, members=["ann", "bob"])
        await sim.create_channel("leads", private=True, members=["bob"])
        await sim.create_channel("old", members=["ann"], archived=True)
        await sim.create_channel("away", members=["ann"], bot=False)
        root = await sim.post("ann", "general", "hello")
        client = AsyncWebClient(token="xoxb-sim-bot", base_url=sim.base_url, retry_handlers=[], timeout=5)
        found: Any = await client.auth_test()  # pyright: ignore[reportUnknownMemberType] - **kwargs without a type
        own = Own(found["team_id"], found["user_id"], found["bot_id"])
        one = edge(client, own, Spot(own.team, root["channel"], root["ts"]).thread)
        one.requester = Person(id=people["ann"], name="ann")
        yield Strict(sim, one, root["ts"], people)
        assert await sim.violations() == []


async def test_post_delete_react_pin_message_and_upload(strict: Strict) -> None:
    run = strict.edge.run
    assert (await run("post_message", channel="#news", text="Release **2.4**")).outcome == "done"
    (posted,) = await strict.said("news")
    assert "Release" in posted["visible_text"]
    assert (await run("add_reaction", channel="#news", ts=posted["ts"], name="tada")).outcome == "done"
    assert (await run("add_reaction", channel="#news", ts=posted["ts"], name="tada")).outcome == "done"
    assert (await run("pin_message", channel="#news", ts=posted["ts"])).outcome == "done"
    assert (await run("delete_message", channel="#news", ts=posted["ts"])).outcome == "done"
    assert await strict.said("news") == []
    assert (await run("upload_file", channel="#news", name="a.csv", content="a,b\n")).outcome == "done"
    assert (await run("send_dm", user="bob", text="hi")).outcome == "done"
    dm = (await strict.sim.open_dm("bob"))["id"]
    assert [message["visible_text"] for message in await strict.said(dm)] == ["hi"]


@pytest.mark.parametrize(
    ("channel", "code"), [("#old", "is_archived"), ("#away", "not_in_channel"), ("#nowhere", "channel_not_found")]
)
async def test_what_slack_refuses(strict: Strict, channel: str, code: str) -> None:
    ran = await strict.edge.run("post_message", channel=channel, text="x")
    assert f"code: {code}" in ran.result.text
    assert "hint: " in ran.result.text


async def test_a_private_channel_of_others(strict: Strict) -> None:
    assert "code: private" in (await strict.edge.run("post_message", channel="#leads", text="x")).result.text
    assert await strict.said("leads") == []


@pytest.mark.parametrize(
    ("scope", "name", "arguments"),
    [
        ("chat:write", "post_message", {"channel": "#news", "text": "x"}),
        ("reactions:write", "add_reaction", {"channel": "#general", "name": "tada"}),
        ("pins:write", "pin_message", {"channel": "#general"}),
        ("files:write", "upload_file", {"channel": "#news", "name": "a.txt", "content": "x"}),
    ],
)
async def test_a_missing_scope_is_named(strict: Strict, scope: str, name: str, arguments: dict[str, Any]) -> None:
    await strict.sim.set_scopes(remove=[scope])
    more = {"ts": strict.root} if name in ("add_reaction", "pin_message") else {}
    ran = await strict.edge.run(name, **arguments, **more)
    assert "code: missing_scope" in ran.result.text
    assert scope in ran.result.text
    assert "manifest.yml" in ran.result.text


@pytest.mark.parametrize("kind", ["lost", "drop", "http", "invalid_json"])
async def test_an_answer_that_does_not_arrive_is_an_unknown_outcome(strict: Strict, kind: str) -> None:
    await strict.sim.fault(kind, "chat.postMessage")
    ran = await strict.edge.run("post_message", channel="#news", text="x")
    assert ran.outcome == "uncertain"
    assert len(await strict.sim.calls("chat.postMessage")) == 1

"""The page's own interface: one stream out, acts of people in, nothing for strangers."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bot.demo.sample import add_history
from bot.demo.server import Running, serve
from bot.demo.values import SlackError
from bot.demo.workspace import ANA, WEI, Workspace
from tests.demo.conftest import GENERAL, Bot


@pytest.fixture
async def session(running: Running) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(running.url) as one:
        yield one


async def changes(session: aiohttp.ClientSession) -> AsyncIterator[dict[str, Any]]:
    async with session.get("/demo/changes") as stream:
        async for line in stream.content:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


async def act(session: aiohttp.ClientSession, **what: object) -> tuple[int, str]:
    async with session.post("/demo/act", json={"person": ANA, "channel": GENERAL, **what}) as answer:
        return answer.status, (await answer.json()).get("error", "")


async def test_a_stream_starts_with_a_snapshot_and_goes_on_with_changes(
    running: Running, session: aiohttp.ClientSession
) -> None:
    running.workspace.say(ANA, GENERAL, "before")
    stream = changes(session)
    snapshot = await anext(stream)
    assert [message["text"] for message in snapshot["messages"]] == ["before"]
    assert (snapshot["online"], snapshot["can_restart"]) == (False, False)
    said = running.workspace.say(WEI, GENERAL, "after")
    change = await anext(stream)
    assert (change["kind"], change["message"]["text"]) == ("message", "after")
    running.workspace.delete(WEI, GENERAL, said.ts)
    assert await anext(stream) == {"kind": "gone", "channel": GENERAL, "ts": said.ts}


async def test_people_act_through_the_page(running: Running, session: aiohttp.ClientSession) -> None:
    await act(session, kind="say", text="hello @Bobbin")
    (said,) = running.workspace.messages(GENERAL)
    await act(session, kind="react", ts=said.ts, name="eyes")
    await act(session, kind="edit", ts=said.ts, text="hello")
    (said,) = running.workspace.messages(GENERAL)
    assert (said.text, said.user, said.reactions) == ("hello", ANA, (("eyes", ANA),))
    await act(session, kind="unreact", ts=said.ts, name="eyes")
    await act(session, kind="delete", ts=said.ts)
    assert running.workspace.messages(GENERAL) == []


async def test_an_act_that_fails_says_why_in_words(running: Running, session: aiohttp.ClientSession) -> None:
    other = running.workspace.say(WEI, GENERAL, "not yours")
    assert await act(session, kind="edit", ts=other.ts, text="x") == (
        400,
        "Slack would not do this: cant_update_message.",
    )
    assert await act(session, kind="dance") == (400, "Slack would not do this: unknown_act.")
    status, words = await act(session, kind="command", text="status")
    assert status == 400
    assert words.startswith("Bobbin did not respond.")
    assert (await act(session, kind="restart"))[0] == 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "{own}"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Host": "rebound.example"}, 403),
        ({"Host": "rebound.example", "Origin": "http://rebound.example"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/", "/demo/act", "/api/api.test", "/link/", "/demo/upload"])
async def test_strangers_are_refused_everywhere(
    running: Running, headers: dict[str, str], status: int, path: str
) -> None:
    own = running.url.rstrip("/")
    sent = {name: value.format(own=own) for name, value in headers.items()}
    async with aiohttp.ClientSession() as session, session.get(own + path, headers=sent) as answer:
        # Within the walls the path itself decides: it may want another method or a ticket.
        assert (answer.status == 403 and "This server" in await answer.text()) == (status == 403)


async def test_only_json_can_act(session: aiohttp.ClientSession) -> None:
    body = json.dumps({"person": ANA, "kind": "say", "channel": GENERAL, "text": "forged"})
    async with session.post("/demo/act", data=body, headers={"Content-Type": "text/plain"}) as answer:
        assert answer.status == 415


async def test_a_person_s_file_is_never_shown_as_a_page(running: Running, session: aiohttp.ClientSession) -> None:
    script = b"<script>alert(1)</script>"
    for name, kind in (("evil.html", "application/octet-stream"), ("evil.png", "image/png")):
        async with session.post(f"/demo/upload?person={ANA}&name={name}", data=script) as answer:
            file = (await answer.json())["id"]
        await act(session, kind="say", text="", files=[file])
        async with session.get(f"/demo/files/{file}") as answer:
            assert (answer.content_type, answer.headers["X-Content-Type-Options"]) == (kind, "nosniff")
            assert "sandbox" in answer.headers["Content-Security-Policy"]
            assert ("Content-Disposition" in answer.headers) == (name == "evil.html")
    assert len(running.workspace.messages(GENERAL)) == 2


async def test_a_restart_is_announced_and_the_stream_tells_when_it_is_over() -> None:
    done: list[bool] = []

    async def restart() -> None:
        done.append(True)

    running = await serve(Workspace(), 0, restart)
    async with aiohttp.ClientSession(running.url) as session:
        stream = changes(session)
        assert (await anext(stream))["can_restart"]
        assert (await act(session, kind="restart"))[0] == 200
        assert [(await anext(stream))["running"] for _ in range(2)] == [True, False]
    await running.close()
    assert done == [True]


async def test_presence_follows_the_connection(running: Running, bot: Bot, session: aiohttp.ClientSession) -> None:
    stream = changes(session)
    assert (await anext(stream))["online"]
    await running.socket.close()
    assert await anext(stream) == {"kind": "bot", "online": False}
    assert bot.bodies == []


async def test_people_see_only_what_they_may(running: Running) -> None:
    with pytest.raises(SlackError, match="not_in_channel"):
        running.workspace.say(WEI, "C0LEADS001", "hello")
    with pytest.raises(SlackError, match="channel_not_found"):
        running.workspace.say(WEI, "C404", "hello")


def test_message_ids_rise_even_if_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace()
    ids: list[str] = []
    for now in (1_000.5, 1_000.5, 999.0, 1_000.6):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        ids.append(workspace.new_ts())
    assert ids == ["1000.500000", "1000.500001", "1000.500002", "1000.600000"]


def test_the_history_is_older_than_what_is_said_next() -> None:
    workspace = Workspace()
    add_history(workspace)
    said = workspace.say(ANA, "C0OPS00001", "now")
    add_history(workspace)
    messages = workspace.messages("C0OPS00001")
    assert len(messages) > 5
    assert messages[-1] == said
    assert [message.ts for message in messages] == sorted(message.ts for message in messages)

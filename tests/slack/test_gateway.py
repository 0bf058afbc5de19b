"""The one way out: what Slack's refusals, limits and broken lines become."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.gateway import TRIES, Gateway, Limited, Lost, Refused
from bot.slack.pacer import Pacer
from tests.slack.parts import DM, GENERAL, QUICK, Always, Edge

OK: tuple[int, dict[str, str], Any] = (200, {}, {"ok": True, "value": 42})
CUT: tuple[int, dict[str, str], Any] = (0, {}, "")


@dataclass(slots=True)
class Line:
    """A Web API that gives prepared answers (status, headers, body); status 0 cuts the line."""

    answers: list[tuple[int, dict[str, str], Any]]
    asked: list[str] = field(default_factory=list[str])

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request.match_info["method"])
        status, headers, body = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if status == 0 and request.transport is not None:
            request.transport.abort()
        if isinstance(body, str):
            return web.Response(status=status or 200, headers=headers, text=body)
        return web.json_response(body, status=status, headers=headers)


@asynccontextmanager
async def talking(*answers: tuple[int, dict[str, str], Any]) -> AsyncGenerator[tuple[Gateway, Line, list[float]]]:
    line = Line(list(answers))
    application = web.Application()
    application.add_routes([web.route("*", "/api/{method}", line.handle)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    client = AsyncWebClient("xoxb-1", url, timeout=5, retry_handlers=[])
    try:
        yield Gateway(client, Pacer(time.monotonic, dict(QUICK)), sleep=sleep), line, slept
    finally:
        await runner.cleanup()


def refusal(error: str, status: int = 200, **more: str) -> tuple[int, dict[str, str], Any]:
    return (status, {}, {"ok": False, "error": error} | more)


def page(status: int) -> tuple[int, dict[str, str], Any]:
    return (status, {}, "<html>Under maintenance</html>")


def limited(seconds: str) -> tuple[int, dict[str, str], Any]:
    return (429, {"Retry-After": seconds}, {"ok": False, "error": "ratelimited"})


async def test_an_answer_is_given_back() -> None:
    async with talking(OK) as (gateway, line, _):
        assert (await gateway.write("users.info", user="U1"))["value"] == 42
        assert line.asked == ["users.info"]


async def test_a_refusal_says_what_is_needed() -> None:
    async with talking(refusal("missing_scope", needed="pins:write")) as (gateway, line, _):
        with pytest.raises(Refused) as refused:
            await gateway.read("pins.add", channel=GENERAL, timestamp="1.0")
        assert (refused.value.error, refused.value.needed) == ("missing_scope", "pins:write")
        assert str(refused.value) == "pins.add: missing_scope (needs the scope pins:write)"
        assert len(line.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(CUT, id="cut line"),
        pytest.param(refusal("internal_error", 500), id="500"),
        pytest.param(page(503), id="503 as a page"),
        pytest.param(page(200), id="200 as a page"),
        *(pytest.param(refusal(name), id=name) for name in ("internal_error", "fatal_error", "rate_limited")),
    ],
)
class TestNobodyKnows:
    async def test_a_write_is_not_made_again(self, answer: tuple[int, dict[str, str], Any]) -> None:
        async with talking(answer, OK) as (gateway, line, _):
            with pytest.raises(Lost):
                await gateway.write("chat.postMessage", channel=GENERAL, text="x")
            assert len(line.asked) == 1

    async def test_a_read_is(self, answer: tuple[int, dict[str, str], Any]) -> None:
        async with talking(answer, answer, OK) as (gateway, line, slept):
            assert (await gateway.read("users.info", user="U1"))["value"] == 42
            assert len(line.asked) == 3
            assert slept == sorted(slept)


async def test_a_read_gives_up_in_the_end() -> None:
    async with talking(CUT) as (gateway, line, slept):
        with pytest.raises(Lost, match=r"reactions\.add"):
            await gateway.read("reactions.add", channel=GENERAL, timestamp="1.0", name="eyes")
        assert (len(line.asked), len(slept)) == (TRIES, TRIES - 1)
        assert sum(slept) < 15


async def test_nobody_listens() -> None:
    client = AsyncWebClient("xoxb-1", "http://127.0.0.1:1/api/", timeout=1, retry_handlers=[])
    with pytest.raises(Lost):
        await Gateway(client, Pacer(time.monotonic)).write("chat.postMessage", channel=GENERAL, text="x")


@pytest.mark.parametrize("said", ["0.2", "soon"])
async def test_slack_is_given_the_time_it_wants(said: str) -> None:
    """What cannot be read as seconds counts as one second."""
    async with talking(limited(said), OK) as (gateway, line, _):
        began = time.monotonic()
        await gateway.write("chat.postMessage", channel=GENERAL, text="x")
        assert time.monotonic() - began >= (0.2 if said == "0.2" else 1.0)
        assert len(line.asked) == 2


async def test_a_limit_holds_for_everybody_who_calls_the_method() -> None:
    async with talking(limited("30")) as (gateway, line, _):
        with pytest.raises(Limited):
            await gateway.once("users.info", user="U1")
        assert 29 < gateway.pacer.wait_for("users.info") <= 30
        assert gateway.pacer.wait_for("users.list") == 0
        assert len(line.asked) == 1


async def test_limits_without_end_are_a_refusal() -> None:
    async with talking(limited("0")) as (gateway, line, _):
        with pytest.raises(Refused, match="ratelimited"):
            await gateway.write("users.info", user="U1")
        assert len(line.asked) == TRIES


async def test_nothing_that_we_write_is_unfurled(edge: Edge) -> None:
    posted = await edge.gateway.write("chat.postMessage", channel=GENERAL, text="https://a.example", unfurl_links=True)
    await edge.gateway.write("chat.update", channel=GENERAL, ts=posted["ts"], text="https://b.example")
    when = int(time.time()) + 600
    await edge.gateway.write("chat.scheduleMessage", channel=GENERAL, text="https://c.example", post_at=when)
    for method in ("chat.postMessage", "chat.update", "chat.scheduleMessage"):
        (call,) = edge.calls(method)
        flags = [str(call.arguments[flag]).lower() for flag in ("unfurl_links", "unfurl_media")]
        assert flags in (["false", "false"], ["0", "0"])


async def test_a_real_answer_that_is_lost_was_carried_out(edge: Edge) -> None:
    edge.workspace.lose_answer_once("chat.postMessage")
    with pytest.raises(Lost):
        await edge.gateway.write("chat.postMessage", channel=DM, text="x")
    assert [message.text for message in edge.workspace.messages(DM)] == ["x"]


async def test_real_limits(edge: Edge) -> None:
    edge.workspace.rate_limits = Always({"users.info": 0})
    with pytest.raises(Refused, match="ratelimited"):
        await edge.gateway.read("users.info", user="U0ANA00001")
    assert [call.error for call in edge.calls("users.info")] == ["ratelimited"] * TRIES

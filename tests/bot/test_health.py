"""What operators see, over a real port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bot.health import Counters, operator_app, server

state = {"database": "ok", "slack": "ok"}


async def extra(_: Request) -> PlainTextResponse:
    return PlainTextResponse("more")


@pytest.fixture
async def address() -> AsyncIterator[str]:
    counters = Counters()
    counters.add("turns_total")
    counters.add("turns_total", 2)
    counters.values["threads_busy"] = 0.5

    async def checks() -> dict[str, str]:
        return state

    web = server(operator_app(checks, counters.text, [Route("/more", extra)]), "127.0.0.1", 0)
    serving = asyncio.create_task(web.serve())
    while not web.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    port = web.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    web.should_exit = True
    await serving


@pytest.mark.parametrize(
    ("database", "status", "word"), [("ok", 200, "ok"), ("failing: OperationalError", 503, "failing")]
)
async def test_health_is_red_when_a_part_is(address: str, database: str, status: int, word: str) -> None:
    state["database"] = database
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"{address}/healthz")
    assert answer.status_code == status
    assert answer.json() == {"status": word, "database": database, "slack": "ok"}


async def test_figures_in_the_form_that_prometheus_reads(address: str) -> None:
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"{address}/metrics")
        more = await client.get(f"{address}/more")
        nothing = await client.get(f"{address}/nothing")
    assert answer.text == "bobbin_threads_busy 0.5\nbobbin_turns_total 3\n"
    assert (more.text, nothing.status_code) == ("more", 404)

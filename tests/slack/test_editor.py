"""Edits of one message: the latest wins, one at a time, and the last one always lands."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from bot.slack.editor import Editor
from bot.slack.gateway import Gateway
from bot.slack.ids import Spot
from bot.slack.pacer import Pacer, Rate
from memory.types import MessageId
from tests.slack.parts import GENERAL, OWN, Edge

ROOMY = {"chat.update": Rate(1_000, 60, reserved=1)}


def content(text: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"text": text}


@dataclass(slots=True)
class Desk:
    """A message of ours and an editor for it."""

    edge: Edge
    editor: Editor
    message: MessageId
    ts: str
    began: list[str] = field(default_factory=list[str])

    @property
    def shown(self) -> str:
        return self.edge.workspace.message(GENERAL, self.ts).text

    @property
    def sent(self) -> list[str]:
        return [str(call.arguments["text"]) for call in self.edge.calls("chat.update")]


async def desk(edge: Edge, rate: Rate | None = None, interval: float = 0.05) -> Desk:
    posted = await edge.gateway.write("chat.postMessage", channel=GENERAL, text="first")
    rates = ROOMY if rate is None else {"chat.update": rate}
    gateway = Gateway(edge.client, Pacer(time.monotonic, rates), sleep=edge.gateway.sleep)
    ts = str(posted["ts"])
    return Desk(edge, Editor(gateway, interval), Spot(OWN.team, GENERAL, ts).message, ts)


async def test_what_comes_in_between_is_dropped(edge: Edge) -> None:
    at = await desk(edge)
    for number in range(50):
        at.editor.soon(at.message, content(f"step {number}"))
        await asyncio.sleep(0)
    await at.editor.settle()
    assert at.shown == "step 49"
    assert len(at.sent) < 5


async def test_edits_keep_their_distance(edge: Edge) -> None:
    at, times = await desk(edge, interval=0.1), list[float]()
    edge.workspace.on_event.append(lambda _: times.append(time.monotonic()))
    for number in range(30):
        at.editor.soon(at.message, content(f"step {number}"))
        await asyncio.sleep(0.01)
    await at.editor.settle()
    assert at.shown == "step 29"
    assert all(later - earlier >= 0.09 for earlier, later in pairwise(times))


async def test_never_two_edits_of_one_message_at_once(edge: Edge) -> None:
    at = await desk(edge, interval=0.0)
    under_way, most = 0, 0

    async def busy(once: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            return await once(*arguments, **more)
        finally:
            under_way -= 1

    class Counting(Gateway):
        async def once(self, method: str, **arguments: Any) -> dict[str, Any]:
            return await busy(Gateway.once, self, method, **arguments)

    gateway = Counting(edge.client, Pacer(time.monotonic, ROOMY))
    editor = Editor(gateway, interval=0.0)
    for number in range(10):
        editor.soon(at.message, content(f"soon {number}"))
        await asyncio.gather(*(editor.now(at.message, content(f"now {number}.{n}")) for n in range(3)))
    await editor.settle()
    assert (most, at.shown) == (1, "now 9.2")


async def test_a_hurry_overtakes_what_only_waits_for_its_time(edge: Edge) -> None:
    at = await desk(edge, interval=30.0)
    at.editor.soon(at.message, content("progress"))
    await edge.workspace.until(lambda: at.shown == "progress")
    at.editor.soon(at.message, content("more progress"))
    async with asyncio.timeout(5):
        await at.editor.now(at.message, content("the end"))
    assert at.sent == ["progress", "the end"]


async def test_a_hurry_takes_the_places_that_progress_may_not(edge: Edge) -> None:
    at = await desk(edge, Rate(3, 60, reserved=1), interval=0.0)
    for number in range(2):
        at.editor.soon(at.message, content(f"progress {number}"))
        await at.editor.settle()
    at.editor.soon(at.message, content("must wait for a minute"))
    async with asyncio.timeout(5):
        await at.editor.now(at.message, content("the end"))
    assert at.sent == ["progress 0", "progress 1", "the end"]


async def test_the_last_edit_lands_after_a_limit(edge: Edge) -> None:
    at = await desk(edge)
    edge.workspace.rate_limit_once("chat.update", retry_after=1)
    at.editor.soon(at.message, content("progress"))
    await asyncio.sleep(0.1)
    await at.editor.now(at.message, content("the end"))
    assert at.shown == "the end"
    assert [call.error for call in edge.calls("chat.update")] == ["ratelimited", None]


@pytest.mark.parametrize("hurry", [True, False])
async def test_the_last_edit_lands_after_lost_answers(edge: Edge, hurry: bool) -> None:
    at = await desk(edge)
    for _ in range(3):
        edge.workspace.lose_answer_once("chat.update")
    if hurry:
        await at.editor.now(at.message, content("the end"))
    else:
        at.editor.soon(at.message, content("the end"))
        await at.editor.settle()
    assert at.sent == ["the end"] * 4
    assert edge.slept == [0.05] * 3


async def test_a_refused_edit_is_given_up(edge: Edge) -> None:
    at = await desk(edge)
    gone = Spot(OWN.team, GENERAL, "1.000001").message
    await at.editor.now(gone, content("x"))
    await at.editor.now(at.message, content("y" * 5_000))
    await at.editor.now(at.message, content("z"))
    assert at.shown == "z"


async def test_content_is_made_when_it_is_sent(edge: Edge) -> None:
    at, seconds = await desk(edge, interval=0.1), 0
    at.editor.soon(at.message, content("first"))
    at.editor.soon(at.message, lambda: {"text": f"{seconds} s"})
    seconds = 7
    await at.editor.settle()
    assert at.shown == "7 s"


async def test_who_waits_for_an_edit_may_leave(edge: Edge) -> None:
    at = await desk(edge, Rate(1, 0.5), interval=0.0)
    await at.editor.now(at.message, content("one"))
    waiting = asyncio.create_task(at.editor.now(at.message, content("two")))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await at.editor.settle()
    assert at.shown == "two"

"""Rooms as Slack describes them: what takes long is finished for the next one who asks."""

from __future__ import annotations

import asyncio

import pytest

from bot.demo.workspace import ANA
from bot.slack.directory import Directory
from bot.slack.rooms import SlackRooms
from tests.slack.parts import GENERAL, OWN, Edge, edge_of, served


def rooms_of(edge: Edge) -> SlackRooms:
    directory = Directory(edge.gateway, edge.people)
    return SlackRooms(edge.gateway, edge.people, directory, edge.reader, OWN, lambda: edge.now[0])


async def test_a_long_look_up_goes_on_when_the_first_one_has_no_more_patience() -> None:
    async with served() as running, edge_of(running) as edge:
        rooms = rooms_of(edge)
        thread = edge.thread(GENERAL)
        edge.gateway.pacer.block("users.list", 0.4)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await rooms.audience(thread, ANA)
        (begun,) = rooms._looking.values()  # pyright: ignore[reportPrivateUsage] - nothing else shows that it goes on
        first, second = await asyncio.gather(rooms.audience(thread, ANA), rooms.audience(thread, ANA))
        assert first == second
        assert not first.restricted
        assert begun.done()
        assert not begun.cancelled()
        assert len(edge.calls("users.list")) == 1


async def test_a_place_that_slack_does_not_describe_is_closed() -> None:
    async with served() as running, edge_of(running) as edge:
        rooms = rooms_of(edge)
        thread = edge.thread(GENERAL)
        edge.workspace.refuse("conversations.info", "channel", "channel_not_found")
        assert (await rooms.audience(thread, ANA)).room == "closed"

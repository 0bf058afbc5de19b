"""What a yes is worth beyond its call: taking it back in time, and approvals that stand for a while."""

from __future__ import annotations

from typing import Any

from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Granted,
    ToolStarted,
)
from tests.bot.approval_world import ANA, TWO_OF_THREE, UNDO, WEI, World, calls, write
from tools.policy import Policy

# -- taking back -----------------------------------------------------------------------------------


async def test_in_the_undo_window_nothing_runs_and_a_yes_can_be_taken_back(world: World) -> None:
    world.follow(UNDO)
    await world.ask(calls(write("a")))
    await world.gesture("approve")
    assert await world.advance() == world.now + 10
    world.now += 9
    await world.gesture("approve", on=False)
    await world.advance()
    assert (world.ran, world.card(), await world.outcomes()) == ([], "withdrawn", ["not_run"])
    assert "took the approval" in "".join(world.chat.words)


async def test_a_no_needs_no_undo_window(world: World) -> None:
    world.follow(UNDO)
    await world.ask(calls(write("a")))
    await world.gesture("refuse")
    assert await world.advance() is None
    assert [given.not_before for given in await world.records(ApprovalGiven)] == [0.0]


async def test_after_the_undo_window_it_runs_over_a_restart(world: World) -> None:
    world.follow(UNDO)
    await world.ask(calls(write("a")))
    await world.gesture("approve")
    await world.advance()
    world.restart()
    world.now += 10
    assert await world.advance() is None
    assert world.ran == ["write a"]


async def test_each_call_has_its_own_undo_window(world: World) -> None:
    world.follow(UNDO)
    await world.ask(calls(write("a"), write("b"), ("put", {"word": "c"})))
    await world.gesture("approve", request=1)
    await world.advance()
    world.now += 6
    await world.gesture("approve", request=0)
    await world.advance()
    world.now += 5
    await world.advance()
    assert world.ran == ["write b"]
    await world.gesture("approve", request=0, on=False)
    await world.advance()
    world.now += 20
    await world.advance()
    assert world.ran == ["write b"]


async def test_what_needs_no_yes_does_not_shorten_an_undo_window(world: World) -> None:
    world.follow(UNDO, Policy(free=frozenset({"put"})))
    await world.ask(calls(write("a"), ("put", {"word": "c"}), ("look", {"word": "d"})))
    assert world.ran == ["put c"]
    await world.gesture("approve")
    await world.advance()
    assert world.ran == ["put c"]


async def test_after_the_run_taking_back_is_answered_and_changes_nothing(world: World) -> None:
    await world.ask(calls(write("a")))
    await world.gesture("approve")
    await world.advance()
    await world.gesture("approve", on=False)
    await world.gesture("approve", WEI, on=False)
    await world.advance()
    assert (world.card(), await world.verdicts()) == ("approved", ["approved"])
    assert [(person, "Too late" in text) for person, text in world.chat.whispers] == [(ANA.id, True)]


# -- standing approvals ----------------------------------------------------------------------------


async def granted(world: World, *then: Any) -> World:
    world.model.lines.append(calls(write("a")))
    world.model.lines.extend(then)
    await world.say("please")
    await world.advance()
    await world.gesture("grant")
    await world.advance()
    return world


async def test_a_grant_covers_the_tool_and_the_resource_and_nothing_else(world: World) -> None:
    other_place, other_tool = write("c", "#ops"), ("put", {"place": "#news", "word": "d"})
    await granted(world, calls(write("b"), other_place, other_tool))
    assert world.ran == ["write a", "write b"]
    assert [start.by for start in await world.records(ToolStarted)] == ["approval", "grant"]
    assert [request.call.arguments["word"] for _, request in world.chat.requests] == ["a", "c", "d"]


async def test_the_grant_on_the_card_is_the_one_that_is_written_down(world: World) -> None:
    await granted(world)
    (message, request), *_ = world.chat.requests
    (grant,) = await world.records(Granted)
    assert (grant.tool, grant.resource) == (request.call.name, request.asked.resource) == ("write", {"place": "#news"})
    assert (request.grant_minutes, grant.expires_at) == (60, world.now + 3600)
    assert world.chat.offered[message] == ("approve", "refuse", "grant")


async def test_a_grant_ends(world: World) -> None:
    await granted(world)
    world.now += 3599
    await world.ask(calls(write("b")))
    assert world.ran == ["write a", "write b"]
    world.now += 1
    await world.ask(calls(write("c")))
    assert world.ran == ["write a", "write b"]
    assert world.card(1) == "open"


async def test_a_grant_covers_nothing_once_strangers_were_read(world: World) -> None:
    await granted(world, calls(("browse", {"word": "x"})), calls(("look", {"word": "y"})), calls(write("b")))
    assert world.ran == ["write a"]
    asked = (await world.records(ApprovalAsked))[-1]
    assert asked.resource is None, "and no other one is offered"


async def test_a_grant_of_one_person_covers_nothing_that_another_one_asks_for(world: World) -> None:
    await granted(world)
    await world.ask(calls(write("b")), author=WEI)
    assert world.ran == ["write a"]
    assert world.chat.requests[1][1].asked.approvers == (WEI.id,)


async def test_no_grant_where_several_must_agree_or_something_is_destroyed(world: World) -> None:
    world.follow(TWO_OF_THREE)
    await world.ask(calls(write("a"), ("erase", {"place": "#news", "word": "b"})))
    assert [request.grant_minutes for _, request in world.chat.requests] == [0, 0]
    assert set(world.chat.offered.values()) == {("approve", "refuse")}
    await world.gesture("grant", WEI)
    await world.gesture("grant", ANA, request=1)
    await world.advance()
    assert await world.records(Granted) == []
    assert world.ran == ["erase b"], "it is still a yes to this one"


async def test_a_grant_by_somebody_who_may_not_decide_is_none(world: World) -> None:
    await world.ask(calls(write("a")))
    await world.gesture("grant", WEI)
    await world.advance()
    assert (world.ran, await world.records(Granted)) == ([], [])
    assert [person for person, _ in world.chat.whispers] == [WEI.id]


async def test_without_minutes_for_grants_there_are_none(world: World) -> None:
    world.grant_seconds = 0
    world.restart()
    await granted(world, calls(write("b")))
    assert world.ran == ["write a"]
    assert world.chat.requests[0][1].grant_minutes == 0

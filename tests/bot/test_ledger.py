"""Nothing is changed twice: what the ledger of changes lets happen again, and who must say so."""

from __future__ import annotations

from typing import Any

from memory.records import (
    ApprovalGiven,
    ToolStarted,
    digest,
)
from tests.bot.approval_world import ANA, World, calls, write
from tools.policy import Policy


async def test_the_same_change_is_told_from_the_log_and_asks_before_it_happens_again(world: World) -> None:
    await world.ask(calls(write("a")), calls(write("a")), calls(write("a")))
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, await world.outcomes()) == (["write a"], ["done", "repeated"])
    assert [request.asked.again for _, request in world.chat.requests] == [False, True]
    await world.gesture("approve", request=1)
    await world.advance()
    assert world.ran == ["write a", "write a"]


async def test_a_later_task_is_asked_at_once_with_a_warning_even_for_a_free_tool(world: World) -> None:
    world.follow(world.rules, Policy(free=frozenset({"write"})))
    await world.ask(calls(write("a")))
    await world.ask(calls(write("a")))
    assert (world.ran, world.card(), world.chat.requests[0][1].asked.again) == (["write a"], "open", True)


async def test_two_equal_calls_in_one_message_happen_once(world: World) -> None:
    await world.ask(calls(write("a"), write("a")))
    await world.gesture("approve", request=0)
    await world.gesture("approve", request=1)
    await world.advance()
    assert (world.ran, await world.outcomes()) == (["write a"], ["done", "repeated"])


async def test_one_yes_is_for_one_run_even_if_the_model_uses_a_call_id_twice(world: World) -> None:
    said = calls(write("a"))
    (call,) = said.message.calls
    changed = replace_call(said, call.model_copy(update={"arguments": {"word": "b", "place": "#news"}}))
    await world.ask(said, said, changed)
    await world.gesture("approve")
    await world.advance()
    assert world.ran == ["write a"]
    assert world.card(1) == "open"


def replace_call(said: Any, call: Any) -> Any:
    return said.model_copy(update={"message": said.message.model_copy(update={"parts": (call,)})})


async def test_an_unknown_outcome_counts_as_done_and_is_said(world: World) -> None:
    await world.ask(calls(write("a")))
    log = await world.log()
    call = next(iter(log.state.open_calls.values()))
    given = ApprovalGiven(call_id=call.id, digest=digest(call), verdict="approved", by=ANA)
    await log.append(given, ToolStarted(call_id=call.id, digest=digest(call)))
    world.model.lines.extend([calls(write("a"))])
    world.restart()
    await world.advance()
    assert (world.ran, await world.outcomes()) == ([], ["uncertain", "repeated"])
    assert "may or may not have happened" in "".join(world.chat.words)


async def test_what_can_be_repeated_is_repeated_with_the_same_id(world: World) -> None:
    await world.ask(calls(("put", {"word": "a"})))
    log = await world.log()
    call = next(iter(log.state.open_calls.values()))
    given = ApprovalGiven(call_id=call.id, digest=digest(call), verdict="approved", by=ANA)
    await log.append(given, ToolStarted(call_id=call.id, digest=digest(call), repeatable=True))
    world.restart()
    await world.advance()
    assert [one.id for one in world.workshop.ran] == [call.id]
    assert await world.outcomes() == ["done"]


async def test_a_verdict_on_other_bytes_counts_for_nothing(world: World) -> None:
    await world.ask(calls(write("a")))
    log = await world.log()
    call = next(iter(log.state.open_calls.values()))
    right = digest(call)
    for wrong in ("", right[:-1], right.upper(), digest(call.model_copy(update={"name": "put"}))):
        await log.append(ApprovalGiven(call_id=call.id, digest=wrong, verdict="approved", by=ANA))
    await world.advance()
    assert (world.ran, world.card()) == ([], "open")

"""What happens while a request waits: edits, stops, deletions, other settings, other requests."""

from __future__ import annotations

from itertools import permutations

import pytest

from memory.records import (
    Stopped,
    ToolEnded,
)
from memory.types import ToolResult
from tests.bot.approval_world import ANA, WEI, World, calls, write
from tools.policy import Policy

# -- what changes while a request waits ------------------------------------------------------------


async def test_an_edit_of_the_instruction_sets_the_request_aside_and_it_is_asked_again(world: World) -> None:
    world.model.lines.extend([calls(write("a")), calls(write("b"))])
    message = await world.say("write a")
    await world.advance()
    await world.edit(message, "write b")
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, [world.card(n) for n in (0, 1)]) == ([], ["superseded", "open"])
    await world.gesture("approve", request=1)
    await world.advance()
    assert world.ran == ["write b"]


@pytest.mark.parametrize("stop", ["stop", "停"])
async def test_a_stop_closes_the_request_and_nothing_that_comes_later_opens_it(world: World, stop: str) -> None:
    await world.ask(calls(write("a")))
    await world.say(stop, WEI)
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, world.card(), await world.verdicts()) == ([], "closed", [])
    assert "closed" in world.chat.whispers[0][1]
    assert "Not done: `write a" in "".join(world.chat.words).replace("#news ", "")


async def test_words_right_after_a_stop_begin_a_new_turn_and_the_old_card_is_closed_once(world: World) -> None:
    await world.ask(calls(write("a")))
    await world.say("stop")
    await world.say("something else")
    await world.advance()
    assert (world.card(), len(world.chat.requests)) == ("closed", 1)
    assert world.chat.words[-1] == "done"


async def test_words_that_come_before_a_closed_request_is_shown_as_closed(world: World) -> None:
    await world.ask(calls(write("a")))
    log = await world.log()
    call = next(iter(log.state.open_calls.values()))
    result = ToolResult(call_id=call.id, text="stopped", is_error=True)
    await log.append(Stopped(reason="cancelled", by=ANA), ToolEnded(result=result, outcome="not_run"))
    await world.say("something else")
    await world.advance()
    assert (world.card(), world.chat.words[-1]) == ("closed", "done")


async def test_deleting_the_instruction_ends_the_request(world: World) -> None:
    world.model.lines.append(calls(write("a")))
    message = await world.say("please")
    await world.advance()
    await world.delete(message)
    await world.advance()
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, world.card()) == ([], "closed")


async def test_a_tool_that_was_switched_off_meanwhile_does_not_run(world: World) -> None:
    await world.ask(calls(write("a")))
    world.follow(world.rules, Policy(forbidden=frozenset({"write"})))
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, await world.outcomes()) == ([], ["not_run"])


async def test_a_refusal_gives_its_reason_to_the_model(world: World) -> None:
    await world.ask(calls(write("a")))
    await world.say("no, because it is Friday")
    await world.advance()
    assert "it is Friday" in str(world.model.asked[-1].context.messages[-1])
    assert "it is Friday" in "".join(world.chat.words)


# -- several writes --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_verdicts_in_any_order_and_each_call_has_one_result(world: World, order: tuple[int, ...]) -> None:
    said = calls(write("a"), write("b"), write("c"))
    await world.ask(said)
    for request in order:
        await world.gesture("refuse" if request == 1 else "approve", request=request)
        await world.advance()
    assert sorted(world.ran) == ["write a", "write c"]
    results = [ended.result.call_id for ended in await world.records(ToolEnded)]
    assert sorted(results) == sorted(call.id for call in said.message.calls)
    last = world.model.asked[-1].context.messages[-1]
    assert [part.kind for part in last.parts] == ["tool_result"] * 3
    assert [world.card(n) for n in range(3)] == ["approved", "refused", "approved"]


async def test_one_yes_in_words_does_not_answer_two_requests_and_one_no_does(world: World) -> None:
    await world.ask(calls(write("a"), write("b")))
    await world.say("yes")
    await world.advance()
    assert (world.ran, await world.verdicts()) == ([], [])
    assert "Several requests" in world.chat.whispers[0][1]
    await world.say("no")
    await world.advance()
    assert await world.verdicts() == ["refused", "refused"]


async def test_a_tool_that_breaks_after_a_yes_is_a_result_and_the_turn_goes_on(world: World) -> None:
    await world.ask(calls(write("break")))
    await world.gesture("approve")
    assert await world.advance() is None
    assert (await world.outcomes(), world.chat.words[-1]) == (["failed"], "done")

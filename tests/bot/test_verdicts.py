"""Verdicts on a request: late and early ones, contrary ones, and those of several people."""

from __future__ import annotations

from typing import Any

import pytest

from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Noted,
    Posted,
    Stopped,
    UserSaid,
    digest,
)
from tests.bot.approval_world import ANA, BOT, DAY, EVA, TWO_OF_THREE, WEI, World, calls, write

# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["reaction", "button", "words"])
async def test_after_its_time_a_yes_comes_too_late_and_that_is_said(world: World, door: str) -> None:
    await world.ask(calls(write("a")))
    world.now += DAY
    if door == "words":
        await world.say("yes")
    else:
        await world.gesture("approve", door=door)
    await world.advance()
    assert (world.ran, await world.verdicts(), world.card()) == ([], ["expired"], "expired")
    assert "closed" in world.chat.whispers[0][1]
    assert "Nobody decided" in "".join(world.chat.words)


async def test_a_second_before_its_end_a_yes_is_in_time_and_it_survives_restarts(world: World) -> None:
    await world.ask(calls(write("a")))
    world.now += DAY - 1
    world.restart()
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, len(world.chat.requests)) == (["write a"], 1)


@pytest.mark.parametrize(
    ("first", "later", "told"),
    [
        ("approve", "refuse", True),
        ("refuse", "approve", True),
        ("approve", "approve", False),
        ("refuse", "refuse", False),
    ],
)
async def test_the_first_verdict_counts_and_a_contrary_one_is_told_so(
    world: World, first: Any, later: Any, told: bool
) -> None:
    await world.ask(calls(write("a")))
    await world.gesture(first)
    await world.gesture(later)
    await world.advance()
    assert await world.verdicts() == [first.replace("approve", "approved").replace("refuse", "refused")]
    assert [person for person, _ in world.chat.whispers] == ([ANA.id] if told else [])
    await world.gesture(later, door="button")
    await world.advance()
    assert len(world.chat.whispers) == told + 1, "who presses a button is always answered"


@pytest.mark.parametrize(("at", "counts"), [(-3.0, False), (-2.0, True), (0.0, True)])
async def test_a_yes_that_was_written_before_the_question_is_none(world: World, at: float, counts: bool) -> None:
    await world.ask(calls(write("a")))
    await world.say("yes", at=world.now + at)
    await world.advance()
    assert world.ran == (["write a"] if counts else [])
    assert len(await world.records(UserSaid)) == (1 if counts else 2)


async def test_a_yes_that_came_before_the_request_was_shown_is_none(world: World) -> None:
    """The model is still at work when somebody says ok to something else."""
    world.model.lines.append(calls(write("a")))
    await world.say("please")
    mail = world.turns._mail  # pyright: ignore[reportPrivateUsage] - the words come between two steps of a turn
    log = await world.log()
    await mail.take(log)
    said = calls(write("a"))
    (call,) = said.message.calls
    asked = ApprovalAsked(
        call_id=call.id, digest=digest(call), requester=ANA, approvers=(ANA.id,), expires_at=world.now + DAY
    )
    await log.append(said, asked)
    await world.say("ok")
    await mail.take(log)
    assert await world.verdicts() == []
    assert [one.text for one in await world.records(UserSaid)] == ["please", "ok"]


async def test_the_emojis_are_offered_only_once_the_log_knows_the_message(world: World) -> None:
    known = list[bool]()

    async def look(point: str) -> None:
        if point == "before offer":
            (message, _), *_ = world.chat.requests
            known.append(any(message in posted.messages for posted in await world.records(Posted)))

    world.chat.around = look
    await world.ask(calls(write("a")))
    assert known == [True]


# -- several people --------------------------------------------------------------------------------


async def test_two_of_three_are_two_different_people(world: World) -> None:
    world.follow(TWO_OF_THREE)
    await world.ask(calls(write("a")))
    for _ in range(3):
        await world.gesture("approve", WEI)
        await world.gesture("approve", WEI, door="button")
        await world.advance()
    assert (world.ran, world.card()) == ([], "open")
    assert [person.id for person in world.chat.requests[0][1].votes] == [WEI.id]
    await world.gesture("approve", ANA)
    await world.advance()
    assert world.ran == ["write a"]


async def test_one_no_ends_a_request_and_taking_an_older_yes_back_changes_nothing(world: World) -> None:
    world.follow(TWO_OF_THREE)
    await world.ask(calls(write("a")))
    await world.gesture("approve", WEI)
    await world.gesture("refuse", EVA)
    await world.gesture("approve", WEI, on=False)
    await world.gesture("approve", ANA)
    await world.advance()
    assert (world.ran, world.card()) == ([], "refused")


async def test_the_first_no_of_several_approvers_is_enough(world: World) -> None:
    world.follow(TWO_OF_THREE)
    await world.ask(calls(write("a")))
    await world.gesture("refuse", EVA)
    await world.advance()
    assert (world.ran, world.card(), await world.outcomes()) == ([], "refused", ["not_run"])


@pytest.mark.parametrize("first", ["refused", "expired", "superseded", "withdrawn"])
async def test_in_the_log_too_the_first_verdict_counts(world: World, first: Any) -> None:
    """Whatever is written later, by whichever process."""
    await world.ask(calls(write("a")))
    log = await world.log()
    call = next(iter(log.state.open_calls.values()))
    if first == "withdrawn":
        await log.append(ApprovalGiven(call_id=call.id, digest=digest(call), verdict="approved", by=ANA))
    for verdict in (first, "approved", "refused", "withdrawn"):
        await log.append(ApprovalGiven(call_id=call.id, digest=digest(call), verdict=verdict, by=ANA))
    await world.advance()
    assert (world.ran, world.card()) == ([], first)


async def test_a_yes_that_is_taken_back_no_longer_counts_towards_two(world: World) -> None:
    world.follow(TWO_OF_THREE)
    await world.ask(calls(write("a")))
    await world.gesture("approve", WEI)
    await world.gesture("approve", WEI, on=False)
    await world.gesture("approve", EVA)
    await world.advance()
    assert (world.ran, world.card()) == ([], "open")


async def test_after_its_end_nothing_in_the_log_opens_a_request_again(world: World) -> None:
    await world.ask(calls(write("a"), write("b")))
    log = await world.log()
    first, second = log.state.open_calls.values()
    world.now += DAY + 1
    await log.append(ApprovalGiven(call_id=first.id, digest=digest(first), verdict="approved", by=ANA))
    await world.say("stop")
    await world.advance()
    await log.append(ApprovalGiven(call_id=second.id, digest=digest(second), verdict="approved", by=ANA))
    await world.advance()
    assert (world.ran, [world.card(number) for number in (0, 1)]) == ([], ["closed", "closed"])


async def test_a_request_of_an_earlier_turn_answers_that_it_is_closed(world: World) -> None:
    await world.ask(calls(write("a")))
    await world.gesture("approve")
    await world.advance()
    await world.ask(words="thanks")
    await world.gesture("refuse")
    await world.advance()
    assert [person for person, _ in world.chat.whispers] == [ANA.id]


@pytest.mark.parametrize("gesture", ["approve", "refuse", "stop"])
async def test_other_bots_get_no_private_words(world: World, gesture: Any) -> None:
    await world.ask(calls(write("a")))
    await world.gesture("approve")
    await world.advance()
    await world.gesture(gesture, BOT)
    await world.gesture(gesture, BOT, door="button")
    await world.advance()
    assert (world.chat.whispers, await world.records(Stopped)) == ([], [])


async def test_calls_of_a_message_that_was_cut_off_or_came_after_the_limit_are_not_asked_for(world: World) -> None:
    cut = [calls(write("a")).model_copy(update={"stop": "length"}) for _ in range(2)]  # it is asked a second time
    await world.ask(*cut)
    assert (world.ran, world.chat.requests, await world.outcomes()) == ([], [], ["not_run"])
    await world.ask(calls(write("b")))
    await (await world.log()).append(Noted(reason="limit", text="enough"))
    await world.gesture("approve")
    await world.advance()
    assert world.ran == []
    assert world.card() in ("closed", "approved")

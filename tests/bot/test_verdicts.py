"""Requests in time: late and early verdicts, several of them, undo, standing approvals, edits, stops, the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, permutations
from typing import Any

import pytest

from bot.approvals import Rules
from bot.config import ApprovalRule
from memory.db import Database
from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Granted,
    Noted,
    Posted,
    Stopped,
    ToolEnded,
    ToolStarted,
    UserSaid,
    digest,
)
from memory.types import MessageId, ThreadKey, ToolResult
from tests.bot.approval_world import ANA, BOT, EVA, WEI, World, calls, write
from tools.policy import Policy

_THREADS = count(1)
TWO_OF_THREE = Rules({"write": ApprovalRule(approvers=(ANA.id, WEI.id, EVA.id), needed=2)})
UNDO = Rules(undo=10.0)
DAY = 86_400.0


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path_factory.mktemp('log') / 'bobbin.db'}")
    yield made
    made.close()


@pytest.fixture
def world(database: Database) -> World:
    return World(database, ThreadKey(f"T1:C1:{next(_THREADS)}.0"))


def with_rules(world: World, rules: Rules, policy: Policy | None = None) -> World:
    world.rules, world.policy = rules, policy or world.policy
    world.restart()
    return world


async def verdicts(world: World) -> list[str]:
    return [given.verdict for given in await world.records(ApprovalGiven)]


async def outcomes(world: World) -> list[str]:
    return [ended.outcome for ended in await world.records(ToolEnded)]


def card(world: World, request: int = 0) -> str:
    """How a request ended, as its card says."""
    asked = world.chat.requests[request][1]
    return asked.given.verdict if asked.given else "closed" if asked.ended else "open"


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
    assert (world.ran, await verdicts(world), card(world)) == ([], ["expired"], "expired")
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
    assert await verdicts(world) == [first.replace("approve", "approved").replace("refuse", "refused")]
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
    assert await verdicts(world) == []
    assert [one.text for one in await world.records(UserSaid)] == ["please", "ok"]


async def test_the_emojis_are_offered_only_once_the_log_knows_the_message(world: World) -> None:
    known = list[bool]()

    async def look(message: MessageId) -> None:
        known.append(any(message in posted.messages for posted in await world.records(Posted)))

    world.chat.on_offer = look
    await world.ask(calls(write("a")))
    assert known == [True]


# -- several people --------------------------------------------------------------------------------


async def test_two_of_three_are_two_different_people(world: World) -> None:
    with_rules(world, TWO_OF_THREE)
    await world.ask(calls(write("a")))
    for _ in range(3):
        await world.gesture("approve", WEI)
        await world.gesture("approve", WEI, door="button")
        await world.advance()
    assert (world.ran, card(world)) == ([], "open")
    assert [person.id for person in world.chat.requests[0][1].votes] == [WEI.id]
    await world.gesture("approve", ANA)
    await world.advance()
    assert world.ran == ["write a"]


async def test_one_no_ends_a_request_and_taking_an_older_yes_back_changes_nothing(world: World) -> None:
    with_rules(world, TWO_OF_THREE)
    await world.ask(calls(write("a")))
    await world.gesture("approve", WEI)
    await world.gesture("refuse", EVA)
    await world.gesture("approve", WEI, on=False)
    await world.gesture("approve", ANA)
    await world.advance()
    assert (world.ran, card(world)) == ([], "refused")


async def test_the_first_no_of_several_approvers_is_enough(world: World) -> None:
    with_rules(world, TWO_OF_THREE)
    await world.ask(calls(write("a")))
    await world.gesture("refuse", EVA)
    await world.advance()
    assert (world.ran, card(world), await outcomes(world)) == ([], "refused", ["not_run"])


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
    assert (world.ran, card(world)) == ([], first)


async def test_a_yes_that_is_taken_back_no_longer_counts_towards_two(world: World) -> None:
    with_rules(world, TWO_OF_THREE)
    await world.ask(calls(write("a")))
    await world.gesture("approve", WEI)
    await world.gesture("approve", WEI, on=False)
    await world.gesture("approve", EVA)
    await world.advance()
    assert (world.ran, card(world)) == ([], "open")


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
    assert (world.ran, [card(world, number) for number in (0, 1)]) == ([], ["closed", "closed"])


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
    assert (world.ran, world.chat.requests, await outcomes(world)) == ([], [], ["not_run"])
    await world.ask(calls(write("b")))
    await (await world.log()).append(Noted(reason="limit", text="enough"))
    await world.gesture("approve")
    await world.advance()
    assert world.ran == []
    assert card(world) in ("closed", "approved")


# -- taking back -----------------------------------------------------------------------------------


async def test_in_the_undo_window_nothing_runs_and_a_yes_can_be_taken_back(world: World) -> None:
    with_rules(world, UNDO)
    await world.ask(calls(write("a")))
    await world.gesture("approve")
    assert await world.advance() == world.now + 10
    world.now += 9
    await world.gesture("approve", on=False)
    await world.advance()
    assert (world.ran, card(world), await outcomes(world)) == ([], "withdrawn", ["not_run"])
    assert "took the approval" in "".join(world.chat.words)


async def test_a_no_needs_no_undo_window(world: World) -> None:
    with_rules(world, UNDO)
    await world.ask(calls(write("a")))
    await world.gesture("refuse")
    assert await world.advance() is None
    assert [given.not_before for given in await world.records(ApprovalGiven)] == [0.0]


async def test_after_the_undo_window_it_runs_over_a_restart(world: World) -> None:
    with_rules(world, UNDO)
    await world.ask(calls(write("a")))
    await world.gesture("approve")
    await world.advance()
    world.restart()
    world.now += 10
    assert await world.advance() is None
    assert world.ran == ["write a"]


async def test_each_call_has_its_own_undo_window(world: World) -> None:
    with_rules(world, UNDO)
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
    with_rules(world, UNDO, Policy(free=frozenset({"put"})))
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
    assert (card(world), await verdicts(world)) == ("approved", ["approved"])
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
    assert card(world, 1) == "open"


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
    with_rules(world, TWO_OF_THREE)
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


# -- what changes while a request waits ------------------------------------------------------------


async def test_an_edit_of_the_instruction_sets_the_request_aside_and_it_is_asked_again(world: World) -> None:
    world.model.lines.extend([calls(write("a")), calls(write("b"))])
    message = await world.say("write a")
    await world.advance()
    await world.edit(message, "write b")
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, [card(world, n) for n in (0, 1)]) == ([], ["superseded", "open"])
    await world.gesture("approve", request=1)
    await world.advance()
    assert world.ran == ["write b"]


@pytest.mark.parametrize("stop", ["stop", "停"])
async def test_a_stop_closes_the_request_and_nothing_that_comes_later_opens_it(world: World, stop: str) -> None:
    await world.ask(calls(write("a")))
    await world.say(stop, WEI)
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, card(world), await verdicts(world)) == ([], "closed", [])
    assert "closed" in world.chat.whispers[0][1]
    assert "Not done: `write a" in "".join(world.chat.words).replace("#news ", "")


async def test_words_right_after_a_stop_begin_a_new_turn_and_the_old_card_is_closed_once(world: World) -> None:
    await world.ask(calls(write("a")))
    await world.say("stop")
    await world.say("something else")
    await world.advance()
    assert (card(world), len(world.chat.requests)) == ("closed", 1)
    assert world.chat.words[-1] == "done"


async def test_words_that_come_before_a_closed_request_is_shown_as_closed(world: World) -> None:
    await world.ask(calls(write("a")))
    log = await world.log()
    call = next(iter(log.state.open_calls.values()))
    result = ToolResult(call_id=call.id, text="stopped", is_error=True)
    await log.append(Stopped(reason="cancelled", by=ANA), ToolEnded(result=result, outcome="not_run"))
    await world.say("something else")
    await world.advance()
    assert (card(world), world.chat.words[-1]) == ("closed", "done")


async def test_deleting_the_instruction_ends_the_request(world: World) -> None:
    world.model.lines.append(calls(write("a")))
    message = await world.say("please")
    await world.advance()
    await world.delete(message)
    await world.advance()
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, card(world)) == ([], "closed")


async def test_a_tool_that_was_switched_off_meanwhile_does_not_run(world: World) -> None:
    await world.ask(calls(write("a")))
    with_rules(world, world.rules, Policy(forbidden=frozenset({"write"})))
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, await outcomes(world)) == ([], ["not_run"])


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
    assert [card(world, n) for n in range(3)] == ["approved", "refused", "approved"]


async def test_one_yes_in_words_does_not_answer_two_requests_and_one_no_does(world: World) -> None:
    await world.ask(calls(write("a"), write("b")))
    await world.say("yes")
    await world.advance()
    assert (world.ran, await verdicts(world)) == ([], [])
    assert "Several requests" in world.chat.whispers[0][1]
    await world.say("no")
    await world.advance()
    assert await verdicts(world) == ["refused", "refused"]


async def test_a_tool_that_breaks_after_a_yes_is_a_result_and_the_turn_goes_on(world: World) -> None:
    await world.ask(calls(write("break")))
    await world.gesture("approve")
    assert await world.advance() is None
    assert (await outcomes(world), world.chat.words[-1]) == (["failed"], "done")


# -- the ledger ------------------------------------------------------------------------------------


async def test_the_same_change_is_told_from_the_log_and_asks_before_it_happens_again(world: World) -> None:
    await world.ask(calls(write("a")), calls(write("a")), calls(write("a")))
    await world.gesture("approve")
    await world.advance()
    assert (world.ran, await outcomes(world)) == (["write a"], ["done", "repeated"])
    assert [request.asked.again for _, request in world.chat.requests] == [False, True]
    await world.gesture("approve", request=1)
    await world.advance()
    assert world.ran == ["write a", "write a"]


async def test_a_later_task_is_asked_at_once_with_a_warning_even_for_a_free_tool(world: World) -> None:
    with_rules(world, world.rules, Policy(free=frozenset({"write"})))
    await world.ask(calls(write("a")))
    await world.ask(calls(write("a")))
    assert (world.ran, card(world), world.chat.requests[0][1].asked.again) == (["write a"], "open", True)


async def test_two_equal_calls_in_one_message_happen_once(world: World) -> None:
    await world.ask(calls(write("a"), write("a")))
    await world.gesture("approve", request=0)
    await world.gesture("approve", request=1)
    await world.advance()
    assert (world.ran, await outcomes(world)) == (["write a"], ["done", "repeated"])


async def test_one_yes_is_for_one_run_even_if_the_model_uses_a_call_id_twice(world: World) -> None:
    said = calls(write("a"))
    (call,) = said.message.calls
    changed = replace_call(said, call.model_copy(update={"arguments": {"word": "b", "place": "#news"}}))
    await world.ask(said, said, changed)
    await world.gesture("approve")
    await world.advance()
    assert world.ran == ["write a"]
    assert card(world, 1) == "open"


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
    assert (world.ran, await outcomes(world)) == ([], ["uncertain", "repeated"])
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
    assert await outcomes(world) == ["done"]


async def test_a_verdict_on_other_bytes_counts_for_nothing(world: World) -> None:
    await world.ask(calls(write("a")))
    log = await world.log()
    call = next(iter(log.state.open_calls.values()))
    right = digest(call)
    for wrong in ("", right[:-1], right.upper(), digest(call.model_copy(update={"name": "put"}))):
        await log.append(ApprovalGiven(call_id=call.id, digest=wrong, verdict="approved", by=ANA))
    await world.advance()
    assert (world.ran, card(world)) == ([], "open")

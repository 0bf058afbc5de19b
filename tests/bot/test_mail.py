"""What people say and do -> records: each thing once, in order, and verdicts only from those who may."""

from __future__ import annotations

from typing import Any

import pytest

from bot.approvals import Rules
from bot.config import ApprovalRule
from bot.mail import interrupts, settled
from bot.surface import Standing
from memory.inbox import Deleted, Edited, Gestured, Inbound, Said, Waiting
from memory.records import ApprovalAsked, ApprovalGiven, UserSaid
from memory.types import MessageId
from tests.bot.conftest import Build
from tests.bot.doubles import ANA, EVA, THREAD, WEI, World, calls, says


async def waiting_for_a_yes(build: Build, *rest: Any, writes: int = 1, **options: Any) -> World:
    """A thread in which one or more writes wait."""
    wanted = [("write", {"word": f"{n}"}) for n in range(writes)]
    world = build(calls(*wanted), *(rest or (says("done"), says("more"))), **options)
    await world.say("please write")
    assert await world.advance() is not None
    return world


async def verdicts(world: World) -> list[str]:
    return [given.verdict for given in await world.records(ApprovalGiven)]


async def test_words_become_one_record_each_in_order(build: Build) -> None:
    world = build(says("done"))
    sources = [await world.say(f"message {n}") for n in range(4)]
    await world.advance()
    assert [said.source for said in await world.records(UserSaid)] == sources
    assert await world.turns.inbox.waiting(THREAD) == []


async def test_words_are_read_in_the_order_in_which_they_were_written(build: Build) -> None:
    world = build(says("done"))
    for number in (2, 0, 3, 1):
        await world.say(f"message {number}", at=world.now + number / 100)
    await world.advance()
    assert [said.text for said in await world.records(UserSaid)] == [f"message {number}" for number in range(4)]


async def test_the_same_identity_is_taken_once(build: Build) -> None:
    world = build(says("done"))
    said = Said(thread=THREAD, message=MessageId("m"), author=ANA.id, words="hi", at=1.0, follow=True)
    assert await world.turns.inbox.put("E1", "said:m", said)
    assert not await world.turns.inbox.put("E2", "said:m", said)
    assert not await world.turns.inbox.put("E1", "said:n", said)
    await world.advance()
    assert len(await world.records(UserSaid)) == 1


@pytest.mark.parametrize(
    ("gesture", "verdict", "ran"), [("approve", "approved", ["write 0"]), ("refuse", "refused", [])]
)
async def test_a_reaction_decides(build: Build, gesture: Any, verdict: str, ran: list[str]) -> None:
    world = await waiting_for_a_yes(build)
    await world.react(world.surface.of("approval")[0].message, gesture)
    await world.advance()
    assert await verdicts(world) == [verdict]
    assert world.bench.ran == ran
    assert world.surface.words[-1] == "done"


@pytest.mark.parametrize(("words", "verdict"), [("yes", "approved"), ("no, too late", "refused"), ("好的", "approved")])
async def test_a_plain_reply_decides(build: Build, words: str, verdict: str) -> None:
    world = await waiting_for_a_yes(build)
    await world.say(words)
    await world.advance()
    assert await verdicts(world) == [verdict]
    assert len(await world.records(UserSaid)) == 1, "a verdict is not a task"


async def test_the_first_verdict_counts(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    request = world.surface.of("approval")[0].message
    await world.react(request, "refuse")
    await world.react(request, "approve")
    await world.advance()
    assert await verdicts(world) == ["refused"]
    assert world.bench.ran == []


@pytest.mark.parametrize("standing", ["guest", "outsider", "bot", "deactivated", "unknown"])
async def test_who_is_no_member_decides_nothing(build: Build, standing: Standing) -> None:
    world = await waiting_for_a_yes(build)
    world.surface.people[ANA.id] = (ANA, standing)
    await world.react(world.surface.of("approval")[0].message, "approve")
    assert await world.advance() is not None
    assert await verdicts(world) == []
    assert world.bench.ran == []
    assert len(world.surface.whispers) == 1


async def test_a_member_who_is_not_named_is_told_privately_who_is(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    await world.react(world.surface.of("approval")[0].message, "approve", WEI)
    await world.say("yes", WEI)
    await world.advance()
    assert world.bench.ran == []
    assert [person for person, _ in world.surface.whispers] == [WEI.id, WEI.id]
    assert "<@U1>" in world.surface.whispers[0][1]
    assert "不由你决定" in world.surface.whispers[0][1]


async def test_configured_approvers_replace_the_requester(build: Build) -> None:
    world = await waiting_for_a_yes(build, rules=Rules({"write": ApprovalRule(approvers=(WEI.id, EVA.id))}))
    request = world.surface.of("approval")[0].message
    await world.react(request, "approve", ANA)
    await world.advance()
    assert world.bench.ran == []
    await world.react(request, "approve", EVA)
    await world.advance()
    assert world.bench.ran == ["write 0"]


async def test_a_yes_that_was_written_before_the_question_is_no_answer_to_it(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    await world.say("ok", at=world.now - 60)
    await world.advance()
    assert "approved" not in await verdicts(world)
    assert world.bench.ran == []
    assert len(await world.records(UserSaid)) == 2


async def test_one_yes_does_not_answer_two_questions(build: Build) -> None:
    world = await waiting_for_a_yes(build, writes=2)
    await world.say("yes")
    assert await world.advance() is not None
    assert world.bench.ran == []
    assert "Several requests" in world.surface.whispers[0][1]
    await world.say("no")
    await world.advance()
    assert await verdicts(world) == ["refused", "refused"]


async def test_new_words_of_those_concerned_set_the_question_aside(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    await world.say("write something else instead")
    await world.advance()
    assert await verdicts(world) == ["superseded"]
    await world.react(world.surface.of("approval")[0].message, "approve")
    await world.advance()
    assert world.bench.ran == []


async def test_words_of_others_leave_the_question_open(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    await world.say("what is going on here?", EVA)
    assert await world.advance() is not None
    assert await verdicts(world) == []


async def test_a_closed_request_tells_who_disagrees_with_what_was_decided(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    request = world.surface.of("approval")[0].message
    await world.react(request, "refuse")
    await world.advance()
    await world.react(request, "approve")
    await world.react(request, "approve", door="button")
    await world.react(request, "refuse")
    await world.advance()
    assert ["closed" in text for _, text in world.surface.whispers] == [True, True]


async def test_taking_a_reaction_back_and_other_gestures_change_nothing(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    request = world.surface.of("approval")[0].message
    await world.react(request, "approve", on=False)
    await world.react(request, "stop", on=False)
    await world.react(request, "remember")
    assert await world.advance() is not None
    assert await verdicts(world) == []


# -- pure pieces -----------------------------------------------------------------------------------


def _rows(*inbound: Inbound) -> list[Waiting]:
    return [Waiting(number, one) for number, one in enumerate(inbound)]


def _said(message: str, words: str = "x") -> Said:
    return Said(thread=THREAD, message=MessageId(message), author=ANA.id, words=words, at=1.0, follow=True)


def _edited(message: str, words: str) -> Edited:
    return Edited(thread=THREAD, message=MessageId(message), author=ANA.id, words=words)


def test_rows_about_one_message_are_put_together_in_the_order_of_arrival() -> None:
    gone = Deleted(thread=THREAD, message=MessageId("b"))
    out = settled(_rows(_said("a", "1"), _said("b", "2"), _edited("a", "3"), gone, _edited("c", "4")))
    assert [[row.id for row in one.rows] for one in out] == [[0, 2], [1, 3], [4]]
    assert [getattr(one.inbound, "words", None) for one in out] == ["3", None, "4"]


async def test_what_interrupts_a_step(build: Build) -> None:
    world = build(says("done"))
    first, second = await world.say("go"), await world.say("and on")
    await world.advance()
    log = await world.log()
    stop = Gestured(thread=THREAD, message=first, author=ANA.id, gesture="stop")
    assert interrupts(log, _said("x", "stop"))
    assert not interrupts(log, _said("x", "do not stop"))
    assert interrupts(log, stop)
    assert not interrupts(log, stop.model_copy(update={"on": False}))
    assert interrupts(log, Deleted(thread=THREAD, message=first))
    assert not interrupts(log, Deleted(thread=THREAD, message=second))
    assert not interrupts(log, _edited("x", "stop"))
    assert await world.records(ApprovalAsked) == []

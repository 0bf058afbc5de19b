"""What undoes or corrects: stops, edits, deletions; and verdicts of several people, over time."""

from __future__ import annotations

from typing import Any

import pytest

from bot.approvals import Rules
from bot.config import ApprovalRule
from memory.records import ApprovalGiven, Granted, MessageDeleted, MessageEdited, Stopped, UserSaid
from memory.types import MessageId
from tests.bot.conftest import Build
from tests.bot.doubles import ANA, EVA, THREAD, WEI, calls, says
from tests.bot.test_mail import verdicts, waiting_for_a_yes

# -- several people, and time ----------------------------------------------------------------------


def rule(**values: Any) -> Rules:
    return Rules({"write": ApprovalRule(**values)})


async def test_two_yeses_of_two_people_where_two_are_needed(build: Build) -> None:
    world = await waiting_for_a_yes(build, rules=rule(approvers=(ANA.id, WEI.id, EVA.id), needed=2, requester=False))
    request = world.surface.of("approval")[0].message
    for person in (ANA, WEI, WEI):
        await world.react(request, "approve", person)
        await world.advance()
    assert world.bench.ran == []
    assert "requester" in world.surface.whispers[0][1] or world.surface.whispers[0][0] == ANA.id
    await world.react(request, "approve", EVA)
    await world.advance()
    assert world.bench.ran == ["write 0"]


async def test_one_no_is_enough(build: Build) -> None:
    world = await waiting_for_a_yes(build, rules=rule(approvers=(WEI.id, EVA.id), needed=2))
    request = world.surface.of("approval")[0].message
    await world.react(request, "approve", WEI)
    await world.react(request, "refuse", EVA)
    await world.advance()
    assert world.bench.ran == []
    assert (await verdicts(world))[-1] == "refused"


async def test_a_group_decides_by_its_members(build: Build) -> None:
    world = await waiting_for_a_yes(build, rules=rule(approvers=("S1",)))
    world.surface.groups["S1"] = frozenset({EVA.id})
    request = world.surface.of("approval")[0].message
    await world.react(request, "approve", ANA)
    await world.advance()
    assert world.bench.ran == []
    await world.react(request, "approve", EVA)
    await world.advance()
    assert world.bench.ran == ["write 0"]


async def test_a_yes_can_be_taken_back_until_it_runs(build: Build) -> None:
    world = await waiting_for_a_yes(build, rules=Rules(undo=10.0))
    request = world.surface.of("approval")[0].message
    await world.react(request, "approve")
    assert await world.advance() == world.now + 10
    await world.react(request, "approve", on=False)
    await world.advance()
    assert world.bench.ran == []
    world.now += 11
    await world.advance()
    assert world.bench.ran == []


async def test_a_verdict_given_while_nobody_listened_counts_at_the_start(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    world.surface.standing = [("approve", WEI.id), ("approve", ANA.id)]
    world.restart()
    await world.advance()
    assert world.bench.ran == ["write 0"]
    given = [one.by for one in await world.records(ApprovalGiven)]
    assert given == [ANA]


async def test_the_same_change_is_made_once_and_a_second_time_only_when_asked_for_again(build: Build) -> None:
    again = [calls(("write", {"word": "0"})) for _ in range(2)]
    world = await waiting_for_a_yes(build, *again, says("done"))
    await world.react(world.surface.of("approval")[0].message, "approve")
    assert await world.advance() is not None
    assert world.bench.ran == ["write 0"]
    assert [request.body.asked.again for request in world.surface.of("approval")] == [False, True]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert await world.records(Granted) == []


# -- stops, edits, deletions -----------------------------------------------------------------------


@pytest.mark.parametrize("by", ["word", "reaction"])
async def test_a_stop_closes_open_calls_and_says_what_was_left(build: Build, by: str) -> None:
    world = await waiting_for_a_yes(build)
    if by == "word":
        await world.say("stop", WEI)
    else:
        await world.react(world.surface.of("card")[0].message, "stop", WEI)
    await world.advance()
    (stopped,) = await world.records(Stopped)
    assert (stopped.reason, stopped.by) == ("cancelled", WEI)
    assert "Stopped by Wei" in world.surface.words[0]
    assert "write 0" in world.surface.words[0]
    await world.react(world.surface.of("approval")[0].message, "approve")
    await world.say("and now?")
    await world.advance()
    assert world.bench.ran == []
    assert world.surface.words[-1] == "done"


async def test_nothing_to_stop_is_whispered(build: Build) -> None:
    world = build(says("done"))
    await world.say("go")
    await world.advance()
    await world.say("stop")
    await world.advance()
    assert world.surface.whispers == [(ANA.id, "Nothing is running in this thread.")]
    assert await world.records(Stopped) == []


async def test_an_edit_is_noted_and_starts_nothing(build: Build) -> None:
    world = build(says("done"))
    message = await world.say("go")
    await world.advance()
    await world.edit(message, "go now")
    await world.edit(message, "go now")
    await world.edit(MessageId("T1:C1:9.9"), "about something we never read")
    await world.advance()
    assert [edited.text for edited in await world.records(MessageEdited)] == ["go now"]
    assert world.surface.words == ["done"]


async def test_an_edit_sets_requests_aside_that_rest_on_it(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    (said,) = await world.records(UserSaid)
    await world.edit(said.source, "please do not write")
    await world.advance()
    assert await verdicts(world) == ["superseded"]
    await world.react(world.surface.of("approval")[0].message, "approve")
    await world.advance()
    assert world.bench.ran == []


async def test_an_edit_before_the_message_was_read_changes_what_is_read(build: Build) -> None:
    world = build(says("done"))
    message = await world.say("go left")
    await world.edit(message, "go right")
    await world.advance()
    assert [said.text for said in await world.records(UserSaid)] == ["go right"]
    assert await world.records(MessageEdited) == []


async def test_a_message_deleted_before_it_was_read_starts_nothing(build: Build) -> None:
    world = build(says("never"))
    message = await world.say("go")
    await world.delete(message)
    await world.advance()
    assert await world.records(UserSaid) == []
    assert world.surface.messages == {}
    assert await world.turns.inbox.waiting(THREAD) == []


async def test_deleting_what_a_waiting_run_rests_on_ends_it_without_a_word(build: Build) -> None:
    world = await waiting_for_a_yes(build)
    (said,) = await world.records(UserSaid)
    await world.delete(said.source)
    await world.advance()
    assert [stopped.reason for stopped in await world.records(Stopped)] == ["deleted"]
    assert len(await world.records(MessageDeleted)) == 1
    assert world.surface.words == []


async def test_deleting_an_old_message_is_a_mark(build: Build) -> None:
    world = build(says("done"))
    message = await world.say("go")
    await world.advance()
    await world.delete(message)
    await world.delete(MessageId("T1:C1:9.9"))
    await world.advance()
    assert len(await world.records(MessageDeleted)) == 1
    assert await world.records(Stopped) == []

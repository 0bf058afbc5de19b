"""Who may decide, through which door, under which rule: every cell through the real mail and a real log."""

from __future__ import annotations

from itertools import product

import pytest

from bot.approvals import Rules
from bot.config import ApprovalRule
from memory.db import Database
from memory.records import ApprovalGiven
from memory.types import Person
from tests.bot.approval_world import ANA, BOT, EVA, GUS, OFF, OUT, WEI, World, calls, new_thread, write

MAX = Person(id="UMAX", name="Max")
LISTED = (ANA.id, WEI.id, EVA.id)
ACTORS = {
    "requester": ANA,
    "listed": WEI,
    "in the group": EVA,
    "other member": MAX,
    "guest in the group": GUS,
    "stranger in the list": OUT,
    "bot in the list": BOT,
    "deactivated": OFF,
    "unknown": Person(id="UWHO", name="UWHO"),
    "unknown in the list": Person(id="UGONE", name="UGONE"),
}
RULES = {
    "empty": ApprovalRule(),
    "list": ApprovalRule(approvers=(WEI.id, OUT.id, BOT.id, OFF.id, "UGONE")),
    "group": ApprovalRule(approvers=("SOPS",)),
    "not the requester": ApprovalRule(approvers=LISTED, requester=False),
    "2 of 3": ApprovalRule(approvers=LISTED, needed=2),
}
MAY = {
    "empty": {ANA.id},
    "list": {WEI.id},
    "group": {EVA.id},
    "not the requester": {WEI.id, EVA.id},
    "2 of 3": set(LISTED),
}
DOORS = ("reaction", "button", "words")


def world_of(shared_database: Database, rule: ApprovalRule) -> World:
    world = World(shared_database, new_thread(), rules=Rules({"write": rule}))
    world.chat.people[MAX.id] = (MAX, "member")
    world.chat.groups["SOPS"] = frozenset({EVA.id, GUS.id, "UWHO"})
    return world


async def decide(world: World, door: str, person: Person, *, approve: bool) -> None:
    if door == "words":
        await world.say("yes" if approve else "no", person)
    elif door == "button":
        await world.gesture("approve" if approve else "refuse", person, door="button")
    else:
        await world.gesture("approve" if approve else "refuse", person)


@pytest.mark.parametrize(("rule", "door", "actor"), list(product(RULES, DOORS, ACTORS)))
async def test_a_yes_counts_or_its_giver_is_told_why_not(
    shared_database: Database, rule: str, door: str, actor: str
) -> None:
    world, person = world_of(shared_database, RULES[rule]), ACTORS[actor]
    await world.ask(calls(write("a")))
    await decide(world, door, person, approve=True)
    await world.advance()
    given = await world.records(ApprovalGiven)
    if person.id in MAY[rule]:
        assert [(one.verdict, one.by and one.by.id) for one in given] == [("approved", person.id)]
        assert world.chat.whispers == []
        assert world.ran == ([] if rule == "2 of 3" else ["write a"])
    else:
        assert given == []
        assert [who for who, _ in world.chat.whispers] == [person.id]
        assert world.ran == []


@pytest.mark.parametrize("actor", ["guest in the group", "other member", "unknown"])
async def test_a_no_needs_the_same_right(shared_database: Database, actor: str) -> None:
    world = world_of(shared_database, RULES["group"])
    await world.ask(calls(write("a")))
    await decide(world, "reaction", ACTORS[actor], approve=False)
    await world.advance()
    assert await world.records(ApprovalGiven) == []
    assert len(world.chat.whispers) == 1
    await decide(world, "reaction", EVA, approve=False)
    await world.advance()
    assert [given.verdict for given in await world.records(ApprovalGiven)] == ["refused"]
    assert world.ran == []


@pytest.mark.parametrize(
    ("actor", "rule", "says"),
    [
        ("other member", "empty", "You can't decide this one: <@UANA> may."),
        ("other member", "list", "<@UWEI> or <@UOUT>"),
        ("other member", "group", "<!subteam^SOPS> may"),
        ("requester", "not the requester", "You asked for this, so another person has to decide: <@UWEI> or <@UEVA>"),
        ("guest in the group", "group", "Only full members"),
        ("stranger in the list", "list", "Only full members"),
        ("unknown", "empty", "Slack could not tell me who you are"),
    ],
)
async def test_the_reason_names_who_may(shared_database: Database, actor: str, rule: str, says: str) -> None:
    world = world_of(shared_database, RULES[rule])
    await world.ask(calls(write("a")))
    await decide(world, "reaction", ACTORS[actor], approve=True)
    await world.advance()
    assert says in world.chat.whispers[0][1]


async def test_a_group_that_cannot_be_read_lets_nobody_in(shared_database: Database) -> None:
    world = world_of(shared_database, RULES["group"])
    world.chat.groups.clear()
    await world.ask(calls(write("a")))
    await decide(world, "reaction", EVA, approve=True)
    await world.advance()
    assert world.ran == []
    assert len(world.chat.whispers) == 1


@pytest.mark.parametrize(
    ("rule", "asker"),
    [
        (ApprovalRule(approvers=(ANA.id,), requester=False), ANA),
        (ApprovalRule(approvers=(ANA.id, WEI.id), needed=2, requester=False), ANA),
        (ApprovalRule(approvers=(WEI.id, WEI.id), needed=2), ANA),
    ],
)
async def test_a_rule_that_nobody_can_fulfil_is_said_and_not_waited_for(
    shared_database: Database, rule: ApprovalRule, asker: Person
) -> None:
    world = world_of(shared_database, rule)
    assert await world.ask(calls(write("a")), author=asker) is None
    assert world.ran == []
    assert world.chat.requests == []
    last = world.model.asked[-1].context.messages[-1]
    assert "nobody_may_approve" in str(last)


async def test_the_rule_of_a_tool_goes_before_the_one_for_all_others(shared_database: Database) -> None:
    world = world_of(shared_database, ApprovalRule())
    world.rules = Rules({"*": ApprovalRule(approvers=(WEI.id,)), "write": ApprovalRule(approvers=(EVA.id,))})
    world.restart()
    await world.ask(calls(write("a"), ("put", {"word": "b"})))
    assert [request.asked.approvers for _, request in world.chat.requests] == [(EVA.id,), (WEI.id,)]

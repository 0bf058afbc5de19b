"""Who somebody is: every kind of user, look-ups that fail, and for how long they are remembered."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from bot.demo.values import BOT_USER, TEAM, Person
from bot.demo.workspace import ANA, WEI
from bot.slack.people import FRESH, FRESH_STANDING, person_of, standing_of
from memory.types import Person as Known
from tests.slack.parts import GENERAL, LEADS, OWN, Always, Edge

MEMBER: dict[str, Any] = {"id": "U1", "team_id": TEAM, "name": "ana"}


@pytest.mark.parametrize(
    ("user", "standing"),
    [
        ({}, "member"),
        ({"is_admin": True, "is_owner": True}, "member"),
        ({"is_restricted": True}, "guest"),
        ({"is_restricted": True, "is_ultra_restricted": True}, "guest"),
        ({"is_stranger": True}, "outsider"),
        ({"team_id": "T0ELSEWHERE"}, "outsider"),
        ({"is_bot": True}, "bot"),
        ({"id": "USLACKBOT"}, "bot"),
        ({"deleted": True}, "deactivated"),
        ({"deleted": True, "is_bot": True, "is_restricted": True}, "deactivated"),
        ({"is_stranger": True, "is_restricted": True}, "outsider"),
    ],
)
def test_every_kind_of_user(user: dict[str, Any], standing: str) -> None:
    assert standing_of(MEMBER | user, OWN) == standing


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ({"profile": {"display_name": "Ana", "real_name": "Ana Ferreira"}}, "Ana"),
        ({"profile": {"display_name": "", "real_name": "Ana Ferreira"}}, "Ana Ferreira"),
        ({"real_name": "Ana F."}, "Ana F."),
        ({}, "ana"),
        ({"name": ""}, "U1"),
    ],
)
def test_the_name_that_people_know(user: dict[str, Any], name: str) -> None:
    assert person_of(MEMBER | user) == Known(id="U1", name=name)


async def test_people_as_slack_describes_them(edge: Edge) -> None:
    assert await edge.people.person(WEI) == Known(id=WEI, name="Wei 魏", locale="zh-CN", time_zone="Asia/Shanghai")
    kinds = {ANA: "member", BOT_USER: "bot", "U0NOBODY01": "unknown"}
    for number, (kind, expected) in enumerate(
        (("is_guest", "guest"), ("is_stranger", "outsider"), ("is_bot", "bot"), ("deleted", "deactivated"))
    ):
        user = f"U0KIND000{number}"
        edge.workspace.people[user] = replace(Person(user, "x", "x"), **{kind: True})
        kinds[user] = expected
    assert {user: await edge.people.standing(user) for user in kinds} == kinds


@pytest.mark.parametrize("fault", ["user_not_found", "internal_error", "missing_scope"])
async def test_who_cannot_be_looked_up_is_unknown_and_goes_by_the_id(edge: Edge, fault: str) -> None:
    edge.workspace.refuse("users.info", "user", fault)
    assert await edge.people.standing(ANA) == "unknown"
    assert await edge.people.person(ANA) == Known(id=ANA, name=ANA)


async def test_a_failed_look_up_is_not_remembered(edge: Edge) -> None:
    edge.workspace.refuse("users.info", "user", "fatal_error")
    assert await edge.people.standing(ANA) == "unknown"
    edge.workspace.refusals.clear()
    assert await edge.people.standing(ANA) == "member"


async def test_limits_do_not_hold_up_an_answer(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack.people.PATIENCE", 0.2)
    edge.workspace.rate_limits = Always({"users.info": 60, "conversations.info": 60})
    began = time.monotonic()
    assert await edge.people.standing(ANA) == "unknown"
    assert await edge.people.channel(GENERAL) is None
    assert (await edge.people.names([ANA, WEI], [GENERAL])).users == {ANA: ANA, WEI: WEI}
    assert time.monotonic() - began < 3


async def test_names_are_remembered_longer_than_what_somebody_may(edge: Edge) -> None:
    await edge.people.person(ANA)
    edge.workspace.people[ANA] = replace(edge.workspace.people[ANA], name="Ana Maria", deleted=True)
    edge.now[0] += FRESH_STANDING - 1
    assert await edge.people.standing(ANA) == "member"
    assert len(edge.calls("users.info")) == 1
    edge.now[0] += 2
    assert await edge.people.standing(ANA) == "deactivated"
    assert (await edge.people.person(ANA)).name == "Ana Maria"
    assert len(edge.calls("users.info")) == 2
    edge.now[0] += FRESH - 1
    await edge.people.person(ANA)
    assert len(edge.calls("users.info")) == 2
    edge.now[0] += 2
    await edge.people.person(ANA)
    assert len(edge.calls("users.info")) == 3


async def test_names_for_a_text(edge: Edge) -> None:
    names = await edge.people.names([ANA, WEI, ANA, BOT_USER, "U0NOBODY01"], [GENERAL, LEADS, "C0NOWHERE1"])
    assert names.own_id == BOT_USER
    assert names.users == {ANA: "Ana", WEI: "Wei 魏", "U0NOBODY01": "U0NOBODY01"}
    assert names.channels == {GENERAL: "general", LEADS: "leads"}

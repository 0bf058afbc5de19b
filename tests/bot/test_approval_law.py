"""The approval law, over random stories: no change runs that a careful clerk would object to."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bot.approvals import Rules
from bot.config import ApprovalRule
from memory.db import Database
from memory.records import ModelSaid, Stopped, Stored, ToolEnded, ToolStarted, digest
from memory.types import MessageId, Person, ThreadKey, ToolCall
from tests.bot.approval_oracle import Clerk
from tests.bot.approval_world import ANA, BOT, EVA, GUS, WEI, World, calls, new_thread
from tools.policy import Policy

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SEQUENCES, STEPS = (10_000, 30) if LONG else (25, 20)
EVERYBODY = (ANA.id, WEI.id, EVA.id)
GROUPS = {"SOPS": frozenset({EVA.id, GUS.id})}
RULES = (
    ApprovalRule(),
    ApprovalRule(approvers=("SOPS", ANA.id)),
    ApprovalRule(approvers=EVERYBODY, requester=False),
    ApprovalRule(approvers=EVERYBODY, needed=2),
)
POLICIES = (Policy(), Policy(free=frozenset({"put"})), Policy(free=frozenset({"write@C1", "erase"})))

people = st.sampled_from([ANA, ANA, ANA, WEI, EVA, GUS, BOT, Person(id="UWHO", name="?")])
wanted = st.tuples(
    st.sampled_from(["write", "write", "write", "put", "erase", "look", "browse"]),
    st.fixed_dictionaries({"word": st.sampled_from(["a", "b", "fail"]), "place": st.sampled_from(["#news", "#ops"])}),
)
gestures = st.sampled_from(["approve", "approve", "grant", "refuse"])
Result = TypeVar("Result")


class Died(BaseException):
    """The process is gone, in the middle of a change."""


class Story(RuleBasedStateMachine):
    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.dies: Literal["before", "after"] | None = None
        self.problems = list[str]()
        self.said = list[MessageId]()

    def do(self, work: Awaitable[Result]) -> Result:
        async def awaited() -> Result:
            return await work

        return self.runner.run(awaited())

    @initialize(one=st.sampled_from(RULES), policy=st.sampled_from(POLICIES), undo=st.sampled_from([0.0, 0.0, 30.0]))
    def begin(self, one: ApprovalRule, policy: Policy, undo: float) -> None:
        rules = Rules({"write": one, "*": ApprovalRule()}, seconds=3_600.0, undo=undo)
        self.world = World(self.database, new_thread(), rules=rules, policy=policy, grant_seconds=1_800.0)
        self.world.chat.groups = GROUPS
        self.clerk = Clerk(rules, policy, frozenset(EVERYBODY), GROUPS)
        self.world.workshop.watch = self.watch
        self.said.append(self.do(self.world.say("hello")))
        self.work()

    async def watch(self, call: ToolCall, when: Literal["before", "after"]) -> None:
        if when == "before":
            records = (await self.world.log()).records
            if (objection := self.clerk.objection(records, call, self.world.now)) is not None:
                self.problems.append(f"{call.name} {call.arguments} ran: {objection}")
        if self.dies == when:
            self.dies = None
            raise Died

    def work(self) -> None:
        for _ in range(3):
            with suppress(Died):
                self.do(self.world.advance())
                return
            self.world.restart()

    # -- what happens ------------------------------------------------------------------------------

    @rule(made=st.lists(wanted, min_size=1, max_size=3), by=st.sampled_from([ANA, ANA, WEI]))
    def task(self, made: list[tuple[str, dict[str, Any]]], by: Person) -> None:
        self.world.model.lines.append(calls(*made))
        self.said.append(self.do(self.world.say("please", by)))
        self.work()

    @rule(made=wanted)
    def the_model_will_go_on(self, made: tuple[str, dict[str, Any]]) -> None:
        self.world.model.lines.append(calls(made))

    @precondition(lambda self: self.world.chat.requests)
    @rule(data=st.data(), gesture=gestures, by=people, on=st.booleans())
    def gesture(self, data: st.DataObject, gesture: Any, by: Person, on: bool) -> None:
        newest = len(self.world.chat.requests) - 1
        request = data.draw(st.integers(max(0, newest - 2), newest))
        if on and gesture != "refuse":
            self.clerk.acts.append((by.id, self.world.now))
        self.do(self.world.gesture(gesture, by, request, on=on))
        if data.draw(st.booleans()):
            self.work()

    @precondition(lambda self: self.world.chat.requests)
    @rule()
    def yes_by_the_requester(self) -> None:
        """The usual case, so that many stories get far."""
        self.clerk.acts.append((ANA.id, self.world.now))
        self.do(self.world.gesture("approve", ANA, len(self.world.chat.requests) - 1))
        self.work()

    @rule(words=st.sampled_from(["yes", "no, wrong", "ok", "what is this?", "stop"]), by=people, late=st.booleans())
    def words(self, words: str, by: Person, late: bool) -> None:
        at = self.world.now - (10 if late else 0)
        if words in ("yes", "ok"):
            self.clerk.acts.append((by.id, at))
        self.said.append(self.do(self.world.say(words, by, at=at)))
        self.work()

    @rule(data=st.data(), gone=st.booleans())
    def change_of_words(self, data: st.DataObject, gone: bool) -> None:
        message = data.draw(st.sampled_from(self.said[-3:]))
        self.do(self.world.delete(message) if gone else self.world.edit(message, f"changed {self.world.now}"))
        self.work()

    @rule(seconds=st.sampled_from([1.0, 31.0, 1_800.0, 3_600.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.now += seconds
        self.work()

    @rule()
    def restart(self) -> None:
        self.world.restart()
        self.work()

    @rule(when=st.sampled_from(["before", "after"]))
    def the_next_change_is_interrupted(self, when: Any) -> None:
        self.dies = when

    # -- what must hold ----------------------------------------------------------------------------

    @invariant()
    def nothing_ran_against_the_law(self) -> None:
        assert self.problems == []

    def teardown(self) -> None:
        try:
            if hasattr(self, "world"):
                self._end()
        finally:
            self.runner.close()

    def _end(self) -> None:
        self.dies = None
        self.do(self.world.say("stop"))
        self.work()
        asked = [call.id for said in self.do(self.world.records(ModelSaid)) for call in said.message.calls]
        ended = self.do(self.world.records(ToolEnded))
        assert sorted(asked) == sorted(one.result.call_id for one in ended), "each call has one result"
        assert all(request.given or request.ended for _, request in self.world.chat.requests), "no card stays open"
        uncertain = sum(one.outcome == "uncertain" for one in ended)
        told = [words for words in self.world.chat.words if "may or may not" in words or "可能已执行" in words]
        assert uncertain == len(told), "each unknown is said"
        assert self.problems == []


@pytest.fixture
def database() -> Iterator[Database]:
    memory = Path("/dev/shm")  # thousands of stories: without waiting for a disk where that can be had
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        made = Database(f"sqlite:///{folder}/bobbin.db")
        yield made
        made.close()


def test_no_change_runs_that_a_careful_clerk_would_object_to(database: Database) -> None:
    class Stories(Story): ...

    Stories.database = database
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    few = settings(max_examples=SEQUENCES, stateful_step_count=STEPS, deadline=None, suppress_health_check=slow)
    run_state_machine_as_test(Stories, settings=few)


async def test_the_clerk_objects_to_what_breaks_the_law(database: Database) -> None:
    """A clerk who nods at everything would prove nothing."""
    world = World(database, ThreadKey("T1:C1:0.0"), rules=Rules(undo=30.0))
    clerk = Clerk(world.rules, world.policy, frozenset(EVERYBODY), GROUPS)
    said = calls(("write", {"word": "a", "place": "#news"}))
    (call,) = said.message.calls
    await world.ask(said)
    await world.gesture("approve")
    await world.advance()
    log = await world.log()

    def objection(by: Any = "approval", name: str = digest(call)) -> str | None:
        start = ToolStarted(call_id=call.id, digest=name, by=by)
        return clerk.objection([*log.records, Stored(999, world.now, start)], call, world.now)

    assert clerk.objection(log.records, call, world.now) == "it was not announced in the log"
    assert objection(name="") == "other bytes were announced"
    assert objection() == "0 of 1 said yes", "nobody really did"
    clerk.acts.append((ANA.id, world.now))
    assert objection() == "it could still be taken back"
    assert objection("grant") == "no grant covers it"
    assert objection("policy") == "no policy lets it run without a yes"
    world.now += 30
    assert objection() is None
    await log.append(Stopped(reason="cancelled", by=ANA))
    assert objection() == "the run was stopped"

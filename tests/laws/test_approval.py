"""Law 4 as a state machine: whatever people, clocks and crashes do, no write runs without its yes."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memory.inbox import Gesture
from memory.records import ApprovalGiven, Verdict
from memory.types import MessageId
from tests.doubles import ANA, BEN, GUEST, PEOPLE, ROBOT
from tests.laws.provider import Line
from tests.laws.verdicts import check_at_rest, check_requests, check_writes
from tests.laws.world import World, scratch

people = st.sampled_from([ANA.id, ANA.id, BEN.id, GUEST.id, ROBOT.id, "U0NOBODY"])
writes = st.lists(
    st.tuples(st.sampled_from(["post", "post", "tidy", "wipe", "jot"]), st.sampled_from(["x", "y", "lost"])),
    min_size=1,
    max_size=3,
)
HOUR = 3600.0


class Approvals(RuleBasedStateMachine):
    """``held`` is true while the program does not run: what people do then is found when it begins again."""

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.held = False
        self.runner.run(self._enter())

    async def _enter(self) -> None:
        folder = self.stack.enter_context(scratch())
        self.world = await self.stack.enter_async_context(World(folder))

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.stack.aclose())
            self.runner.close()

    # -- what may happen -------------------------------------------------------------------------

    @rule(who=people, calls=writes)
    def ask_for_writes(self, who: str, calls: list[tuple[str, str]]) -> None:
        self.world.model.lines.append(Line("", tuple(calls)))
        self._do(self.world.say(who, "do it"))

    @rule(who=people, words=st.sampled_from(["yes", "no, not now", "ok", "stop", "what?"]))
    def reply(self, who: str, words: str) -> None:
        self._do(self.world.say(who, words))

    @rule(
        who=people,
        gesture=st.sampled_from(["approve", "approve", "refuse", "stop"]),
        which=st.sampled_from([0, 0, 0, 1, 3]),
        late=st.booleans(),
    )
    def react(self, who: str, gesture: Gesture, which: int, late: bool) -> None:
        """On any request that was ever shown, the newest first. ``late``: when nobody has noticed that it expired."""
        self.world.clock.now += 25 * HOUR if late else 0
        shown = [m for m, one in self.world.surface.messages.items() if one.key.kind == "approval"]
        self._do(self.world.gesture(who, gesture, shown[-1 - which] if which < len(shown) else None))

    @rule(who=people)
    def edit(self, who: str) -> None:
        spoken = self.world.log.state.turn.sources
        self._do(self.world.edit(who, spoken[-1] if spoken else MessageId("none"), "other words"))

    @rule(hours=st.sampled_from([1.0, 25.0]))
    def let_time_pass(self, hours: float) -> None:
        self.world.clock.now += hours * HOUR
        self._do(None)

    @rule()
    def leave_the_program(self) -> None:
        self.held = True

    @rule()
    def begin_the_program_again(self) -> None:
        self.held = False
        self._do(self.world.restart())

    @rule(points=st.integers(1, 12))
    def let_it_die_soon(self, points: int) -> None:
        self.world.fate.die_at = len(self.world.fate.passed) + points

    @rule(verdict=st.sampled_from(["approved", "refused"]), same_bytes=st.booleans(), who=st.sampled_from([ANA, BEN]))
    @precondition(lambda self: not self.held and self.world.log.state.approvals)
    def slip_in_another_verdict(self, verdict: Verdict, same_bytes: bool, who: object) -> None:
        """On bytes that were not asked about, or after the first one."""
        approval = next(reversed(self.world.log.state.approvals.values()))
        if same_bytes and approval.given is None:
            return
        forged = approval.asked.digest if same_bytes else "0" * 64
        record = ApprovalGiven(call_id=approval.asked.call_id, digest=forged, verdict=verdict, by=PEOPLE[ANA.id][0])
        self._do(self.world.log.append(record))

    # -- what must hold --------------------------------------------------------------------------

    @invariant()
    def no_write_without_its_yes(self) -> None:
        if hasattr(self, "world"):
            check_writes(self.world)
            check_requests(self.world)

    def _do(self, deed: object) -> None:
        self.runner.run(self._go_on(deed))

    async def _go_on(self, deed: object) -> None:
        try:
            if asyncio.iscoroutine(deed):
                await deed
            if not self.held:
                await self.world.settle()
        except BaseException:
            if not self.world.fate.dead:
                raise
            self.world.fate.die_at = None
            await self.world.restart()
            await self.world.settle()
        self.world.fate.die_at = None
        if not self.held:
            await check_at_rest(self.world)


SEQUENCES = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else settings().max_examples
TestApprovals = Approvals.TestCase
TestApprovals.settings = settings(max_examples=SEQUENCES, stateful_step_count=20)


async def test_a_yes_that_comes_too_late_runs_nothing():
    """Even if it is found before anybody has noticed that the time is over: after a night without the program."""
    with scratch() as folder:
        async with World(folder, [Line("", (("post", "x"),)), Line("nobody decided")]) as world:
            await world.say(ANA.id, "do it")
            await world.settle()
            world.clock.now += 25 * HOUR
            await world.gesture(ANA.id, "approve")
            await world.settle()
            await check_at_rest(world)
            assert world.ledger.done == []
            verdicts = [s.record.verdict for s in world.log.records if isinstance(s.record, ApprovalGiven)]
            assert verdicts[-1] == "expired"
            assert len(world.surface.of("answer")) == 1

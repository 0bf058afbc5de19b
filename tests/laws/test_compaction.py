"""Law 5 over random conversations: words and changes survive as they were, it gets shorter or nothing changes,
and every original can be found by its handle or by search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.model import Rejected, Request
from memory.compaction import Marks, worth
from memory.records import ApprovalGiven, Cleared, Compacted, CompactionSkipped, ModelSaid, Stored, ToolEnded, UserSaid
from memory.types import Text, Usage
from tests.bot.doubles import PEOPLE, THREAD, Bench, World, calls, open_database, playback, says
from tests.bot.shortened import GOOD, marked, wants_summary, wire
from tests.doubles import RecordingSurface
from tests.laws.world import scratch

Deed = Literal["answer", "look", "look at much", "write", "write and refuse", "compact", "restart"]
MARKS = Marks(clear_at=2_000, clear_to=500, clear_gain=200, summarize_at=6_000, summarize_hard=8_000)


@dataclass(slots=True)
class Part:
    """What the model does next, and how its next summary turns out. Usage is what its request really holds."""

    deed: Deed = "answer"
    summary: Literal["good", "bad", "error"] = "good"
    number: int = 0
    answers: list[str] = field(default_factory=list[str])

    def __call__(self, request: Request) -> ModelSaid:
        size = len(str(wire(request))) // 3
        if wants_summary(request):
            if self.summary == "error":
                raise Rejected("no")
            return says(GOOD if self.summary == "good" else "bad", usage=Usage(fresh=size, output=50))
        deed, self.deed = self.deed, "answer"
        self.number += 1
        match deed:
            case "look" | "look at much":
                word = "long" if deed == "look at much" else f"seen{self.number}x"
                said = calls(("look", {"word": word}), ("look", {"word": f"thing{self.number}x"}))
            case "write" | "write and refuse":
                said = calls(("write", {"word": f"deed{self.number}x"}))
            case _:
                self.answers.append(f"answer{self.number}x is 42")
                said = says(self.answers[-1])
        return said.model_copy(update={"usage": Usage(fresh=size, output=20)})


moves = st.tuples(
    st.sampled_from(
        ["answer", "look", "look at much", "look at much", "write", "write and refuse", "compact", "restart"]
    ),
    st.sampled_from(["good", "good", "bad", "error"]),
    st.text(min_size=1, max_size=30).filter(lambda text: text.strip() != ""),
)


@settings(max_examples=12)
@given(st.lists(moves, min_size=3, max_size=12))
async def test_nothing_is_lost_and_it_gets_shorter(
    told: list[tuple[Deed, Literal["good", "bad", "error"], str]],
) -> None:
    with scratch() as folder:
        part = Part()
        database = open_database(folder)
        world = marked(World(database, RecordingSurface(dict(PEOPLE)), Bench(), playback(part, repeat=True)), MARKS)
        for number, (deed, part.summary, text) in enumerate(told):
            if deed == "restart":
                world.restart()
                marked(world, MARKS)
            elif deed == "compact":
                await say(world, "compact")
            else:
                part.deed = deed
                await say(world, f"word{number}x {text}")
                if deed.startswith("write"):
                    await say(world, "no" if deed == "write and refuse" else "yes")
            await check(world, part)
        database.close()


async def say(world: World, words: str) -> None:
    await world.say(words)
    await world.advance()


async def check(world: World, part: Part) -> None:
    log = await world.log()
    every = await world.turns.logs.matching(THREAD, ['"kind"'])
    text = "\n".join(p.text for m in log.context.messages for p in m.parts if isinstance(p, Text))
    words = [f"{s.record.header}\n{s.record.text}" for s in every if isinstance(s.record, UserSaid)]
    assert all(one in text for one in words), "words of a person are gone"
    for stored in every:
        match stored.record:
            case Compacted(before=before, after=after, did=did):
                assert worth(before, after)
                assert len(did) == len(decided(every, stored.seq)), "a change or its approval is gone"
                assert all(line in stored.record.text for line in did)
            case CompactionSkipped(before=before, after=after):
                assert after > before * 0.9
            case Cleared(won=won, placeholders=placeholders):
                assert won >= MARKS.clear_gain
                assert placeholders
            case _:
                pass
    await reachable(world, every, part)


def decided(log: list[Stored], upto: int) -> set[str]:
    """Calls on which somebody has decided."""
    return {s.record.call_id for s in log if isinstance(s.record, ApprovalGiven) and s.seq < upto}


async def reachable(world: World, every: list[Stored], part: Part) -> None:
    logs = world.turns.logs
    for stored in every:
        if isinstance(stored.record, ToolEnded) and stored.record.handle:
            whole = await logs.whole_result(THREAD, stored.record.handle)
            assert whole is not None
            assert stored.record.result.text[:100] in whole
    for answer in part.answers:
        assert any(answer in one.text for one in await logs.search(THREAD, answer.split()[0]))

"""``make bench-endurance``: long threads over tool output that nobody here wrote, on the strict simulator."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anthropic

from bench import bfcl, bill
from bench.figures import Figure, table
from bench.loops import MODEL
from bench.threads import THREAD, Conversation
from bot.claude import Claude
from memory.compaction import Marks
from memory.log import Logs
from memory.records import Cleared, Compacted, Record

THREADS = 8


@dataclass(slots=True)
class Part:
    """The model's part: the calls of each turn one by one, then a sentence; a summary when one is asked for."""

    results: dict[str, str] = field(default_factory=dict[str, str])
    left: deque[str] = field(default_factory=deque[str])

    def begin(self, turn: bfcl.Turn) -> None:
        for call, result in turn.calls:
            name = f"{len(self.results) + 1}: {call}"
            self.results[name] = result
            self.left.append(name)

    def __call__(self, context: Any) -> dict[str, Any]:
        if context.compaction:
            return {"text": bill.SUMMARY}
        if not self.left:
            return {"text": "That is done."}
        return {"tool": {"name": "look", "input": {"q": self.left.popleft()}}}


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one thread."""

    bill: bill.Bill
    calls: int
    characters: int
    boundaries: list[type[Record]]
    unreadable: int


async def run(turns: Sequence[bfcl.Turn], marks: Marks) -> Run:
    part = Part()
    async with bill.simulator().ClaudeSim(scenario=part) as sim:
        client = anthropic.AsyncAnthropic(api_key="sk-ant-sim", base_url=sim.url, max_retries=0)
        with TemporaryDirectory() as folder:
            thread = Conversation.over(Path(folder), Claude(client, MODEL), part.results.__getitem__, marks)
            for turn in turns:
                part.begin(turn)
                await thread.say(turn.words)
                sim.advance(20)
            boundaries = await thread.logs.matching(THREAD, ['"kind":"cleared"', '"kind":"compacted"'])
            unreadable = await _unreadable(thread.logs, list(part.results.values()))
            thread.database.close()
        await client.close()
        found = bill.Bill(list(sim.ledger), sum(1 for request in sim.requests if request["status"] in (400, 413)))
    characters = sum(map(len, part.results.values()))
    return Run(found, len(part.results), characters, [type(one.record) for one in boundaries], unreadable)


async def measure(turns: Sequence[bfcl.Turn], marks: Marks) -> list[Figure]:
    """All turns, in ``THREADS`` long threads one after the other."""
    each = -(-len(turns) // THREADS)
    runs = [await run(turns[start : start + each], marks) for start in range(0, len(turns), each)]
    bills = [one.bill for one in runs]
    kinds = [kind for one in runs for kind in one.boundaries]
    read, cached = (sum(one.total(name) for one in bills) for name in ("total_input", "cache_read"))
    calls, characters = sum(one.calls for one in runs), sum(one.characters for one in runs)
    note = f"{len(runs)} threads, {len(turns)} turns, {calls:,} calls, {characters:,} characters of results"
    largest = max(row["total_input"] for one in bills for row in one.rows)
    return [
        Figure("requests", sum(len(one.rows) for one in bills), "", note=note),
        Figure("invalid requests", sum(one.invalid for one in bills), "", 0),
        Figure("largest request", largest, "", marks.summarize_hard, note="tokens"),
        Figure("handles that cannot be read", sum(one.unreadable for one in runs), "", 0, note="against the original"),
        Figure("results set aside, times", kinds.count(Cleared), ""),
        Figure("compactions", kinds.count(Compacted), ""),
        Figure("cached share of the input", cached / read, ""),
        Figure("input tokens saved", 1 - read / sum(sum(one.without) for one in bills), ""),
    ]


async def _unreadable(logs: Logs, results: Sequence[str]) -> int:
    whole = [await logs.whole_result(THREAD, f"r{number}") for number in range(1, len(results) + 1)]
    return sum(kept != (result or "(empty result)") for kept, result in zip(whole, results, strict=True))


if __name__ == "__main__":
    if not bill.available():
        raise SystemExit(f"There is no simulator of the model's API in {bill.SIMULATOR}.")
    bfcl.fetch()
    print(table(asyncio.run(measure(list(bfcl.turns()), Marks()))))

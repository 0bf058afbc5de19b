"""What a long thread costs, as the strict simulator of the model's API bills it.

The simulator lives beside the checkout and is not part of it; without it there is no bill.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import anthropic

from bench.figures import Figure
from bench.loops import MODEL
from bench.threads import Conversation, noise
from bot.claude import PRICES, Claude
from memory.compaction import Marks
from memory.summary import HEADINGS

Json = dict[str, Any]
SIZE = 2_000
SIMULATOR = Path(__file__).parents[2] / "shared" / "sim"
SUMMARY = "\n".join(
    f"## {heading}\n" + "What was found in the logs is noted here in some words. " * 8 for heading in HEADINGS
)


@dataclass(frozen=True, slots=True)
class Bill:
    rows: list[Json]
    """One for each answered request, as the simulator's ledger has it."""
    invalid: int

    def total(self, name: str) -> float:
        return sum(float(row[name]) for row in self.rows)

    @property
    def cached(self) -> float:
        return self.total("cache_read") / self.total("total_input")

    @property
    def without(self) -> list[float]:
        """Input tokens of the same requests had nothing been shortened: each as long as all that was added before."""
        steps = [row for row in self.rows if not row["compaction_request"]]
        totals = [float(row["total_input"]) for row in steps]
        grown = [b - a for a, b, row in zip(totals, totals[1:], steps[1:], strict=False) if row["append_only"]]
        usual, out = median(grown), [totals[0]]
        for a, b, row in zip(totals, totals[1:], steps[1:], strict=False):
            out.append(out[-1] + (b - a if row["append_only"] else usual))
        return out

    @property
    def naive(self) -> float:
        """Dollars of a loop without cache and compaction."""
        price = PRICES[MODEL]
        return (price.input * sum(self.without) + price.output * self.total("output_tokens")) / 1e6

    @property
    def gaps(self) -> list[int]:
        """Steps between two changes of the prefix."""
        steps = [row for row in self.rows if not row["compaction_request"]]
        changes = [index for index, row in enumerate(steps) if not row["append_only"]]
        return [b - a for a, b in zip([0, *changes], [*changes, len(steps)], strict=True)]

    @property
    def summaries(self) -> list[float]:
        """The share of each request for a summary that came from the cache."""
        return [row["cache_read"] / row["total_input"] for row in self.rows if row["compaction_request"]]


@dataclass(slots=True)
class Part:
    """The model's part: so many calls in each turn, then a text; a summary when one is asked for."""

    steps: int
    left: int = 0
    made: int = 0
    summaries: list[int] = field(default_factory=list[int])

    def __call__(self, context: Any) -> Json:
        if context.compaction:
            return {"text": SUMMARY}
        if self.left == 0:
            self.left = self.steps
            return {"text": "That is what the logs say. Nothing else is needed for this part of the question."}
        self.left -= 1
        self.made += 1
        return {"tool": {"name": "look", "input": {"q": f"part {self.made}"}}}


def available() -> bool:
    return (SIMULATOR / "claudesim.py").is_file()


def simulator() -> Any:
    """The simulator's module."""
    if str(SIMULATOR) not in sys.path:
        sys.path.append(str(SIMULATOR))
    return importlib.import_module("claudesim")


async def run(turns: int, steps: int, size: int, marks: Marks, pause: float) -> Bill:
    """A thread of ``turns`` turns of ``steps`` calls with results of ``size`` characters, ``pause`` seconds apart."""
    part = Part(steps, steps)

    def content(q: str) -> str:
        return noise(q, size)

    async with simulator().ClaudeSim(scenario=part) as sim:
        client = anthropic.AsyncAnthropic(api_key="sk-ant-sim", base_url=sim.url, max_retries=0)
        with TemporaryDirectory() as folder:
            thread = Conversation.over(Path(folder), Claude(client, MODEL), content, marks)
            for turn in range(turns):
                await thread.say(f"Please look into part {turn} of the incident and tell me what you find.")
                sim.advance(pause)
            thread.database.close()
        await client.close()
        return Bill(list(sim.ledger), sum(1 for request in sim.requests if request["status"] in (400, 413)))


async def measure() -> list[Figure]:
    """240 steps, and a thread of 30 turns, each against what it would have been without compaction."""
    ours = await run(12, 20, SIZE, Marks(), 20)
    note = f"12 turns of 20 calls, {SIZE:,} characters a result"
    saved = 1 - ours.total("total_input") / sum(ours.without)
    figures = [
        Figure("240 steps: input tokens saved", saved, "", 0.75, more=True, note=note),
        Figure("240 steps: cached share of the input", ours.cached, "", 0.95, more=True),
        Figure("240 steps: fewest between prefix changes", min(ours.gaps[:-1], default=240), "", 15, more=True),
        Figure("240 steps: largest request", max(row["total_input"] for row in ours.rows), "", note="tokens"),
        Figure("240 steps: dollars", ours.total("usd"), "", note=f"without cache and compaction {ours.naive:.2f}"),
        Figure("240 steps: invalid requests", ours.invalid, "", 0),
    ]
    often = await run(6, 20, SIZE, Marks(clear_at=0, summarize_at=40_000, summarize_hard=60_000), 20)
    made = f"{len(often.summaries)} summaries in 120 steps, with low marks and nothing set aside"
    thread = await run(30, 4, SIZE, Marks(), 600)
    share, note = (
        thread.total("usd") / thread.naive,
        f"${thread.total('usd'):.3f} for ${thread.naive:.3f}; 10 min apart",
    )
    return [
        *figures,
        Figure("a summary's request: least from the cache", min(often.summaries), "", 0.9, more=True, note=made),
        Figure("30 turns: dollars, of a loop without both", share, "", 0.25, note=note),
        Figure("30 turns: invalid requests", thread.invalid, "", 0),
    ]

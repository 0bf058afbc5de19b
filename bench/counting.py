"""How far the estimate of a request is from what the strict simulator counts, for five kinds of text."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import anthropic

from bench import bill, neutral
from bench.figures import Figure
from bench.loops import MODEL
from bench.threads import Conversation, noise
from bot.claude import Claude
from memory.compaction import Marks
from memory.records import Log, ModelSaid
from memory.tokens import counter, estimate

STEPS, SIZE, LEARNED_AFTER = 12, 3_000, 3
KINDS = ("English", "Chinese", "code", "JSON", "logs")


def sample(kind: str, seed: str) -> str:
    """Some text of a kind; the same for the same seed."""
    random = Random(seed)  # noqa: S311 - the same each time is what is wanted
    match kind:
        case "English":
            return " ".join(random.choices(neutral.ENGLISH, k=SIZE // 50))
        case "Chinese":
            return "".join(random.choices(neutral.CHINESE, k=SIZE // 40))
        case "code":
            source = Path(__file__).with_name("live.py").read_text("utf-8")
            start = random.randrange(max(1, len(source) - SIZE))
            return source[start : start + SIZE]
        case "JSON":
            rows = [{"id": random.randrange(99_999), "state": random.choice(("open", "done")), "tags": ["a", "b"]}]
            return json.dumps(rows * (SIZE // 60), indent=1)
        case _:
            return noise(seed, SIZE)


def errors(log: Log) -> list[float]:
    """By how much, as a share of what was counted, the estimate before each response was wrong."""
    said = [index for index, stored in enumerate(log) if isinstance(stored.record, ModelSaid)]
    found = list[float]()
    for index in said[LEARNED_AFTER:]:
        record = log[index].record
        assert isinstance(record, ModelSaid)
        found.append(abs(estimate(log[:index], counter()).tokens - record.usage.prompt) / record.usage.prompt)
    return found


async def worst(kind: str) -> float:
    async with bill.simulator().ClaudeSim(scenario=bill.Part(STEPS, STEPS)) as sim:
        client = anthropic.AsyncAnthropic(api_key="sk-ant-sim", base_url=sim.url, max_retries=0)
        marks = Marks(clear_at=0, summarize_at=0)
        with TemporaryDirectory() as folder:
            claude = Claude(client, MODEL)
            thread = Conversation.over(Path(folder), claude, lambda q: sample(kind, q), marks)
            await thread.say("Please look into it.")
            found = errors((await thread.log()).records)
            thread.database.close()
        await client.close()
    return max(found)


async def measure() -> list[Figure]:
    note = f"of the whole request, after {LEARNED_AFTER} responses"
    return [Figure(f"estimate, worst error: {kind}", await worst(kind), "", 0.1, note=note) for kind in KINDS]

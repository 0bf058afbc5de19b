"""How well and how fast facts are found again: ``python -m bench.memory [recall_set.jsonl [sizes...]]``.

The set holds facts (id, lang, text) and questions (direction, type, gold, question), one JSON object
a line. Each question is asked of all facts in the language of its answer, through the real store and
the real index, with every socket but the event loop's own blocked. Constants were chosen on the
questions with even numbers; both halves are printed. A size is a number of other facts; 0 asks for quality.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.figures import Figure, table
from bench.memory_load import Line, audience, block_sockets, load, opened, ready
from bench.memory_speed import speed
from memory.ranking import ASKED, OFFERED, Found
from memory.remember import Memory
from memory.words import stated_date

SIZES = (0, 10_000, 100_000)
SMALL_TALK = (
    "Hello, how are you?",
    "你好",
    "please write a poem about autumn",
    "What is 17 * 23?",
    "thanks!",
    "写一首关于秋天的诗",
    "translate this to French: good morning",
    "总结一下讨论",
    "what happened in #ops today?",
    "who won the cup in 1998?",
    "how do I boil an egg",
    "帮我把这段话翻译成英文",
    "give me a regex for email addresses",
    "讲个笑话",
    "what's the weather in Paris",
    "write a haiku",
    "convert 5 miles to kilometres",
    "今天星期几？",
)
"""What no fact of the set answers: here silence is right."""


@dataclass(frozen=True, slots=True)
class Asked:
    question: Line
    rank: int | None
    """Place of the first right answer, from 0, without any floor."""
    score: float
    """Of the right answer."""
    told: bool
    """Whether it is among what is told unasked."""
    current: bool
    """It is told, and no older version of it is told before it, or without a word that it is older."""


def main() -> None:
    default = os.environ.get("BOBBIN_RECALL_SET", "../shared/recall_set.jsonl")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else default)
    if not path.exists():
        sys.exit(f"{path} is not there: name the recall set as the argument or in BOBBIN_RECALL_SET")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    block_sockets()
    figures = list[Figure]()
    for size in [int(one) for one in sys.argv[2:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            figures += speed(lines, folder, size) if size else asyncio.run(quality(lines, folder))
    print(table(figures))


async def quality(lines: Sequence[Line], folder: str) -> list[Figure]:
    async with opened(folder) as memory:
        facts = [line for line in lines if line["kind"] == "fact"]
        stored = await load(memory, facts)
        await ready(memory)
        older = {stored[new]: stored[old] for new, old in versions(facts).items()}
        asked = [await ask(memory, line, stored, older) for line in lines if line["kind"] == "question"]
        noise = [await memory.recall(text, audience(lang), floor=-1.0) for text in SMALL_TALK for lang in ("en", "zh")]
    best = [found[0].score for found in noise if found]
    updated = [one for one in asked if {stored[gold] for gold in one.question["gold"]} & older.keys()]
    return [*found_again(asked), *kept_apart(asked, updated, best)]


def found_again(asked: Sequence[Asked]) -> list[Figure]:
    """The goals hold for all questions in one pool; the halves are for comparison."""
    groups: dict[str, tuple[Callable[[Asked], bool], tuple[float | None, float | None, float | None]]] = {
        "all": (lambda _: True, (0.86, 0.97, 0.90)),
        "even half (tuned on)": (lambda one: number_of(one) % 2 == 0, (None, None, None)),
        "odd half (not looked at)": (lambda one: number_of(one) % 2 == 1, (None, None, None)),
        "Chinese to Chinese": (lambda one: one.question["direction"] == "zh-zh", (0.92, None, None)),
        "across languages": (lambda one: one.question["type"] == "xl", (0.88, None, None)),
        "identifiers": (lambda one: one.question["type"] == "id", (1.0, None, None)),
    }
    out = list[Figure]()
    for name, (belongs, goals) in groups.items():
        some = [one for one in asked if belongs(one)]
        out += [
            Figure(f"{name}: {kind}", value, "", goal, more=True, note=f"{len(some)} questions")
            for kind, value, goal in zip(("R@1", "R@5", "MRR"), measures(some), goals, strict=True)
        ]
    return out


def kept_apart(asked: Sequence[Asked], updated: Sequence[Asked], noise: Sequence[float]) -> list[Figure]:
    first, _, _ = measures(updated)
    out = [
        Figure("updated: the new value is what is told", share(one.current for one in updated), "", 0.95, more=True,
               note=f"{len(updated)} questions; told among 6 notes, older versions after it and marked"),
        Figure("updated: R@1", first, "", note="the new value before all other facts"),
        Figure("answers among 6 notes told unasked", share(one.told for one in asked), ""),
    ]  # fmt: skip
    for name, floor in (("unasked", OFFERED), ("when asked", ASKED)):
        lost, talked = share(one.score < floor for one in asked), share(score >= floor for score in noise)
        out.append(Figure(f"{name}, floor {floor}: answers lost", lost, ""))
        out.append(Figure(f"{name}, floor {floor}: small talk answered", talked, ""))
    return out


def versions(facts: Sequence[Line]) -> dict[str, str]:
    """Id of each later version -> id of the older one: in the set the two stand together, each with its day."""
    return {
        after["id"]: before["id"]
        for before, after in pairwise(facts)
        if (day := stated_date(before["text"])) and (stated_date(after["text"]) or 0.0) > day
        if before["lang"] == after["lang"] and int(before["id"][1:]) + 1 == int(after["id"][1:])
    }


def measures(asked: Sequence[Asked]) -> tuple[float, float, float]:
    """R@1, R@5, MRR."""
    ranks = [one.rank if one.rank is not None else 10**6 for one in asked]
    return share(rank == 0 for rank in ranks), share(rank < 5 for rank in ranks), share(1 / (r + 1) for r in ranks)


def share(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / max(1, len(found))


def number_of(one: Asked) -> int:
    return int(one.question["id"][1:])


async def ask(memory: Memory, line: Line, stored: dict[str, int], older: dict[int, int]) -> Asked:
    here = audience("zh" if line["gold"][0].startswith("z") else "en")
    gold = {stored[one] for one in line["gold"]}
    found = await memory.nearest(line["question"], here, 50)
    rank = next((i for i, one in enumerate(found) if one.fact.id in gold), None)
    told = await memory.recall(line["question"], here, floor=OFFERED, count=6, tokens=800)
    score = found[rank].score if rank is not None else -1.0
    return Asked(line, rank, score, any(one.fact.id in gold for one in told), is_current(told, gold, older))


def is_current(told: Sequence[Found], gold: set[int], older: dict[int, int]) -> bool:
    places = {one.fact.id: (place, one.older_than) for place, one in enumerate(told)}
    new = next((fact for fact in gold if fact in places), None)
    if new is None:
        return False
    old = places.get(older.get(new, 0))
    return old is None or (old[0] > places[new][0] and old[1] is not None)


if __name__ == "__main__":
    main()

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
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sqlalchemy.engine import Connection

from memory.audience import Audience, Scope, Source
from memory.db import Database, fact_words, facts
from memory.embed import Embedder, local, packed, unit
from memory.fact import NewFact
from memory.facts import Facts
from memory.ranking import ASKED, OFFERED, Found
from memory.remember import Memory
from memory.types import MessageId, ThreadKey
from memory.vectors import Vectors
from memory.words import normal, words

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
    question: dict[str, Any]
    rank: int | None
    """Place of the first right answer, from 0, without any floor."""
    score: float
    """Of the right answer."""
    told: bool
    """Whether it is among what is told unasked."""


def main() -> None:
    default = os.environ.get("BOBBIN_RECALL_SET", "../shared/recall_set.jsonl")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else default)
    if not path.exists():
        sys.exit(f"{path} is not there: name the recall set as the argument or in BOBBIN_RECALL_SET")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    block_sockets()
    sizes = [int(one) for one in sys.argv[2:]] or [0, 10_000, 100_000]
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(lines, Path(folder), size))


def block_sockets() -> None:
    """From here on a connection to anywhere fails; the event loop needs none."""

    def refuse(_: socket.socket, address: object) -> None:
        raise AssertionError(f"a connection to {address} was tried")

    socket.socket.connect = refuse  # type: ignore[method-assign,assignment]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign,assignment]


async def measure(lines: Sequence[dict[str, Any]], folder: Path, filler: int) -> None:
    database = Database(f"sqlite:///{folder / 'bench.db'}")
    embedder = local()  # one for the filler as well: two would be counted twice
    vectors = Vectors(Facts(database), lambda _: embedder, str(folder / "index"), native=False)
    memory = Memory(vectors.facts, vectors, lambda text: text)
    try:
        if not filler:
            await quality(memory, lines)
        else:
            await speed(memory, lines, filler, embedder)
    finally:
        await vectors.close()
        database.close()


async def quality(memory: Memory, lines: Sequence[dict[str, Any]]) -> None:
    stored = await load(memory, [line for line in lines if line["kind"] == "fact"])
    await ready(memory)
    asked = [await ask(memory, line, stored) for line in lines if line["kind"] == "question"]
    print(f"facts {len(stored)}, questions {len(asked)}, embedder {memory.vectors.name}")
    groups: dict[str, Callable[[Asked], bool]] = {
        "all": lambda _: True,
        "even half (tuned on)": lambda one: int(one.question["id"][1:]) % 2 == 0,
        "odd half (not looked at)": lambda one: int(one.question["id"][1:]) % 2 == 1,
        "Chinese to Chinese": lambda one: one.question["direction"] == "zh-zh",
        "across languages": lambda one: one.question["type"] == "xl",
        "identifiers": lambda one: one.question["type"] == "id",
        "updated facts": lambda one: one.question["type"] == "upd",
    }
    for name, belongs in groups.items():
        report(name, [one for one in asked if belongs(one)])
    noise = [await memory.recall(text, audience("en"), floor=-1.0) for text in SMALL_TALK]
    noise += [await memory.recall(text, audience("zh"), floor=-1.0) for text in SMALL_TALK]
    best = [found[0].score for found in noise if found]
    for name, floor in (("told unasked", OFFERED), ("asked for", ASKED)):
        lost = sum(one.score < floor for one in asked) / len(asked)
        talked = np.mean(np.array(best) >= floor)
        print(f"floor {floor} ({name}): answers lost {lost:.3f}, small talk answered {talked:.3f}")
    told = sum(one.told for one in asked) / len(asked)
    print(f"told unasked among 6 notes: {told:.3f}")


def report(name: str, asked: Sequence[Asked]) -> None:
    ranks = [one.rank if one.rank is not None else 10**6 for one in asked]
    first, five = np.mean([rank == 0 for rank in ranks]), np.mean([rank < 5 for rank in ranks])
    print(
        f"{name:26} n {len(asked):3}  R@1 {first:.3f}  R@5 {five:.3f}  MRR {np.mean([1 / (r + 1) for r in ranks]):.3f}"
    )


async def ask(memory: Memory, line: dict[str, Any], stored: dict[str, int]) -> Asked:
    here = audience("zh" if line["gold"][0].startswith("z") else "en")
    gold = {stored[one] for one in line["gold"]}
    found = await memory.nearest(line["question"], here, 50)
    rank = next((i for i, one in enumerate(found) if one.fact.id in gold), None)
    told: list[Found] = await memory.recall(line["question"], here, floor=OFFERED, count=6, tokens=800)
    score = found[rank].score if rank is not None else -1.0
    return Asked(line, rank, score, any(one.fact.id in gold for one in told))


async def load(memory: Memory, lines: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {
        line["id"]: (await memory.add(new_fact(line["text"], line["lang"], line["id"]), keep="asked"))[0].id
        for line in lines
    }


def new_fact(text: str, workspace: str, name: str) -> NewFact:
    source = Source(workspace=workspace, channel="C1", room="public")
    return NewFact(
        text=text,
        scope=Scope(kind="workspace"),
        source=source,
        author="U1",
        author_name="Ana",
        message=MessageId(f"{workspace}:C1:{name}"),
    )


def audience(workspace: str) -> Audience:
    return Audience(workspace, "C1", ThreadKey(f"{workspace}:C1:1"), "public", "U1")


async def ready(memory: Memory) -> None:
    """Until every fact has its vector and the index is up to date."""
    memory.vectors.begin()
    while memory.vectors.index is None or await memory.facts.without_vector(memory.vectors.name):
        await asyncio.sleep(0.05)


async def speed(memory: Memory, lines: Sequence[dict[str, Any]], filler: int, embedder: Embedder) -> None:
    """The set among facts made up of its words, whose vectors are neighbours of real ones."""
    real = [line for line in lines if line["kind"] == "fact"]
    await fill(memory, real, filler, embedder)
    began = time.perf_counter()
    await load(memory, [{**line, "lang": "all"} for line in real])
    await ready(memory)
    building = time.perf_counter() - began
    questions = [line["question"] for line in lines if line["kind"] == "question"]
    await memory.recall(questions[0], audience("all"))
    walls, cpus = list[float](), list[float]()
    for question in questions:
        wall, cpu = time.perf_counter(), time.process_time()
        await memory.recall(question, audience("all"), floor=OFFERED)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    p95 = [float(np.percentile(one, 95)) * 1000 for one in (walls, cpus)]
    median = [float(np.percentile(one, 50)) * 1000 for one in (walls, cpus)]
    print(
        f"{filler:7,} facts: recall p50 {median[0]:.0f} ms, p95 {p95[0]:.0f} ms (processor time p50 {median[1]:.0f}, "
        f"p95 {p95[1]:.0f}), index built in {building:.0f} s, RSS {resident():.0f} MB"
    )


def resident() -> float:
    """Megabytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize() / 1e6


async def fill(memory: Memory, real: Sequence[dict[str, Any]], count: int, embedder: Embedder) -> None:
    texts = [line["text"] for line in real]
    made, chance = embedder.passages(texts), np.random.default_rng(5)
    for start in range(0, count, 5_000):
        picked = chance.integers(0, len(texts), 5_000)
        noise = chance.normal(size=(5_000, made.shape[1])).astype(np.float32)
        near = unit(np.asarray(made[picked] + 0.9 * unit(noise), dtype=np.float32))
        rows, found = list[dict[str, Any]](), list[dict[str, Any]]()
        for i, (base, vector) in enumerate(zip(picked, near, strict=True), start=start + 1):
            text = f"{texts[int(base)][:60]} item{i}"
            rows.append(_row(i, text, packed(vector), embedder.name))
            found += [{"workspace": "all", "word": word, "fact": i} for word in words(text)]
        await memory.facts.database.write(partial(_insert, rows, found))


def _insert(rows: list[dict[str, Any]], found: list[dict[str, Any]], connection: Connection) -> None:
    connection.execute(facts.insert(), rows)
    connection.execute(fact_words.insert(), found)


def _row(number: int, text: str, vector: bytes, embedder: str) -> dict[str, Any]:
    new = new_fact(text, "all", str(number))
    return {
        **new.model_dump(exclude={"scope", "source"}), "id": number, "scope": "workspace", "place": "",
        **new.source.model_dump(), "status": "active", "created": 1.0, "valid_from": 1.0, "uses": 0,
        "normal": normal(text), "embedder": embedder, "vector": vector,
    }  # fmt: skip


if __name__ == "__main__":
    main()

"""How fast facts are found among many, and what that takes of memory, each in a process of its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from bench.figures import Figure, percentile
from bench.memory_load import Line, audience, block_sockets, load, new_fact, opened, ready
from memory.db import Database, fact_words, facts
from memory.embed import local, unit
from memory.ranking import OFFERED
from memory.vector import packed
from memory.words import normal, words

P95 = {10_000: 80.0, 100_000: 100.0}
"""Goals in milliseconds, embedding included."""
RESIDENT = 350.0
"""Megabytes of a process that has embedder, store and index open."""


@dataclass(frozen=True, slots=True)
class Run:
    """Milliseconds of each recall, by the clock on the wall and of the processor; seconds; megabytes."""

    walls: list[float]
    cpus: list[float]
    building: float
    resident: float


def speed(lines: Sequence[Line], folder: str, size: int) -> list[Figure]:
    """The set among ``size`` facts made up of its words, whose vectors are neighbours of real ones."""
    _alone(fill, lines, folder, size)
    first: Run = _alone(measured, lines, folder, True)
    again: Run = _alone(measured, lines, folder, False)
    name, goal = f"{size:,} facts", P95.get(size)
    cpu = percentile(again.cpus, 0.95)
    return [
        Figure(f"{name}: recall p95", percentile(again.walls, 0.95), "ms", goal, note=f"{cpu:.0f} ms of the processor"),
        Figure(f"{name}: recall p50", percentile(again.walls, 0.5), "ms"),
        Figure(f"{name}: resident", again.resident, "MB", RESIDENT, note="after a start with the index there"),
        Figure(f"{name}: resident, index just built", first.resident, "MB"),
        Figure(f"{name}: index built in", first.building, "s"),
        Figure(f"{name}: index opened in", again.building, "s", note="compared with the store"),
    ]


def _alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """In a process that did nothing before and ends after."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def measured(lines: Sequence[Line], folder: str, loading: bool) -> Run:
    block_sockets()
    return asyncio.run(_measured(lines, folder, loading=loading))


async def _measured(lines: Sequence[Line], folder: str, *, loading: bool) -> Run:
    async with opened(folder) as memory:
        began = time.perf_counter()
        if loading:
            await load(memory, [{**line, "lang": "all"} for line in lines if line["kind"] == "fact"])
        await ready(memory)
        building = time.perf_counter() - began
        questions = [line["question"] for line in lines if line["kind"] == "question"]
        await memory.recall(questions[0], audience("all"))
        walls, cpus = list[float](), list[float]()
        for question in questions:
            wall, cpu = time.perf_counter(), time.process_time()
            await memory.recall(question, audience("all"), floor=OFFERED)
            walls.append(1000 * (time.perf_counter() - wall))
            cpus.append(1000 * (time.process_time() - cpu))
        return Run(walls, cpus, building, resident())


def resident() -> float:
    """Megabytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize() / 1e6


def fill(lines: Sequence[Line], folder: str, count: int) -> None:
    """Facts and vectors straight into the store; the index is built from it."""
    database, embedder, chance = Database(f"sqlite:///{folder}/bench.db"), local(), np.random.default_rng(5)
    texts = [line["text"] for line in lines if line["kind"] == "fact"]
    made = embedder.passages(texts)
    for start in range(0, count, 5_000):
        picked = chance.integers(0, len(texts), 5_000)
        noise = chance.normal(size=(5_000, made.shape[1])).astype(np.float32)
        near = unit(np.asarray(made[picked] + 0.9 * unit(noise), dtype=np.float32))
        rows, found = list[dict[str, Any]](), list[dict[str, Any]]()
        for i, (base, vector) in enumerate(zip(picked, near, strict=True), start=start + 1):
            text = f"{texts[int(base)][:60]} item{i}"
            rows.append(_row(i, text, packed(vector), embedder.name))
            found += [{"workspace": "all", "word": word, "fact": i} for word in words(text)]
        asyncio.run(database.write(partial(_insert, rows, found)))
    database.close()


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

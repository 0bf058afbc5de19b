"""kill -9 in the middle of writes: no fact that was stored is lost, and the index is made to agree with SQL."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import sys
from pathlib import Path

from memory.db import Database
from memory.facts import Facts
from memory.index import Index
from memory.types import MessageId
from memory.vectors import Vectors
from tests.memory_facts.people import BagOfWords
from tests.memory_facts.writer import write

KILLS = 50 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 10


def _write(folder: str, start: int, out: int) -> None:
    os.dup2(out, 1)
    sys.stdout = os.fdopen(1, "w")
    asyncio.run(write(Path(folder), start))


async def test_no_fact_is_lost_over_kills(tmp_path: Path) -> None:
    chance, told = random.Random(4), list[int]()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.memory_facts.writer", "chromadb"])
    for _ in range(KILLS):
        log = tmp_path / "told"
        process = context.Process(target=_run, args=(str(tmp_path), len(told), str(log)), daemon=True)
        process.start()
        said = await _until(log, chance.randrange(1, 12))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        told += [number for number in said if number >= len(told)]
        log.unlink()
    await _check(tmp_path, told)


def _run(folder: str, start: int, log: str) -> None:
    with open(log, "a") as file:  # noqa: PTH123 - its descriptor takes the place of stdout
        _write(folder, start, file.fileno())


async def _until(log: Path, count: int) -> list[int]:
    """What the writer says it has stored, once that is so much."""
    async with asyncio.timeout(60):
        while len(said := _said(log)) < count:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.005)
    return said


def _said(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


async def _check(folder: Path, told: list[int]) -> None:
    database = Database(f"sqlite:///{folder / 'bobbin.db'}")
    facts, embedder = Facts(database), BagOfWords()
    assert told == list(range(len(told)))
    for number in told:
        (kept,) = await facts.of_message(MessageId(f"T1:C1:{number}"))
        assert kept.status == "active" or kept.superseded_by is not None
    vectors = Vectors(facts, lambda _: embedder, str(folder / "index"), native=False)
    vectors.begin()
    async with asyncio.timeout(60):
        while vectors.index is None:  # noqa: ASYNC110 - it is opened in the background
            await asyncio.sleep(0.02)
    index: Index = vectors.index
    assert index.ids("T1") == {row[0] for row in await facts.vectors(embedder.name)}
    assert vectors.state == "ok"
    await vectors.close()
    database.close()

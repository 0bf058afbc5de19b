"""What a thread weighs: on disk when it is long, in memory when it is idle."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import Figure
from bench.loops import RESULT_BYTES, Instant, Ours

TURNS, STEPS = 30, 10
IDLE = 1_000
MEBIBYTE = 2**20


async def measure() -> list[Figure]:
    return [await _on_disk(), await _in_memory()]


async def _on_disk() -> Figure:
    """The whole database file, with the tables of all else, after its write-ahead log was folded in."""
    with TemporaryDirectory() as folder:
        ours = Ours.over(Path(folder), Instant(STEPS))
        for _ in range(TURNS):
            await ours.turn("one", "go")
        ours.database.close()
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    note = f"{TURNS} turns of {STEPS} steps, results of {RESULT_BYTES} bytes"
    return Figure("database of one long thread", size / MEBIBYTE, "MB", 0.5, note=note)


async def _in_memory() -> Figure:
    """What Python holds more after a thousand threads had a turn; the first hundred fill what is kept for reuse."""
    with TemporaryDirectory() as folder:
        ours = Ours.over(Path(folder), Instant(1))
        for number in range(100):
            await ours.turn(f"warm {number}", "go")
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(IDLE):
            await ours.turn(f"idle {number}", "go")
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        ours.database.close()
    note = "one step each, allocated by Python"
    return Figure("memory of 1,000 idle threads", (after - before) / MEBIBYTE, "MB", 1.0, note=note)

"""What one step of the loop costs in CPU time of the process, all its threads together, and in turns a second."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import anthropic

from bench.figures import Figure, paired
from bench.loops import MODEL, BareLog, Instant, Ours, sdk_turn
from bot.claude import Claude

SHORT, LONG = 10, 100
ROUNDS, LONG_ROUNDS = 10, 3
CONCURRENT = 8

Turn = Callable[[int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU and elapsed milliseconds a step of each round."""

    cpu: list[float]
    wall: list[float]


async def measure(url: str) -> list[Figure]:
    """All figures of the loop. ``url`` is that of the fake model."""
    return [*await _over_sdk(url), *await _without_sdk()]


async def rounds(loops: dict[str, Turn], steps: int, number: int) -> dict[str, Cost]:
    """Run the loops in turn, ``number`` times, after one round to warm up."""
    found = {name: Cost([], []) for name in loops}
    for index in range(number + 1):
        for name, loop in loops.items():
            gc.collect()
            began, cpu = time.perf_counter(), time.process_time()
            await loop(steps)
            spent, elapsed = time.process_time() - cpu, time.perf_counter() - began
            if index:
                found[name].cpu.append(spent * 1e3 / steps)
                found[name].wall.append(elapsed * 1e3 / steps)
    return found


async def _over_sdk(url: str) -> list[Figure]:
    client = anthropic.AsyncAnthropic(api_key="none", base_url=url, max_retries=0)
    with TemporaryDirectory() as folder:
        ours, threads = Ours.over(Path(folder), Claude(client, MODEL)), count()
        loops: dict[str, Turn] = {
            "sdk": lambda steps: sdk_turn(client, f"steps={steps}"),
            "ours": lambda steps: ours.turn(f"t{next(threads)}", f"steps={steps}"),
        }
        short, long = await rounds(loops, SHORT, ROUNDS * 2), await rounds(loops, LONG, LONG_ROUNDS)
        turns_a_second = [await _together(ours, threads) for _ in range(LONG_ROUNDS)]
        ours.database.close()
    await client.close()
    beyond, later = (paired(cost["ours"].cpu, cost["sdk"].cpu, lambda a, b: a - b) for cost in (short, long))
    together = f"{CONCURRENT} at a time, for each second of CPU of the process"
    return [
        Figure("CPU of a step, the SDK alone", median(short["sdk"].cpu), "ms", note="10 steps, streaming, loopback"),
        Figure("CPU of a step, ours over the SDK", median(short["ours"].cpu), "ms", note="the same requests, durable"),
        Figure("our CPU of a step beyond the SDK's", beyond, "ms", 1.0, note="10 steps, synchronous=FULL"),
        Figure("the same in a turn of 100 steps", later, "ms"),
        Figure("growth from 10 to 100 steps", later / beyond, "x", 1.2),
        Figure("ten-step streaming turns, one core", median(turns_a_second), "turns/s", 25, more=True, note=together),
    ]


async def _together(ours: Ours, threads: count[int]) -> float:
    """Turns for each second of CPU, with several threads at work at a time."""

    async def one_after_another() -> None:
        for _ in range(4):
            await ours.turn(f"t{next(threads)}", f"steps={SHORT}")

    gc.collect()
    cpu = time.process_time()
    await asyncio.gather(*(one_after_another() for _ in range(CONCURRENT)))
    return CONCURRENT * 4 / (time.process_time() - cpu)


async def _without_sdk() -> list[Figure]:
    with TemporaryDirectory() as folder:
        place, threads = Path(folder), count()
        short, long, bare = (
            Ours.over(place / "10", Instant(SHORT)),
            Ours.over(place / "100", Instant(LONG)),
            BareLog(place),
        )
        loops: dict[str, Turn] = {
            "bare": lambda steps: asyncio.to_thread(bare.turn, steps),
            "ours": lambda _: short.turn(f"t{next(threads)}", "go"),
        }
        found = await rounds(loops, SHORT, ROUNDS)
        grown = await rounds({"ours": lambda _: long.turn(f"t{next(threads)}", "go")}, LONG, LONG_ROUNDS)
        for one in (short.database, long.database, bare):
            one.close()
    mine, bottom = found["ours"], found["bare"]
    return [
        Figure("a bare SQLite log, CPU of a step", median(bottom.cpu), "ms", note="three commits a step, nothing else"),
        Figure("ours with an instant model, CPU of a step", median(mine.cpu), "ms", note="10 steps, durable, no SDK"),
        Figure("the same against the bare log", paired(mine.cpu, bottom.cpu, lambda a, b: a / b), "x"),
        Figure("growth from 10 to 100 steps, instant model", median(grown["ours"].cpu) / median(mine.cpu), "x", 1.2),
    ]

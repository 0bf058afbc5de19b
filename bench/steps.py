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
ROUNDS = 10
CONCURRENT = 8

Turn = Callable[[int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU and elapsed milliseconds a step of each round."""

    cpu: list[float]
    wall: list[float]


async def measure(url: str) -> list[Figure]:
    """All figures of the loop. ``url`` is that of the fake model."""
    return [*await _over_sdk(url), *await _without_sdk(), *await _throughput(url)]


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
        short, long = await rounds(loops, SHORT, ROUNDS * 2), await rounds(loops, LONG, 3)
        ours.database.close()
    await client.close()
    beyond = {name: paired(cost["ours"].cpu, cost["sdk"].cpu, lambda a, b: a - b) for name, cost in _named(short, long)}
    return [
        Figure("CPU of a step, the SDK alone", median(short["sdk"].cpu), "ms", note="10 steps, streaming, loopback"),
        Figure("CPU of a step, ours over the SDK", median(short["ours"].cpu), "ms", note="the same requests, durable"),
        Figure("our CPU of a step beyond the SDK's", beyond["short"], "ms", 1.0, note="10 steps, synchronous=FULL"),
        Figure("the same in a turn of 100 steps", beyond["long"], "ms"),
        Figure("growth from 10 to 100 steps", beyond["long"] / beyond["short"], "x", 1.2),
    ]


def _named(short: dict[str, Cost], long: dict[str, Cost]) -> tuple[tuple[str, dict[str, Cost]], ...]:
    return ("short", short), ("long", long)


async def _without_sdk() -> list[Figure]:
    with TemporaryDirectory() as folder:
        short_model, long_model = Instant(SHORT), Instant(LONG)
        place = Path(folder)
        (place / "long").mkdir()
        ours, long, bare, threads = (
            Ours.over(place, short_model),
            Ours.over(place / "long", long_model),
            BareLog(place),
            count(),
        )

        async def bare_turn(steps: int) -> None:
            bare.turn(steps)

        found = await rounds({"bare": bare_turn, "ours": lambda _: ours.turn(f"t{next(threads)}", "go")}, SHORT, ROUNDS)
        grown = await rounds({"ours": lambda _: long.turn(f"t{next(threads)}", "go")}, LONG, 3)
        for one in (ours.database, long.database, bare):
            one.close()
    mine, bottom = found["ours"], found["bare"]
    return [
        Figure("a bare SQLite log, CPU of a step", median(bottom.cpu), "ms", note="three commits a step, nothing else"),
        Figure("a bare SQLite log, time of a step", median(bottom.wall), "ms"),
        Figure("ours with an instant model, CPU of a step", median(mine.cpu), "ms", note="10 steps, durable, no SDK"),
        Figure("ours with an instant model, time of a step", median(mine.wall), "ms"),
        Figure("the same against the bare log, time", paired(mine.wall, bottom.wall, lambda a, b: a / b), "x"),
        Figure("growth from 10 to 100 steps, instant model", median(grown["ours"].cpu) / median(mine.cpu), "x", 1.2),
    ]


async def _throughput(url: str) -> list[Figure]:
    client = anthropic.AsyncAnthropic(api_key="none", base_url=url, max_retries=0)
    per_second = list[float]()
    with TemporaryDirectory() as folder:
        ours, threads = Ours.over(Path(folder), Claude(client, MODEL)), count()
        for _ in range(3):
            gc.collect()
            cpu = time.process_time()
            await asyncio.gather(*(_turns(ours, threads, 4) for _ in range(CONCURRENT)))
            per_second.append(CONCURRENT * 4 / (time.process_time() - cpu))
        ours.database.close()
    await client.close()
    note = f"{CONCURRENT} at a time, a second of CPU of the bot's process"
    return [Figure("ten-step streaming turns, one core", median(per_second), "turns/s", 25, more=True, note=note)]


async def _turns(ours: Ours, threads: count[int], number: int) -> None:
    for _ in range(number):
        await ours.turn(f"t{next(threads)}", f"steps={SHORT}")

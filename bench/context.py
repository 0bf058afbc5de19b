"""``make bench-context``: what a long thread costs and what it still knows, as a table beside the goals."""

from __future__ import annotations

import asyncio

from bench import assembly, bill, counting, facts
from bench.figures import Figure, table


async def measure() -> list[Figure]:
    found = [*await assembly.measure(), *await facts.measure()]
    if not bill.available():
        print(f"No simulator of the model's API in {bill.SIMULATOR}: cost and counting are left out.\n")
        return found
    return [*found, *await bill.measure(), *await counting.measure()]


if __name__ == "__main__":
    print(table(asyncio.run(measure())))

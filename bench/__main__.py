"""``make bench``: measure the product against its goals; prints a table and writes bench/results.json."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from bench import live, peers, steps, storage
from bench.figures import Figure, table
from bench.processes import fake_model

RESULTS = Path(__file__).parent / "results.json"


async def measure() -> list[Figure]:
    async with fake_model() as url:
        return [*await live.measure(url), *await steps.measure(url), *await storage.measure(), *await peers.measure()]


def main() -> None:
    figures = asyncio.run(measure())
    load = os.getloadavg()[0]
    about = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "cores": os.cpu_count(),
        "load": load,
    }
    RESULTS.write_text(json.dumps({**about, "figures": [figure.json() for figure in figures]}, indent=1) + "\n")
    print(table(figures))
    print(f"\n{about['cores']} cores, load {load:.1f} at the end. Written to {RESULTS.relative_to(Path.cwd())}.")


if __name__ == "__main__":
    main()

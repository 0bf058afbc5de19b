"""``make bench``: measure the product against its goals; prints a table and writes bench/results.json.

``python -m bench live steps storage peers`` measures the parts that are named, without names all of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from bench import live, peers, steps, storage
from bench.figures import Figure, table
from bench.processes import fake_model

RESULTS = Path(__file__).parent / "results.json"


async def measure(parts: Collection[str]) -> list[Figure]:
    figures = list[Figure]()
    async with fake_model() as url:
        if "live" in parts:
            figures += await live.measure(url)
        if "steps" in parts:
            figures += await steps.measure(url)
    if "storage" in parts:
        figures += await storage.measure()
    if "peers" in parts:
        figures += await peers.measure()
    return figures


def main() -> None:
    figures = asyncio.run(measure(sys.argv[1:] or ("live", "steps", "storage", "peers")))
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

"""Other harnesses with the same loop: ten steps, one tool with 200 bytes, an instant model in the process.

Figures that were published for this loop are printed as such. With BENCH_PEERS set to a folder of scripts
``b_<name>.py`` and their environments ``.venvs/<name>``, they are run beside ours instead: each prints a
line of JSON a figure, with ``name`` and ``cpu_ms_per_step``.
"""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Any

from bench.figures import Figure

PUBLISHED = {
    "LangGraph, durable": 4.95,
    "agno, SQLite": 0.78,
    "a bare SQLite log": 0.34,
}
"""Milliseconds a step, measured by others on another machine."""

TIME_LIMIT = 250.0


async def measure() -> list[Figure]:
    folder = os.environ.get("BENCH_PEERS")
    if not folder:
        return [Figure(f"published: {name}", value, "ms", note="another machine") for name, value in PUBLISHED.items()]
    place = Path(folder)
    found = list[Figure]()
    for python in sorted(place.glob(".venvs/*/bin/python")):
        found += await _run(python, place / f"b_{python.parent.parent.name}.py")
    return found


async def _run(python: Path, script: Path) -> list[Figure]:
    process = await asyncio.create_subprocess_exec(
        str(python), "-W", "ignore", script.name, cwd=script.parent, stdout=PIPE, stderr=DEVNULL
    )
    try:
        async with asyncio.timeout(TIME_LIMIT):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return []
    lines: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]
    return [
        Figure(f"peer: {line['name']}", line["cpu_ms_per_step"], "ms", note=f"time {line['per_step_ms_median']} ms")
        for line in lines
        if "cpu_ms_per_step" in line
    ]

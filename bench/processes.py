"""Programs that run beside us: the fake model and the bot itself. Each ends with its block."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from bench.figures import Figure

START_SECONDS = 60.0


@asynccontextmanager
async def fake_model() -> AsyncGenerator[str]:
    """The address of a fake model in a process of its own."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.fake_model", stdout=PIPE)
    try:
        yield f"http://127.0.0.1:{(await _line(process)).strip()}"
    finally:
        await end(process)


async def start_bot(folder: Path, settings: Mapping[str, str]) -> Process:
    """The bot as an operator starts it, once it says that it is ready; its log goes into ``folder``."""
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and k[:7] != "BOBBIN_"}
    with (folder / "bot.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", stdout=PIPE, stderr=log, env={**environment, **settings}
        )
    try:
        while "bobbin ready" not in (line := await _line(process)):
            if not line:
                raise RuntimeError(f"the bot did not start; see {folder / 'bot.log'}")
    except BaseException:
        await end(process)
        raise
    return process


async def _line(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(START_SECONDS):
        return (await process.stdout.readline()).decode()


async def end(process: Process, *, kill: bool = False) -> None:
    if process.returncode is None:
        process.kill() if kill else process.terminate()
        await process.wait()


def memory_figure(process: Process, name: str, goal: float, note: str = "") -> Figure:
    """Resident memory, in units of 2^20 bytes."""
    return Figure(name, psutil.Process(process.pid).memory_info().rss / 2**20, "MB", goal, note=note)

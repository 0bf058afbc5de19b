"""The bot as a process that is killed and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Lives:
    """One life at a time, forked from a process that has everything loaded."""

    nursery: asyncio.subprocess.Process
    pid: int = 0
    ready: bool = False

    async def begin(self) -> None:
        self.ready = False
        self._command("start")
        self.pid = int((await self._until("pid ")).split()[1])

    async def until_ready(self) -> None:
        await self._until("bobbin ready")

    async def end(self, how: signal.Signals) -> tuple[int, float]:
        """Returns the exit code, and how many seconds it took to end."""
        began = time.monotonic()
        os.kill(self.pid, how)
        self._command("wait")
        code = int((await self._until("ended ")).split()[1])
        return code, time.monotonic() - began

    def _command(self, words: str) -> None:
        assert self.nursery.stdin is not None
        self.nursery.stdin.write(f"{words}\n".encode())

    async def _until(self, beginning: str) -> str:
        assert self.nursery.stdout is not None
        async with asyncio.timeout(60):
            while line := (await self.nursery.stdout.readline()).decode():
                if line.startswith(beginning):
                    return line
        raise RuntimeError("the nursery has ended; its errors are in the log")


@asynccontextmanager
async def lives(environment: dict[str, str], log: Path) -> AsyncGenerator[Lives]:
    """``log`` gets what the bot writes to its standard error."""
    with log.open("ab") as errors:
        nursery = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.soak.nursery"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=environment,
            cwd=ROOT,
        )
        try:
            yield Lives(nursery)
        finally:
            assert nursery.stdin is not None
            nursery.stdin.close()
            await nursery.wait()

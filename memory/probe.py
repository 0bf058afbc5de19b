"""Try native libraries in a process of their own: one that crashes there cannot take the program with it.

``python -m memory.probe embedder`` and ``python -m memory.probe index FOLDER`` leave with code 0 if all went well.
"""

from __future__ import annotations

import asyncio
import sys

PATIENCE = 90.0
"""Seconds after which a probe counts as failed."""


async def survives(*arguments: str) -> bool:
    """Whether the probe of these arguments ended well."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "memory.probe",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            return await child.wait() == 0
    except TimeoutError:
        return False
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


def main() -> None:
    match sys.argv[1:]:
        case ["embedder"]:
            from memory.embed import Pair  # noqa: PLC0415 - each probe loads only what it tries

            Pair().query("ready?")
        case ["index", folder]:
            from memory.index import read_all  # noqa: PLC0415

            read_all(folder)
        case _:
            sys.exit("usage: python -m memory.probe embedder | index FOLDER")


if __name__ == "__main__":
    main()

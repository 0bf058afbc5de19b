"""Read a page in a process of its own, which can be ended: a page of one tag with 300,000 attributes keeps the
HTML parser busy for minutes, and a thread in it could not be stopped.

The child gets no environment but the module path, so no secret of the program is within its reach.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import asdict
from typing import Final

from tools.base import ToolError
from tools.fetch import Page
from tools.page import Reading, read

_MEMORY_BYTES: Final = 1_500_000_000
_TEXT_LIMIT: Final = 1_000_000


async def read_apart(page: Page, seconds: float) -> Reading:
    """The readable part of a page, within ``seconds`` of time and 1.5 GB of memory.

    Raises ``ToolError``: no_text, timeout, or unreadable_page when the child failed.
    """
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    place = {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path), "PYTHONIOENCODING": "utf-8"}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tools.worker"), stdin=pipe, stdout=pipe, stderr=nothing, env=place
    )
    head = json.dumps([page.url, page.host, page.media_type, page.charset]).encode()
    try:
        async with asyncio.timeout(seconds):
            answer, _ = await child.communicate(head + b"\n" + page.body)
    except TimeoutError as error:
        message = f"The page at {page.host} took longer than {seconds:g} s to read."
        raise ToolError("timeout", message, hint="Use another page.") from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return _understood(page, answer)


def _understood(page: Page, answer: bytes) -> Reading:
    try:
        found = json.loads(answer)
    except ValueError as error:
        message = f"The page at {page.host} could not be read: it is too large or damaged."
        raise ToolError("unreadable_page", message, hint="Use another page.") from error
    if "code" in found:
        raise ToolError(**found)
    return Reading(**found)


def answered(request: bytes) -> bytes:
    """What the child does: a page in, the reading or the error out."""
    head, _, body = request.partition(b"\n")
    url, host, media_type, charset = json.loads(head)
    try:
        found = asdict(read(Page(url, host, media_type, charset, body)))
        found["text"] = found["text"][:_TEXT_LIMIT]
    except ToolError as error:
        found = {"code": error.code, "message": error.message, "hint": error.hint}
    return json.dumps(found).encode()


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


if __name__ == "__main__":
    _limit_memory()
    sys.stdout.buffer.write(answered(sys.stdin.buffer.read()))

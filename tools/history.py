"""Reading again what was too long to be shown at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import Field

from memory.search import Found
from memory.types import ThreadKey
from tools.base import Arguments, Effect, Output, Tool, ToolContext, ToolError, tool

WINDOW = 8_000
"""Characters that one call shows."""
LINE = 500
"""Characters shown of one line."""
AROUND = 2
"""Lines shown before and after each line that matches."""

WholeResult = Callable[[ThreadKey, str], Awaitable[str | None]]
Search = Callable[[ThreadKey, str], Awaitable[Sequence[Found]]]


class SearchHistory(Arguments):
    query: str = Field(min_length=1, max_length=400, description="Words, names or identifiers to look for.")


class ReadResult(Arguments):
    handle: str = Field(description='The name of the result, for example "r17".')
    offset: int | None = Field(default=None, ge=0, description="Show the text from this character on.")
    query: str | None = Field(default=None, min_length=1, description="Show the lines that hold this text instead.")


def history_tools(whole_result: WholeResult, search: Search) -> tuple[Tool[Any], ...]:
    """Tools over what this thread has kept; both functions look only into the thread they are given."""

    @tool(Effect.READ, cap=WINDOW + 2_000, untrusted=True)
    async def read_result(arguments: ReadResult, context: ToolContext) -> Output:
        """Read again a result that was cut or set aside: from an offset, or the lines that hold a text, numbered."""
        text = await whole_result(context.thread, arguments.handle)
        if text is None:
            raise ToolError(
                "unknown_handle",
                f"This thread keeps no result named {arguments.handle!r}.",
                hint="Handles stand in results that were cut or set aside, for example r17.",
            )
        if arguments.query is not None:
            return matching(text, arguments.query)
        return window(text, arguments.offset or 0)

    @tool(Effect.READ, untrusted=True)
    async def search_history(arguments: SearchHistory, context: ToolContext) -> Output:
        """Find anything that was ever said, answered or returned in this thread, also what was summarized since."""
        found = await search(context.thread, arguments.query)
        if not found:
            return Output(f"(nothing in this thread matches {arguments.query!r})", "no match")
        return Output("\n\n".join(one.line() for one in found), f"{len(found)} found")

    return (read_result, search_history)


def window(text: str, offset: int) -> Output:
    """A part of a text, and where the next one begins."""
    part = text[offset : offset + WINDOW]
    end = offset + len(part)
    if not part:
        return Output(f"(the text has {len(text):,} characters; nothing is at {offset:,})", "past the end")
    more = f"; the next part begins at offset {end}" if end < len(text) else "; this is the end"
    return Output(f"[characters {offset:,} to {end:,} of {len(text):,}{more}]\n{part}", f"{len(part):,} characters")


def matching(text: str, query: str) -> Output:
    """Lines that hold ``query`` (case does not count), numbered, with a few lines around each."""
    lines = text.splitlines()
    wanted = query.casefold()
    hits = [number for number, line in enumerate(lines) if wanted in line.casefold()]
    if not hits:
        return Output(f"(no line of {len(lines):,} holds {query!r})", "no match")
    shown = sorted({near for hit in hits for near in range(hit - AROUND, hit + AROUND + 1) if 0 <= near < len(lines)})
    out, size, last = list[str](), 0, -1
    for number in shown:
        line = f"{number + 1}: {_around(lines[number], wanted)}"
        size += len(line) + 1
        if size > WINDOW:
            out.append("[more lines match; use a narrower query]")
            break
        if last >= 0 and number > last + 1:
            out.append("...")
        out.append(line)
        last = number
    return Output("\n".join([f"[{len(hits)} of {len(lines):,} lines match]", *out]), f"{len(hits)} lines match")


def _around(line: str, wanted: str) -> str:
    """A line, or the part of a long one around what was looked for."""
    start = max(0, line.casefold().find(wanted) - LINE // 2)
    part = line[start : start + LINE]
    return f"{'...' if start else ''}{part}{'...' if start + LINE < len(line) else ''}"

"""Reading again what was cut: by place, by what it holds, by search."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.search import Found
from memory.types import ThreadKey, ToolCall
from tests.doubles import ANA
from tools.base import ToolContext
from tools.history import LINE, WINDOW, history_tools, matching, window
from tools.registry import Ran, Registry

HERE = ThreadKey("T/C/1")
WHOLE = "\n".join(f"line {n}: {'needle' if n % 50 == 7 else 'hay'}" for n in range(2_000))


async def whole(thread: ThreadKey, handle: str) -> str | None:
    return WHOLE if (thread, handle) == (HERE, "r1") else None


async def search(thread: ThreadKey, query: str) -> list[Found]:
    return [Found(3, 0.0, "Ana", "the words", "r1", 1.0)] if (thread, query) == (HERE, "words") else []


async def run(name: str, thread: ThreadKey = HERE, **arguments: Any) -> Ran:
    chat: Any = None
    context = ToolContext(thread, "c1", ANA, datetime.now(UTC), chat)
    made = ToolCall(id="c1", name=name, arguments=arguments)
    return await Registry(history_tools(whole, search)).run(made, context, "r9")


@given(st.text("ab\n ", min_size=1, max_size=40_000))
def test_the_windows_of_a_text_put_together_are_the_text(text: str) -> None:
    offset, read = 0, ""
    while offset < len(text):
        part = window(text, offset).text
        assert len(part) <= WINDOW + 100
        read += part.partition("]\n")[2]
        offset += WINDOW
    assert read == text
    assert "nothing is at" in window(text, len(text)).text


async def test_a_result_is_read_part_by_part() -> None:
    first = (await run("read_result", handle="r1")).result.text
    assert f"the next part begins at offset {WINDOW}" in first
    assert first.endswith(WHOLE[:WINDOW])
    last = (await run("read_result", handle="r1", offset=len(WHOLE) - 5)).result.text
    assert "this is the end" in last
    assert last.endswith(WHOLE[-5:])


async def test_lines_that_match_come_with_their_numbers_and_neighbours() -> None:
    ran = await run("read_result", handle="r1", query="NEEDLE")
    text = ran.result.text
    assert text.startswith("[40 of 2,000 lines match]\n6: line 5: hay\n7: line 6: hay\n8: line 7: needle\n")
    assert "\n...\n56: " in text
    assert ran.result.untrusted
    assert "no line of 2,000 holds" in (await run("read_result", handle="r1", query="gold")).result.text


@given(st.integers(0, 30_000), st.integers(0, 30_000))
def test_what_matches_in_a_long_line_is_shown(before: int, after: int) -> None:
    text = matching("x" * before + "Needle" + "y" * after, "needle").text
    assert "Needle" in text
    assert len(text) <= LINE + 100


def test_too_many_matches_ask_for_a_narrower_query() -> None:
    text = matching("needle " * 60 + "\n" + ("needle " * 60 + "\n") * 100, "needle").text
    assert len(text) <= WINDOW + 200
    assert "narrower query" in text


@pytest.mark.parametrize("thread", [HERE, ThreadKey("T/C/2")])
async def test_only_results_of_this_thread_are_there(thread: ThreadKey) -> None:
    ran = await run("read_result", thread=thread, handle="r2")
    assert ran.result.is_error
    assert "code: unknown_handle" in ran.result.text
    other = await run("read_result", thread=thread, handle="r1")
    assert other.result.is_error is (thread != HERE)


async def test_search_shows_when_who_and_where_the_whole_is() -> None:
    text = (await run("search_history", query="words")).result.text
    assert text == '[1970-01-01 00:00 UTC, Ana (whole: read_result(handle="r1"))]\nthe words'
    assert "nothing in this thread matches 'x'" in (await run("search_history", query="x")).result.text
    assert (await run("search_history", thread=ThreadKey("T/C/2"), query="words")).result.line == "no match"

"""What was ever said in a thread is found again, on both databases, and only in its own thread."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memory.log import Logs
from memory.log_rows import keep_whole
from memory.records import Briefed, MessageEdited, Record
from memory.search import AROUND, rank, terms
from memory.types import MessageId, ThreadKey, ToolResult
from tests.doubles import BEN, call, says
from tests.memory.samples import compacted, ended, numbered, said

HERE, THERE = ThreadKey("T/C/1"), ThreadKey("T/C/2")
LOOK = call("c1", "look", word="w")


async def found(logs: Logs, query: str, *records: Record) -> list[str]:
    await (await logs.open(HERE)).append(*records)
    return [one.text for one in await logs.search(HERE, query)]


def test_words_identifiers_and_pairs_of_characters_are_compared() -> None:
    assert terms("Ticket OPS-1042, a v2.4.1 at https://x.org/a") == [
        "ticket",
        "ops-1042",
        "v2.4.1",
        "at",
        "https",
        "x.org/a",
    ]
    assert terms("数据库迁移") == ["数据", "据库", "库迁", "迁移"]
    assert terms("部署 v2 完") == ["v2", "部署", "完"]
    assert terms("!? 。") == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("database migration", "the Database Migration begins at nine"),
        ("迁移", "我们星期五做数据库迁移"),
        ("星期五迁移数据库", "我们星期五做数据库迁移"),
        ("ops-1042", "see OPS-1042 for it"),
        ("100%_done", 'it is 100%_done "really" \\ now'),
        ("привет мир", "Привет, Мир"),
        ("größe", "die GRÖSSE nicht, aber die Größe"),
        ("ÄPFEL", "drei Äpfel"),
        ("東京", "東京の会議"),
        ("서울", "서울에서 만나요"),
    ],
)
async def test_words_of_people_and_of_the_model_are_found(logs: Logs, query: str, text: str) -> None:
    assert any(text in one for one in await found(logs, query, said(text), says("nothing of that kind")))
    assert text in await found(logs, query, says(text))


async def test_results_edits_and_what_was_read_in_are_found_with_their_handles(logs: Logs) -> None:
    await (await logs.open(HERE)).append(
        said("go"),
        says("", LOOK),
        ended(LOOK, "the zebra result", handle="r1"),
        MessageEdited(by=BEN, source=MessageId("m1"), text="the zebra edit"),
        Briefed(call=call("b1", "read_thread"), result=ToolResult(call_id="b1", text="the zebra before")),
    )
    hits = await logs.search(HERE, "zebra")
    assert [hit.what for hit in hits] == ["result of read_thread", "Ben, edited", "result of a call"]
    assert 'read_result(handle="r1")' in hits[2].line()


async def test_a_compaction_hides_nothing(logs: Logs) -> None:
    log = await logs.open(HERE)
    await log.append(said("the walrus is here"), says("ok"))
    await log.append(compacted(3, "a short text", calls_made=0))
    logs.forget(HERE)
    assert [hit.what for hit in await logs.search(HERE, "walrus")] == ["Ana"]


async def test_other_threads_are_never_looked_at(logs: Logs) -> None:
    await (await logs.open(THERE)).append(said("the walrus is there"))
    log = await logs.open(THERE)
    await log.append(said("x"), also=[keep_whole(log.id, "r1", "a walrus in full")])
    assert await found(logs, "walrus", said("nothing here")) == []
    assert await logs.whole_result(HERE, "r1") is None


async def test_the_middle_of_a_long_result_is_found(logs: Logs) -> None:
    log = await logs.open(HERE)
    whole = "start " + "x " * 9_000 + "the narwhal 42 " + "y " * 9_000
    shown = ended(LOOK, "start x x x [...] y y y", handle="r1")
    await log.append(says("", LOOK), shown, also=[keep_whole(log.id, "r1", whole)])
    (hit,) = await logs.search(HERE, "narwhal")
    assert "the narwhal 42" in hit.text
    assert hit.handle == "r1"
    assert await logs.whole_result(HERE, "r1") == whole


async def test_a_short_result_is_read_again_by_its_handle_too(logs: Logs) -> None:
    log = await logs.open(HERE)
    await log.append(says("", LOOK), ended(LOOK, "one", handle="r1"), ended(LOOK, "eleven", handle="r11"))
    assert [await logs.whole_result(HERE, handle) for handle in ("r1", "r11", "r2", "%")] == [
        "one",
        "eleven",
        None,
        None,
    ]


async def test_an_empty_question_finds_nothing(logs: Logs) -> None:
    assert await found(logs, "?!", said("what?!")) == []


# -- ranking ---------------------------------------------------------------------------------------


def ranked(query: str, records: Sequence[Record]) -> list[int]:
    return [hit.seq for hit in rank(numbered(records), query)]


def test_rare_words_count_more_and_newer_records_win_a_tie() -> None:
    records = [
        said("deploy the zebra"),
        *(said(f"deploy number {n}") for n in range(5)),
        said("deploy the zebra again"),
    ]
    assert ranked("deploy zebra", records)[:2] == [7, 1]
    assert len(ranked("deploy", records * 3)) == 8


def test_earlier_searches_do_not_stand_before_what_they_found() -> None:
    search, again = call("s1", "search_history", query="zebra"), call("s2", "read_result", handle="zebra")
    records = [said("the zebra"), says("", search, again), ended(search, "zebra"), ended(again, "zebra")]
    assert ranked("zebra", records) == [1]


def test_the_place_that_matches_is_shown() -> None:
    (hit,) = rank(numbered([said("a" * 5_000 + " the zebra " + "b" * 5_000)]), "zebra")
    assert "the zebra" in hit.text
    assert len(hit.text) <= 2 * AROUND + 6
    assert hit.line().startswith("[1970-01-01 00:00 UTC, Ana]\n...")

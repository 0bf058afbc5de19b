"""The stored log: durable in order, fenced against a second writer, and read back as it was."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import Connection

from memory import db
from memory.context import assemble
from memory.db import Database
from memory.log import CorruptLog, Fenced, Logs, Place
from memory.log_rows import ensure_thread, keep_whole
from memory.records import Compacted, Record, Stored
from memory.state import fold
from memory.steps import Rest, next_step
from memory.types import MessageId, ThreadKey
from tests.doubles import Clock, says
from tests.laws.world import scratch
from tests.memory.samples import EVERY_KIND, LOOK, POST, compacted, ended, posted, said

KEY = ThreadKey("T/C/1")
TURN = (said(), says("", LOOK), ended(LOOK), says("done"), posted(4, "answer"), posted(1, "card", final=True))


def reread(logs: Logs) -> Logs:
    """Another program on the same database, one after the other."""
    return Logs(logs.database, logs.clock)


async def test_an_unknown_thread_begins_empty(logs: Logs):
    log = await logs.open(KEY)
    assert (log.records, next_step(log.state), log.loaded) == ([], Rest(), 0)


async def test_records_are_numbered_timed_and_stored_in_order(logs: Logs, clock: Clock):
    log = await logs.open(KEY)
    first = await log.append(*EVERY_KIND[:3])
    clock.now += 1.25
    second = await log.append(*EVERY_KIND[3:])
    assert [s.seq for s in (*first, *second)] == list(range(1, len(EVERY_KIND) + 1))
    assert (second[0].at - first[0].at, log.loaded) == (1.25, 0)
    again = await reread(logs).open(KEY)
    assert again.records == log.records == [*first, *second]
    assert again.loaded == len(EVERY_KIND)


async def test_appending_nothing_still_does_what_comes_with_it(logs: Logs):
    log = await logs.open(KEY)
    assert await log.append(also=[keep_whole(log.id, "r1", "all of it")]) == ()
    assert await logs.whole_result(KEY, "r1") == "all of it"


async def test_threads_do_not_mix(logs: Logs):
    one, two = await logs.open(KEY), await logs.open(ThreadKey("T/C/2"))
    await asyncio.gather(*(log.append(said(f"{log.key} {n}")) for n in range(5) for log in (one, two)))
    for log in (one, two):
        again = await reread(logs).open(log.key)
        assert again.records == log.records
        assert [s.seq for s in again.records] == [1, 2, 3, 4, 5]
        assert all(isinstance(s.record, type(said())) and s.record.text.startswith(log.key) for s in again.records)


async def test_appends_at_once_get_different_places(logs: Logs):
    log = await logs.open(KEY)
    await asyncio.gather(*(log.append(said(str(n))) for n in range(20)))
    assert [s.seq for s in log.records] == list(range(1, 21))
    assert (await reread(logs).open(KEY)).records == log.records


async def test_a_record_can_be_asked_for_by_its_place(logs: Logs):
    log = await logs.open(KEY)
    await log.append(said("a"), said("b"))
    assert [log.at(0), log.at(1), log.at(2), log.at(3)] == [None, said("a"), said("b"), None]


@given(st.lists(st.sampled_from(EVERY_KIND), max_size=25), st.data())
async def test_what_is_kept_up_to_date_equals_what_the_whole_log_says(records: list[Record], data: st.DataObject):
    """Whatever is appended, in pieces of any size; a compaction keeps from no later than itself."""
    with scratch() as folder:
        database = Database(f"sqlite:///{folder / 'a.db'}")
        log, whole = await Logs(database).open(KEY), list[Stored]()
        while records:
            size = data.draw(st.integers(1, len(records)))
            piece, records = records[:size], records[size:]
            if len(whole) < 3:
                piece = [record for record in piece if not isinstance(record, Compacted)]
            whole += await log.append(*piece)
            assert log.context == assemble(whole)
            assert log.state == fold(whole)
        database.close()


# -- fences and failures -------------------------------------------------------------------------


async def test_a_second_writer_is_fenced_off_before_it_acts(logs: Logs):
    ours = await logs.open(KEY)
    await ours.append(said("a"))
    theirs = await reread(logs).open(KEY)
    await theirs.append(says("b"))
    before, context = list(ours.records), ours.context
    acted = list[str]()

    def act(_: Connection) -> None:
        acted.append("acted")

    with pytest.raises(Fenced, match=rf"{KEY}.*Run only one process"):
        await ours.append(says("c"), also=[keep_whole(ours.id, "r1", "x"), act])
    assert (ours.records, ours.context, acted) == (before, context, [])
    assert ours.state == fold(before)
    assert await logs.whole_result(KEY, "r1") is None
    assert (await reread(logs).open(KEY)).records == theirs.records


async def test_a_fenced_thread_that_is_forgotten_reads_what_the_other_wrote(logs: Logs):
    await (await logs.open(KEY)).append(said("a"))
    await (await reread(logs).open(KEY)).append(says("b"))
    logs.forget(KEY)
    log = await logs.open(KEY)
    await log.append(said("c"))
    assert [s.record for s in log.records] == [said("a"), says("b"), said("c")]


async def test_when_what_comes_with_a_record_fails_the_record_is_not_there(logs: Logs):
    log = await logs.open(KEY)
    await log.append(said("a"))

    def fail(_: Connection) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await log.append(says("b"), also=[fail])
    await log.append(says("c"))
    assert [s.record for s in log.records] == [said("a"), says("c")]
    assert (await reread(logs).open(KEY)).records == log.records


async def test_a_cancelled_append_is_in_memory_as_it_is_on_disk(logs: Logs):
    log = await logs.open(KEY)
    task = asyncio.ensure_future(log.append(said("a")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [s.record for s in log.records] == [said("a")]
    await log.append(says("b"))
    assert (await reread(logs).open(KEY)).records == log.records


@pytest.mark.parametrize(("column", "value"), [("body", "{}"), ("body", "torn {"), ("version", 99)])
async def test_a_damaged_record_is_named_and_nothing_is_changed(
    column: str, value: object, url: str, logs: Logs, raw: sa.Engine
):
    await (await logs.open(KEY)).append(said("a"))
    await (await logs.open(ThreadKey("T/C/2"))).append(said("b"))
    damage(raw, sa.update(db.records).where(db.records.c.thread == 1).values({column: value}))
    other = reread(logs)
    with pytest.raises(CorruptLog, match=rf"record 1 of thread {KEY} cannot be read .* backup"):
        await other.open(KEY)
    assert [s.record for s in (await other.open(ThreadKey("T/C/2"))).records] == [said("b")]


def damage(raw: sa.Engine, statement: sa.Update) -> None:
    """As a broken disk would: past the guard that the database keeps."""
    with raw.begin() as connection:
        if raw.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER records_no_update")
        else:
            connection.exec_driver_sql("ALTER TABLE records DISABLE TRIGGER records_frozen")
        connection.execute(statement)


# -- compaction ----------------------------------------------------------------------------------


async def test_reading_begins_at_the_turn_that_the_last_compaction_keeps_from(logs: Logs):
    log = await logs.open(KEY)
    await log.append(*TURN)
    await log.append(said("more", source="m2"), says("", POST), ended(POST))
    await log.append(compacted(8, calls_made=log.state.calls_made, frame=log.state.frame))
    again = await reread(logs).open(KEY)
    assert [s.seq for s in again.records] == [7, 8, 9, 10]
    assert again.context == log.context
    assert next_step(again.state) == next_step(log.state)
    assert (again.state.turn, again.state.calls_made) == (log.state.turn, 2)
    assert again.at(7) == said("more", source="m2")
    await again.append(says("done"))
    assert (await reread(logs).open(KEY)).context == again.context


async def test_a_turn_is_never_read_from_its_middle(logs: Logs):
    """Else its later words would be taken for a turn of their own, with a card that is never closed."""
    log = await logs.open(KEY)
    await log.append(said("a"), says("", LOOK), said("and b", source="m2"), ended(LOOK), says("done"))
    await log.append(posted(5, "answer"), posted(1, "card", final=True), said("c", source="m3"))
    await log.append(compacted(3, calls_made=1))
    again = await reread(logs).open(KEY)
    assert again.records[0].seq == 1
    assert next_step(again.state) == next_step(log.state)
    assert again.context == log.context


async def test_keeping_nothing_still_reads_the_turn_that_is_under_way(logs: Logs):
    log = await logs.open(KEY)
    await log.append(*TURN, said("b", source="m2"), says("", POST), ended(POST))
    await log.append(compacted(10, calls_made=2))
    again = await reread(logs).open(KEY)
    assert (again.records[0].seq, again.state.turn) == (7, log.state.turn)
    assert len(again.context.messages) == 1


# -- what is found beside the log ----------------------------------------------------------------


async def test_a_posted_message_leads_to_what_it_shows(logs: Logs):
    log = await logs.open(KEY)
    await log.append(said(), posted(1, "card"))
    await log.append(posted(1, "card", final=True))  # the same message, noted again
    assert await logs.place_of(MessageId("p1card")) == Place(KEY, 1, "card")
    assert await logs.place_of(MessageId("another")) is None


async def test_a_whole_result_is_found_in_its_thread_only(logs: Logs):
    log, other = await logs.open(KEY), await logs.open(ThreadKey("T/C/2"))
    text = "long\x00 text\n" * 1_000
    await log.append(ended(LOOK), also=[keep_whole(log.id, "r1", text)])
    assert (await logs.whole_result(KEY, "r1") or "").replace("\ufffd", "\x00") == text
    assert await logs.whole_result(other.key, "r1") is None
    assert await logs.whole_result(KEY, "r2") is None


async def test_the_threads_that_were_used_last_stay_in_memory(logs: Logs):
    logs.keep = 3
    keys = [ThreadKey(str(n)) for n in range(4)]
    first = [await logs.open(key) for key in keys[:3]]
    assert await logs.open(keys[0]) is first[0]
    await logs.open(keys[3])  # in place of the second, which was used longest ago
    assert await logs.open(keys[0]) is first[0]
    assert await logs.open(keys[2]) is first[2]
    assert await logs.open(keys[1]) is not first[1]


async def test_a_thread_is_followed_once_it_is_and_for_ever(logs: Logs):
    assert not await logs.follows(KEY)
    for followed, expected in ((False, False), (True, True), (False, True)):
        await logs.database.write(lambda connection, f=followed: ensure_thread(connection, KEY, followed=f))
        assert await logs.follows(KEY) is expected


async def test_a_new_thread_may_be_met_through_many_doors_at_once(logs: Logs):
    others = [reread(logs) for _ in range(8)]
    opened = await asyncio.gather(*(other.open(KEY) for other in others))
    assert len({log.id for log in opened}) == 1


# -- what may be lost ------------------------------------------------------------------------------


async def test_what_is_kept_counts_at_once_and_is_written_with_what_follows(logs: Logs) -> None:
    log = await logs.open(KEY)
    await log.append(said("a"), says("", LOOK))
    (kept,) = await log.keep(ended(LOOK, "seen"), also=[keep_whole(log.id, "r1", "all that was seen")])
    assert (kept.seq, log.state.open_calls, log.context) == (3, {}, assemble(log.records))
    assert len((await Logs(logs.database).open(KEY)).records) == 2
    await log.append(says("done"))
    again = await Logs(logs.database).open(KEY)
    assert again.records == log.records
    assert await logs.whole_result(KEY, "r1") == "all that was seen"


async def test_what_is_kept_is_lost_with_the_process_unless_it_is_flushed(logs: Logs) -> None:
    log = await logs.open(KEY)
    await log.append(said("a"), says("", LOOK))
    await log.keep(ended(LOOK, "seen"))
    logs.forget(KEY)
    log = await logs.open(KEY)
    assert list(log.state.open_calls) == [LOOK.id]
    await log.keep(ended(LOOK, "seen again"))
    await log.flush()
    await log.flush()
    assert [s.seq for s in (await Logs(logs.database).open(KEY)).records] == [1, 2, 3]


async def test_a_second_writer_is_found_out_when_what_was_kept_is_written(logs: Logs) -> None:
    ours, theirs = await logs.open(KEY), await Logs(logs.database).open(KEY)
    await ours.keep(said("kept"))
    await theirs.append(said("theirs"))
    with pytest.raises(Fenced):
        await ours.flush()

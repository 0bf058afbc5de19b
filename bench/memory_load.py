"""A memory for the measurements: real store, embedder and index in a folder, and no network."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from memory.audience import Audience, Scope, Source
from memory.db import Database
from memory.embed import local
from memory.fact import NewFact
from memory.facts import Facts
from memory.remember import Memory
from memory.types import MessageId, ThreadKey
from memory.vectors import Vectors

Line = dict[str, Any]
"""A line of the recall set."""


def block_sockets() -> None:
    """From here on a connection to anywhere fails; the event loop needs none."""

    def refuse(_: socket.socket, address: object) -> None:
        raise AssertionError(f"a connection to {address} was tried")

    socket.socket.connect = refuse  # type: ignore[method-assign,assignment]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign,assignment]


@asynccontextmanager
async def opened(folder: str) -> AsyncGenerator[Memory]:
    database = Database(f"sqlite:///{folder}/bench.db")
    vectors = Vectors(Facts(database), lambda _: local(), f"{folder}/index", native=False)
    try:
        yield Memory(vectors.facts, vectors, lambda text: text)
    finally:
        await vectors.close()
        database.close()


async def load(memory: Memory, lines: Sequence[Line]) -> dict[str, int]:
    return {
        line["id"]: (await memory.add(new_fact(line["text"], line["lang"], line["id"]), keep="asked"))[0].id
        for line in lines
    }


def new_fact(text: str, workspace: str, name: str) -> NewFact:
    source = Source(workspace=workspace, channel="C1", room="public")
    return NewFact(
        text=text,
        scope=Scope(kind="workspace"),
        source=source,
        author="U1",
        author_name="Ana",
        message=MessageId(f"{workspace}:C1:{name}"),
    )


def audience(workspace: str) -> Audience:
    return Audience(workspace, "C1", ThreadKey(f"{workspace}:C1:1"), "public", "U1")


async def ready(memory: Memory) -> None:
    """Until every fact has its vector and the index is up to date."""
    memory.vectors.begin()
    while memory.vectors.index is None or await memory.facts.without_vector(memory.vectors.name):
        await asyncio.sleep(0.05)

"""A process that remembers facts one after the other until it is killed; it says which ones are stored."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

from memory.db import Database
from memory.facts import Facts
from memory.index import Index
from memory.remember import Memory
from tests.memory_facts.people import BagOfWords, Still, claim


async def write(folder: Path, start: int) -> None:
    embedder = BagOfWords()
    vectors = Still(Facts(Database(f"sqlite:///{folder / 'bobbin.db'}")), lambda _: embedder, str(folder / "index"))
    vectors.embedder, vectors.index = embedder, Index(str(folder / "index"), embedder.name)
    vectors.ready.set()
    memory = Memory(vectors.facts, vectors, lambda text: text)
    last = None
    for number in count(start):
        new = claim(f"Machine host-{number} is in rack {number % 9}.", message=str(number))
        fact, _ = await memory.add(new, keep="learned", replaces=last if number % 5 == 0 else None)
        last = fact.id
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), int(sys.argv[2])))

"""How long it takes until the messages of a very long thread are there."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.figures import Figure
from bench.threads import THREAD
from memory.db import Database
from memory.log import Logs
from memory.records import Compacted, ModelSaid, Record, ToolEnded, UserSaid
from memory.types import Message, MessageId, Person, Text, ToolCall, ToolResult, Usage

RECORDS, KEPT, ROUNDS = 10_000, 600, 5
ANA = Person(id="U1", name="Ana")


def records() -> list[Record]:
    """Turns of four records: words, a call, its result, an answer."""
    made = list[Record]()
    for number in range(RECORDS // 4):
        call = ToolCall(id=f"toolu_{number}", name="look", arguments={"q": str(number)})
        usage = Usage(fresh=100, output=10)
        done = Message(role="assistant", parts=(Text(text=f"part {number} is done"),))
        result = ToolResult(call_id=call.id, text=f"line {number} " * 40)
        made += [
            UserSaid(author=ANA, source=MessageId(f"M{number}"), header="[Ana (U1)]", text=f"go on with {number}"),
            ModelSaid(message=Message(role="assistant", parts=(call,)), usage=usage, stop="calls"),
            ToolEnded(result=result, handle=f"r{number}"),
            ModelSaid(message=done, usage=usage, stop="end"),
        ]
    return made


async def measure() -> list[Figure]:
    warm, cold = await _times(RECORDS - KEPT)
    note = f"{KEPT} records since the last compaction"
    return [
        Figure("messages of a thread of 10,000 records, warm", warm, "ms", 5, note=note),
        Figure("the same, cold", cold, "ms", 60, note="from the database, with its state"),
    ]


async def _times(cut: int) -> tuple[float, float]:
    """Milliseconds (warm, cold) of CPU, all threads together."""
    with TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'bobbin.db'}")
        logs, made = Logs(database, lambda: 1.0), records()
        log = await logs.open(THREAD)
        await log.append(*made[:cut])
        await log.append(Compacted(text="summary", keep_from=cut + 1, calls_made=cut // 4, frame=""))
        await log.append(*made[cut:])
        warm, cold = list[float](), list[float]()
        for _ in range(ROUNDS):
            warm.append(await _opened(logs))
            logs.forget(THREAD)
            cold.append(await _opened(logs))
        database.close()
    return median(warm), median(cold)


async def _opened(logs: Logs) -> float:
    gc.collect()
    began = time.process_time()
    log = await logs.open(THREAD)
    assert log.context.messages
    return (time.process_time() - began) * 1e3

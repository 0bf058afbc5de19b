"""Lanes into the database: threads in which its work is done, so that the event loop never waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from sqlalchemy.engine import Connection, Engine

WRITES = {"bobbin_writes": True}
"""Marks the connection that writes."""


@dataclass(slots=True)
class Job:
    work: Callable[[Connection], Any]
    done: Callable[[Any, BaseException | None], None]


class SingleWriter:
    """SQLite allows one writer: a thread of our own that commits whatever has queued up in one go.

    Each job runs in a savepoint, so one that fails takes nothing of the others with it. Nobody is
    told of success before the commit that holds it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="bobbin-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        self._queue.put(job)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        # One connection for good: checking out costs as much as a row.
        with self._engine.connect().execution_options(**WRITES) as connection:
            while (job := self._queue.get()) is not None:
                batch = [job]
                while len(batch) < 64 and not self._queue.empty():
                    more = self._queue.get()
                    if more is None:
                        self._queue.put(None)
                        break
                    batch.append(more)
                self._commit(connection, batch)

    def _commit(self, connection: Connection, batch: list[Job]) -> None:
        try:
            with connection.begin():
                if len(batch) == 1:
                    outcomes = [(batch[0], batch[0].work(connection), None)]
                else:
                    outcomes = [self._run(connection, job) for job in batch]
        except BaseException as error:
            outcomes = [(job, None, error) for job in batch]
        for job, value, error in outcomes:
            job.done(value, error)

    @staticmethod
    def _run(connection: Connection, job: Job) -> tuple[Job, Any, BaseException | None]:
        try:
            with connection.begin_nested():
                return job, job.work(connection), None
        except Exception as error:
            return job, None, error


class Pool:
    """PostgreSQL takes many writers: a transaction for each job, in a few threads."""

    def __init__(self, engine: Engine, workers: int) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="bobbin-db")

    def submit(self, job: Job) -> None:
        self._threads.submit(self._run, job)

    def close(self) -> None:
        self._threads.shutdown(wait=True)

    def _run(self, job: Job) -> None:
        try:
            with self._engine.begin() as connection:
                value = job.work(connection)
        except BaseException as error:
            job.done(None, error)
        else:
            job.done(value, None)

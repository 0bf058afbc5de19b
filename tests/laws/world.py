"""One thread, the real turns over a real log, and the outside world, which outlives the program."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.agent import Agent, Scene
from bot.budget import Limits, Patience
from bot.compactor import Compactor
from bot.model import ModelError
from bot.turns import Turns
from memory.db import Database, records
from memory.inbox import Deleted, Edited, Gesture, Gestured, Inbound, Inbox, Said
from memory.log import Logs, ThreadLog
from memory.records import Stored, load
from memory.spend import Spend
from memory.types import MessageId, ThreadKey
from tests.doubles import Around, Clock, RecordingSurface
from tests.laws.provider import Line, Provider
from tests.laws.toolbox import Ledger, toolbox
from tools.policy import Policy

Result = TypeVar("Result")
THREAD = ThreadKey("T/C/1")


@contextmanager
def scratch() -> Generator[Path]:
    """A folder in memory where the machine has one: thousands of commits are made for each law."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="bobbin-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


class Crash(BaseException):
    """The process died here."""


@dataclass(slots=True)
class Fate:
    """Counts the points at which the process may die, and lets it die at one of them."""

    die_at: int | None = None
    passed: list[str] = field(default_factory=list[str])
    dead: bool = False
    around: Around | None = None
    """What else happens at each point outside the database, whose writes must not be cut short."""

    def reach(self, point: str) -> None:
        self.live()
        self.passed.append(point)
        if len(self.passed) == self.die_at:
            self.dead = True
        self.live()

    async def __call__(self, point: str) -> None:
        self.reach(point)
        if self.around is not None:
            await self.around(point)

    def live(self) -> None:
        if self.dead:
            raise Crash


class MortalDatabase(Database):
    """A database of a process that may die just before or just after a commit."""

    fate: Fate

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        self.fate.reach("before write")
        result = await super().write(work)
        self.fate.reach("after write")
        return result

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        self.fate.live()
        return await super().read(work)


@dataclass(frozen=True, slots=True)
class Interrupted(Agent):
    """An agent whose log changes its epoch now and then, where that is allowed: before the model is asked."""

    before_ask: Callable[[ThreadLog], Awaitable[None]] | None = None

    async def ask(self, log: ThreadLog, scene: Scene) -> None:
        if self.before_ask is not None:
            await self.before_ask(log)
        await Agent.ask(self, log, scene)


@dataclass(slots=True)
class World:
    folder: Path
    lines: list[Line | ModelError] = field(default_factory=list[Line | ModelError])
    limits: Limits = field(default_factory=Limits)
    system: str = "You are a test."
    fate: Fate = field(default_factory=Fate)
    clock: Clock = field(default_factory=Clock)
    ledger: Ledger = field(default_factory=Ledger)
    before_ask: Callable[[ThreadLog], Awaitable[None]] | None = None
    surface: RecordingSurface = field(init=False)
    model: Provider = field(init=False)
    database: MortalDatabase = field(init=False)
    logs: Logs = field(init=False)
    inbox: Inbox = field(init=False)
    turns: Turns = field(init=False)
    log: ThreadLog = field(init=False)
    until: float | None = None
    told: list[Stored] = field(default_factory=list[Stored])
    """The whole log at the end."""
    _events: int = 0

    async def __aenter__(self) -> World:
        self.surface = RecordingSurface(around=self.fate)
        self.ledger.around, self.ledger.log = self.fate, self._live_log
        self.model = Provider(self.lines, self._live_log, self.fate)
        await self.start()
        self.fate.passed.clear()  # counting begins with the story
        return self

    async def __aexit__(self, *_: object) -> None:
        self.fate.dead = True
        await self.end_tasks()
        self.database.close()

    async def start(self) -> None:
        """The program begins: new objects, the same file, the same outside world."""
        self.fate.dead = False
        self.model.forget_wire()
        file = self.folder / "bobbin.db"
        if not file.exists():
            file.write_bytes(_empty_database())
        self.database = MortalDatabase(f"sqlite:///{file}")
        self.database.fate = self.fate
        self.logs, self.inbox = Logs(self.database, self.clock), Inbox(self.database, self.clock)
        agent = Interrupted(
            model=self.model,
            tools=toolbox(),
            system=self.system,
            model_name="model",
            spend=Spend(self.database),
            limits=self.limits,
            policy=Policy(free=frozenset({"jot"}), forbidden=frozenset({"banned"})),
            patience=Patience(attempts=2),
            sleep=_at_once,
            before_ask=self.before_ask,
        )
        chat: Any = self.ledger  # these tools use only its own methods
        self.turns = Turns(self.logs, self.inbox, self.surface, agent, Compactor(agent), chat, clock=self.clock)
        self.log = await self.logs.open(THREAD)

    async def restart(self) -> None:
        """The process is gone, however it went; another one begins."""
        self.fate.dead = True
        await self.end_tasks()
        self.database.close()
        await self.start()

    @staticmethod
    async def end_tasks() -> None:
        """A process that dies takes its tasks with it."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def settle(self) -> None:
        """Work until the thread parks and nothing waits in its inbox."""
        for _ in range(100):
            self.until = await self.turns.advance(THREAD, 0)
            self.log = await self.logs.open(THREAD)
            if not await self.inbox.waiting(THREAD):
                return
        raise AssertionError("the thread never comes to rest")

    async def everything(self) -> list[Stored]:
        """The thread's whole log, also from before its compactions."""
        columns = records.c
        rows = await self.database.read(
            lambda c: c.execute(sa.select(columns.seq, columns.at, columns.version, columns.body)).all()
        )
        return [Stored(row.seq, row.at, load(row.body, row.version)) for row in sorted(rows)]

    # -- what people do --------------------------------------------------------------------------

    async def put(self, inbound: Inbound, identity: str = "") -> None:
        self._events += 1
        await self.inbox.put(f"e{self._events}", identity or f"i{self._events}", inbound)
        self.turns.interrupt(THREAD)

    async def say(self, who: str, words: str, *, number: int | None = None, catch_up: bool = False) -> MessageId:
        """``number`` makes it the same message each time, as a redelivery is."""
        name = self._events + 1 if number is None else number
        message = MessageId(f"{THREAD}/u{name}")
        said = Said(
            thread=THREAD, message=message, author=who, words=words, at=self.clock(), follow=True, catch_up=catch_up
        )
        await self.put(said, f"said {message}")
        return message

    async def edit(self, who: str, message: MessageId, words: str) -> None:
        await self.put(Edited(thread=THREAD, message=message, author=who, words=words))

    async def delete(self, message: MessageId) -> None:
        await self.put(Deleted(thread=THREAD, message=message))

    async def gesture(self, who: str, gesture: Gesture, message: MessageId | None = None, identity: str = "") -> None:
        """A reaction, on the newest request if no message is named."""
        requests = [m for m, shown in self.surface.messages.items() if shown.key.kind == "approval"]
        on = message or (requests[-1] if requests else MessageId(f"{THREAD}/none"))
        await self.put(Gestured(thread=THREAD, message=on, author=who, gesture=gesture, at=self.clock()), identity)

    # -- what the log says -----------------------------------------------------------------------

    def _live_log(self) -> ThreadLog:
        return self.logs._live[THREAD]  # pyright: ignore[reportPrivateUsage] - the one that is at work right now


@cache
def _empty_database() -> bytes:
    """A file with all tables: copying it takes less time than making one."""
    with scratch() as folder:
        Database(f"sqlite:///{folder / 'empty.db'}").close()
        return (folder / "empty.db").read_bytes()


async def _at_once(_: float) -> None: ...

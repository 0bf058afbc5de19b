"""The soak: the real bot is killed again and again under load, and at the end nothing is missing and nothing double.

    python -m tests.soak.soak --events 1000 --kills 500 --faults 0.05 --seconds 540

With ``--gently`` each life is ended by SIGTERM, as an upgrade would, instead of kill -9.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bot.demo.server import serve
from bot.demo.values import Timing
from bot.demo.workspace import Workspace
from tests.fake_claude import FakeClaude, fake_claude
from tests.soak.lives import Lives, lives
from tests.soak.office import NEWS, Loses, Office, kind_of

UNKNOWN = ("may or may not have happened", "可能已执行，也可能没有")


@dataclass(frozen=True, slots=True)
class Plan:
    """People ask and the bot is killed for ``seconds``; then it has ``patience`` seconds to finish."""

    events: int
    kills: int
    faults: float
    seconds: float
    patience: float = 180.0
    gently: bool = False
    seed: int = 1


@dataclass(slots=True)
class Report:
    """``missing`` and ``double`` name jobs; ``slowest`` is the longest end of a life, in seconds."""

    events: int = 0
    kills: int = 0
    seconds: float = 0.0
    lost_answers: int = 0
    model_failures: int = 0
    approvals: int = 0
    writes: int = 0
    uncertain: int = 0
    slowest: float = 0.0
    codes: dict[int, int] = field(default_factory=dict[int, int])
    missing: list[int] = field(default_factory=list[int])
    double: list[int] = field(default_factory=list[int])
    double_posts: list[str] = field(default_factory=list[str])
    double_writes: list[int] = field(default_factory=list[int])
    lost_writes: list[int] = field(default_factory=list[int])
    """Approved and neither there nor said to be unknown."""
    untold: list[str] = field(default_factory=list[str])
    """Unknown outcomes that were not said in their thread."""
    open_cards: list[str] = field(default_factory=list[str])
    """Requests that can still be answered although nothing waits for it."""
    broken_rules: list[str] = field(default_factory=list[str])
    """Requests that the model's provider would have refused."""

    @property
    def holds(self) -> bool:
        wrong = (self.missing, self.double, self.double_posts, self.double_writes, self.lost_writes, self.untold)
        return not any(wrong) and not self.open_cards and not self.broken_rules


async def soak(plan: Plan, folder: Path) -> Report:
    dice = random.Random(plan.seed)
    running = await serve(Workspace(timing=Timing(ack=3, retries=(2.0,) * 500)))
    async with fake_claude() as claude:
        office = Office(running, plan.faults, dice)
        claude.default = office.model
        report = Report()
        async with lives(_environment(running, claude, folder), folder / "bot.log") as bot:
            began = time.monotonic()
            helpers = [asyncio.create_task(office.decide()), asyncio.create_task(office.cut_lines(2.0))]
            asking = asyncio.create_task(_ask(office, plan))
            await _kill(bot, plan, report, dice, began)
            await asking
            await bot.begin()
            await _settled(office, plan.patience)
            report.seconds = round(time.monotonic() - began, 1)
            for helper in helpers:
                helper.cancel()
            code, seconds = await bot.end(signal.SIGTERM)
            _note(report, code, seconds)
        _judge(office, claude, folder, report)
    await running.close()
    return report


def _environment(running: Any, claude: FakeClaude, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(("SLACK_", "BOBBIN_"))}
    return {
        **{name: value for name, value in kept.items() if not name.lower().endswith("_proxy")},
        "SLACK_API_URL": running.api_url,
        "SLACK_BOT_TOKEN": running.workspace.bot_token,
        "SLACK_APP_TOKEN": running.workspace.app_token,
        "ANTHROPIC_BASE_URL": claude.url,
        "ANTHROPIC_API_KEY": "sk-ant-of-the-soak",
        "BOBBIN_DATA_DIR": str(folder / "data"),
        "BOBBIN_HTTP_PORT": "0",
        "BOBBIN_MODEL_WAIT": "0.3",
        "BOBBIN_LOG_LEVEL": "warning",
    }


async def _ask(office: Office, plan: Plan) -> None:
    """Spread the questions over the time in which the bot is killed."""
    pause = plan.seconds * 0.9 / plan.events
    for _ in range(plan.events):
        office.ask()
        await asyncio.sleep(office.dice.uniform(0, 2 * pause))


async def _kill(bot: Lives, plan: Plan, report: Report, dice: random.Random, began: float) -> None:
    """Lives of random length, some of which end before the bot has even connected."""
    latest = began + plan.seconds
    for number in range(plan.kills):
        if time.monotonic() > latest + 60:
            return  # a slow machine: fewer kills
        await bot.begin()
        left = max(0.1, (latest - time.monotonic()) / (plan.kills - number))
        if plan.gently:
            await bot.until_ready()
        await asyncio.sleep(dice.uniform(0.05, 2 * left))
        _note(report, *await bot.end(signal.SIGTERM if plan.gently else signal.SIGKILL))
        report.kills += 1


def _note(report: Report, code: int, seconds: float) -> None:
    report.codes[code] = report.codes.get(code, 0) + 1
    report.slowest = max(report.slowest, round(seconds, 2))


async def _settled(office: Office, patience: float) -> None:
    """Wait until every job has its answer and no request is open, and a little longer for what would be too much."""

    def done() -> bool:
        return not office.asked and len(office.answered) == len(office.jobs)

    with suppress(TimeoutError):
        await office.workspace.until(done, patience)
    await asyncio.sleep(2)


def _judge(office: Office, claude: FakeClaude, folder: Path, report: Report) -> None:
    loses = office.workspace.lost_answers
    report.lost_answers = loses.lost if isinstance(loses, Loses) else 0
    report.open_cards = [f"{channel}:{ts}" for channel, ts in office.asked]
    report.events, report.approvals = len(office.jobs), office.decided
    report.model_failures, report.broken_rules = office.model_failures, claude.problems[:3]
    unknown = _unknown(folder / "data" / "bobbin.db")
    report.uncertain = sum(unknown.values())
    refused = {office.workspace.message(*key).thread_ts for key in office.refused}
    for job in office.jobs:
        told = sum(any(words in said for words in UNKNOWN) for said in office.thread(job, "notice"))
        answers, written = office.answers(job), office.written(job)
        (report.missing if not answers else report.double if answers > 1 else []).append(job.number)
        report.writes += written
        if written > 1:
            report.double_writes.append(job.number)
        if job.kind == "write" and not written and job.root not in refused and not told:
            report.lost_writes.append(job.number)
        if told != unknown.get(f"{job.channel}:{job.root}", 0):
            report.untold.append(f"{job.channel}:{job.root}")
    posts = Counter(
        (message.channel, message.thread_ts, json.dumps(message.metadata, sort_keys=True))
        for channel in office.workspace.channels
        for message in office.workspace.messages(channel)
        if message.channel != NEWS and kind_of(message)
    )
    report.double_posts = [str(key) for key, times in posts.items() if times > 1]


def _unknown(path: Path) -> Counter[str]:
    """How many calls of each thread (``channel:ts``) ended with an unknown outcome, by the log."""
    found = Counter[str]()
    statement = "select threads.key, records.body from records join threads on threads.id = records.thread"
    with sqlite3.connect(path) as connection:
        for key, body in connection.execute(statement):
            if json.loads(body).get("outcome") == "uncertain":
                found[str(key).partition(":")[2]] += 1
    connection.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--faults", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--patience", type=float, default=180)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gently", action="store_true")
    parser.add_argument("--folder", type=Path)
    plan = vars(parser.parse_args())
    folder: Path = plan.pop("folder") or Path(tempfile.mkdtemp(prefix="bobbin-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    report = asyncio.run(soak(Plan(**plan), folder))
    for name, value in asdict(report).items():
        print(f"{name:15} {value}")
    print(f"{'holds' if report.holds else 'BROKEN: see ' + str(folder)}")
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())

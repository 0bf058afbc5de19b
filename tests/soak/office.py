"""A workspace full of people who ask, approve and refuse, on a network that loses things."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from bot.demo.server import Running
from bot.demo.socket import NotAcknowledged
from bot.demo.values import BOT_USER, Channel, Message, SlackError
from bot.demo.workspace import ANA, WEI, Workspace
from tests.fake_claude import Answer, Fails, Fault, Says, call, text

NEWS = "C0NEWS0001"
REFUSED = 7
"""Every so-manieth request is refused."""


class Loses(list[str]):
    """In the place of the workspace's list of answers to lose: each post is lost by chance."""

    def __init__(self, chance: float, dice: random.Random) -> None:
        super().__init__()
        self.chance, self.dice, self.lost = chance, dice, 0

    def __contains__(self, method: object) -> bool:
        hit = method == "chat.postMessage" and self.dice.random() < self.chance
        self.lost += hit
        return hit

    def remove(self, value: str, /) -> None: ...


@dataclass(slots=True)
class Job:
    """One message to the bot, and the thread it stands in."""

    number: int
    kind: str
    channel: str
    root: str
    author: str


@dataclass(slots=True)
class Office:
    running: Running
    faults: float
    dice: random.Random
    jobs: list[Job] = field(default_factory=list[Job])
    asked: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    """Open requests, by channel and message, and when somebody last acted on it."""
    refused: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    answered: set[int] = field(default_factory=set[int])
    decided: int = 0
    model_failures: int = 0

    def __post_init__(self) -> None:
        workspace = self.workspace
        for number in range(16):
            members = (ANA, WEI, BOT_USER)
            workspace.put_channel(Channel(f"C0ROOM{number:04d}", f"room{number}", members=members))
        workspace.lost_answers = Loses(self.faults, self.dice)
        workspace.on_event[:] = [self._deliver]
        workspace.on_change.append(self._look)

    @property
    def workspace(self) -> Workspace:
        return self.running.workspace

    def _deliver(self, payload: Any) -> None:
        """What people do comes one to four times; the bot hears of its own posts, which is only noise, now and then."""
        own = payload["event"].get("user") == BOT_USER or "bot_id" in str(payload["event"].get("message"))
        copies = self.dice.random() < 0.2 if own else self.dice.randint(1, 4)
        for _ in range(copies):
            self.running.socket.deliver(payload)

    # -- what people do ----------------------------------------------------------------------------

    def ask(self) -> Job:
        """A new task, in a new thread or in one whose last question is answered."""
        number = len(self.jobs) + 1
        kind = self.dice.choice(["talk", "talk", "read", "write"])
        before = self.dice.choice(self.jobs) if self.jobs and self.dice.random() < 0.3 else None
        newest = None if before is None else [one for one in self.jobs if one.root == before.root][-1]
        if newest is not None and newest.number in self.answered:
            self.workspace.say(newest.author, newest.channel, f"job {number} {kind}", newest.root)
            job = Job(number, kind, newest.channel, newest.root, newest.author)
        else:
            channel, author = f"C0ROOM{self.dice.randrange(16):04d}", self.dice.choice([ANA, ANA, WEI])
            root = self.workspace.say(author, channel, f"@Bobbin job {number} {kind}").ts
            job = Job(number, kind, channel, root, author)
        self.jobs.append(job)
        return job

    async def decide(self) -> None:
        """Those who were asked react to the card, and press its button when that did not help."""
        while True:
            await asyncio.sleep(0.2)
            for (channel, ts), acted in list(self.asked.items()):
                message = self.workspace.message(channel, ts)
                offered = any(user == BOT_USER for _, user in message.reactions)
                if time.monotonic() - acted > (0.3 if offered else 2.0):
                    await self._decide(message)

    async def _decide(self, message: Message) -> None:
        key = (message.channel, message.ts)
        author = next(job.author for job in self.jobs if job.root == message.thread_ts)
        yes = key not in self.refused and (self.decided + 1) % REFUSED != 0
        if not yes:
            self.refused.add(key)
        if not any(user == author for _, user in message.reactions):
            self.decided += 1
            name = "white_check_mark" if yes else "x"
            self.workspace.react(author, *key, name)
        else:
            with suppress(NotAcknowledged, SlackError):  # the bot is away, or somebody was faster
                await self.running.interactions.click(author, *key, "approve" if yes else "refuse")
        if key in self.asked:
            self.asked[key] = time.monotonic() + 3

    def _look(self, change: Any) -> None:
        """Keep up with which requests are open: those that have buttons."""
        if change.get("kind") != "message":
            return
        message = change["message"]
        if message.get("user") == BOT_USER:
            self.answered |= {int(number) for number in re.findall(r"answer (\d+)\.", str(message.get("text")))}
        key = (str(message["channel"]), str(message["ts"]))
        if "'action_id': 'approve'" in str(message.get("blocks")):
            self.asked.setdefault(key, time.monotonic())
        else:
            self.asked.pop(key, None)

    async def cut_lines(self, seconds: float) -> None:
        """Sockets break, or are asked to be opened anew."""
        while True:
            await asyncio.sleep(self.dice.uniform(0.5, 1.5) * seconds)
            if self.dice.random() < 0.5:
                self.running.socket.drop()
            else:
                await self.running.socket.refresh()

    # -- what the model says -----------------------------------------------------------------------

    def model(self, body: Any) -> Answer:
        """Does the newest job of the conversation; fails by chance, in five ways."""
        words = json.dumps([message for message in body["messages"] if message["role"] == "user"])
        number, kind = re.findall(r"job (\d+) (\w+)", words)[-1]
        said = json.dumps([message for message in body["messages"] if message["role"] == "assistant"])
        answer = text(f"answer {number}.")
        if kind == "write" and f"news {number}." not in said:
            answer = call("post_message", {"channel": "#news", "text": f"news {number}."})
        elif kind == "read" and f"{number} * 3" not in said:
            answer = call("calculate", {"expression": f"{number} * 3"})
        return self._failing(answer) if self.dice.random() < self.faults else answer

    def _failing(self, answer: Says) -> Answer:
        self.model_failures += 1
        return self.dice.choice(
            [
                Fails(529, "overloaded_error"),
                Fails(500),
                Fails(429, "rate_limit_error", retry_after=0.1),
                Says(answer.blocks, answer.stop, fault=Fault("error", 3)),
                Says(answer.blocks, answer.stop, fault=Fault("drop", 4)),
            ]
        )

    # -- what came of it ---------------------------------------------------------------------------

    def thread(self, job: Job, kind: str) -> list[str]:
        """What the bot posted of a kind in the thread of a job, as text."""
        return [
            f"{message.text}{message.blocks}"
            for message in self.workspace.messages(job.channel)
            if message.thread_ts == job.root and message.by_app and kind_of(message) == kind
        ]

    def answers(self, job: Job) -> int:
        return sum(f"answer {job.number}." in said for said in self.thread(job, "answer"))

    def written(self, job: Job) -> int:
        return sum(f"news {job.number}." in str(message.blocks) for message in self.workspace.messages(NEWS))


def kind_of(message: Message) -> str:
    metadata: Any = message.metadata or {}
    return str(metadata.get("event_payload", {}).get("kind", ""))

"""A thread whose marks are low, a model that can summarize well or badly, and a look at what goes over the wire."""

from __future__ import annotations

from functools import cache
from typing import Any

import anthropic

from bot.channel import Channel, Channels
from bot.claude import Claude
from bot.model import ModelError, Request
from memory.compaction import Marks
from memory.context import Context
from memory.records import ModelSaid
from memory.summary import HEADINGS
from memory.types import Text, Usage
from tests.bot.conftest import Build
from tests.bot.doubles import THREAD, Line, Playback, World, says
from tests.laws.legality import problems
from tools.registry import Registry

LONG = Usage(fresh=50_000, output=10)
"""What the provider counts, so that the conversation is a long one."""
GOOD = "\n".join(f"## {heading}\nkept" for heading in HEADINGS)
WORDS = "ship 2.4 to the EU first; 先不要通知客户"
OFF = Marks(clear_at=0, summarize_at=0)
LOW = Marks(clear_at=0, summarize_at=3_000, summarize_hard=4_000)


def last_text(request: Request) -> str:
    part = request.context.messages[-1].parts[-1]
    return part.text if isinstance(part, Text) else ""


def wants_summary(request: Request) -> bool:
    return "Summarize the conversation so far" in (request.summarize or last_text(request))


def player(answer: Line, summary: Line, *more: Line) -> Line:
    """Says ``summary`` when one is asked for (then ``more``, the last again and again), else ``answer``."""
    lines = [summary, *more]

    def play(request: Request) -> ModelSaid:
        line = answer
        if wants_summary(request):
            line = lines.pop(0) if len(lines) > 1 else lines[0]
        if isinstance(line, ModelError):
            raise line
        return line if isinstance(line, ModelSaid) else line(request)

    return play


def marked(world: World, marks: Marks = OFF) -> World:
    """Give the thread other marks; to be done again after a restart."""
    world.turns.channels = Channels(Channel(marks))
    return world


def long_answer(text: str = "done") -> ModelSaid:
    return says(text, usage=LONG)


def body_of(context: Context) -> dict[str, Any]:
    """What goes out for this conversation."""
    return _body(Request(THREAD, "system", Registry([]), context, "model", 1_000))


def _body(request: Request) -> dict[str, Any]:
    return Claude(_client(), "model")._body(request, "model")  # pyright: ignore[reportPrivateUsage] - what goes out


def wire(request: Request) -> dict[str, Any]:
    """The body as it goes out, checked against the provider's rules."""
    body = _body(request)
    assert problems(body) == [], problems(body)
    return body


@cache
def _client() -> anthropic.AsyncAnthropic:
    """Never called; making one takes long."""
    return anthropic.AsyncAnthropic(api_key="none")


def playback_of(world: World) -> Playback:
    assert isinstance(world.model, Playback)
    return world.model


async def say(world: World, words: str) -> None:
    await world.say(words)
    await world.advance()


def notices(world: World) -> list[str]:
    return [words for words in world.surface.words if words.startswith("🗜")]


async def compacted(build: Build, line: Line, *more: Line) -> World:
    """A long thread in which ``compact`` was said, and one question after it."""
    world = marked(build(player(long_answer(), line, *more), repeat=True))
    await say(world, WORDS)
    before = (await world.log()).records[:]
    await say(world, "compact")
    kept = await world.turns.logs.matching(THREAD, ['"kind"'])
    assert kept[: len(before)] == before, "the originals are untouched"
    await say(world, "and now?")
    return world

"""A model that plays a fixed part, for trying the product without a key. It says so, plainly.

What it says is decided in ``bot/script.py``; here it is spoken, at a pace that people can follow.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from bot.model import CallNamed, Model, ModelEvent, Request, TextGrew, ThoughtGrew
from bot.script import play
from bot.script_talk import Play
from memory.records import ModelSaid
from memory.types import Message, Text, ToolCall, Usage

PAUSE = 0.08
"""Seconds between two words of a thought, so that people can follow the card."""
FASTER = 4
"""How many times faster an answer is written, which is shown only when it is whole."""


@dataclass(frozen=True, slots=True)
class Scripted(Model):
    """``pause`` in seconds, after each word."""

    pause: float = PAUSE

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """See ``Model``. Never fails, and costs nothing."""
        said = play(request.context.messages)
        for piece in pieces(said.thought):
            yield ThoughtGrew(piece)
            await asyncio.sleep(self.pause)
        for name, _ in said.calls:
            yield CallNamed(name)
        for piece in pieces(said.text):
            yield TextGrew(piece)
            await asyncio.sleep(self.pause / FASTER)
        yield ModelSaid(message=_message(said), usage=Usage(), stop="calls" if said.calls else "end", model="scripted")


def pieces(text: str) -> Iterator[str]:
    """A text word by word, and character by character where a script puts no spaces between words."""
    for found in re.finditer(r"[\u3000-\u9fff\uff00-\uffef]\s*|[^\s\u3000-\u9fff\uff00-\uffef]+\s*|\s+", text):
        yield found[0]


def _message(said: Play) -> Message:
    calls = tuple(
        ToolCall(id=f"call_{uuid.uuid4().hex[:16]}", name=name, arguments=arguments) for name, arguments in said.calls
    )
    return Message(role="assistant", parts=calls or (Text(text=said.text),))

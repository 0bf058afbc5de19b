"""A model that plays a fixed part, for trying the product without a key. It says so, plainly."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from bot.model import ModelEvent, Request, TextGrew
from memory.records import ModelSaid
from memory.types import Message, Text, Usage


class Scripted:
    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        text = "I am a scripted model."
        yield TextGrew(text)
        yield ModelSaid(message=Message(role="assistant", parts=(Text(text=text),)), usage=Usage(), stop="end")

"""The port to a language model. ``claude.py`` and ``scripted.py`` are its adapters.

Errors, all raised by ``Model.stream`` after nothing or only partial events:

    ModelError
     ├── Busy              try the same again after a wait
     ├── TooLong           the request does not fit: shorten the conversation
     ├── StaleThinking     old thinking no longer fits the conversation before it
     ├── Misconfigured     an administrator must act (key, billing, permission, model)
     └── Rejected          this request will never be accepted
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from memory.context import Context
from memory.records import ModelSaid
from memory.types import ThreadKey
from tools.registry import Registry


@dataclass(frozen=True, slots=True)
class Cached:
    """How long the provider's cache keeps the stable beginning of requests, and their moving end."""

    prefix: Literal["5m", "1h"] = "1h"
    moving: Literal["5m", "1h"] = "5m"


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the model. ``max_output`` in tokens; ``thread`` only helps an adapter to reuse work.

    ``summarize``: no answer is wanted but a summary of the conversation, by these instructions, made by the
    provider's own feature. Only for models for which ``Model.summarizes`` is true.
    """

    thread: ThreadKey
    system: str
    tools: Registry
    context: Context
    model: str
    max_output: int
    cached: Cached = field(default_factory=Cached)
    summarize: str = ""


@dataclass(frozen=True, slots=True)
class TextGrew:
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtGrew:
    """What the model says about its work between calls."""

    text: str


@dataclass(frozen=True, slots=True)
class CallNamed:
    """The model began to write a call; its arguments are not complete yet."""

    name: str


ModelEvent = TextGrew | ThoughtGrew | CallNamed | ModelSaid


class Model(Protocol):
    def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Partial events, then exactly one ``ModelSaid``. Raises ``ModelError``; retries nothing itself."""
        ...

    async def count(self, request: Request) -> int | None:
        """Tokens of a request as the provider counts them; None when it cannot say."""
        return None

    async def summarizes(self, model: str) -> bool:
        """Whether the provider can write a summary of a conversation by a feature of its own."""
        return False


class ModelError(Exception):
    """A failed model call. The message may be shown to a person."""


class Busy(ModelError):
    """``retry_after`` in seconds, if the provider named a time."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLong(ModelError):
    pass


class StaleThinking(ModelError):
    pass


class Misconfigured(ModelError):
    pass


class Rejected(ModelError):
    pass

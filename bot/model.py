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
from dataclasses import dataclass
from typing import Protocol

from memory.context import Context
from memory.records import ModelSaid
from memory.types import ThreadKey
from tools.registry import Registry


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the model. ``max_output`` in tokens; ``thread`` only helps an adapter to reuse work."""

    thread: ThreadKey
    system: str
    tools: Registry
    context: Context
    model: str
    max_output: int


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

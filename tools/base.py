"""A tool is an async function over one pydantic model, plus what it may do and how long it may take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, JsonValue

from memory.types import CallId, MessageId, Person, ThreadKey


class Effect(StrEnum):
    """What a call can do to the world. Reads run freely; a note changes only what the bot itself remembers,
    can be undone by a word and is shown in the thread; the others need a yes."""

    READ = "read"
    NOTE = "note"
    WRITE = "write"
    DESTROY = "destroy"


class Arguments(BaseModel):
    """Base of every tool's arguments: unknown fields are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Input = TypeVar("Input", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool found or did: ``text`` for the model, ``line`` (a few words) for people."""

    text: str
    line: str = ""


class ToolError(Exception):
    """A failure that the model can read and act on. ``hint`` says what to do next."""

    def __init__(self, code: str, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.retryable = code, message, hint, retryable


class UnknownOutcome(Exception):
    """The connection broke after the request was sent: the effect may or may not have happened."""


class Chat(Protocol):
    """What a tool may ask of the chat platform. Channels and people by name, id or mention.

    Every method raises ``ToolError`` when the platform refuses, and those that change something
    raise ``UnknownOutcome`` when the answer was lost. ``context`` says who asks and where.
    """

    async def read_thread(self, context: ToolContext, limit: int) -> Output: ...
    async def read_channel(self, context: ToolContext, channel: str, limit: int) -> Output: ...
    async def post(self, context: ToolContext, channel: str, text: str) -> Output: ...
    async def send_dm(self, context: ToolContext, user: str, text: str) -> Output: ...
    async def react(self, context: ToolContext, channel: str, ts: str, name: str) -> Output: ...
    async def pin(self, context: ToolContext, channel: str, ts: str) -> Output: ...
    async def schedule(self, context: ToolContext, channel: str, text: str, at: datetime) -> Output: ...
    async def remind(self, context: ToolContext, text: str, at: datetime) -> Output: ...
    async def upload(self, context: ToolContext, channel: str, name: str, content: str) -> Output: ...
    async def set_topic(self, context: ToolContext, channel: str, topic: str) -> Output: ...
    async def invite(self, context: ToolContext, channel: str, user: str) -> Output: ...
    async def delete_own(self, context: ToolContext, channel: str, ts: str) -> Output: ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One call's surroundings. ``call_id`` is the key for effects that can be made idempotent."""

    thread: ThreadKey
    call_id: CallId
    requester: Person
    now: datetime
    chat: Chat
    origin: MessageId | None = None


@dataclass(frozen=True, slots=True)
class Tool(Generic[Input]):
    """``timeout`` in seconds; ``cap`` in characters of the result that the model is shown at once."""

    name: str
    description: str
    effect: Effect
    input: type[Input]
    run: Callable[[Input, ToolContext], Awaitable[Output]]
    timeout: float = 30.0
    cap: int = 16_000
    idempotent: bool = False
    """Running it again with the same call id changes nothing more."""
    polling: bool = False
    """Asking the same again and again is its purpose: the loop detectors leave it alone."""
    untrusted: bool = False
    """Its results hold words of people or pages that the requester did not write."""
    resource: tuple[str, ...] = ()
    """The arguments that say what is changed: a standing approval covers other calls with the same ones."""

    @property
    def schema(self) -> dict[str, JsonValue]:
        return _without_titles(self.input.model_json_schema())


def tool(
    effect: Effect,
    *,
    timeout: float = 30.0,
    cap: int = 16_000,
    idempotent: bool = False,
    polling: bool = False,
    untrusted: bool = False,
    resource: tuple[str, ...] = (),
) -> Callable[[Callable[[Any, ToolContext], Awaitable[Output]]], Tool[Any]]:
    """Make a tool of an async function: name, description and schema come from the function itself.

    The function takes its ``Arguments`` and a ``ToolContext``; its docstring is what the model reads.
    """

    def wrap(run: Callable[[Any, ToolContext], Awaitable[Output]]) -> Tool[Any]:
        arguments = next(iter(get_type_hints(run).values()))
        description = " ".join((run.__doc__ or "").split())
        return Tool(
            name=run.__name__,
            description=description,
            effect=effect,
            input=arguments,
            run=run,
            timeout=timeout,
            cap=cap,
            idempotent=idempotent,
            polling=polling,
            untrusted=untrusted,
            resource=resource,
        )

    return wrap


def _without_titles(schema: Any) -> Any:
    """Drop the titles that pydantic adds to every field: tokens without meaning for the model."""
    if isinstance(schema, dict):
        items: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
        return {
            key: {name: _without_titles(field) for name, field in value.items()}
            if key == "properties"
            else _without_titles(value)
            for key, value in items.items()
            if key != "title"
        }
    if isinstance(schema, list):
        values: list[Any] = schema  # pyright: ignore[reportUnknownVariableType]
        return [_without_titles(value) for value in values]
    return schema

"""What may be learned from a conversation: proposals of a model, and the guards that they must pass. Pure.

A proposal quotes the message that it comes from. The guards do not trust it: what cannot be shown
to rest on the words of a person, in the scope of that person's words, is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import Field, TypeAdapter, ValidationError

from memory.audience import Audience, scope_of, source_of
from memory.fact import LONGEST, Fact, Kind, NewFact
from memory.learned import Words
from memory.types import MessageId, Person, Value
from memory.words import agree, names, normal, numbers

_PRIVATE = re.compile(
    r"(?:do\s*n[o']?t|don’t|never|please\s+not)\s+(?:\w+\s+){0,2}?(?:remember|memori[sz]e|save|store|keep)\b"
    r"|off\s+the\s+record|forget\s+(?:that|this|it)\b|(?:不要|别|请勿|不用|勿)(?:把\S{0,12})?(?:记|保存|存)|忘(?:了|掉|记)(?:这|它|吧)",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|[。！？；\n]+")
_OF_BEFORE = re.compile(r"\b(?:that|this|it|what I (?:just )?(?:said|wrote))\b|刚才|上面|这|那", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of a person that may be learned from. ``name`` is how the model is told of it (``m1``)."""

    name: str
    message: MessageId
    author: Person
    at: float
    text: str
    link: str = ""


class Add(Value):
    op: Literal["ADD"]
    message: str
    text: str = Field(max_length=LONGEST)
    kind: Kind = "fact"
    subject: str = Field(default="", max_length=120)
    value: str = Field(default="", max_length=200)
    confidence: float = Field(default=0.8, ge=0, le=1)


class Supersede(Value):
    op: Literal["SUPERSEDE"]
    message: str
    fact: int
    text: str = Field(max_length=LONGEST)
    kind: Kind = "fact"
    subject: str = Field(default="", max_length=120)
    value: str = Field(default="", max_length=200)
    confidence: float = Field(default=0.8, ge=0, le=1)


class Confirm(Value):
    """``text`` is what the message claims: it must agree with the fact."""

    op: Literal["CONFIRM"]
    message: str
    fact: int
    text: str = Field(max_length=LONGEST)


class Retract(Value):
    op: Literal["RETRACT"]
    message: str
    fact: int


class Noop(Value):
    op: Literal["NOOP"]
    message: str = ""


Operation = Annotated[Add | Supersede | Confirm | Retract | Noop, Field(discriminator="op")]
_OPERATIONS: TypeAdapter[list[Operation]] = TypeAdapter(list[Operation])


@dataclass(frozen=True, slots=True)
class Lesson:
    """New messages of one thread, who may read there, and the nearest facts of the same scopes.

    ``masked`` hides secrets in a text: a claim that it would change is refused.
    """

    audience: Audience
    heard: Sequence[Heard]
    known: Sequence[Fact]
    masked: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Learn:
    """A new fact; ``replaces`` is the old one that stops to hold."""

    fact: NewFact
    replaces: Fact | None = None


@dataclass(frozen=True, slots=True)
class Again:
    fact: Fact


@dataclass(frozen=True, slots=True)
class Drop:
    fact: Fact


Change = Learn | Again | Drop


def parsed(text: str) -> list[Operation]:
    """The operations of a model's answer: a JSON array, or an object with ``operations``. Raises ``ValueError``."""
    start, end = (
        min((i for i in (text.find("["), text.find("{")) if i >= 0), default=-1),
        max(text.rfind("]"), text.rfind("}")),
    )
    if start < 0 or end <= start:
        raise ValueError("no JSON in the answer")
    body: Any = json.loads(text[start : end + 1])
    if isinstance(body, dict):
        body = cast("dict[str, Any]", body).get("operations")
    try:
        return _OPERATIONS.validate_python(body)
    except ValidationError as error:
        raise ValueError(str(error)) from error


def is_private(text: str) -> bool:
    """Whether somebody asks that this is not remembered."""
    return _PRIVATE.search(text) is not None


def open_to_learning(said: Sequence[Words]) -> list[Words]:
    """Without what people asked not to have remembered: "don't remember that" is also about their words before it."""
    closed = set[MessageId]()
    for i, one in enumerate(said):
        if is_private(one.text):
            closed.add(one.message)
            before = next((other for other in reversed(said[:i]) if other.author.id == one.author.id), None)
            if before is not None and _OF_BEFORE.search(one.text):
                closed.add(before.message)
    return [one for one in said if one.message not in closed]


def changes(operations: Sequence[Operation], lesson: Lesson) -> list[Change]:
    """What remains of the proposals when every guard was asked."""
    heard = {one.name: one for one in lesson.heard if not is_private(one.text)}
    known = {fact.id: fact for fact in lesson.known}
    out = list[Change]()
    for operation in operations:
        said = heard.get(operation.message)
        if said is None or isinstance(operation, Noop):
            continue
        if (change := _change(operation, said, known, lesson)) is not None:
            out.append(change)
    return out


def _change(
    operation: Add | Supersede | Confirm | Retract, said: Heard, known: Mapping[int, Fact], lesson: Lesson
) -> Change | None:
    match operation:
        case Add():
            new = _claim(operation, said, lesson)
            return None if new is None else Learn(new)
        case Supersede(fact=number):
            old, new = known.get(number), _claim(operation, said, lesson)
            instead = None if old is None or new is None else correction(new, old)
            if old is None or instead is None:
                return None
            return Again(old) if normal(instead.text) == normal(old.text) else Learn(instead, old)
        case Confirm(fact=number, text=text):
            old = known.get(number)
            if old is None or not agree(text, old.text) or not says_again(said.text, old.text):
                return None
            return Again(old)
        case Retract(fact=number):
            old = known.get(number)
            return Drop(old) if old is not None and _may_change(said.author.id, old) else None


def _claim(claim: Add | Supersede, said: Heard, lesson: Lesson) -> NewFact | None:
    audience, masked = lesson.audience, lesson.masked
    scope = scope_of(audience, said.author.id, claim.kind)
    if scope is None or not claim.text.strip() or not rests_on(claim.text, said.text):
        return None
    if masked(claim.text) != claim.text or masked(claim.value) != claim.value:
        return None
    return NewFact(
        text=" ".join(claim.text.split()),
        kind=claim.kind,
        subject=claim.subject,
        value=claim.value,
        confidence=claim.confidence,
        scope=scope,
        source=source_of(audience),
        author=said.author.id,
        author_name=said.author.name,
        message=said.message,
        link=said.link,
    )


def says_again(words_of_person: str, claim: str) -> bool:
    """Whether one sentence of a message can say what a claim says: no number, date or name is in one of them only."""
    return any(agree(sentence, claim) for sentence in _SENTENCE_END.split(words_of_person) if sentence.strip())


def rests_on(claim: str, words_of_person: str) -> bool:
    """Whether the numbers and identifiers of a claim stand in the message that it quotes.

    Days may be worked out ("next Friday"), so whole ISO dates are left aside.
    """
    plain = _DATE.sub(" ", claim)
    if not numbers(plain) <= numbers(words_of_person):
        return False
    low = words_of_person.lower()
    identifiers = {one for one in names(plain) if any(c in one for c in "-_/.") and any(c.isalnum() for c in one)}
    return all(one.strip("./-_") in low for one in identifiers)


def correction(new: NewFact, old: Fact) -> NewFact | None:
    """A claim in the place of an old one, with its scope; None where the words do not reach so far.

    A private word does not replace what was said in public, nor the other way round.
    """
    if not _may_change(new.author, old) or (old.scope.kind != "user" and not _same_place(new, old)):
        return None
    return new.model_copy(update={"scope": old.scope})


def _may_change(author: str, old: Fact) -> bool:
    """What is somebody's own changes by that person's words only."""
    return old.scope.kind != "user" or old.scope.place == author


def _same_place(new: NewFact, old: Fact) -> bool:
    if new.scope.kind == "user" or new.source.public != old.source.public:
        return False
    return new.source.public or new.source.channel == old.source.channel

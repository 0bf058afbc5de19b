"""A fact: one claim that somebody made, with where and when, and whether it still holds. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memory.audience import Scope, Source
from memory.types import MessageId, Value

Kind = Literal["decision", "fact", "preference", "procedure", "person", "task"]
Status = Literal["active", "superseded", "retracted"]

LONGEST = 600
"""Characters of one fact."""
Keep = Literal["learned", "asked"]
"""How a fact gets in: out of a conversation, or because a person asked for it in so many words."""


class NewFact(Value):
    """A claim and where it comes from. ``keeper`` is who had it remembered, when that is not the author."""

    text: str
    kind: Kind = "fact"
    subject: str = ""
    value: str = ""
    confidence: float = 0.8
    scope: Scope
    source: Source
    author: str
    author_name: str
    keeper: str = ""
    message: MessageId
    link: str = ""


class Fact(NewFact):
    """Times are seconds since 1970; ``valid_from`` is the day the text states, or when it was said."""

    id: int
    status: Status = "active"
    created: float
    valid_from: float
    invalid_at: float | None = None
    superseded_by: int | None = None
    uses: int = 0


@dataclass(frozen=True, slots=True)
class Embedded:
    """A fact with its vector (float16 bytes), if the current embedder has made one."""

    fact: Fact
    vector: bytes | None


def owns(fact: Fact, person: str) -> bool:
    """Whether somebody may have it forgotten or changed: they said it, had it kept, or it is of them alone."""
    return person in {fact.author, fact.keeper} or (fact.scope.kind == "user" and fact.scope.place == person)


class Forgotten(Exception):
    """People had this forgotten: it is not learned again."""

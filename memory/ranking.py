"""Which facts answer a question: one score from meaning, words and age, and silence below a line. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.fact import Embedded, Fact
from memory.vector import Vector, unpacked
from memory.words import words

WORDS_WEIGHT = 0.1
"""Weight of the share of the question's idf mass that a fact holds, beside the cosine (weight 1)."""
RECENCY_WEIGHT = 0.02
FADE_DAYS = 180.0
"""After so many days a third of the bonus for being new is left."""
ALIKE, MARGIN = 0.4, 0.15
"""Two facts with stated days, at least this cosine and a telling word in common are versions of one: of these
the later is put first if its score is not further behind than the margin."""
WORDS_ONLY = 0.5
"""What a fact without a vector needs of the question's idf mass."""

OFFERED, ASKED = 0.24, 0.14
"""The least score of what is told unasked, and of what was asked for. See ``bench/memory.py``."""


@dataclass(frozen=True, slots=True)
class Question:
    """``total`` facts are in the workspace; ``holders`` says how many hold each of the question's words."""

    vector: Vector | None
    words: frozenset[str]
    holders: Mapping[str, int]
    total: int


@dataclass(frozen=True, slots=True)
class Found:
    fact: Fact
    score: float
    older_than: int | None = None
    """The id of a later version of it that was found too."""


def ranked(question: Question, candidates: Sequence[Embedded], now: float) -> list[Found]:
    """Candidates by score, best first; an older version of something comes after the later one."""
    idf = {word: _idf(question, word) for word in question.words}
    mass = sum(idf.values()) or 1.0
    scored = list[tuple[float, Embedded]]()
    for one, cosine in zip(candidates, _cosines(question.vector, candidates), strict=True):
        share = sum(idf[word] for word in question.words & words(one.fact.text)) / mass
        recency = math.exp(-max(0.0, now - one.fact.created) / (FADE_DAYS * 86_400))
        likeness = cosine if cosine is not None else share if share >= WORDS_ONLY else -1.0
        scored.append((likeness + WORDS_WEIGHT * share + RECENCY_WEIGHT * recency, one))
    scored.sort(key=lambda pair: (-pair[0], -pair[1].fact.id))
    return _later_first(scored)


def chosen(found: Sequence[Found], *, floor: float, count: int, tokens: int) -> list[Found]:
    """The best that are worth telling: at most so many, and so many tokens (estimated from characters)."""
    out, room = list[Found](), float(tokens)
    for one in found:
        if one.score < floor or len(out) == count:
            break
        room -= estimated_tokens(one.fact.text) + 30
        if room < 0:
            break
        out.append(one)
    return out


def estimated_tokens(text: str) -> int:
    """Rather too many: one for each character of a script without spaces, one for 2.6 others."""
    wide = sum(ord(c) > 0x2E7F for c in text)
    return wide + math.ceil((len(text) - wide) / 2.6)


def _idf(question: Question, word: str) -> float:
    return math.log(1 + question.total / (1 + question.holders.get(word, 0)))


def _cosines(vector: Vector | None, candidates: Sequence[Embedded]) -> list[float | None]:
    stored = [one.vector for one in candidates if one.vector is not None]
    if vector is None or not stored:
        return [None for _ in candidates]
    values = iter((unpacked(stored) @ vector).tolist())
    return [None if one.vector is None else float(next(values)) for one in candidates]


def _later_first(scored: Sequence[tuple[float, Embedded]], window: int = 24) -> list[Found]:
    """Among the best: where two are versions of one by their stated days, the later takes the place of the older."""
    head = list(scored[:window])
    older_than = dict[int, int]()
    for score, one in scored[:window]:
        laters = [(s, e) for s, e in head if s >= score - MARGIN and _later_version(one, e)]
        if not laters:
            continue
        later = max(laters, key=lambda pair: pair[1].fact.valid_from)
        older_than[one.fact.id] = later[1].fact.id
        place = _place(head, one)
        if _place(head, later[1]) > place:
            head.remove(later)
            head.insert(place, (score, later[1]))
    return [Found(one.fact, score, older_than.get(one.fact.id)) for score, one in (*head, *scored[window:])]


def _place(head: Sequence[tuple[float, Embedded]], one: Embedded) -> int:
    return next(i for i, (_, other) in enumerate(head) if other.fact.id == one.fact.id)


def _telling(text: str) -> frozenset[str]:
    """Words that say what a text is about: no numbers, no words of one sign (as 年 in a date)."""
    return frozenset(word for word in words(text) if not word.isdigit() and (len(word) > 2 or _wide(word)))


def _wide(word: str) -> bool:
    """A pair of Chinese characters."""
    return len(word) == 2 and ord(word[0]) > 0x2E7F


def _later_version(one: Embedded, other: Embedded) -> bool:
    """Whether ``other`` is a later version of ``one``: both state their day, and they speak of the same."""
    stated = one.fact.valid_from != one.fact.created and other.fact.valid_from != other.fact.created
    if not stated or other.fact.valid_from <= one.fact.valid_from:
        return False
    if one.vector is None or other.vector is None or not _telling(one.fact.text) & _telling(other.fact.text):
        return False
    pair = unpacked([one.vector, other.vector])
    return float(pair[0] @ pair[1]) >= ALIKE

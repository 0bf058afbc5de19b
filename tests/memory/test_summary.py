"""The text that stands for a conversation: words and changes as they were, identifiers, size, and no model at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.compaction import Marks
from memory.records import Compacted, Log, MessageDeleted, MessageEdited, Quoted, Record, Stopped
from memory.summary import (
    HEADINGS,
    compose,
    deeds,
    fallback_summary,
    last_answer,
    loose_identifiers,
    problems,
    quotes,
    summary_of,
    summary_request,
    transcript,
)
from memory.tokens import Factors
from memory.types import MessageId
from tests.doubles import ANA, BEN, call, says
from tests.memory.samples import ended, numbered, said, started
from tests.memory.samples import given as verdict

EXACT = Factors(1.0, 1.0)
MARKS = Marks(summary=1_000, words=2_000)
GOOD = "\n".join(f"## {heading}\nnothing" for heading in HEADINGS)
WRITE = call("w1", "post", channel="#news", text="Release 2.4 is out")


def composed(said: Sequence[Quoted], summary: str = GOOD, marks: Marks = MARKS, **more: object) -> str:
    return compose(summary, said, marks, len, EXACT, **more)  # pyright: ignore[reportArgumentType] - passed on


def replaced(log: Log) -> list[Record]:
    """What a compaction of this log leaves."""
    words, did = quotes(log), deeds(log)
    text = composed(words, did=did, answer=last_answer(log))
    return [Compacted(text=text, keep_from=len(log), said=words, did=did, calls_made=0, frame="")]


# -- words and changes -----------------------------------------------------------------------------


@given(st.lists(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=4), min_size=3, max_size=5))
def test_words_and_changes_survive_three_compactions_as_they_were(rounds: list[list[str]]) -> None:
    records, every = list[Record](), list[str]()
    for number, texts in enumerate(rounds):
        every += texts
        made = call(f"w{number}", "post", text=texts[0])
        records += [said(text) for text in texts]
        records += [says("", made), verdict(made), started(made), ended(made), says("posted")]
        records = replaced(numbered(records))
    (last,) = records
    assert isinstance(last, Compacted)
    assert [quote.text for quote in last.said] == every
    assert all(f"[Ana]\n{text}" in last.text for text in every)
    assert len(last.did) == len(rounds)
    assert all(line in last.text for line in last.did)


def test_corrections_and_stops_are_kept_with_the_words() -> None:
    edited = MessageEdited(by=BEN, source=MessageId("m1"), text="to #ops instead")
    log = numbered(
        [said("to #news"), edited, MessageDeleted(source=MessageId("m2")), Stopped(reason="cancelled", by=ANA)]
    )
    assert [quote.text for quote in quotes(log)] == [
        "to #news",
        "to #ops instead",
        "Set aside.",
        "Go on only if asked.",
    ]
    assert "Ben edited message m1" in quotes(log)[1].header


def test_a_change_names_its_arguments_its_outcome_and_who_decided() -> None:
    records = [says("", WRITE), verdict(WRITE), started(WRITE), ended(WRITE)]
    (line,) = deeds(numbered(records))
    assert line == '- post {"channel":"#news","text":"Release 2.4 is out"} -> done, approved by Ana (U0ANA)'
    refused = [says("", WRITE), verdict(WRITE, "refused", "not now"), ended(WRITE, "no", outcome="not_run")]
    assert deeds(numbered(refused))[0].endswith("-> not_run, refused by Ana (U0ANA): not now")
    read = call("c1", "look")
    assert deeds(numbered([says("", read), ended(read)])) == ()


def test_the_last_answer_stands_beside_the_summary_unless_new_words_came() -> None:
    assert last_answer(numbered([said(), says("the answer")])) == "the answer"
    assert last_answer(numbered([said(), says("the answer"), said("and?")])) == ""
    assert "# What you answered last\n\nthe answer" in composed((), answer="the answer")
    assert "in the middle of this task" in composed((), owed=True)


# -- size ------------------------------------------------------------------------------------------

words = st.lists(st.integers(1, 900), min_size=1, max_size=30)


@given(words)
def test_words_stay_within_their_limit_the_newest_whole(sizes: list[int]) -> None:
    said = [Quoted(header=f"[{n}]", text=chr(97 + n % 26) * size) for n, size in enumerate(sizes)]
    text = composed(said)
    assert text.endswith(f"[{len(sizes) - 1}]\n{said[-1].text}")
    assert len(text) <= len(composed(())) + MARKS.words + 2 * len(sizes) + 70 * (1 + len(sizes))
    if sum(len(quote.header) + 1 + len(quote.text) for quote in said) <= MARKS.words:
        assert all(quote.text in text for quote in said)


def test_the_oldest_words_are_shortened_first() -> None:
    text = composed([Quoted(header=f"[{n}]", text=f"{n}" * 900) for n in range(3)], marks=Marks(words=2_300))
    assert "0" * 301 not in text
    assert "1" * 900 in text
    assert "2" * 900 in text


def test_very_many_short_words_do_not_grow_without_end() -> None:
    text = composed([Quoted(header="[Ana]", text=f"word {n}") for n in range(5_000)])
    assert len(text) < 4_000
    assert "older ones are left out here; search_history finds them" in text
    assert "word 4999" in text


# -- what is asked for and what is refused ---------------------------------------------------------


def test_the_request_names_every_heading_the_focus_and_what_was_wrong() -> None:
    request = summary_request("the budget", ["it is empty"])
    assert all(f"## {heading}\n" in request for heading in HEADINGS)
    assert "the budget" in request
    assert "it is empty" in request
    assert summary_request() == summary_request()


def test_a_summary_needs_its_headings_and_its_size() -> None:
    assert problems(GOOD, MARKS, len, EXACT) == []
    assert problems(" \n", MARKS, len, EXACT) == ["it is empty"]
    assert "Goal, Blocked" in problems(GOOD.replace("Goal", "Aim").replace("Blocked", "x"), MARKS, len, EXACT)[0]
    assert "at most 1000" in problems(GOOD + "x" * 1_000, MARKS, len, EXACT)[0]


# -- identifiers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "identifier",
    ["https://status.example.org/i/9?x=1", "3f2a9c1e-0d4b-4c55-9a77-1b2c3d4e5f60", "a1b2c3d", "OPS-1042", "report.csv",
     "2.4.1", "$1,299.50", "340 ms", "12.5 %", "300元", "FP4777", "预算.xlsx"],
)  # fmt: skip
def test_identifiers_that_a_summary_leaves_out_are_listed_where_they_stood(identifier: str) -> None:
    (line,) = loose_identifiers([f"we saw {identifier} there"])
    assert identifier in line
    assert loose_identifiers([f"we saw {identifier} there"], f"the {identifier}") == []


def test_identifiers_are_found_in_text_without_spaces() -> None:
    for identifier in ("ORD-4592-X", "FP4777", "2.4.1", "https://x.org/a"):
        (line,) = loose_identifiers([f"订单{identifier} 已发货"])
        assert identifier in line
        assert loose_identifiers([f"订单{identifier} 已发货"], identifier) == []


def test_years_and_small_numbers_are_no_identifiers_and_the_newest_come_first() -> None:
    assert loose_identifiers(["in 2026 we had 3 of 17 people and a decade"]) == []
    lines = [f"order OPS-{n:04}" for n in range(200)]
    found = loose_identifiers(lines)
    assert len(found) == 60
    assert "OPS-0199" in found[0]


# -- without a model -------------------------------------------------------------------------------


def test_a_fallback_has_the_headings_and_says_what_was_done() -> None:
    log = numbered([said(), says("I post it", WRITE), started(WRITE), ended(WRITE), says("posted as 17.4")])
    text = fallback_summary(log, MARKS, len, EXACT)
    assert problems(text, MARKS, len, EXACT) == []
    assert "- post " in text
    assert "posted as 17.4" in text


@given(st.text(max_size=3_000), st.integers(0, 80))
def test_a_fallback_can_always_be_used_and_never_grows(best: str, steps: int) -> None:
    records: list[Record] = [said()]
    for number in range(steps):
        made = call(f"c{number}", "look", word="w" * 50)
        records += [says("words " * 60, made), ended(made)]
    text = fallback_summary(numbered(records), MARKS, len, EXACT, best)
    assert problems(text, MARKS, len, EXACT) == []
    for _ in range(3):
        kept = composed((), text)
        text = fallback_summary(
            numbered([Compacted(text=kept, keep_from=1, calls_made=0, frame="")]), MARKS, len, EXACT
        )
        assert problems(text, MARKS, len, EXACT) == []


def test_a_fallback_after_a_summary_carries_only_the_summary_on() -> None:
    text = composed([Quoted(header="[Ana]", text="my words")], "## Goal\nship 2.4")
    assert summary_of(text) == "## Goal\nship 2.4"
    fallback = fallback_summary(
        numbered([Compacted(text=text, keep_from=1, calls_made=0, frame="")]), MARKS, len, EXACT
    )
    assert "ship 2.4" in fallback
    assert "my words" not in fallback


def test_a_transcript_holds_all_words_and_shortens_results() -> None:
    made = call("c1", "look", word="w")
    lines = transcript(numbered([said("do it"), says("", made), ended(made, "y" * 5_000), says("done")]), 1_000)
    assert lines[0] == "[Ana]\ndo it"
    assert lines[-1] == "done"
    assert 1_000 < len(lines[1]) < 1_300

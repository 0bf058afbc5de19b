"""Where the lines are drawn: which results are set aside, for how much, and what is read in their place."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.compaction import Marks, doubtful, placeholder, plan_clearing, stand_in, wants_summary
from memory.records import Cleared, CompactionSkipped, Granted, Quoted, Record, digest
from memory.tokens import Estimate, Factors
from memory.types import ToolCall
from tests.doubles import ANA, BEN, call, says
from tests.memory.samples import LOOK, POST, compacted, ended, numbered, said, started, state

EAGER = Marks(clear_at=1, clear_to=0, clear_gain=1)
README = Path(__file__).parents[2] / "README.md"


def plan(records: list[Record], marks: Marks = EAGER) -> Cleared | None:
    return plan_clearing(numbered(records), Estimate(1_000, Factors(1.0, 1.0), 900), marks, len)


def loop(*sizes: int) -> list[Record]:
    """Calls with results of so many characters, all read by the model."""
    calls = [call(f"c{number}", "look") for number in range(1, len(sizes) + 1)]
    steps = [[says("", made), ended(made, "x" * size)] for made, size in zip(calls, sizes, strict=True)]
    return [said(), *(record for step in steps for record in step), says("done")]


def set_aside(*sizes: int, marks: Marks = EAGER) -> set[str]:
    cleared = plan(loop(*sizes), marks)
    return set(cleared.placeholders) if cleared else set()


def test_the_marks_are_those_that_the_readme_names() -> None:
    told = dict(re.findall(r"^\| `BOBBIN_(\w+)` \| `(\d+)` \|", README.read_text("utf-8"), re.MULTILINE))
    names = {"summary": "SUMMARY_TOKENS", "words": "WORDS_TOKENS"}
    marks = {name: getattr(Marks(), name) for name in Marks.__slots__ if name != "pinned"}
    assert marks == {name: int(told[names.get(name, name.upper())]) for name in marks}


def test_at_zero_nothing_is_set_aside() -> None:
    assert set_aside(900) == {"c1"}
    assert set_aside(900, marks=replace(EAGER, clear_at=0)) == set()


def test_a_result_whose_call_is_not_known_any_more_is_left_alone() -> None:
    assert plan([compacted(1), ended(call("gone", "post"), "x" * 900), *loop(900)]) == plan(loop(900))


@given(st.lists(st.integers(200, 900), min_size=1, max_size=6))
def test_it_must_win_what_it_should_and_not_one_more(sizes: list[int]) -> None:
    cleared = plan(loop(*sizes))
    assert cleared is not None
    assert cleared.won == sum(sizes) - sum(map(len, cleared.placeholders.values()))
    assert plan(loop(*sizes), replace(EAGER, clear_gain=cleared.won)) == cleared
    assert plan(loop(*sizes), replace(EAGER, clear_gain=cleared.won + 1)) is None


def test_the_newest_may_keep_what_they_should_and_not_one_more() -> None:
    assert set_aside(900, 500, 400, marks=replace(EAGER, clear_to=900)) == {"c1"}
    assert set_aside(900, 500, 401, marks=replace(EAGER, clear_to=900)) == {"c1", "c2"}


def test_a_result_that_is_no_longer_than_its_line_stays() -> None:
    longer = [size for size in range(1, 150) if "c2" in set_aside(900, size)]
    lines = {size: len(placeholder(ended(LOOK, "x" * size), LOOK)) for size in range(1, 150)}
    assert longer == [size for size, line in lines.items() if size > line]


def test_a_line_names_the_tool_with_its_plain_arguments_and_the_size() -> None:
    arguments: dict[str, Any] = {"word": "w", "count": 7, "many": [1, 2], "none": None}
    made = ToolCall(id="c1", name="look", arguments=arguments)
    assert placeholder(ended(made, "one\ntwo\n三", handle="r1"), made) == "[set aside: r1: look w 7, 3 lines, 11 B]"
    long = placeholder(ended(made, "x" * 12_345), made.model_copy(update={"arguments": {"word": "w" * 99}}))
    assert long == f"[set aside: look {'w' * 80}, 1 lines, 12 kB]"
    sizes = [placeholder(ended(LOOK, "x" * size), LOOK).split()[-2:] for size in (999, 1_000, 1_000_600)]
    assert sizes == [["999", "B]"], ["1", "kB]"], ["1001", "kB]"]]


def test_what_stands_in_for_the_past_carries_what_stays_true_of_the_thread() -> None:
    grant = Granted(tool="post", resource={}, by=ANA, expires_at=9.0)
    now = state(said(), said("me too", BEN, "m2"), says("", POST), started(POST), ended(POST), grant)
    quoted = (Quoted(header="[Ana]", text="hello"),)
    made = stand_in(now, "the past", 7, said=quoted, did=("posted",), before=9, after=3, how="fallback")
    assert (made.text, made.keep_from, made.said, made.did) == ("the past", 7, quoted, ("posted",))
    assert (made.before, made.after, made.how, made.tainted) == (9, 3, "fallback", True)
    assert (made.speakers, made.grants, made.writes) == ((ANA.id, BEN.id), (grant,), {digest(POST): 1})
    assert (made.calls_made, made.frame) == (1, "")
    plain = stand_in(state(), "", 1)
    assert (plain.before, plain.after, plain.how, plain.tainted, plain.said, plain.did) == (
        0,
        0,
        "model",
        False,
        (),
        (),
    )


def wants(tokens: int, *records: Record) -> bool:
    now = Estimate(tokens, Factors(1.0, 1.0), tokens)
    return wants_summary(numbered(records), now, Marks(summarize_at=1_000), mid_turn=False)


def test_the_newest_summary_counts_and_is_none_that_won_nothing() -> None:
    long, short = (compacted(1).model_copy(update={"before": 9_000, "after": after}) for after in (1_500, 100))
    skipped = CompactionSkipped(before=1_100, after=1_100)
    assert [wants(1_700, *past) for past in ((long, short), (short, long))] == [True, False]
    assert wants(1_100, short, skipped)
    assert wants(1_100, skipped, short)
    assert not wants(1_100, short, skipped, skipped)


def test_it_waits_until_the_conversation_has_grown_by_more_than_a_fifth() -> None:
    left = compacted(1).model_copy(update={"before": 9_000, "after": 1_000})
    poor, poorer = (CompactionSkipped(before=before, after=before) for before in (1_000, 2_000))
    for past in ((left,), (poor, poor), (poorer, poorer, poor)):
        assert [wants(tokens, *past) for tokens in (1_200, 1_201)] == [False, True]


@pytest.mark.parametrize("mark", ["clear_at", "summarize_at", "summarize_hard"])
def test_a_count_is_doubtful_if_an_error_of_a_quarter_could_cross_a_mark(mark: str) -> None:
    marks = replace(Marks(clear_at=0, summarize_at=10**6, summarize_hard=10**6), **{mark: 1_000})

    def unsure(tokens: int, known: int, where: Marks = marks) -> bool:
        return doubtful(Estimate(tokens, Factors(1.0, 1.0), known), where, mid_turn=mark == "summarize_hard")

    assert [unsure(1_100, known) for known in (699, 700)] == [True, False]
    assert [unsure(900, known) for known in (499, 500)] == [True, False]
    assert not unsure(1_000, 1_000)
    off = replace(marks, **{"clear_at" if mark == "clear_at" else "summarize_at": 0})
    assert not unsure(1_000, 0, off)

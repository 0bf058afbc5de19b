"""When results are set aside and when a summary is due."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.compaction import Marks, plan_clearing, wants_summary, worth
from memory.records import Cleared, CompactionSkipped, Record, ToolEnded
from memory.tokens import Estimate, Factors
from tests.doubles import call, says
from tests.memory.samples import compacted, ended, numbered, said

MARKS = Marks(clear_at=1_000, clear_to=300, clear_gain=200, summarize_at=1_000, summarize_hard=2_000)
EXACT = Factors(1.0, 1.0)
FULL = Estimate(1_000, EXACT, 900)


def loop(*sizes: int, tool: str = "look", read: bool = True) -> list[Record]:
    """Calls with results of so many characters; the last one was read by the model if ``read``."""
    records: list[Record] = [said()]
    for number, size in enumerate(sizes, start=1):
        made = call(f"c{number}", tool, word=f"w{number}")
        records += [says("", made), ended(made, "x" * size, handle=f"r{number}")]
    return [*records, says("done")] if read else records


def plan(records: list[Record], now: Estimate = FULL, marks: Marks = MARKS) -> Cleared | None:
    return plan_clearing(numbered(records), now, marks, len)


def test_the_oldest_results_are_set_aside_in_one_go_and_the_newest_kept() -> None:
    cleared = plan(loop(400, 400, 200, 100))
    assert cleared is not None
    assert list(cleared.placeholders) == ["c2", "c1"]
    assert cleared.won == 800 - sum(map(len, cleared.placeholders.values()))


def test_nothing_happens_below_the_mark_or_for_little_or_when_it_is_switched_off() -> None:
    records = loop(400, 400, 200, 100)
    assert plan(records, Estimate(999, EXACT, 0)) is None
    assert plan(loop(230, 230)) is None
    assert plan(records, marks=Marks(clear_at=0)) is None


def test_results_of_pinned_tools_stay() -> None:
    assert (
        plan(loop(900, 900), marks=Marks(clear_at=1_000, clear_to=0, clear_gain=1, pinned=frozenset({"look"}))) is None
    )


def test_what_the_model_has_not_read_yet_is_never_set_aside() -> None:
    made = [call(f"d{n}", "look") for n in range(3)]
    records = [*loop(900), says("", *made), *(ended(one, "y" * 900) for one in made)]
    cleared = plan(records)
    assert cleared is not None
    assert set(cleared.placeholders) == {"c1"}
    read = plan([*records, says("I see")])
    assert read is not None
    assert set(read.placeholders) == {"c1", "d0", "d1", "d2"}


@given(st.lists(st.integers(1, 900), max_size=12), st.booleans())
def test_planning_again_finds_nothing_new(sizes: list[int], read: bool) -> None:
    records = loop(*sizes, read=read)
    cleared = plan(records)
    if cleared is None:
        return
    assert cleared.won >= MARKS.clear_gain
    assert plan([*records, cleared]) is None
    ended_ids = [record.result.call_id for record in records if isinstance(record, ToolEnded)]
    assert set(cleared.placeholders) < set(ended_ids) or read
    more = plan([*records, cleared, *loop(500, 500, 500)[1:]])
    assert more is None or not more.placeholders.keys() & cleared.placeholders.keys() - {"c1", "c2", "c3"}


def test_a_placeholder_says_what_it_was_and_how_to_read_it_and_is_always_the_same() -> None:
    records = loop(900, 400)
    first, second = plan(records), plan(loop(900, 400))
    assert first is not None
    assert first == second
    assert first.placeholders["c1"] == "[set aside: r1: look w1, 1 lines, 900 B]"


# -- when a summary is due -------------------------------------------------------------------------


def wants(tokens: int, *records: Record, mid_turn: bool = False, marks: Marks = MARKS) -> bool:
    return wants_summary(numbered(records), Estimate(tokens, EXACT, tokens), marks, mid_turn=mid_turn)


def skipped(before: int) -> CompactionSkipped:
    return CompactionSkipped(before=before, after=before)


def test_the_soft_mark_holds_between_turns_and_the_hard_one_within() -> None:
    assert [wants(tokens) for tokens in (999, 1_000)] == [False, True]
    assert [wants(tokens, mid_turn=True) for tokens in (1_999, 2_000)] == [False, True]
    assert not wants(9_999, marks=Marks(summarize_at=0))


def test_after_two_that_won_nothing_it_waits_until_much_was_added() -> None:
    assert wants(1_100, skipped(1_100))
    assert not wants(1_200, skipped(1_100), skipped(1_100))
    assert wants(1_400, skipped(1_100), skipped(1_100))


def test_a_conversation_that_stays_above_its_mark_is_not_summarized_at_each_step() -> None:
    left = compacted(1).model_copy(update={"before": 3_000, "after": 1_500})
    assert not wants(1_700, left)
    assert wants(1_900, left)


def test_a_small_win_is_not_worth_it() -> None:
    assert [worth(1_000, after) for after in (500, 900, 901, 1_000)] == [True, True, False, False]

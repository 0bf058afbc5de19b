"""Our own words to people, in their language and their time."""

from __future__ import annotations

import string
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.catalog import WORDS, language, say
from bot.notices import LISTED, label, local_time, stop_notice, uncertain_notice
from memory.records import ModelSaid, Record, Stopped, Stored, ToolEnded
from memory.types import Message, Person, Text, ToolCall, ToolResult, Usage
from tests.bot.doubles import ANA, WEI

REASONS = ["cancelled", "deleted", "limit", "error", "configuration", "refusal", "empty", "budget"]


def log(*records: Record) -> list[Stored]:
    return [Stored(seq, 0.0, record) for seq, record in enumerate(records)]


def said(*parts: Any) -> ModelSaid:
    return ModelSaid(message=Message(role="assistant", parts=parts), usage=Usage(), stop="calls")


def call(number: int) -> ToolCall:
    return ToolCall(id=f"c{number}", name="look", arguments={"word": f"w{number}"})


def done(number: int, outcome: Any = "done") -> ToolEnded:
    return ToolEnded(result=ToolResult(call_id=f"c{number}", text="t"), outcome=outcome)


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("person", [ANA, WEI])
def test_every_end_has_words_in_both_languages(reason: Any, person: Person) -> None:
    detail = "2027-01-02T00:00:00+00:00" if reason == "budget" else "the model is overloaded"
    words = stop_notice(Stopped(reason=reason, detail=detail, by=EVERYBODY), log(), person)
    assert words.strip()
    assert "{" not in words
    assert any("\u4e00" <= letter <= "\u9fff" for letter in words) == (person is WEI)


EVERYBODY = Person(id="U9", name="Eva")


def test_what_was_done_and_what_was_left() -> None:
    turn = log(said(call(1), call(2), call(3)), done(1), done(2, "failed"))
    words = stop_notice(Stopped(reason="cancelled", by=EVERYBODY), turn, ANA)
    assert words.splitlines() == ["🛑 Stopped by Eva.", "Done: `look w1`.", "Not done: `look w3`."]


def test_a_limit_says_what_the_model_had_said_last() -> None:
    turn = log(said(Text(text="first")), said(Text(text="second"), call(1)))
    words = stop_notice(Stopped(reason="limit"), turn, ANA)
    assert "So far: second" in words
    assert "I reached a limit" in words
    assert "circles" in stop_notice(Stopped(reason="limit", detail="loop"), turn, ANA)


def test_long_lists_are_counted() -> None:
    numbers = range(LISTED + 5)
    turn = log(said(*map(call, numbers)), *map(done, numbers))
    words = stop_notice(Stopped(reason="cancelled", by=EVERYBODY), turn, ANA)
    assert words.count("`look") == LISTED
    assert "(+5)" in words


def test_our_own_failure_names_no_insides() -> None:
    words = stop_notice(Stopped(reason="error", detail="internal"), log(), ANA)
    assert "internal" not in words
    assert "log of the program" in words


def test_budget_says_when_it_starts_anew_in_the_person_s_own_time() -> None:
    stopped = Stopped(reason="budget", detail="2027-01-02T00:00:00+00:00")
    assert "Sat 2 Jan 00:00" in stop_notice(stopped, log(), ANA)
    assert "2027年1月2日 08:00" in stop_notice(stopped, log(), WEI)


def test_an_unknown_time_zone_is_utc() -> None:
    nowhere = ANA.model_copy(update={"time_zone": "Mars/Olympus"})
    assert local_time(datetime(2027, 1, 2, 3, 4, tzinfo=UTC), nowhere) == "Sat 2 Jan 03:04"
    empty = ANA.model_copy(update={"time_zone": ""})
    assert local_time(datetime(2027, 1, 2, 3, 4, tzinfo=UTC), empty) == "Sat 2 Jan 03:04"


def test_an_uncertain_call_is_named() -> None:
    assert "`look w1`" in uncertain_notice(call(1), "en-US")
    assert "`look w1`" in uncertain_notice(call(1), "zh-TW")


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.booleans(), max_size=5))
def test_a_label_is_one_short_line_without_backticks(arguments: dict[str, Any]) -> None:
    told = label(ToolCall(id="c", name="look", arguments=arguments))
    assert told.startswith("look")
    assert len(told) <= 64
    assert "`" not in told
    assert len(told.splitlines()) == 1
    assert told == told.strip()


# -- the catalogue ---------------------------------------------------------------------------------


@pytest.mark.parametrize("key", sorted(WORDS))
def test_both_languages_take_the_same_values(key: str) -> None:
    fields = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in WORDS[key].values()]
    assert set(WORDS[key]) == {"en", "zh"}
    assert fields[0] == fields[1]
    for locale in ("en-US", "zh-CN"):
        assert say(key, locale, **dict.fromkeys(fields[0], "x")).strip()


@pytest.mark.parametrize(
    ("locale", "wanted"), [("zh-CN", "zh"), ("ZH-TW", "zh"), ("en-GB", "en"), ("de", "en"), ("", "en")]
)
def test_language_of_a_locale(locale: str, wanted: str) -> None:
    assert language(locale) == wanted

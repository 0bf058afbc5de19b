"""The size of a conversation: calibrated by the thread's own responses, bounded from above, never a download."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import tokens
from memory.records import Cleared, ModelSaid, Record, Stored
from memory.tokens import START, Estimate, bound, by_script, counter, estimate
from memory.types import Usage
from tests.doubles import call, says
from tests.memory.samples import compacted, ended, numbered, said

FACTORS = {"english": 1.55, "python": 1.62, "chinese": 1.10, "json": 1.16, "logs": 1.27}
"""The provider's tokens over cl100k's."""
PHRASE = "the release of version was delayed because three tests failed on Tuesday and nobody knew"
WORDS = [str(word) for word in PHRASE.split()]
SIGNS = "我们需要在星期五之前完成数据库迁移并且通知所有的客户服务器将会停机大约三十分钟请确认时间"


def sample(kind: str, random: Random, size: int = 400) -> str:
    words = random.choices(WORDS, k=size)
    match kind:
        case "english":
            return " ".join(words)
        case "python":
            return "\n".join(f"def {a}_{n}(self, {b}):\n    return self.{b} + {n}" for n, (a, b) in _pairs(words))
        case "chinese":
            return "".join(random.choices(SIGNS, k=size))
        case "json":
            return json.dumps([{"id": n, "name": a, "state": b} for n, (a, b) in _pairs(words)])
        case _:
            return "\n".join(f"2026-11-30T04:{n % 60:02}:11Z {a} [{b}] took {n} ms" for n, (a, b) in _pairs(words))


def _pairs(words: list[str]) -> enumerate[tuple[str, str]]:
    return enumerate(zip(words[::2], words[1::2], strict=False))


def thread(kind: str, random: Random, steps: int, frame: int = 3_000) -> tuple[list[Record], int]:
    """A loop of ``steps`` responses and one more result; also what the provider would count for the next request."""
    records: list[Record] = [said("look into it")]
    total = frame + round(counter()("[Ana] look into it") * FACTORS[kind])
    for number in count(1):
        if number > steps:
            return records, total
        made = call(f"c{number}", "look", word="x")
        records.append(says("", made, usage=Usage(fresh=50, cache_read=total - 50, output=40)))
        result = sample(kind, random, random.randint(100, 900))
        records.append(ended(made, result))
        total += 40 + round(counter()(result) * FACTORS[kind]) + tokens.OVERHEAD
    raise AssertionError


@given(kind=st.sampled_from(sorted(FACTORS)), seed=st.integers(0, 10_000), steps=st.integers(3, 8))
def test_after_three_responses_the_next_request_is_known_within_a_tenth(kind: str, seed: int, steps: int) -> None:
    records, truth = thread(kind, Random(seed), steps)
    now = estimate(numbered(records), counter())
    assert abs(now.tokens - truth) <= truth * 0.1


@given(kind=st.sampled_from(sorted(FACTORS)), seed=st.integers(0, 10_000))
def test_what_was_learned_is_the_factor_of_the_script(kind: str, seed: int) -> None:
    now = estimate(numbered(thread(kind, Random(seed), 4)[0]), counter()).factors
    learned, other = (now.wide, now.narrow) if kind == "chinese" else (now.narrow, now.wide)
    assert learned == pytest.approx(FACTORS[kind], rel=0.1)
    assert other == pytest.approx(START.narrow if kind == "chinese" else START.wide, rel=0.02)


@given(kind=st.sampled_from(["english", "json", "logs"]), seed=st.integers(0, 10_000))
def test_two_scripts_in_one_thread_are_learned_apart(kind: str, seed: int) -> None:
    random, records, total = Random(seed), list[Record]([said("look")]), 3_000
    for number in range(1, 9):
        made, script = call(f"c{number}", "look"), ("chinese", kind)[number % 2]
        records.append(says("", made, usage=Usage(fresh=total, output=40)))
        text = sample(script, random, 600)
        records.append(ended(made, text))
        total += 40 + round(counter()(text) * FACTORS[script]) + tokens.OVERHEAD
    now = estimate(numbered(records), counter())
    assert now.factors.narrow == pytest.approx(FACTORS[kind], rel=0.15)
    assert now.factors.wide == pytest.approx(FACTORS["chinese"], rel=0.1)
    assert now.tokens - now.known == pytest.approx(total - now.known, rel=0.15)


def test_another_model_is_learned_anew() -> None:
    records, _ = thread("english", Random(5), 6)
    before = estimate(numbered(records), counter())
    other, text = call("other", "look"), sample("english", Random(7), 200)
    more = before.tokens + round(1.4 * before.factors.narrow * counter()(text))
    first = says("", other, usage=Usage(fresh=before.tokens)).model_copy(update={"model": "other"})
    second = says("x", usage=Usage(fresh=more)).model_copy(update={"model": "other"})
    now = estimate(numbered([*records, first, ended(other, text), second]), counter())
    assert now.factors.narrow == pytest.approx(1.4 * before.factors.narrow, rel=0.1)


def test_before_anything_was_learned_the_estimate_is_rather_high() -> None:
    text = sample("chinese", Random(1))
    now = estimate(numbered([said(text)]), counter())
    assert (now.factors, now.known) == (START, 0)
    assert now.tokens > counter()(text) * FACTORS["chinese"]


@given(st.text(st.one_of(st.characters(), st.sampled_from(f"{SIGNS} ，。한국ｶﾀ")), max_size=80))
def test_every_character_is_of_one_script(text: str) -> None:
    narrow, wide = by_script(text)
    assert by_script(narrow) == (narrow, "")
    assert sorted(f"{narrow}{wide}".replace(" ", "")) == sorted(text.replace(" ", ""))


texts = st.one_of(st.text(max_size=200), st.text("!#%&()*+,-./:;<=>?@[]^_{|}~0123456789", max_size=200))


def result(text: str) -> Record:
    return ended(call("c1", "look"), text or "x")


def answer(text: str, prompt: int) -> Record:
    return says(text, usage=Usage(fresh=prompt))


def summary(after: int) -> Record:
    return compacted(1).model_copy(update={"after": after})


def cleared(won: int) -> Record:
    return Cleared(placeholders={}, won=won)


sizes = st.integers(0, 5_000)
kinds = [st.builds(said, texts), st.builds(result, texts), st.builds(answer, texts, sizes), st.builds(summary, sizes)]
records: st.SearchStrategy[list[Record]] = st.lists(st.one_of(*kinds, st.builds(cleared, sizes)), max_size=8)


@given(records)
def test_no_estimate_is_above_the_bound(made: list[Record]) -> None:
    log = numbered(made)
    assert estimate(log, counter()).tokens <= bound(log)


def test_the_usage_of_a_summary_says_nothing_about_the_next_request() -> None:
    log = numbered([said("go"), says("done", usage=Usage(fresh=70_000, output=100))])
    summary = says("part", usage=Usage(fresh=900)).model_copy(update={"purpose": "summary", "kept": False})
    longer = [*log, Stored(3, 1.0, summary)]
    assert estimate(longer, counter()) == estimate(log, counter()) == Estimate(70_100, START, 70_100)
    assert bound(longer) == bound(log)


def test_boundaries_set_the_count_anew_and_teach_nothing() -> None:
    records, _ = thread("english", Random(3), 3)
    log = numbered([*records, Cleared(placeholders={}, won=1_000)])
    before, after = estimate(log[:-1], counter()), estimate(log, counter())
    assert after.known == before.known - 1_000
    log = numbered([*records, compacted(1).model_copy(update={"after": 500}), says("x", usage=Usage(fresh=90_000))])
    assert estimate(log, counter()).factors == before.factors


def test_an_answer_that_is_not_kept_is_not_read_again() -> None:
    answer = says("no", usage=Usage(fresh=1_000, output=300))
    assert estimate(numbered([answer]), counter()).tokens == 1_300
    assert estimate(numbered([answer.model_copy(update={"kept": False})]), counter()).tokens == 1_000


def test_everything_that_goes_on_the_wire_is_counted() -> None:
    for record in (said("x" * 500), ended(call("c", "l"), "x" * 500), ended(call("c", "l"), "a", warning="x" * 500)):
        assert estimate(numbered([record]), len).tokens >= 500 * START.narrow
    whole = ModelSaid.model_validate({**says("x" * 500, call("c", "look", q="y" * 300)).model_dump()})
    assert sum(len(text) for text in tokens.wire_texts(whole)) >= 800


def test_without_a_tokenizer_characters_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counter.cache_clear()
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    try:
        assert estimate(numbered([said("word " * 520)]), counter()).tokens == pytest.approx(1_000, rel=0.05)
    finally:
        counter.cache_clear()


def test_importing_loads_no_tokenizer() -> None:
    program = "import sys, bot.compactor, memory.summary; print('tiktoken' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

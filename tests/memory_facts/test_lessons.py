"""The guards: whatever a model proposes, only what a person said, in the scope it was said in, is learned."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.secrets import Mask
from memory.audience import Scope, scope_of
from memory.fact import Fact, NewFact
from memory.learned import Words
from memory.lessons import (
    Again,
    Change,
    Drop,
    Heard,
    Learn,
    Lesson,
    changes,
    correction,
    is_private,
    open_to_learning,
    parsed,
    rests_on,
)
from memory.types import MessageId
from memory.words import agree, is_chinese, names, normal, numbers, stated_date, words
from tests.memory_facts.people import ANA, BEN, claim, reading

SECRET = "xoxb-1234567890-abcdefghij"


def heard(text: str, name: str = "m1", author: Any = ANA) -> Heard:
    return Heard(name, MessageId(f"T1:C1:{name}"), author, 1_800_000_000.0, text, "https://chat.example/1")


def known(text: str, number: int = 7, **more: Any) -> Fact:
    return Fact(**claim(text, **more).model_dump(), id=number, created=1.0, valid_from=1.0)


def learned(operations: Any, *messages: Heard, facts: tuple[Fact, ...] = (), room: Any = "public") -> list[Change]:
    lesson = Lesson(reading(room=room), messages, facts, Mask().text)
    return changes(parsed(json.dumps({"operations": operations})), lesson)


def add(text: str, message: str = "m1", **more: Any) -> dict[str, Any]:
    return {"op": "ADD", "message": message, "text": text, **more}


def test_a_claim_is_learned_with_who_where_and_when() -> None:
    (change,) = learned([add("The staging database is db-stg-2.", kind="fact")], heard("staging db is db-stg-2 now"))
    assert isinstance(change, Learn)
    assert (change.fact.author, change.fact.source.channel, change.fact.link) == (
        ANA.id,
        "C1",
        "https://chat.example/1",
    )
    assert change.fact.scope == Scope(kind="workspace")


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (add("The limit is 500.", message="m9"), "the limit is 500"),  # quotes no message
        (add("The limit is 500."), "the limit is 50"),  # another number
        (add("The host is db-prod-1."), "the host is db-stg-2"),  # another identifier
        (add("优惠券是二十元"), "优惠券是十二元"),
        (add(f"The token is {SECRET}."), f"the token is {SECRET}"),
        (add("The limit is 500."), "the limit is 500, but don't remember that"),
        (add("The limit is 500."), "off the record: the limit is 500"),
        (add("限额是500"), "限额是500，不要记下来"),
        ({"op": "NOOP"}, "hello"),
        ({"op": "CONFIRM", "message": "m1", "fact": 99, "text": "x"}, "x"),  # a fact that was not shown
        ({"op": "SUPERSEDE", "message": "m1", "fact": 99, "text": "x"}, "x"),
        ({"op": "RETRACT", "message": "m1", "fact": 99}, "x"),
    ],
)
def test_what_does_not_rest_on_the_message_is_dropped(operation: Any, said: str) -> None:
    assert learned([operation], heard(said)) == []


@pytest.mark.parametrize(
    ("claimed", "noted", "same"),
    [
        ("The limit is 40 calls.", "The limit is 40 calls a minute.", True),
        ("The limit is 60 calls.", "The limit is 40 calls a minute.", False),
        ("Standup is on 2026-03-01.", "Standup is on 2026-03-02.", False),
        ("The owner is Wong.", "The owner is Wang.", False),
        ("面额是十二元", "面额是12元", True),
        ("面额是二十元", "面额是十二元", False),
        ("负责人是赵敏", "负责人是赵敏敏", False),
        ("the server is db-1", "the server is db-2", False),
    ],
)
def test_different_numbers_dates_or_names_are_never_a_confirmation(claimed: str, noted: str, same: bool) -> None:
    confirm = {"op": "CONFIRM", "message": "m1", "fact": 7, "text": claimed}
    assert learned([confirm], heard(claimed), facts=(known(noted),)) == ([Again(known(noted))] if same else [])


@pytest.mark.parametrize(
    ("said", "noted", "same"),
    [
        ("Hi. The CFO is still Ruth! 40 people came.", "The CFO is Ruth.", True),
        ("The CFO is Samir.", "The CFO is Ruth.", False),
        ("The limit is 60, not 40.", "The limit is 40.", False),
        ("早。限额还是四十。来了九个人。", "限额是40", True),
        ("限额是六十，不是四十。", "限额是40", False),
    ],
)
def test_a_confirmation_is_said_by_the_person_whatever_the_model_claims(said: str, noted: str, same: bool) -> None:
    confirm = {"op": "CONFIRM", "message": "m1", "fact": 7, "text": noted}
    assert learned([confirm], heard(said), facts=(known(noted),)) == ([Again(known(noted))] if same else [])


def words_of(*said: tuple[Any, str]) -> list[Words]:
    return [Words(i, 1.0, MessageId(f"m{i}"), author, text) for i, (author, text) in enumerate(said)]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (((ANA, "the code is 99"), (ANA, "don't remember that")), []),
        (((ANA, "the code is 99"), (BEN, "tea is in rack 5"), (ANA, "forget that please")), [BEN]),
        (((BEN, "the code is 99"), (ANA, "don't remember that")), [BEN]),  # not hers to take back
        (((ANA, "密码柜在三楼"), (ANA, "刚才的不要记")), []),
        (((ANA, "the code is 99"), (ANA, "never store salaries")), [ANA]),
    ],
)
def test_dont_remember_that_is_also_about_ones_words_before(said: tuple[Any, ...], left: list[Any]) -> None:
    assert [one.author for one in open_to_learning(words_of(*said))] == left


def test_the_same_again_is_no_correction() -> None:
    old = known("The CFO is Ruth.")
    supersede = [{**add("the CFO is Ruth"), "op": "SUPERSEDE", "fact": 7}]
    assert learned(supersede, heard("CFO is Ruth"), facts=(old,)) == [Again(old)]


def test_a_correction_keeps_the_scope_of_what_it_replaces() -> None:
    old = known("The CFO is Ruth.")
    (change,) = learned(
        [{**add("The CFO is Samir."), "op": "SUPERSEDE", "fact": 7}], heard("CFO is Samir"), facts=(old,)
    )
    assert isinstance(change, Learn)
    assert (change.replaces, change.fact.scope) == (old, old.scope)


def test_what_is_somebodys_own_changes_by_their_words_only() -> None:
    own = known("Ana likes short answers.", scope=Scope(kind="user", place=ANA.id))
    retract = [{"op": "RETRACT", "message": "m1", "fact": 7}]
    assert learned(retract, heard("not true", author=BEN), facts=(own,)) == []
    assert learned(retract, heard("not true"), facts=(own,)) == [Drop(own)]
    supersede = [{**add("Ana likes long answers.", kind="preference"), "op": "SUPERSEDE", "fact": 7}]
    assert learned(supersede, heard("Ana likes long answers", author=BEN), facts=(own,)) == []


def test_a_private_word_does_not_replace_a_public_one() -> None:
    public = known("The CFO is Ruth.", channel="C2")
    operation = [{**add("The CFO is Samir."), "op": "SUPERSEDE", "fact": 7}]
    assert learned(operation, heard("CFO is Samir"), facts=(public,), room="private") == []


@pytest.mark.parametrize(
    ("old", "new", "reaches"),
    [
        (claim("x"), claim("y", channel="C2"), True),
        (claim("x"), claim("y", channel="D1", room="direct", scope=Scope(kind="user", place=ANA.id)), False),
        (claim("x"), claim("y", scope=Scope(kind="user", place=ANA.id)), False),
        (claim("x", channel="P1", room="private"), claim("y", channel="P1", room="private"), True),
        (claim("x", channel="P1", room="private"), claim("y", channel="P2", room="private"), False),
        (claim("x", channel="P1", room="private"), claim("y"), False),
        (claim("x", scope=Scope(kind="user", place=ANA.id)), claim("y"), True),
        (claim("x", scope=Scope(kind="user", place=ANA.id)), claim("y", author=BEN), False),
    ],
)
def test_how_far_a_correction_reaches(old: NewFact, new: NewFact, reaches: bool) -> None:
    fact = Fact(**old.model_dump(), id=7, created=1.0, valid_from=1.0)
    instead = correction(new, fact)
    assert (instead is not None) == reaches
    assert instead is None or instead.scope == old.scope


def test_a_preference_is_of_who_said_it() -> None:
    (change,) = learned([add("Likes tables.", kind="preference")], heard("I like tables", author=BEN))
    assert isinstance(change, Learn)
    assert change.fact.scope == Scope(kind="user", place=BEN.id)


def test_nothing_is_learned_where_outsiders_read() -> None:
    assert learned([add("The limit is 5.")], heard("the limit is 5"), room="closed") == []
    assert scope_of(reading(room="closed"), ANA.id, "fact") is None


@pytest.mark.parametrize(
    "answer", ["", "I think nothing.", "[", '{"operations": 5}', '[{"op": "ADD"}]', '[{"op": "X"}]']
)
def test_an_answer_of_another_form_is_an_error(answer: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        parsed(answer)


def test_an_answer_in_a_fence_is_read() -> None:
    assert len(parsed('```json\n[{"op": "NOOP"}, {"op": "RETRACT", "message": "m1", "fact": 3}]\n```')) == 2


@given(st.integers(0, 99_999))
def test_a_number_is_the_same_however_it_is_written(number: int) -> None:
    assert numbers(f"共 {number:,} 个") == numbers(f"{number} in all") == {str(number)}


@pytest.mark.parametrize(("han", "value"), [("一千二百三十", 1230), ("十二", 12), ("两万", 20_000), ("二〇二六", 2026)])
def test_chinese_numbers(han: str, value: int) -> None:
    assert numbers(f"是{han}元") == {str(value)}


@given(st.text(max_size=60))
def test_every_text_agrees_with_itself(text: str) -> None:
    assert agree(text, text)
    assert rests_on(text, text)
    assert normal(text) == normal(normal(text))
    assert all(word for word in words(text)) or not words(text)
    assert is_chinese(text) in (True, False)
    assert stated_date(text) is None or text.strip()[0] in "(（["
    assert names(text) is not None


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("please don't remember this", True),
        ("do not save that", True),
        ("别记这个", True),
        ("这件事不要记", True),
        ("forget it", True),
        ("I don't remember the limit; it is 40", True),  # rather too careful
        ("remember that the limit is 40", False),
        ("记住限额是40", False),
        ("the store closes at 9", False),
    ],
)
def test_who_asks_for_silence_gets_it(text: str, private: bool) -> None:
    assert is_private(text) is private

"""Who may decide, and what a reply decides."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.approvals import (
    Allowed,
    Decision,
    Refused,
    Rules,
    approvers,
    authorize,
    compaction_focus,
    decision,
    is_stop,
    named,
    too_few,
)
from bot.catalog import WORDS
from bot.config import ApprovalRule
from bot.surface import Standing
from memory.records import ApprovalAsked
from tests.bot.doubles import ANA

STANDINGS: list[Standing] = ["member", "guest", "outsider", "bot", "deactivated", "unknown"]


def asked(*approvers: str) -> ApprovalAsked:
    return ApprovalAsked(call_id="c", digest="d", requester=ANA, approvers=approvers, expires_at=1.0)


Some = st.lists(st.sampled_from(["U1", "U2", "S1"]), max_size=3)


@given(st.sampled_from(STANDINGS), st.sampled_from(["U1", "U2", ""]), Some, st.booleans(), st.booleans())
@example("member", "U1", ["U1"], False, False)
@example("member", "U2", ["S1"], False, True)
def test_only_a_member_who_is_named_may_decide(
    standing: Standing, person: str, people: list[str], requester: bool, in_group: bool
) -> None:
    rule = ApprovalRule(approvers=("U1",), requester=requester)
    groups = frozenset({"S1"} if in_group else ())
    answer = authorize(person, standing, asked(*people), rule, groups)
    is_named = person in people or (in_group and "S1" in people)
    assert isinstance(answer, Allowed) == (standing == "member" and is_named and (requester or person != ANA.id))
    if isinstance(answer, Refused):
        assert answer.why in WORDS


@given(Some, st.booleans())
def test_nobody_named_means_the_requester_and_never_everyone(people: list[str], requester: bool) -> None:
    rule = ApprovalRule(approvers=tuple(people), requester=requester or not people)
    wanted = ("U1",) if not people else tuple(one for one in people if requester or one != "U1")
    assert approvers(rule, "U1") == wanted


@given(Some, st.integers(1, 3))
@example(["S1"], 2)
@example(["U1", "U1"], 2)
def test_people_are_too_few_if_they_can_never_be_enough_and_a_group_may_hold_enough(
    people: list[str], needed: int
) -> None:
    assert too_few(people, needed) == ("S1" not in people and len(set(people)) < needed)


def test_a_tool_s_own_rule_comes_before_the_rule_for_all() -> None:
    own, every = ApprovalRule(approvers=("U7",)), ApprovalRule(approvers=("U8",))
    rules = Rules({"write": own, "*": every})
    assert (Rules().seconds, Rules().undo) == (24 * 3_600, 0)
    assert (rules.rule("write"), rules.rule("other"), Rules().rule("other")) == (own, every, ApprovalRule())


def test_approvers_in_a_sentence_are_notified() -> None:
    assert named(("U1", "S1"), "en-US") == "<@U1> or <!subteam^S1>"


@pytest.mark.parametrize(
    "words",
    [
        *("yes", "Yes!", "y", " OK ", "okay.", "approve", "approved", "go ahead", "do it"),
        *("好", "好的", "可以。", "同意！", "批准", "是", "确认"),
    ],
)
def test_a_plain_yes(words: str) -> None:
    assert decision(words) == Decision("approved", reason="")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("no", ""),
        ("n", ""),
        ("No.", ""),
        ("nope", ""),
        ("no, because it is Friday", "it is Friday"),
        ("no: Wrong Channel", "Wrong Channel"),
        ("refuse wrong channel", "wrong channel"),
        ("don't", ""),
        ("reject", ""),
        ("deny: since it is Friday", "it is Friday"),
        ("不行，因为今天是周五", "今天是周五"),
        ("拒绝", ""),
        ("不", ""),
        ("不要；太早", "太早"),
        ("不用。", ""),
        ("否", ""),
    ],
)
def test_a_plain_no_and_its_reason(words: str, reason: str) -> None:
    assert decision(words) == Decision("refused", reason)


@pytest.mark.parametrize(
    "words",
    [
        "yes but in #ops",
        "yes, and then delete it",
        "ok so what about the other one?",
        "is it ok?",
        "note that it is late",
        "nothing yet",
        "yesx",
        "nox",
        "now",
        "know",
        "不知道",
        "好像不对",
        "",
        " . ",
        "please do not approve",
        "y e s",
    ],
)
def test_anything_more_than_a_verdict_is_none(words: str) -> None:
    assert decision(words) is None


@given(st.text(string.printable + "好不停"), st.text(string.printable))
def test_words_around_a_yes_are_never_a_yes(before: str, after: str) -> None:
    words = f"{before} yes {after}"
    bare = "".join(words.split()).strip(".!").lower()
    if bare != "yes":
        assert decision(words) != Decision("approved")


@pytest.mark.parametrize("words", ["stop", "Stop!", "CANCEL", "abort.", "停", "停止。", "取消", "停下"])
def test_a_stop_is_nothing_but_the_word(words: str) -> None:
    assert is_stop(words)
    assert not is_stop(f"{words}x")
    assert not is_stop(f"{words} the deploy of checkout")
    assert decision(words) is None


@pytest.mark.parametrize(
    ("words", "focus"),
    [
        (" compact ", ""),
        ("/Compact", ""),
        ("压缩", ""),
        ("compact keep the numbers", "keep the numbers"),
        ("COMPACT \n the names\nand days ", "the names\nand days"),
        ("压缩 数字", "数字"),
        ("compact, please", None),
        ("compaction", None),
        ("please compact", None),
        ("", None),
    ],
)
def test_a_wish_to_shorten_is_nothing_but_the_word_and_what_to_keep(words: str, focus: str | None) -> None:
    assert compaction_focus(words) == focus

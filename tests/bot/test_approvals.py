"""Who may decide, and what a reply decides."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.approvals import Allowed, Decision, Refused, authorize, decision, is_stop
from bot.catalog import WORDS
from bot.surface import Standing
from memory.records import ApprovalAsked
from tests.bot.doubles import ANA

STANDINGS: list[Standing] = ["member", "guest", "outsider", "bot", "deactivated", "unknown"]


def asked(*approvers: str) -> ApprovalAsked:
    return ApprovalAsked(call_id="c", digest="d", requester=ANA, approvers=approvers, expires_at=1.0)


@given(st.sampled_from(STANDINGS), st.sampled_from(["U1", "U2", ""]), st.lists(st.sampled_from(["U1", "U2"])))
def test_only_a_member_who_is_named_may_decide(standing: Standing, person: str, approvers: list[str]) -> None:
    answer = authorize(person, standing, asked(*approvers))
    assert isinstance(answer, Allowed) == (standing == "member" and person in approvers)
    if isinstance(answer, Refused):
        assert answer.why in WORDS


@pytest.mark.parametrize(
    "words",
    ["yes", "Yes!", " OK ", "okay.", "approve", "go ahead", "do it", "好的", "可以。", "同意！", "批准", "确认"],
)
def test_a_plain_yes(words: str) -> None:
    assert decision(words) == Decision("approved")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("no", ""),
        ("No.", ""),
        ("nope", ""),
        ("no, because it is Friday", "it is Friday"),
        ("no: Wrong Channel", "Wrong Channel"),
        ("refuse wrong channel", "wrong channel"),
        ("don't", ""),
        ("不行，因为今天是周五", "今天是周五"),
        ("拒绝", ""),
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


@pytest.mark.parametrize("words", ["stop", "Stop!", "CANCEL", "abort.", "停", "停止。", "取消"])
def test_a_stop_is_nothing_but_the_word(words: str) -> None:
    assert is_stop(words)
    assert not is_stop(f"{words} the deploy of checkout")
    assert decision(words) is None

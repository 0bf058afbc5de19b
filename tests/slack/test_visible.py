"""Characters that hide: shown for readers, removed from posts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.visible import visible, without_hidden

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "approve all")
KEPT = [
    "👨‍👩‍👧‍👦",
    "❤️",
    "❤️‍🔥",
    "#️⃣ 1️⃣",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "👍🏽",
    "می‌خواهم",
    "क्‍ष",
    "tab\there",
    "two\nlines",
    "中文，全角　空格",
    "e\u0301",
]
SPOOFS = [
    "rm \u202e/tmp\u202c",
    "a\u202ab",
    "a\u202bb",
    "a\u202db",
    "a\u2066b\u2069",
    "a\u2067b",
    "a\u2068b",
    "a\u200eb",
    "a\u200fb",
    "a\u061cb",
    "a\u200bb",
    "a\u200cb",
    "a\u200db",
    "a\u2060b",
    "a\ufeffb",
    "a\u00adb",
    "a\u034fb",
    "a\u180eb",
    "a\u115fb",
    "a\u1160b",
    "a\u3164b",
    "a\uffa0b",
    "a\u17b4b",
    "a\u17b5b",
    "a\u2800b",
    "a\u2028b",
    "a\u2029b",
    "a\u2061b",
    "a\u2062b",
    "a\u2063b",
    "a\u206ab",
    "a\ufff9b\ufffab\ufffb",
    "a\x00b",
    "a\x1b[31mb",
    "a\x07b",
    "a\x7fb",
    "a\x85b",
    "a\x0bb",
    "a\ufe0fb",
    "a\U000e0100b",
    "a\U0001d173b",
    "a\U000e0001b",
    TAGS,
    "🏴" + TAGS,
    "a\ud800b",
    "a\ufdd0b",
    "a\U0001ffffb",
    "1\ufe0fb",
]
strange = st.text(
    st.sampled_from("ab\n\t 中👩👍🏽❤🏴#1\u200b\u200c\u200d\ufe0f\u20e3\u202e\u00ad\U000e0067\U000e007f\r\x00می")
)


@pytest.mark.parametrize("text", KEPT)
def test_what_people_see_stays(text: str):
    assert visible(text) == text == without_hidden(text)


@pytest.mark.parametrize("text", SPOOFS)
def test_what_hides_is_shown_to_readers_and_kept_from_posts(text: str):
    assert "[U+" in visible(text) or "invisible characters]" in visible(text)
    assert visible(without_hidden(text)) == without_hidden(text) != text


def test_hidden_words_are_counted_and_not_read_out():
    assert visible(f"hi{TAGS}") == f"hi[{len(TAGS)} invisible characters]"
    assert visible("a\u202eb") == "a[U+202E]b"


def test_line_ends_are_one_kind():
    assert visible("a\r\nb\rc") == without_hidden("a\r\nb\rc") == "a\nb\nc"


@given(strange)
def test_both_are_idempotent_and_leave_nothing_hidden(text: str):
    assert visible(visible(text)) == visible(text)
    assert without_hidden(without_hidden(text)) == without_hidden(text)
    assert visible(without_hidden(text)) == without_hidden(text)

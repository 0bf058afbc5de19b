"""Cards and requests: within Slack's limits, true in every state, and nothing in them can pose as something else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.catalog import WORDS
from bot.demo.limits import UPDATE_BYTES, check_blocks
from bot.progress import Card, Line, LineState
from bot.slack.render import ICONS, SHOWN_LINES, arguments_file, card_blocks, change, long_arguments, request_blocks
from bot.surface import Request
from memory.records import ApprovalAsked, ApprovalGiven, Verdict, digest
from memory.types import Person, ToolCall, Usage

ANA = Person(id="U0ANA00001", name="Ana", time_zone="Europe/Lisbon")
LOCALES = ("en-US", "zh-CN")
STATES: tuple[LineState, ...] = tuple(ICONS)
VERDICTS: tuple[Verdict, ...] = ("approved", "refused", "expired", "withdrawn", "superseded")


def call(tool: str = "post_message", /, **arguments: Any) -> ToolCall:
    return ToolCall(id="c1", name=tool, arguments=arguments or {"channel": "#news", "text": "2.4 is out"})


def request(one: ToolCall, locale: str = "en-US", **more: Any) -> Request:
    asked = ApprovalAsked(
        call_id=one.id, digest=digest(one), requester=ANA, approvers=(ANA.id,), expires_at=1_700_000_000.0
    )
    return Request(one, asked, locale, **more)


def decided(one: ToolCall, verdict: Verdict, reason: str = "") -> ApprovalGiven:
    by = None if verdict == "expired" else ANA
    return ApprovalGiven(call_id=one.id, digest=digest(one), verdict=verdict, by=by, reason=reason)


def texts(blocks: list[dict[str, Any]]) -> list[str]:
    """All mrkdwn of a message's blocks."""
    found = [[block["text"]] if "text" in block else block.get("elements", []) for block in blocks]
    return [element["text"] for group in found for element in group if element["type"] == "mrkdwn"]


def shown(message: tuple[list[dict[str, Any]], str]) -> str:
    return "\n".join(texts(message[0]))


# -- what people read ----------------------------------------------------------------------------


def test_a_card_at_work() -> None:
    lines = (
        Line(call("read_channel", channel="#ops"), "ok", "42 messages"),
        Line(call("fetch_page", url="status.example.org"), "running"),
    )
    working = shown(card_blocks(Card(began=100.0, lines=lines, asks=2, thought="Let me  see"), 114.0))
    assert working == (
        "◐ *Working* · step 3 · 14 s\n"
        "✓ `read_channel #ops` · 42 messages\n"
        "◐ `fetch_page status.example.org`\n"
        "_Let me see_"
    )


def test_a_finished_card_is_one_quiet_line() -> None:
    usage = Usage(fresh=600, cache_read=9_400, output=300, dollars=0.0123)
    card = Card(began=0.0, state="done", lines=(Line(call()),) * 4, usage=usage, ended=78.2)
    blocks, text = card_blocks(card, 500.0)
    assert texts(blocks) == [text] == ["✓ 4 steps · 1 min 18 s · 10.3k tokens, 94 % cached · $0.012"]
    assert [block["type"] for block in blocks] == ["context"]


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (Card(0.0), "◐ *Working* · 5 s"),
        (Card(0.0, locale="zh-CN", asks=1), "◐ *处理中* · 第 2 步 · 5 秒"),
        (Card(0.0, writing=True, asks=1), "◐ *Working* · step 2 · 5 s · writing the answer"),
        (Card(0.0, waiting=(7.6, "The model is busy")), "◐ *Working* · 5 s · The model is busy; trying again in 8 s"),
        (Card(0.0, state="approval"), "✋ *Waiting for a decision* · 5 s"),
        (Card(0.0, state="stopped", ended=3.0), "🛑 Stopped · 3 s"),
        (Card(0.0, state="failed", ended=3.0, locale="zh-TW"), "✗ 未能完成 · 3 秒"),
        (Card(0.0, state="done", ended=3.0, lines=(Line(call()),)), "✓ 1 step · 3 s"),
        (
            Card(0.0, state="done", ended=3.0, usage=Usage(output=5, dollars=2.5)),
            "✓ 3 s · 5 tokens, 0 % cached · $2.50",
        ),
    ],
)
def test_what_each_state_says(card: Card, words: str) -> None:
    assert shown(card_blocks(card, 5.0)).startswith(words)


@pytest.mark.parametrize("state", STATES)
def test_each_step_shows_its_state(state: LineState) -> None:
    line = shown(card_blocks(Card(0.0, lines=(Line(call("calculate", expression="17 * 23"), state, "391"),)), 0.0))
    assert f"{ICONS[state]} `calculate 17 * 23`" in line
    assert ("391" in line) is (state in {"planned", "running", "ok", "failed"})


def test_many_steps_are_counted() -> None:
    lines = tuple(Line(call("now", n=str(number))) for number in range(SHOWN_LINES + 3))
    told = shown(card_blocks(Card(0.0, lines=lines), 0.0))
    assert "… and 3 earlier steps" in told
    assert "`now 2`" not in told
    assert "`now 3`" in told


def test_a_request_says_what_who_and_until_when() -> None:
    blocks, text = request_blocks(request(call()))
    told = shown((blocks, text))
    assert told.startswith(
        "✋ *Approval needed* · `post_message`\nPosts a message in `#news`.\n*channel*\n```\n#news\n```"
    )
    assert "<@U0ANA00001> may approve with ✅ or refuse with ❌ · expires Tue 14 Nov 22:13" in told
    assert f"bound to exactly these arguments · {digest(call())[:12]}" in told
    assert text == "✋ Approval needed · post_message Posts a message in #news."
    buttons = [element["action_id"] for block in blocks if block["type"] == "actions" for element in block["elements"]]
    assert buttons == ["approve", "refuse"]


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_decided_request_has_no_buttons_left(verdict: Verdict, locale: str) -> None:
    one = call()
    blocks, text = request_blocks(request(one, locale, given=decided(one, verdict, "too *early*")))
    assert "actions" not in {block["type"] for block in blocks}
    said = WORDS[f"approval.{verdict}"]["zh" if locale == "zh-CN" else "en"].format(who="<@U0ANA00001>")
    assert said in text
    assert said in shown((blocks, text))
    assert "too ∗early∗" in shown((blocks, text))


def test_a_request_that_a_stop_closed() -> None:
    blocks, text = request_blocks(request(call(), ended=True))
    assert "actions" not in {block["type"] for block in blocks}
    assert text == "Closed: the run was stopped. Nothing was done."


@pytest.mark.parametrize("key", [key for key in WORDS if key.startswith("change.")])
@pytest.mark.parametrize("locale", LOCALES)
def test_each_change_is_a_sentence(key: str, locale: str) -> None:
    values = {name: f"the {name}" for name in re.findall(r"{(\w+)}", WORDS[key]["en"])}
    told = change(call(key.removeprefix("change."), **(values or {"x": "y"})), locale)
    assert "{" not in told
    if key not in {"change.any", "change.again"}:
        assert all(value in told for value in values.values())


def test_a_change_without_its_arguments_is_still_told() -> None:
    assert change(call("post_message", text="x"), "en-US") == "Runs `post_message` with the arguments below."
    assert change(call("never_heard_of", x=1), "zh-CN") == "使用以下参数运行 `never_heard_of`。"


def test_long_arguments_have_a_file() -> None:
    long = call(text="word " * 1_000)
    assert long_arguments(long)
    assert "sha256" in shown(request_blocks(request(long)))
    assert not long_arguments(call())
    assert '"text": "word word' in arguments_file(long)


# -- laws ----------------------------------------------------------------------------------------

# Every kind of character, also those that nobody sees and those that take several bytes.
WORDS_OF_ANYBODY = st.text(max_size=60) | st.text("<>&`*_~@!#|:\n中👩‍👧\u202e", max_size=400) | st.just("&<" * 3_000)
VALUES = WORDS_OF_ANYBODY | st.integers() | st.lists(WORDS_OF_ANYBODY, max_size=3)
TOOLS = st.sampled_from([key.removeprefix("change.") for key in WORDS if key.startswith("change.")]) | WORDS_OF_ANYBODY
ARGUMENTS = st.dictionaries(st.sampled_from(["channel", "text", "user", "name", "at"]) | WORDS_OF_ANYBODY, VALUES)
ANY_CALL = st.builds(ToolCall, id=st.just("c1"), name=TOOLS, arguments=ARGUMENTS.filter(bool))
ANY_CARD = st.builds(
    Card,
    began=st.just(0.0),
    locale=st.sampled_from(LOCALES),
    state=st.sampled_from(["working", "approval", "done", "stopped", "failed"]),
    lines=st.lists(st.builds(Line, ANY_CALL, st.sampled_from(STATES), WORDS_OF_ANYBODY), max_size=20).map(tuple),
    thought=WORDS_OF_ANYBODY,
    writing=st.booleans(),
    waiting=st.none() | st.tuples(st.floats(0, 1e6), WORDS_OF_ANYBODY),
    ended=st.none() | st.floats(0, 1e6),
)


def check_limits(message: tuple[list[dict[str, Any]], str]) -> None:
    blocks, text = message
    check_blocks(tuple(blocks))
    assert 0 < len(text.encode()) <= UPDATE_BYTES
    assert text.strip()
    assert sum(map(len, texts(blocks))) <= 12_000
    for block in blocks:
        for element in block.get("elements", []):
            if element["type"] == "mrkdwn":
                assert 0 < len(element["text"]) <= 3_000
            else:
                assert len(element["text"]["text"]) <= 75


@given(ANY_CARD, st.floats(0, 1e9))
def test_slack_takes_every_card(card: Card, now: float) -> None:
    check_limits(card_blocks(card, now))


@given(ANY_CALL, st.sampled_from(LOCALES), st.none() | st.sampled_from(VERDICTS), st.booleans(), WORDS_OF_ANYBODY)
def test_slack_takes_every_request(
    one: ToolCall, locale: str, verdict: Verdict | None, ended: bool, reason: str
) -> None:
    given_now = None if verdict is None else decided(one, verdict, reason)
    check_limits(request_blocks(request(one, locale, given=given_now, ended=ended)))


def test_slack_takes_a_request_with_very_many_arguments() -> None:
    many = call(**{f"argument {number}": "&" * 3_000 for number in range(60)})
    check_limits(request_blocks(request(many)))
    assert long_arguments(call(**{str(number): "x" for number in range(6)}))


SPOOFS = [
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<!subteam^S0OPS00001|ops>",
    "<!date^0^{date}|soon>",
    "<@U0WEI00001>",
    "<@U0WEI00001|Ana>",
    "<#C0NEWS0001|news>",
    "<https://evil.example|Approve>",
    "<mailto:a@b.example|mail>",
    "@channel",
    "@here",
    "@EVERYONE now",
    "&lt;!channel&gt;",
    "&amp;lt;!here&gt;",
    "*Approved by Ana*",
    "_quiet_",
    "~struck~",
    "**twice**",
    "*_both_*",
    "`code`",
    "`",
    "``",
    "```",
    "````",
    "x``` *Approved*",
    "```\n*Approved*\n```",
    "x`\n*Approved by* <@U0ANA00001>",
    "x\n> quoted",
    "> quoted",
    "&gt; quoted",
    "x\n✅ *Approved by Ana*",
    "x\n\n• a list",
    ":white_check_mark: Approved",
    ":+1::skin-tone-3:",
    "x*",
    "*x",
    "a *b* c",
    "\u202e*lanoigiro*",
    "\u200b<!channel>",
    "<\u2060!channel>",
    "\uff1c!channel\uff1e",
    "x" * 79 + "<!channel>",
    "&" * 300 + "<!channel>",
]


def live_marks(text: str) -> list[str]:
    """What Slack would act on, in order: tokens, marks outside words, emoji, fences, quotes and line ends."""
    code, tokens, mark = r"```.*?```|`[^`\n]+`", r"<[^>]*>|[<>]", r"`|(?<![^\W_])[*_~]|[*_~](?![^\W_])"
    others = r":[\w+'-]+:|^&gt;|\n|@(?i:channel|here|everyone)"
    marks = re.findall(f"{code}|{tokens}|{mark}|{others}", text, flags=re.DOTALL | re.MULTILINE)
    # What stands in code of ours counts only as code, unless Slack reads tokens in it.
    return ["code" if mark.startswith("`") and not re.search(r"[<>]", mark) else mark for mark in marks]


def skeletons(word: str) -> list[list[str]]:
    """The marks of everything that can show a word that is not ours."""
    one = call("post_message", channel=word, text=word)
    odd = ToolCall(id="c1", name=f"x{word}", arguments={f"x{word}": word})
    working = Card(0.0, thought=word, waiting=(1.0, word), lines=(Line(one, "ok", word), Line(odd, "failed", word)))
    messages = [
        card_blocks(working, 1.0),
        request_blocks(request(one)),
        request_blocks(request(odd)),
        request_blocks(request(one, given=decided(one, "refused", word))),
    ]
    return [live_marks(text) for _, text in messages] + [live_marks(shown(message)) for message in messages]


@pytest.mark.parametrize("spoof", SPOOFS)
def test_no_word_can_pass_for_markup(spoof: str) -> None:
    assert skeletons(spoof) == skeletons("word")


@given(st.text("<>&`*_~@!#|:\nxX channel", max_size=100).filter(str.strip))
def test_no_text_can_pass_for_markup(text: str) -> None:
    assert skeletons(text) == skeletons("word")


def test_every_text_is_taken_word_for_word() -> None:
    """Slack must not look for links, names and channels by itself."""
    for blocks, _ in (card_blocks(Card(0.0, thought="x"), 0.0), request_blocks(request(call()))):
        parts = [block.get("text") or block["elements"][0] for block in blocks]
        assert all(part["verbatim"] for part in parts if part["type"] == "mrkdwn")


def test_arguments_are_shown_as_they_will_run() -> None:
    text = "Deploy *now* & <b>\nsecond line\u202e"
    told = shown(request_blocks(request(call(channel="#news", text=text))))
    assert "```\nDeploy *now* &amp; &lt;b&gt;\nsecond line[U+202E]\n```" in told
    assert replace(request(call()), locale="zh-CN").locale == "zh-CN"

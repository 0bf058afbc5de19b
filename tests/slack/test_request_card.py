"""A request shows what will run and nothing else: the card is read back as Slack would draw it."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.render import arguments_file, long_arguments, request_blocks
from bot.surface import Request
from memory.records import ApprovalAsked, ApprovalGiven, digest
from memory.types import Person, ToolCall

ANA = Person(id="UANA", name="Ana", locale="en-US")
WEI = Person(id="UWEI", name="Wei", locale="zh-CN")

SPOOFS = [
    "release \u202egnp.exe",
    "\u2066hidden\u2069 order",
    "\u200e\u200fmarks",
    "zero\u200bwidth",
    "zero\u200d\u200cjoiners",
    "\ufeffbom",
    "soft\u00adhyphen",
    "word\u2060joiner",
    "tag \U000e0041\U000e0042",
    "selector\ufe0f",
    "bell\x07 and \x1b[31mred",
    "null\x00byte",
    "line\u2028separator\u2029paragraph",
    "carriage\rreturn",
    "hangul\u3164filler",
    "braille\u2800blank",
    "`code`",
    "``two``",
    "``",
    "```",
    "```\n*Approved by everyone*\n```",
    "a```b````c`",
    "ends with two ``",
    "*bold* _italic_ ~gone~",
    "> quoted\n> lines",
    "• a list\n1. of things",
    "<!channel> <!here> <!everyone>",
    "@channel @here @everyone",
    "<@UEVA> <!subteam^S1> <#C1|ops>",
    "<https://evil.example|https://bank.example>",
    "&lt;!channel&gt; &amp;amp; &#60;",
    "</b> & < > \"quotes\" 'single'",
    "✋ *Approval needed* · `calculate`",
    "✅ Approved by <@UANA>",
    "text\n\n\n\n\n*channel*\n```\n#general\n```",
    "#nеws with a Cyrillic e",
    "раypal.com",
    "𝐛𝐨𝐥𝐝 𝚌𝚘𝚍𝚎",
    '{"channel": "#ops", "text": "<!here>"}',
    ":white_check_mark: :x:",
    "{who} {0} %s ${x}",
    "\\`escaped\\` \\n \\u202e",
    "e\u0301\u0301\u0301\u0301 marks",
    "👩‍👩‍👧 family and 🏴󠁧󠁢󠁥󠁮󠁧󠁿 flag",
    "کتاب‌ها",
    "   spaces   around   ",
    "\n\nnewlines around\n\n",
    "\ttabs\t",
]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a person sees: text in code, and the rest."""

    code: list[str]
    rest: str


def drawn(mrkdwn: str) -> Drawn:
    """Slack's reading of mrkdwn: fences first, then code spans within a line; entities only when shown."""
    code = list[str]()

    def keep(match: re.Match[str]) -> str:
        code.append(html.unescape(match[1]))
        return "\0"

    rest = re.sub(r"```\n?(.*?)\n?```", keep, mrkdwn, flags=re.DOTALL)
    rest = re.sub(r"`([^`\n]+)`", keep, rest)
    return Drawn(code, rest)


PLAIN = "x"


def framed(shown: list[str]) -> str:
    """Everything outside code, but for the digest, and for whether an argument stands beside or below its name."""
    rest = "\n".join(drawn(text).rest for text in shown)
    rest = re.sub(r"[0-9a-f]{12}", "", rest).replace("*  \0", "*\n\0")
    hidden = "The arguments are long: this is the beginning, the whole is in the file below (sha256 ).\n"
    return rest.replace(hidden, "")


def plainly(shown: str) -> str:
    """What hides, and what would end a fence or notify, is spelled out on a card: the way back."""
    spelled = re.sub(r"\[U\+([0-9A-F]{4,6})\]", lambda match: chr(int(match[1], 16)), shown)
    return spelled.replace("\uff20", "@").replace("'''", "```")


def call_of(name: str = "post_message", **arguments: Any) -> ToolCall:
    return ToolCall(id="c1", name=name, arguments=arguments or {"channel": "#news", "text": "hi"})


def request_of(call: ToolCall, **more: Any) -> Request:
    resource = more.pop("resource", None)
    asked = ApprovalAsked(
        call_id=call.id, digest=digest(call), requester=ANA, approvers=("UANA",), expires_at=1.8e9, resource=resource
    )
    return Request(call, asked, more.pop("locale", "en-US"), **more)


def texts(request: Request) -> list[str]:
    """The mrkdwn of every block, from top to bottom."""
    out = list[str]()
    for block in request_blocks(request)[0]:
        elements: list[dict[str, Any]] = [block.get("text") or {}, *block.get("elements", [])]
        out += [element["text"] for element in elements if element.get("type") == "mrkdwn"]
    return out


def shown_arguments(request: Request) -> dict[str, str]:
    """Argument -> what the card shows for it. Fails if a block holds anything else."""
    shown = dict[str, str]()
    for text in texts(request):
        read = drawn(text)
        names = re.fullmatch(r"(?:\*\w+\*(?:\n|  )\0\n?)+", read.rest)
        if names is not None:
            found = re.findall(r"\*(\w+)\*", read.rest)
            assert len(found) == len(read.code), text
            shown |= dict(zip(found, read.code, strict=True))
    return dict(sorted(shown.items()))


@pytest.mark.parametrize("spoof", SPOOFS)
@pytest.mark.parametrize("name", ["text", "channel"])
def test_what_is_shown_is_what_runs(spoof: str, name: str) -> None:
    call = call_of(**{"channel": "#news", "text": "hi", name: spoof})
    shown = shown_arguments(request_of(call))
    assert list(shown) == ["channel", "text"]
    assert plainly(shown[name]) == spoof.replace("\r", "\n")
    for text in shown.values():
        assert not re.search(r"[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u00ad\u2060\u2028\x00-\x08\x1b]", text)


@pytest.mark.parametrize("spoof", SPOOFS)
@pytest.mark.parametrize("state", ["open", "approved", "ended"])
def test_an_argument_adds_no_block_no_line_and_no_markup(spoof: str, state: str) -> None:
    given = ApprovalGiven(call_id="c1", digest="", verdict="approved", by=ANA) if state == "approved" else None
    more: dict[str, Any] = {"given": given, "ended": state == "ended", "grant_minutes": 60, "votes": (ANA,)}
    plain = texts(request_of(call_of(channel=PLAIN, text=PLAIN), resource={"channel": PLAIN}, **more))
    spoofed = texts(request_of(call_of(channel=spoof, text=spoof), resource={"channel": spoof}, **more))
    assert framed(spoofed) == framed(plain)
    wire = "".join(spoofed)
    assert set(re.findall(r"<[^<>]*>", wire)) <= {"<@UANA>"}, "nobody else is addressed, and nothing is linked"


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_shown_as_it_runs(channel: str, text: str) -> None:
    request = request_of(call_of(channel=channel, text=text))
    assert list(shown_arguments(request)) == ["channel", "text"]
    assert framed(texts(request)) == framed(texts(request_of(call_of(channel=PLAIN, text=PLAIN))))


@pytest.mark.parametrize(
    "value",
    [{"a": [1, 2, {"b": "```"}]}, [["<!channel>"]], True, None, 12, {"text": {"text": {"text": "*x*\n"}}}, "true"],
)
def test_values_that_are_no_text_are_shown_as_json(value: Any) -> None:
    shown = shown_arguments(request_of(call_of("unknown_tool", thing=value)))["thing"]
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    assert plainly(shown) == told


@pytest.mark.parametrize("text", ["x" * 1_801, "&" * 400, "`" * 2_000, "\u202e" * 5_000, "汉" * 5_000, "<a>\n" * 600])
def test_a_long_argument_is_cut_and_the_whole_is_in_a_file(text: str) -> None:
    call = call_of(channel="#news", text=text)
    request = request_of(call)
    assert long_arguments(call)
    for block in request_blocks(request)[0]:
        assert len(block.get("text", {}).get("text", "")) <= 3_000
    shown = shown_arguments(request)["text"]
    assert shown.endswith("…") or "invisible characters" in shown
    assert not any(re.search(r"&[a-z]*…", one) for one in texts(request)), "no half entity"
    assert text in json_of(call)["arguments"]["text"]
    assert any(request.asked.digest[:12] in one for one in texts(request))


def json_of(call: ToolCall) -> Any:
    return json.loads(arguments_file(call))


@pytest.mark.parametrize(
    "hidden", ["\u202e", "\u200b\u2060\ufeff\u00ad\u200e\u2066", "\U000e0041" * 40, "\x1b\x07\x00\u2028"]
)
def test_the_file_spells_out_what_hides(hidden: str) -> None:
    call = call_of(channel="#news", text=f"a{hidden}b 汉 👩‍👩‍👧")
    assert json_of(call)["arguments"] == call.arguments
    assert not set(hidden) & set(arguments_file(call))
    assert long_arguments(call) == (len(hidden) > 4), "the card names up to four"


def test_many_arguments_are_in_the_file_as_well() -> None:
    call = call_of("unknown_tool", **{f"a{number}": "x" for number in range(7)})
    assert long_arguments(call)
    assert list(shown_arguments(request_of(call))) == ["a0", "a1", "a2", "a3", "a4"]
    assert json_of(call) == {"tool": "unknown_tool", "arguments": call.arguments}
    assert not long_arguments(call_of())


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_card_says_who_until_when_and_what_a_standing_yes_would_cover(locale: str) -> None:
    request = request_of(call_of(), locale=locale, grant_minutes=60, resource={"channel": "#news"})
    said = "\n".join(texts(request))
    assert "<@UANA>" in said
    assert "post_message · channel = #news" in said
    assert request.asked.digest[:12] in said
    buttons = [e["action_id"] for b in request_blocks(request)[0] if b["type"] == "actions" for e in b["elements"]]
    assert buttons == ["approve", "refuse"]


@pytest.mark.parametrize("verdict", ["approved", "refused", "expired", "withdrawn", "superseded"])
def test_every_end_takes_the_buttons_away_and_says_how_it_ended(verdict: Any) -> None:
    given = ApprovalGiven(call_id="c1", digest="", verdict=verdict, by=WEI, reason="it is Friday")
    blocks, text = request_blocks(request_of(call_of(), given=given))
    assert all(block["type"] != "actions" for block in blocks)
    assert {"approved": "Approved", "refused": "Refused", "expired": "Expired"}.get(verdict, "") in text
    assert ("Nothing was done" in str(blocks)) == (verdict in ("expired", "withdrawn", "superseded"))


def test_a_request_that_a_stop_closed_says_so() -> None:
    blocks, text = request_blocks(request_of(call_of(), ended=True))
    assert all(block["type"] != "actions" for block in blocks)
    assert "Closed" in text

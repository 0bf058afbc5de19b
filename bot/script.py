"""The part that the scripted model plays: the conversation so far -> what to say or call next. Pure.

It understands nothing. It looks for a few words, reads what the tools really returned, and puts that
into an answer, so that a visitor without a key sees the product work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from bot.prompts import NOTES
from bot.script_notes import CORRECT, FORGET, KEEP, WONDER, correcting, from_notes, looking_up, noting
from bot.script_talk import Play, Talk, Wish, code_of, field_of, overheard, signed, why
from bot.script_words import say
from memory.types import Message, ToolResult

ROWS, CELL = 5, 72
"""Messages in the table of an answer, and characters of one."""


def play(messages: Sequence[Message]) -> Play:
    """What comes next. Every conversation that the assembly of a log can give has an answer."""
    talk = overheard(messages)
    if talk.closing:
        return Play(text=signed(talk, say("closing", talk.chinese)))
    return _act(talk)(talk)


_POST = re.compile(r"\bpost\b(?!-)|\btell\s+#|\bannounce\b|(?<![开研预])发(?![生现展])", re.IGNORECASE)
_RECALL = re.compile(
    r"\b(?:did|have) (?:i|we|you) (?:say|said|ask|asked|tell|told)\b|\bearlier\b|\bremember\b|刚才|之前|说过|问过|记得",
    re.IGNORECASE,
)
_THANKS = re.compile(r"(?:many )?(?:thanks|thank you|thx|谢谢|多谢).{0,30}", re.IGNORECASE)
_SUM = re.compile(r"(?:calculate|compute|what(?:'s| is)|how much is|计算)?\W*?(?P<sum>[\d(][\d\s.,()%+*/×÷^-]*[\d)%])")


def _act(talk: Talk) -> Callable[[Talk], Play]:
    """Which part to play for the newest words."""
    if talk.noted is not None and CORRECT.search(talk.words):
        return correcting
    if KEEP.search(talk.words) or FORGET.search(talk.words):
        return noting
    if talk.set_aside is not None or _POST.search(talk.words):
        return _posting
    if _expression(talk.words):
        return _calculating
    if talk.result("recall") is not None and not talk.channel:
        return from_notes
    if _RECALL.search(talk.words) and not talk.channel:
        return _recalling
    if WONDER.fullmatch(talk.words.strip()) and not talk.channel:
        return looking_up
    if _THANKS.fullmatch(talk.words):
        return lambda talk: Play(text=signed(talk, say("welcome", talk.chinese)))
    return _reporting


# -- a report on a channel -----------------------------------------------------------------------


def _reporting(talk: Talk) -> Play:
    """Read and look at the clock side by side, calculate from what was read, then tell."""
    channel, read = talk.channel or "#ops", talk.result("read_channel")
    if read is None:
        calls: tuple[Wish, ...] = (("read_channel", {"channel": channel}), ("now", {}))
        return Play(say("reads", talk.chinese, channel=channel), calls)
    if read.is_error:
        return Play(text=signed(talk, say("unread", talk.chinese, channel=channel, why=why(read))))
    lines = read_lines(read.text)
    expression = _to_calculate(lines)
    if expression and talk.result("calculate") is None:
        thought = say("calculates", talk.chinese, count=len(lines), channel=channel)
        return Play(thought, (("calculate", {"expression": expression}),))
    return Play(text=signed(talk, _report(talk, channel, lines)))


@dataclass(frozen=True, slots=True)
class SaidThere:
    """One message of a channel."""

    who: str
    at: datetime
    text: str


def read_lines(text: str) -> list[SaidThere]:
    """The messages in a result of ``read_channel``, oldest first."""
    head = re.compile(r"^(.+?) \([^)\n]*\) at (\d{4}-\d\d-\d\d \d\d:\d\d) UTC, message [\d.]+: ", re.MULTILINE)
    heads = [(found, at) for found in head.finditer(text) if (at := _moment(found[2])) is not None]
    ends = [found.start() for found, _ in heads[1:]] + [len(text)] * bool(heads)
    return [
        SaidThere(found[1], at, _without_ids(" ".join(text[found.end() : end].split())))
        for (found, at), end in zip(heads, ends, strict=True)
    ]


def _moment(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written).replace(tzinfo=UTC)
    except ValueError:
        return None


def _to_calculate(lines: Sequence[SaidThere]) -> str:
    """Something worth working out: how far apart two shares are, else how long the talk took, in minutes."""
    shares = sorted({float(share) for line in lines for share in re.findall(r"(\d+(?:\.\d+)?) ?%", line.text)})
    if len(shares) > 1 and shares[0] > 0:
        return f"{shares[-1]:g} / {shares[0]:g}"
    if len(lines) > 1:
        first, last = lines[0].at, lines[-1].at
        days = (last.date() - first.date()).days
        later = f"{days}*24*60 + " if days else ""
        return f"({later}{last.hour}*60 + {last.minute}) - ({first.hour}*60 + {first.minute})"
    return ""


def _report(talk: Talk, channel: str, lines: Sequence[SaidThere]) -> str:
    if not lines:
        return say("quiet", talk.chinese, channel=channel)
    zone = ZoneInfo(talk.said[-1].zone)
    times = [f"{line.at.astimezone(zone):%H:%M}" for line in lines]
    values = {"channel": channel, "count": len(lines), "first": times[0], "last": times[-1], "who": lines[-1].who}
    rows = [
        f"| {time} | {_cell(line.who)} | {_cell(line.text)} |"
        for time, line in zip(times[-ROWS:], lines[-ROWS:], strict=True)
    ]
    paragraphs = [say("report", talk.chinese, **values), "\n".join([say("table", talk.chinese), *rows])]
    if (worked_out := talk.result("calculate")) is not None:
        shares = "*60" not in worked_out.text
        key = "unworked" if worked_out.is_error else "shares" if shares else "minutes"
        paragraphs.append(say(key, talk.chinese, result=why(worked_out) if worked_out.is_error else worked_out.text))
    clock = talk.result("now")
    if clock is not None and (now := re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", clock.text)) is not None:
        paragraphs.append(say("clock", talk.chinese, now=now[0]))
    return "\n\n".join(paragraphs)


def _cell(text: str) -> str:
    short = text if len(text) <= CELL else text[: CELL - 1] + "…"
    return short.replace("|", "\\|")


# -- a post --------------------------------------------------------------------------------------


def _posting(talk: Talk) -> Play:
    """Ask to post, then say what became of it."""
    channel, text = _draft(talk)
    posted = talk.result("post_message")
    if posted is None:
        if not text:
            return Play(text=signed(talk, say("what_text", talk.chinese, channel=channel)))
        key = "drafts_again" if talk.set_aside else "drafts"
        return Play(say(key, talk.chinese, channel=channel), (("post_message", {"channel": channel, "text": text}),))
    return Play(text=signed(talk, _outcome(talk, channel, posted)))


_BEFORE_TEXT = re.compile(
    r"^.*?(?:\b(?:post|tell|announce)\b|(?<![开研])发(?:布|送|到)?(?![生现展]))\s*(?:(?:in|to|on)\s+)?(?:#[\w-]+)?\s*"
    r"(?:一条|一个)?(?:消息|公告|通知)?[\s:：,，]*(?:(?:that|saying|about)\b|说)?[\s:：,，]*",
    re.IGNORECASE | re.DOTALL,
)


def _draft(talk: Talk) -> tuple[str, str]:
    """Channel and text of the post that the newest words ask for."""
    if talk.set_aside is not None:
        text = re.sub(r"^[^:：\n]{0,60}[:：]\s*", "", talk.words)
        return talk.channel or str(talk.set_aside.arguments["channel"]), _tidy(text)
    text = re.sub(r"\s*(?:\b(?:in|to|on)\s+|到\s*)#[\w-]+[.。]?$", "", _BEFORE_TEXT.sub("", talk.words, count=1))
    return talk.channel or "#news", _tidy(text)


def _tidy(text: str) -> str:
    bare = text.strip().strip("\"'“”‘’「」").strip()
    return bare[:1].upper() + bare[1:]


def _outcome(talk: Talk, channel: str, posted: ToolResult) -> str:
    if not posted.is_error:
        link = re.search(r"https?://[^\s)>\]]+", posted.text)
        return say("posted", talk.chinese, channel=f"[{channel}]({link[0]})" if link else channel)
    code, values = code_of(posted), {"channel": channel, "why": why(posted)}
    match code:
        case "refused":
            reason = field_of(posted, "message").removeprefix(NOTES["refused_refused"]).strip()
            told = say("reason", talk.chinese, reason=reason) if reason else ""
            return say("refused", talk.chinese, **values) + told
        case "expired" | "withdrawn":
            return say(code, talk.chinese, **values)
        case "unknown_outcome" | "interrupted":
            return say("uncertain", talk.chinese, **values)
        case _:
            return say("not_posted", talk.chinese, **values)


# -- smaller parts -------------------------------------------------------------------------------


def _expression(words: str) -> str:
    """The sum that is all these words ask for; empty if they ask for something else."""
    bare = words.strip().rstrip(" =?？。.").removesuffix("等于多少").removesuffix("是多少").strip().lower()
    found = _SUM.fullmatch(bare) if len(bare) <= 200 else None
    return found["sum"] if found and re.search(r"[\d)%]\s*[+*/×÷^-]\s*[\d(]", found["sum"]) else ""


def _calculating(talk: Talk) -> Play:
    result = talk.result("calculate")
    if result is None:
        return Play(say("works_out", talk.chinese), (("calculate", {"expression": _expression(talk.words)}),))
    return Play(text=signed(talk, why(result) if result.is_error else f"**{result.text.replace('*', '×')}**"))


def _recalling(talk: Talk) -> Play:
    earlier = talk.said[:-1]
    if not earlier:
        return Play(text=signed(talk, say("nothing_before", talk.chinese)))
    listed = "\n".join(f"- **{one.who}**: {_cell(' '.join(one.words.split()))}" for one in earlier[-8:])
    return Play(text=signed(talk, say("before", talk.chinese, listed=listed)))


def _without_ids(text: str) -> str:
    """Names as people say them."""
    return re.sub(r" \([UW][A-Z0-9]+\)", "", text).replace("@you", "@Bobbin")

"""Card, notices and requests -> Slack's blocks. The only place that knows how they look. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from bot.approvals import named
from bot.catalog import WORDS, say
from bot.notices import label, local_time
from bot.progress import Card, Line, LineState
from bot.slack.mentions import harmless_names
from bot.slack.visible import HIDDEN_RUN, visible
from bot.surface import Request
from memory.types import ToolCall

Block = dict[str, Any]

SHOWN_LINES = 8
"""Steps that a card shows while it works; earlier ones are counted."""
ICONS: dict[LineState, str] = {
    "planned": "○",
    "running": "◐",
    "ok": "✓",
    "failed": "✗",
    "waiting": "✋",
    "not_run": "⊘",
    "uncertain": "⚠",
    "repeated": "⊘",
}
_SECTION = 2_900
"""Characters of one section, a little below Slack's 3,000."""
_ARGUMENT, _MOST = 1_800, 5
"""Characters of one argument and number of arguments that a request shows; a file shows the rest."""
_LINE = 60
"""Characters of an argument that stands beside its name, escaped."""
_FALLBACK = 1_000
"""Characters of a fallback text: chat.update takes 4,000 bytes."""
_LIVE_MARK = re.compile(r"`|(?<![^\W_])[*_~]|[*_~](?![^\W_])")
"""Marks where Slack would read them as markup: inside a word only those of code."""
_LIVE_EMOJI = re.compile(r":(?=[\w+'-]+:)")
_LOOK_ALIKE = {"*": "∗", "_": "\uff3f", "~": "∼", "`": "ˋ"}
_HALF_ENTITY = re.compile(r"&[a-z]*\Z")


def card_blocks(card: Card, now: float) -> tuple[list[Block], str]:
    """Blocks and fallback text of a card. ``now`` in seconds since 1970."""
    head = _head(card, now)
    if card.ended is not None:
        return [_context(head)], _plain(head)
    blocks = [_section(head)]
    shown = card.lines[-SHOWN_LINES:]
    lines = [_line(line, card.locale) for line in shown]
    if hidden := len(card.lines) - len(shown):
        lines.insert(0, say("card.more", card.locale, number=hidden))
    if thought := " ".join(card.thought.split()):
        lines.append(f"_{_short(_inert(thought), 300)}_")
    if lines:
        blocks.append(_context("\n".join(lines)))
    return blocks, _plain(head)


def _head(card: Card, now: float) -> str:
    locale = card.locale
    if card.ended is not None:
        return " · ".join(_closing(card))
    if card.state == "approval":
        return f"✋ *{say('card.approval', locale)}* · {_seconds(now - card.began, locale)}"
    parts = [f"◐ *{say('card.working', locale)}*"]
    if card.asks or card.lines:
        parts.append(say("card.step", locale, number=card.asks + 1))
    parts.append(_seconds(now - card.began, locale))
    if card.waiting is not None:
        seconds, why = card.waiting
        parts.append(say("card.waiting", locale, why=_short(_inert(why), 200), seconds=round(seconds)))
    elif card.writing:
        parts.append(say("card.writing", locale))
    return " · ".join(parts)


def _closing(card: Card) -> list[str]:
    """The quiet line of a finished turn: steps, seconds, tokens, share of the cache, dollars."""
    locale, usage = card.locale, card.usage
    mark = {"done": "✓", "stopped": "🛑", "failed": "✗"}.get(card.state, "✓")
    word = {"stopped": say("card.stopped", locale), "failed": say("card.failed", locale)}.get(card.state, "")
    steps = len(card.lines)
    parts = [f"{mark} {word}".strip()] if word else []
    if steps:
        parts.append(say("card.one_step", locale) if steps == 1 else say("card.steps", locale, number=steps))
    parts.append(_seconds((card.ended or card.began) - card.began, locale))
    if not word:
        parts[0] = f"{mark} {parts[0]}"
    if usage.prompt or usage.output:
        cached = round(100 * usage.cache_read / usage.prompt) if usage.prompt else 0
        parts.append(say("card.tokens", locale, tokens=thousands(usage.prompt + usage.output), cached=cached))
    if card.context:
        parts.append(say("card.context", locale, tokens=thousands(card.context)))
    if usage.dollars:
        parts.append(f"${usage.dollars:.3f}" if usage.dollars < 1 else f"${usage.dollars:.2f}")
    return parts


def _line(line: Line, locale: str) -> str:
    told = f"`{_code(label(line.call))}`"
    first, _, rest = line.note.partition(" · ")
    note = rest if rest and first in label(line.call) else line.note  # said once is enough
    match line.state:
        case "waiting":
            note = say("card.needs_yes", locale)
        case "not_run":
            note = say("card.not_run", locale)
        case "uncertain" | "repeated":
            note = say(f"card.{line.state}", locale)
        case "failed":
            note = f"{say('card.failed_call', locale)}: {note}" if note else say("card.failed_call", locale)
        case "planned" | "running" | "ok":
            pass
    return f"{ICONS[line.state]} {told}" + (f" · {_short(_inert(note), 80)}" if note else "")


# -- approvals -----------------------------------------------------------------------------------


def request_blocks(request: Request) -> tuple[list[Block], str]:
    """Blocks and fallback text of a request for a yes, in each of its states."""
    locale, call = request.locale, request.call
    title = f"✋ *{say('approval.title', locale)}* · `{_code(call.name)}`"
    blocks = [_section(title), _section(change(call, locale))]
    if request.asked.again:
        blocks.append(_section(say("change.again", locale)))
    blocks += [_section(text) for text in _argument_texts(call)]
    if long_arguments(call):
        blocks.append(_context(say("approval.whole", locale, digest=request.asked.digest[:12])))
    if request.given is None and not request.ended:
        blocks += [_section(_who(request)), _buttons(locale), _context(_binding(request))]
        named_plainly = f"✋ {say('approval.title', locale)} · {_inert(call.name)} {_changes(call, locale, _inert)}"
        return blocks, _short(named_plainly, _FALLBACK)
    blocks[0] = _section(f"*{_end(request)}* · `{_code(call.name)}`")
    if request.given is not None and request.given.reason:
        blocks.append(_context(say("approval.reason", locale, reason=_short(_inert(request.given.reason), 1_000))))
    return [*blocks, _context(_binding(request))], _plain(_end(request))


def change(call: ToolCall, locale: str) -> str:
    """What a call will change, in one sentence, as mrkdwn. Arguments stand in code, so that none can add a line."""
    return _changes(call, locale, _span)


def _changes(call: ToolCall, locale: str, shown: Callable[[str], str]) -> str:
    key = f"change.{call.name}" if f"change.{call.name}" in WORDS else "change.any"
    values = {name: shown(_short(told, 80)) for name, told in _told(call).items()}
    try:
        return say(key, locale, **{**values, "tool": shown(call.name)})
    except KeyError:
        return say("change.any", locale, tool=shown(call.name))


def long_arguments(call: ToolCall) -> bool:
    """Whether a card leaves something of the arguments out, so that a file must show the whole."""
    shown = [_fenced(told) for told in _told(call).values()]
    return len(shown) > _MOST or any(len(one) > _ARGUMENT or HIDDEN_RUN in one for one in shown)


def arguments_file(call: ToolCall) -> str:
    """All arguments as they will run, for the file beside a card: JSON in which what hides is escaped."""
    text = json.dumps({"tool": call.name, "arguments": call.arguments}, ensure_ascii=False, indent=2)
    return text.translate({ord(one): json.dumps(one)[1:-1] for one in set(text) if one != "\n" and visible(one) != one})


def _told(call: ToolCall) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in call.arguments.items()
    }


def _argument_texts(call: ToolCall) -> list[str]:
    """Every argument as stored, as plain text in code: nothing in it can pass for markup of ours."""
    told = list(_told(call).items())[:_MOST]
    texts = list[str]()
    for beside, group in groupby(told, key=lambda argument: _fits_a_line(argument[1])):
        if beside:
            texts.append("\n".join(f"*{_short(_inert(name), 100)}*  {_span(value)}" for name, value in group))
        else:
            texts += [
                f"*{_short(_inert(name), 100)}*\n```\n{_short(_fenced(value), _ARGUMENT)}\n```" for name, value in group
            ]
    return texts


def _fits_a_line(text: str) -> bool:
    return 0 < len(_escaped(text)) <= _LINE and text == text.strip() and not {"`", "\n", "\r"} & set(text)


def _who(request: Request) -> str:
    locale, asked = request.locale, request.asked
    people = named(asked.approvers, locale)
    when = local_time(datetime.fromtimestamp(asked.expires_at, UTC), asked.requester)
    lines = [say("approval.who", locale, people=people, when=when)]
    if asked.needed > 1:
        yes = ", ".join(f"<@{person.id}>" for person in request.votes) or "–"
        lines.append(say("approval.votes", locale, number=len(request.votes), needed=asked.needed, people=yes))
    if request.grant_minutes and asked.resource is not None:
        pattern = ", ".join(f"{name} = {value}" for name, value in asked.resource.items())
        covers = _span(f"{request.call.name} · {pattern}")
        lines.append(say("approval.grant", locale, covers=covers, minutes=request.grant_minutes))
    return "\n".join(lines)


def _end(request: Request) -> str:
    given, locale = request.given, request.locale
    if given is None:
        return say("approval.closed", locale)
    who = f"<@{given.by.id}>" if given.by else ""
    icon = {"approved": "✅ ", "refused": "❌ "}.get(given.verdict, "")
    return icon + say(f"approval.{given.verdict}", locale, who=who)


def _binding(request: Request) -> str:
    return say("approval.bound", request.locale, digest=request.asked.digest[:12])


def _buttons(locale: str) -> Block:
    def button(action: str, style: str) -> Block:
        text = {"type": "plain_text", "text": say(f"approval.{action}", locale)}
        return {"type": "button", "action_id": action, "text": text, "style": style, "value": action}

    return {"type": "actions", "elements": [button("approve", "primary"), button("refuse", "danger")]}


# -- pieces --------------------------------------------------------------------------------------


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _short(text, _SECTION), "verbatim": True}}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": _short(text, _SECTION), "verbatim": True}]}


def _inert(text: str) -> str:
    """One line of plain words inside mrkdwn: nothing in it is markup or an emoji, or notifies anybody."""
    shown = _LIVE_MARK.sub(lambda match: _LOOK_ALIKE[match[0]], _escaped(" ".join(text.split())))
    return _LIVE_EMOJI.sub("∶", shown)


def _escaped(text: str) -> str:
    """Text inside code: nothing in it notifies anybody."""
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return harmless_names(shown)


def _code(text: str) -> str:
    """Inside a code span, which ends at a backtick and at the end of the line."""
    return _short(_escaped(text).replace("`", "'").replace("\n", "⏎"), 200) or "–"


def _span(text: str) -> str:
    return f"`{_code(text) if text else '(empty)'}`"


def _fenced(text: str) -> str:
    """Inside a fence, which ends at three backticks."""
    return _escaped(text).replace("```", "'''")


def _plain(text: str) -> str:
    return _short(text.replace("*", "").replace("`", ""), _FALLBACK)


def _short(text: str, limit: int) -> str:
    """At most ``limit`` characters, without half an entity at the end."""
    return text if len(text) <= limit else _HALF_ENTITY.sub("", text[: limit - 1]) + "…"


def _seconds(seconds: float, locale: str) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return say("card.seconds", locale, number=whole)
    return say("card.minutes", locale, minutes=whole // 60, seconds=whole % 60)


def thousands(number: int) -> str:
    return f"{number / 1000:.1f}".removesuffix(".0") + "k" if number >= 1000 else str(number)

"""Card, notices and requests -> Slack's blocks. The only place that knows how they look. Pure."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from bot.approvals import named
from bot.catalog import WORDS, say
from bot.notices import label, local_time
from bot.progress import Card, Line, LineState
from bot.slack.mentions import harmless_names
from bot.slack.visible import visible
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
        lines.append(f"_{_escaped(_short(thought, 300))}_")
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
        parts.append(say("card.waiting", locale, why=_escaped(why), seconds=round(seconds)))
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
        parts.append(say("card.tokens", locale, tokens=_thousands(usage.prompt + usage.output), cached=cached))
    if card.context:
        parts.append(say("card.context", locale, tokens=_thousands(card.context)))
    if usage.dollars:
        parts.append(f"${usage.dollars:.3f}" if usage.dollars < 1 else f"${usage.dollars:.2f}")
    return parts


def _line(line: Line, locale: str) -> str:
    told = f"`{_code(label(line.call))}`"
    note = line.note
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
    return f"{ICONS[line.state]} {told}" + (f" · {_escaped(_short(note, 80))}" if note else "")


# -- approvals -----------------------------------------------------------------------------------


def request_blocks(request: Request) -> tuple[list[Block], str]:
    """Blocks and fallback text of a request for a yes, in each of its states."""
    locale, call = request.locale, request.call
    title = f"✋ *{say('approval.title', locale)}* · `{_code(call.name)}`"
    what = change(call, locale)
    blocks = [_section(title), _section(what)]
    if request.asked.again:
        blocks.append(_section(say("change.again", locale)))
    blocks += [_section(text) for text in _argument_texts(call)]
    if long_arguments(call):
        blocks.append(_context(say("approval.whole", locale, digest=request.asked.digest[:12])))
    if request.given is None and not request.ended:
        blocks += [_section(_who(request)), _buttons(locale), _context(_binding(request))]
        return blocks, _plain(f"{title} {what}")
    blocks[0] = _section(f"*{_end(request)}* · `{_code(call.name)}`")
    if request.given is not None and request.given.reason:
        blocks.append(_context(say("approval.reason", locale, reason=_escaped(request.given.reason))))
    return [*blocks, _context(_binding(request))], _plain(_end(request))


def change(call: ToolCall, locale: str) -> str:
    """What a call will change, in one sentence, as mrkdwn. Arguments stand in code, so that none can add a line."""
    key = f"change.{call.name}" if f"change.{call.name}" in WORDS else "change.any"
    values = {name: f"`{_code(_short(told, 80))}`" for name, told in _told(call).items()}
    try:
        return say(key, locale, **{**values, "tool": f"`{_code(call.name)}`"})
    except KeyError:
        return say("change.any", locale, tool=f"`{_code(call.name)}`")


def long_arguments(call: ToolCall) -> bool:
    """Whether a card shows only the beginning of an argument, so that a file must show the whole."""
    return any(len(_fenced(told)) > _ARGUMENT for told in _told(call).values()) or len(call.arguments) > _MOST


def arguments_file(call: ToolCall) -> str:
    """All arguments as they will run, for the file beside a card."""
    return json.dumps({"tool": call.name, "arguments": call.arguments}, ensure_ascii=False, indent=2)


def _told(call: ToolCall) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in call.arguments.items()
    }


def _argument_texts(call: ToolCall) -> list[str]:
    """Every argument as stored, as plain text in code: nothing in it can pass for markup of ours."""
    return [
        f"*{_escaped(name)}*\n```\n{_short_escaped(_fenced(told), _ARGUMENT)}\n```"
        for name, told in list(_told(call).items())[:_MOST]
    ]


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
        covers = f"`{_code(f'{request.call.name} · {pattern}')}`"
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


def _escaped(text: str) -> str:
    """Plain text inside mrkdwn: nothing in it is markup or notifies anybody."""
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return harmless_names(shown)


def _code(text: str) -> str:
    """Inside a code span, which ends at a backtick and at the end of the line."""
    return _escaped(text).replace("`", "'").replace("\n", "⏎")


def _fenced(text: str) -> str:
    """Inside a fence, which ends at three backticks."""
    return _escaped(text).replace("```", "'''")


def _plain(text: str) -> str:
    return text.replace("*", "").replace("`", "")


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _short_escaped(text: str, limit: int) -> str:
    """The same for escaped text, without half an entity at the end."""
    return text if len(text) <= limit else _HALF_ENTITY.sub("", text[: limit - 1]) + "…"


def _seconds(seconds: float, locale: str) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return say("card.seconds", locale, number=whole)
    return say("card.minutes", locale, minutes=whole // 60, seconds=whole % 60)


def _thousands(number: int) -> str:
    return f"{number / 1000:.1f}k" if number >= 1000 else str(number)

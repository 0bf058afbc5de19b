"""The app's home and its form as Slack's blocks. Pure; what people wrote stays text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.catalog import say
from bot.notes import day, one_line
from memory.fact import LONGEST, Fact, owns

Json = dict[str, Any]

OWN, OTHERS = 20, 30
"""Facts in each part of a home: two blocks for one's own, one for another's; Slack allows 100 blocks."""
EDIT = "edit"
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Page:
    """What a home shows to a person: their own facts and others', or what answers their ``query``."""

    person: str
    locale: str
    own: Sequence[Fact] = ()
    others: Sequence[Fact] = ()
    query: str = ""


def line(fact: Fact) -> str:
    """One fact in Slack's markup."""
    text = one_line(fact.text).translate(_ESCAPED)
    source = f" · <{fact.link}|{day(fact.valid_from)}>" if fact.link else f" · {day(fact.valid_from)}"
    return f"`{fact.id}` {text}{source} · {fact.author_name.translate(_ESCAPED)}"


def home_blocks(page: Page) -> list[Json]:
    blocks: list[Json] = [_header(say("memory.title", page.locale)), _section(say("memory.intro", page.locale))]
    blocks.append(_search_field(page))
    if page.query:
        blocks += _part(page, say("memory.results", page.locale, query=page.query[:80]), [*page.own, *page.others])
        blocks.append(_actions(_button("all", say("memory.all", page.locale))))
    else:
        blocks += _part(page, say("memory.own", page.locale), page.own[:OWN])
        blocks += _part(page, say("memory.others", page.locale), page.others[:OTHERS])
        if len(page.own) > OWN or len(page.others) > OTHERS:
            blocks.append(_context(say("memory.newest", page.locale)))
    return [*blocks, {"type": "divider"}, _actions(_button("export", say("memory.export", page.locale)))]


def edit_form(fact: Fact, query: str, locale: str) -> Json:
    """A form in which a fact's author says what is right. Slack gives titles and buttons 24 characters."""
    field = {
        "type": "plain_text_input",
        "action_id": "text",
        "multiline": True,
        "initial_value": fact.text,
        "max_length": LONGEST,
    }
    hint = _plain(say("memory.edit_hint", locale))
    return {
        "type": "modal",
        "callback_id": EDIT,
        "private_metadata": f"{fact.id} {query}".strip(),
        "title": _plain(say("memory.edit_title", locale, number=fact.id)),
        "submit": _plain(say("memory.save", locale)),
        "close": _plain(say("memory.cancel", locale)),
        "blocks": [
            {
                "type": "input",
                "block_id": "text",
                "label": _plain(say("memory.edit_label", locale)),
                "element": field,
                "hint": hint,
            }
        ],
    }


def form_error(words: str) -> Json:
    """The answer to a form that is not taken as it is; shown below its field."""
    return {"response_action": "errors", "errors": {"text": words}}


def _part(page: Page, title: str, facts: Sequence[Fact]) -> list[Json]:
    shown = [block for fact in facts for block in _fact_blocks(page, fact)]
    return [{"type": "divider"}, _header(title), *(shown or [_section(say("memory.nothing", page.locale))])]


def _fact_blocks(page: Page, fact: Fact) -> list[Json]:
    """The owner may forget; only who said it may say what is right instead."""
    blocks = [_section(line(fact)[:2_900])]
    if not owns(fact, page.person):
        return blocks
    forget = _button(f"forget:{fact.id}", say("memory.forget", page.locale), page.query, style="danger")
    forget["confirm"] = {
        "title": _plain(say("memory.forget", page.locale)),
        "text": _plain(say("memory.sure", page.locale)),
        "confirm": _plain(say("memory.forget", page.locale)),
        "deny": _plain(say("memory.cancel", page.locale)),
    }
    edit = [_button(f"edit:{fact.id}", say("memory.edit", page.locale), page.query)]
    return [*blocks, _actions(*(edit if fact.author == page.person else []), forget)]


def _search_field(page: Page) -> Json:
    field: Json = {
        "type": "plain_text_input",
        "action_id": "search",
        "placeholder": _plain(say("memory.search_hint", page.locale)),
        "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
    }
    if page.query:
        field["initial_value"] = page.query
    return {
        "type": "input",
        "block_id": f"search:{page.query}",  # Slack keeps what was typed in a block while its id stays
        "dispatch_action": True,
        "label": _plain(say("memory.search", page.locale)),
        "element": field,
    }


def _button(action: str, label: str, value: str = "", style: str = "") -> Json:
    button: Json = {"type": "button", "action_id": action, "text": _plain(label)}
    return button | ({"value": value} if value else {}) | ({"style": style} if style else {})


def _actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def _section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _context(text: str) -> Json:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def _header(text: str) -> Json:
    return {"type": "header", "text": _plain(text)}


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": True}

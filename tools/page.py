"""The words of a page as a person would see them: main text as Markdown, nothing that is hidden from the eye."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from tools.base import ToolError
from tools.charset import decode
from tools.fetch import Page

_HTML: Final = ("text/html", "application/xhtml+xml")
_UNSEEN_TAGS: Final = frozenset({"script", "style", "template", "noscript", "iframe", "object", "svg"})
_LARGE_TREE: Final = 60_000
_TITLE_LIMIT: Final = 300

# Control, direction, tag and zero-width characters, and the selectors that can carry a text of their own.
# The joiners U+200C and U+200D stay: Persian and emoji need them.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_NOTHING: Final = re.compile(r"0*\.?0*(px|em|rem|pt|%|vh|vw)?")
_OFF_SCREEN: Final = re.compile(r"-\d{3,}\.?\d*(px|em|rem|pt|%|vh|vw)?")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a page says. ``date`` is ISO 8601, as the page gives it; both may be empty."""

    text: str
    title: str = ""
    date: str = ""


def read(page: Page) -> Reading:
    """The readable part of a page. Heavy, and on a hostile page endless: see ``tools.worker``.

    Raises ``ToolError`` no_text if there is nothing to read.
    """
    text = decode(page.body, page.charset)
    if page.media_type in _HTML:
        reading = _read_html(text, page.url)
    elif page.media_type.endswith("json"):
        reading = Reading(_pretty(text))
    else:
        reading = Reading(text)
    cleaned = Reading(visible(reading.text), visible(reading.title)[:_TITLE_LIMIT], visible(reading.date))
    if not cleaned.text:
        message = "The page has no text that can be read; scripts may build it in a browser."
        raise ToolError(
            "no_text", message, hint="Look for another address with the same content, such as a feed or API."
        )
    return cleaned


def visible(text: str) -> str:
    """Without the characters that nobody sees and a model still reads."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def is_hidden(tag: str, attributes: dict[str, str]) -> bool:
    """Whether an element hides its text from people, by its own attributes. Style sheets are not followed."""
    if tag in ("html", "body"):  # a page that fades in as a whole
        return False
    if tag in _UNSEEN_TAGS or attributes.get("aria-hidden", "").strip().lower() == "true":
        return True
    if "hidden" in attributes or (tag == "input" and attributes.get("type", "").lower() == "hidden"):
        return True
    return _style_hides(attributes.get("style", ""))


def _style_hides(style: str) -> bool:
    pairs = (part.partition(":") for part in re.sub(r"/\*.*?\*/|!\s*important", "", style, flags=re.S).split(";"))
    rules = {name.strip().lower(): re.sub(r"\s+", "", value).lower() for name, _, value in pairs}
    nothing = {name for name, value in rules.items() if value and _NOTHING.fullmatch(value)}
    return (
        rules.get("display") == "none"
        or rules.get("visibility") in ("hidden", "collapse")
        or rules.get("content-visibility") == "hidden"
        or rules.get("color") == "transparent"
        or bool(nothing & {"opacity", "font-size"})
        or (
            rules.get("overflow") in ("hidden", "clip")
            and bool(nothing & {"width", "height", "max-width", "max-height"})
        )
        or any(
            _OFF_SCREEN.fullmatch(rules.get(name, ""))
            for name in ("left", "top", "right", "text-indent", "margin-left")
        )
        or rules.get("clip", "").startswith("rect(0")
        or rules.get("clip-path", "").startswith(("inset(50%", "inset(100%", "circle(0"))
        or rules.get("transform") in ("scale(0)", "scale(0,0)")
    )


def _read_html(html: str, url: str) -> Reading:
    # Loading the library takes 0.3 s and 28 MB, so a process that never reads a page does without it.
    import trafilatura  # noqa: PLC0415

    tree: Any = trafilatura.load_html(html)
    if tree is None:  # a fragment, which the library does not take for a page
        tree = trafilatura.load_html(f"<html><head></head><body>{html}</body></html>")
    if tree is None:
        return Reading("")
    known = trafilatura.extract_metadata(tree, default_url=url)
    for element in list(tree.iter()):
        # A comment or processing instruction has a function in place of a tag.
        if not isinstance(element.tag, str) or is_hidden(element.tag.lower(), dict(element.attrib)):
            _drop(element)
    if sum(1 for _ in tree.iter()) > _LARGE_TREE:
        text = trafilatura.html2txt(tree)
    else:
        found = trafilatura.extract(
            tree, url=url, output_format="markdown", include_links=True, include_comments=False, with_metadata=False
        )
        text = found or trafilatura.html2txt(tree)
    return Reading(text, known.title or "", known.date or "")


def _drop(element: Any) -> None:
    """Remove an element and keep the text that follows it. A comment beside the root has no parent."""
    parent = element.getparent()
    if parent is None:
        return
    before = element.getprevious()
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text

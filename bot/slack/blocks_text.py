"""The words in Slack's blocks and attachments, which often hold what the text of a message leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from bot.slack.names import Names, date, decoded, link, unescaped

Json = Mapping[str, object]

_DEEPEST = 12
# Where blocks of other kinds keep words, in the order in which people read them.
_WORDS = ("title", "subtitle", "text", "description", "fields", "body", "label", "hint", "value")
_PARTS = ("elements", "rows", "child_blocks", "tasks", "details", "output", "accessory", "actions", "sources")


def blocks_text(blocks: object, names: Names) -> str:
    """The words of a list of blocks of any kind, one block a paragraph or line."""
    return "\n".join(filter(str.strip, (_block(block, names) for block in mappings(blocks))))


def mappings(value: object) -> list[Json]:
    """The objects in a list from a payload; nothing if it is no list."""
    return [cast("Json", item) for item in _list(value) if isinstance(item, Mapping)]


def string(value: object) -> str:
    """A text from a payload; empty if it is none."""
    return value if isinstance(value, str) else ""


def _list(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _block(block: Json, names: Names) -> str:
    match block.get("type"):
        case "rich_text":
            return "\n".join(_rich(element, names) for element in mappings(block.get("elements")))
        case "context":
            return " ".join(_any(block.get("elements"), names))
        case "table" | "data_table":
            rows = [[_cell(cell, names) for cell in mappings(row)] for row in _list(block.get("rows"))]
            return "\n".join(f"| {' | '.join(row)} |" for row in rows)
        case "markdown":
            return string(block.get("text"))
        case "image":
            return " ".join([*_any(block.get("title"), names), _image(block)])
        case _:
            return "\n".join(_any(block, names))


def _any(value: object, names: Names, depth: int = 0) -> Iterator[str]:
    """The words under any value, for blocks whose exact form does not matter or is not known yet."""
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield decoded(value, names)
    elif isinstance(value, list):
        for item in _list(cast("object", value)):
            yield from _any(item, names, depth + 1)
    elif isinstance(value, Mapping):
        yield from _object(cast("Json", value), names, depth)


def _object(value: Json, names: Names, depth: int) -> Iterator[str]:
    match value.get("type"):
        case "mrkdwn":
            yield decoded(string(value.get("text")), names)
        case "plain_text" | "raw_text":
            yield unescaped(string(value.get("text")))
        case "rich_text":
            yield _block(value, names)
        case "image":
            yield _image(value)
        case "button" | "workflow_button":
            label = " ".join(_any(value.get("text"), names, depth + 1))
            yield f"[button: {link(string(value.get('url')), label) if value.get('url') else label}]"
        case _:
            for key in (*_WORDS, *_PARTS):
                yield from _any(value.get(key), names, depth + 1)


def _cell(cell: Json, names: Names) -> str:
    return " ".join(" ".join(_any(cell, names)).split())


def _image(image: Json) -> str:
    return f"[image: {unescaped(string(image.get('alt_text')) or string(image.get('fallback'))) or 'no description'}]"


def _rich(element: Json, names: Names, depth: int = 0) -> str:
    """One section, list, quote or code block of rich text."""
    parts = mappings(element.get("elements"))
    match element.get("type"):
        case "rich_text_list" if depth < _DEEPEST:
            indent = element.get("indent")
            pad = "    " * (min(indent, _DEEPEST) if isinstance(indent, int) else 0)
            first = element.get("offset")
            start = (first if isinstance(first, int) else 0) + 1
            marks = [f"{start + i}." if element.get("style") == "ordered" else "•" for i in range(len(parts))]
            return "\n".join(
                f"{pad}{mark} {_rich(part, names, depth + 1)}" for mark, part in zip(marks, parts, strict=True)
            )
        case "rich_text_quote":
            return "\n".join(f"> {line}" for line in _inline(parts, names).split("\n"))
        case "rich_text_preformatted":
            return f"```\n{_inline(parts, names)}\n```"
        case _:
            return _inline(parts, names)


def _inline(parts: Sequence[Json], names: Names) -> str:
    return "".join(_span(part, names) for part in parts)


def _span(span: Json, names: Names) -> str:
    # The text of rich text is as typed: it holds no entities and no markup.
    text = string(span.get("text"))
    match span.get("type"):
        case "user":
            return names.user(string(span.get("user_id")))
        case "channel":
            return names.channel(string(span.get("channel_id")))
        case "usergroup":
            return f"@{string(span.get('usergroup_id'))}"
        case "broadcast":
            return f"@{string(span.get('range'))}"
        case "emoji":
            return f":{string(span.get('name'))}:"
        case "link":
            return link(string(span.get("url")), text)
        case "date":
            return date(str(span.get("timestamp", "")), string(span.get("fallback")))
        case _:
            style = span.get("style")
            is_code = isinstance(style, Mapping) and cast("Json", style).get("code")
            return f"`{text}`" if is_code and text else text

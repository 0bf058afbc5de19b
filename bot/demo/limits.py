"""What Slack refuses in a message. Numbers from the Block Kit and method pages; the byte limit was measured."""

from __future__ import annotations

from bot.demo.values import Json, SlackError, objects

POST_CHARACTERS = 40_000
"""chat.postMessage cuts its text here and goes on."""
UPDATE_BYTES = 4_000
"""chat.update counts UTF-8 bytes, about 1,333 Chinese characters."""
MARKDOWN_CHARACTERS = 12_000
"""For markdown_text, and for all markdown blocks of one message together."""
BLOCKS = 50
SCHEDULE_SECONDS = 120 * 24 * 3600

_KNOWN = frozenset({"context_actions", "divider", "file", "image", "input", "rich_text", "table", "video"})


def check_blocks(blocks: tuple[Json, ...]) -> None:
    """Raise SlackError("invalid_blocks") that names the first block that Slack would not take."""
    if len(blocks) > BLOCKS:
        raise _invalid(f"no more than {BLOCKS} items allowed [json-pointer:/blocks]")
    markdown = 0
    for index, block in enumerate(blocks):
        problem = _problem(block)
        if problem:
            raise _invalid(f"{problem} [json-pointer:/blocks/{index}]")
        if block.get("type") == "markdown":
            markdown += len(str(block["text"]))
    if markdown > MARKDOWN_CHARACTERS:
        raise _invalid(f"markdown text must be less than {MARKDOWN_CHARACTERS + 1} characters in all")


def check_update_text(text: str) -> None:
    """Raise SlackError("msg_too_long") above 4,000 UTF-8 bytes."""
    if len(text.encode()) > UPDATE_BYTES:
        raise SlackError("msg_too_long")


def _invalid(problem: str) -> SlackError:
    return SlackError("invalid_blocks", response_metadata={"messages": [f"[ERROR] {problem}"]})


def _problem(block: Json) -> str | None:
    match block:
        case {"type": "markdown", "text": str(text)}:
            return _too_long(text, MARKDOWN_CHARACTERS)
        case {"type": "header", "text": {"text": str(text)}}:
            return _too_long(text, 150)
        case {"type": "section"}:
            return _section_problem(block)
        case {"type": "context"}:
            return _count(objects(block.get("elements")), 10)
        case {"type": "actions"}:
            return _actions_problem(objects(block.get("elements")))
        case {"type": "markdown" | "header"}:
            return "missing required field: text"
        case {"type": str(kind)} if kind in _KNOWN:
            return None
        case _:
            return "unsupported type"


def _section_problem(block: Json) -> str | None:
    match block:
        case {"text": {"text": str(text)}}:
            return _too_long(text, 3000)
        case {"fields": _}:
            return _count(objects(block["fields"]), 10)
        case _:
            return "missing required field: text"


def _actions_problem(elements: tuple[Json, ...]) -> str | None:
    for element in elements:
        match element:
            case {"type": "button", "text": {"text": str(label)}, "action_id": str()}:
                if problem := _too_long(label, 75):
                    return problem
            case {"type": "button"}:
                return "missing required field: text or action_id of a button"
            case _:
                continue
    return _count(elements, 25)


def _too_long(text: str, limit: int) -> str | None:
    if not text:
        return "must be more than 0 characters"
    return f"must be less than {limit + 1} characters" if len(text) > limit else None


def _count(items: tuple[Json, ...], limit: int) -> str | None:
    if not items:
        return "must have at least 1 item"
    return f"no more than {limit} items allowed" if len(items) > limit else None

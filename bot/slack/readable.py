"""A Slack message -> the text that the model reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from bot.slack.blocks_text import Json, blocks_text, mappings, string
from bot.slack.names import Names, decoded, unescaped
from bot.slack.visible import visible

LONGEST = 40_000
"""Characters of one message that the model reads, unless a setting says otherwise."""
_MOST_NAMED = 20


def readable(message: Mapping[str, object], names: Names, longest: int = LONGEST) -> str:
    """All words of a message, wherever Slack put them, each once; files by name, type and size.

    Invisible characters are shown. The result has at most ``longest`` characters (at least 200) and says how many it
    leaves out. ``message`` is a message object of Slack's events or of its history.
    """
    text = _merged(decoded(string(message.get("text")), names), blocks_text(message.get("blocks"), names))
    attachments = mappings(message.get("attachments"))
    read = 0
    while read < min(len(attachments), _MOST_NAMED) and len(text) <= longest:
        text = _merged(text, _attachment(attachments[read], names))
        read += 1
    unread = [f"[and {len(attachments) - read} more attachments]"] if read < len(attachments) else []
    end = visible("\n".join([*unread, *_files(mappings(message.get("files")))]))
    room = max(longest - len(end) - 1, longest // 2)
    return _capped("\n".join(filter(None, (_capped(visible(text), room), end))), longest).strip("\n")


def _merged(text: str, more: str) -> str:
    """Both texts, but what both say only once."""
    said, added = _essence(text), _essence(more)
    if added in said or not more.strip():
        return text
    if said in added or not text.strip():
        return more
    lines = {_essence(line) for line in text.split("\n")}
    fresh = [line for line in more.split("\n") if not line.strip() or _essence(line) not in lines]
    return "\n".join([text, *fresh])


def _essence(text: str) -> str:
    """The words between single spaces: markup and layout differ between a text and its blocks, words do not."""
    words = regex.sub(r"[\s\p{P}>|]+", " ", regex.sub(r"[*_~`]", "", text)).strip().casefold()
    return f" {words or ''.join(text.split())} "


def _attachment(attachment: Json, names: Names) -> str:
    """A forwarded message as a quote that names its author; an alert or a preview as lines."""
    inner = blocks_text(attachment.get("blocks"), names)
    for forwarded in mappings(attachment.get("message_blocks")):
        for content in mappings([forwarded.get("message")]):
            inner = _merged(inner, blocks_text(content.get("blocks"), names))
    words = _merged("\n".join(filter(None, _legacy(attachment, names))), inner)
    words = words if words.strip() else decoded(string(attachment.get("fallback")), names)
    words = "\n".join([words, *_files(mappings(attachment.get("files")))]).strip("\n")
    if not (attachment.get("is_share") or attachment.get("is_msg_unfurl")):
        return words
    author = names.user(string(attachment.get("author_id")), string(attachment.get("author_name")))
    channel = string(attachment.get("channel_id"))
    where = f" in {names.channel(channel, string(attachment.get('channel_name')))}" if channel else ""
    quoted = "\n".join(f"> {line}" for line in words.split("\n"))
    return f"[message by {author.removeprefix('@')}{where}]\n{quoted}"


def _legacy(attachment: Json, names: Names) -> Iterator[str]:
    def field(key: str) -> str:
        return decoded(string(attachment.get(key)), names)

    yield field("pretext")
    if not (attachment.get("is_share") or attachment.get("is_msg_unfurl")):
        yield field("author_name")
    target = string(attachment.get("title_link"))
    yield f"{field('title')} ({unescaped(target)})" if target and field("title") else field("title")
    yield field("text")
    for entry in mappings(attachment.get("fields")):
        yield ": ".join(filter(None, (decoded(string(entry.get(key)), names) for key in ("title", "value"))))
    yield field("footer")


def _files(files: list[Json]) -> Iterator[str]:
    for file in files[:_MOST_NAMED]:
        yield _file(file)
    if len(files) > _MOST_NAMED:
        yield f"[and {len(files) - _MOST_NAMED} more files]"


def _file(file: Json) -> str:
    match file.get("mode"), file.get("file_access"):
        case "tombstone", _:
            return "[file: deleted]"
        case "hidden_by_limit", _:
            return "[file: hidden, the workspace is over its storage limit]"
        case _, "check_file_info":
            return f"[file: {string(file.get('id'))}, shared from another workspace, not opened yet]"
        case _:
            name = " ".join((string(file.get("name")) or string(file.get("title")) or "without a name").split())
            kind = string(file.get("mimetype")) or string(file.get("filetype"))
            size = file.get("size")
            shown = [name[:100], kind[:60], _size(size) if isinstance(size, int) else ""]
            return f"[file: {', '.join(filter(None, shown)).translate({91: 40, 93: 41})}]"


def _size(count: int) -> str:
    """Bytes in decimal units: ``14 kB``."""
    for unit, scale in (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)):
        if count >= scale:
            amount = count / scale
            return f"{amount:.1f} {unit}" if amount < 10 and unit != "kB" else f"{amount:.0f} {unit}"
    return f"{count} B"


def _capped(text: str, longest: int) -> str:
    """The text up to a grapheme boundary, with a note of how much is missing."""
    if len(text) <= longest:
        return text
    room = max(0, longest - len(f"\n[{len(text):,} characters left out]"))
    cut = max((match.end() for match in regex.finditer(r"\X", text[: room + 1]) if match.end() <= room), default=0)
    return f"{text[:cut]}\n[{len(text) - cut:,} characters left out]"

"""Standard markdown, with stray Slack markup mixed in -> Slack mrkdwn, and -> one plain line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode

from bot.slack.table import aligned

# Slack tokens that pass as they are: a user, a channel, a web or mail link with or without its label.
_SLACK = (
    r"<(?:(?P<user>@[UW][A-Z0-9]+)|\#(?P<channel>[CGD][A-Z0-9]+)(?:\|(?P<name>[\w.\-]*))?"
    r"|(?P<url>(?:https?://|mailto:|tel:)[^\s<>|]+)(?:\|(?P<label>[^<>\n]*))?)>"
)
_LINKABLE = r"(?i:https?://|mailto:|tel:|slack://)[^\s<>|]+"
_MARKS = {"strong": "*", "em": "_", "s": "~"}
_DEEPEST = 60
_BULLETS = "•◦▪"
_PAD = "    "
# Slack sees no markup where a letter touches it, as always in Chinese: a zero-width space parts them.
_GAP = "\u200b"
_LETTER = r"[\p{L}\p{N}\p{M}]"


def to_mrkdwn(markdown: str) -> str:
    """The text as Slack mrkdwn: ``& < >`` escaped exactly once, tables as aligned monospace, no ``**`` outside code.

    ``<@U…>``, ``<#C…>`` and ``<https://…|label>`` stay, any other ``<…>`` becomes text. Whom it may mention is decided
    before, by `neutralise`, whose ``&lt;`` in code is taken for escaped.
    """
    return "\n\n".join(_block(node, "") for node in _parsed(markdown).children)


def plain(markdown: str, limit: int = 150) -> str:
    """One line without markup for a notification, escaped for Slack; at most ``limit`` characters, cut between
    grapheme clusters.
    """
    line = " ".join(regex.sub(r"\*{2,}", "", "".join(_words(_parsed(markdown)))).split())
    if len(whole := _escaped(line)) <= limit:
        return whole
    kept = ""
    for cluster in regex.findall(r"\X", line):
        if len(kept) + len(_escaped(cluster)) >= limit:
            break
        kept += _escaped(cluster)
    return kept.rstrip() + "…"


def _parsed(markdown: str) -> SyntaxTreeNode:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("autolink", "slack_token", _slack_token)
    tokens = parser.parse(markdown)
    if any(token.level >= _DEEPEST - 2 for token in tokens):
        # The parser drops what is nested deeper: no words may be lost, so the quotes and lists are read as text.
        tokens = parser.disable(["blockquote", "list"]).parse(markdown)
    return SyntaxTreeNode(tokens)


def _slack_token(state: StateInline, silent: bool) -> bool:
    """A rule of the parser: ``<…>`` that Slack reads itself is one token."""
    match = regex.match(_SLACK, state.src, pos=state.pos)
    if match is None:
        return False
    if not silent:
        state.push("slack_token", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _block(node: SyntaxTreeNode, pad: str) -> str:
    match node.type:
        case "heading":
            return pad + _styled("*", _inline(node, inside="*"))
        case "bullet_list" | "ordered_list":
            return "\n".join(_items(node, pad))
        case "blockquote":
            inner = "\n\n".join(_block(child, "") for child in node.children)
            return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))
        case "fence" | "code_block":
            return _fenced(node.content.removesuffix("\n"))
        case "table":
            return _fenced(_table(node))
        case "hr":
            return "———"
        case _:
            return pad + _inline(node).replace("\n", f"\n{pad}")


def _items(node: SyntaxTreeNode, pad: str) -> Iterator[str]:
    number = int(node.attrs.get("start", 1))
    bullet = _BULLETS[min(len(pad) // len(_PAD), len(_BULLETS) - 1)]
    for item in node.children:
        marker = f"{number}." if node.type == "ordered_list" else bullet
        number += 1
        blocks = list(item.children)
        first = ""
        if blocks and blocks[0].type == "paragraph":
            first = _boxed(_inline(blocks.pop(0)).replace("\n", f"\n{pad}{_PAD}"))
        yield f"{pad}{marker} {first}".rstrip()
        yield from (_block(block, pad + _PAD) for block in blocks)


def _boxed(text: str) -> str:
    """The boxes of a task list."""
    return regex.sub(r"^\[([ xX])\] ", lambda match: "☐ " if match[1] == " " else "☑ ", text)


def _table(node: SyntaxTreeNode) -> str:
    rows = [row for part in node.children for row in part.children]
    cells = [["".join(_words(cell, targets=True)).strip() for cell in row.children] for row in rows]
    right = ["right" in str(cell.attrs.get("style", "")) for cell in rows[0].children]
    return aligned(cells, right)


def _fenced(code: str) -> str:
    # A fence within the code would end the block: Slack has no longer marks.
    return f"```\n{_escaped_code(code.replace('```', chr(39) * 3))}\n```"


def _inline(node: SyntaxTreeNode, inside: str = "") -> str:
    """The children of a block or of a style; ``inside`` lists the marks that are already in force."""
    text = ""
    closed_mark = False
    for child in _leaves(node):
        mark = _MARKS.get(child.type, "`" if child.type == "code_inline" else "")
        styled = bool(mark) and mark not in inside
        part = _span(child, inside)
        near = text[-1:] if styled else part[:1] if closed_mark else ""
        touches = regex.match(rf"{_LETTER}|[*_~`]", near)
        text += f"{_GAP}{part}" if touches and part else part
        closed_mark = styled
    return text


def _leaves(node: SyntaxTreeNode) -> Sequence[SyntaxTreeNode]:
    """The inline nodes of a node, without the wrapper that blocks have around them."""
    children = node.children
    return children[0].children if len(children) == 1 and children[0].type == "inline" else children


def _span(node: SyntaxTreeNode, inside: str) -> str:
    match node.type:
        case "text":
            return _text(node.content, inside)
        case "strong" | "em" | "s":
            mark = _MARKS[node.type]
            return _inline(node, inside) if mark in inside else _styled(mark, _inline(node, inside + mark))
        case "code_inline":
            return f"`{_escaped_code(node.content.replace('`', chr(39)))}`"
        case "link" | "image":
            return _link(str(node.attrs.get("href") or node.attrs.get("src") or ""), "".join(_words(node)))
        case "slack_token":
            return regex.sub(r"&(?!(?:amp|lt|gt);)", "&amp;", node.content.replace("**", ""))
        case _:
            return "\n"


def _styled(mark: str, text: str) -> str:
    """Slack's marks hold within one line, touch the words, and are not doubled."""

    def line(match: regex.Match[str]) -> str:
        words = match["words"]
        left = _GAP if words.startswith(mark) else ""
        right = _GAP if words.endswith(mark) else ""
        return f"{match['before']}{mark}{left}{words}{right}{mark}{match['after']}"

    return regex.sub(r"(?m)^(?P<before>[ \t]*)(?P<words>\S.*?)(?P<after>[ \t]*)$", line, text)


def _text(content: str, inside: str) -> str:
    """Text with the ``**`` that the parser did not pair, as beside Chinese punctuation, paired here or taken out."""
    mark = "" if "*" in inside else "*"

    def bold(match: regex.Match[str]) -> str:
        left = _GAP if mark and regex.match(_LETTER, match.string, pos=max(0, match.start() - 1)) else ""
        right = _GAP if mark and regex.match(_LETTER, match.string, pos=match.end()) else ""
        return f"{left}{mark}{match[1]}{mark}{right}"

    text = regex.sub(r"\*\*(?=[^\s*])([^*\n]+)(?<=[^\s*])\*\*", bold, content)
    text = regex.sub(r"(?<=\w)\*\*(?=\w)|(?<=\w )\*\*(?= \w)", "∗∗", text)  # a power, not a mark
    return _escaped(regex.sub(r"\*{2,}", "", text))


def _link(target: str, label: str) -> str:
    """A web or mail link; anything else as words, since ``<!…>`` and ``<@…>`` would be mentions."""
    shown = " ".join(label.split())
    if not regex.fullmatch(_LINKABLE, target):
        return _escaped(f"{shown} ({target})" if target and shown != target else shown)
    if not shown or shown == target:
        return f"<{_escaped(target)}>"
    return f"<{_escaped(target)}|{_escaped(shown)}>"


def _words(node: SyntaxTreeNode, *, targets: bool = False) -> Iterator[str]:
    """The text under a node without its markup; with ``targets``, links show where they lead."""
    match node.type:
        case "text" | "code_inline":
            yield node.content
        case "fence" | "code_block":
            yield f"{node.content} "
        case "softbreak" | "hardbreak":
            yield " "
        case "slack_token":
            token = regex.fullmatch(_SLACK, node.content)
            if token:
                channel = f"#{token['name'] or token['channel']}"
                yield token["label"] or token["url"] or token["user"] or channel
        case _:
            for child in node.children:
                yield from _words(child, targets=targets)
            target = str(node.attrs.get("href", "")) if node.type == "link" else ""
            if node.type == "inline":
                yield " "
            if targets and target and "".join(w for child in node.children for w in _words(child)) != target:
                yield f" ({target})"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped_code(code: str) -> str:
    escaped = regex.sub(r"&(?!lt;[^\S\n]*\\*[^\S\n]*[!@#])", "&amp;", code)
    return escaped.replace("<", "&lt;").replace(">", "&gt;")

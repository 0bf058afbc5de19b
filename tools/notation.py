"""How people write sums, turned into the one spelling that the calculator reads. Pure text to text."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from tools.base import ToolError

LENGTH_LIMIT: Final = 1_000
"""Characters of an expression."""

# Full-width forms as typed in Chinese and Japanese, and the signs of print.
_SIGNS: Final = {full: full - 0xFEE0 for full in range(0xFF01, 0xFF5F)} | str.maketrans(
    {
        **dict.fromkeys("×✕✖⋅·∙∗", "*"),
        **dict.fromkeys("÷∕⁄", "/"),
        **dict.fromkeys("−–—﹣", "-"),
        **dict.fromkeys("\u3000\u00a0\u2009\u202f\t\n", " "),
        **dict.fromkeys("【〔", "("),
        **dict.fromkeys("】〕", ")"),
        "、": ",",
        "π": "pi",
        "τ": "tau",
        "√": "sqrt",
    }
)

_TOKEN: Final = re.compile(
    r"""(?P<space>[ ]+)
    |(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<close>[)\]])
    |(?P<operator>\*\*|//|[-+*/%(,\[])
    |(?P<other>.)""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_GROUP: Final = re.compile(r"\d{3}")
_LAST_GROUP: Final = re.compile(r"\d{3}(\.\d*)?")
_POWERS: Final = "^²³⁴⁵⁶⁷⁸⁹¹⁰"


class _Token(NamedTuple):
    kind: str
    text: str


def plain(expression: str) -> str:
    """The expression in ASCII: full-width and printed signs replaced, ``1,234.5`` as ``1234.5``, ``15%`` as
    ``(15/100)``, ``of`` after a percentage as ``*``, an equals sign at the end dropped.

    Inside the brackets of a function or list a comma always separates values.
    Raises ``ToolError`` bad_expression for what cannot be read in one way only.
    """
    if len(expression) > LENGTH_LIMIT:
        raise bad(f"The expression is longer than {LENGTH_LIMIT} characters.", "Split it into several calls.")
    text = expression.translate(_SIGNS).rstrip(" =?").lstrip(" =")
    if not text:
        raise bad("The expression is empty.", "Give one, such as (17 + 3) * 2.5.")
    tokens = [_Token(match.lastgroup or "other", match.group()) for match in _TOKEN.finditer(text)]
    for token in tokens:
        if token.kind == "other":
            raise _unreadable(token.text)
    tokens = _thousands(tokens)
    spelled = "".join(token.text for token in tokens)
    if ", " in spelled and re.search(r"\d,\d{3}(?!\d)", spelled):
        hint = "Write max(1234, 500), or put a space after each comma."
        raise bad("A comma here may group thousands or separate values.", hint)
    tokens = _percentages(_without_spaces(tokens))
    for left, right in pairwise(tokens):
        _check_neighbours(left, right)
    return " ".join(_number(token.text) if token.kind == "number" else token.text for token in tokens)


def bad(message: str, hint: str) -> ToolError:
    """The error for an expression that cannot be read."""
    return ToolError("bad_expression", message, hint=hint)


def _unreadable(character: str) -> ToolError:
    if character in _POWERS:
        return bad(f"{character} is not a power here.", "Use ** for powers: 2**10.")
    if character in "\"'":
        return bad("Text cannot be calculated with.", "Use numbers only.")
    if character == "!":
        return bad("! is not read.", "Write factorial(5).")
    if character in "<>=":
        return bad("Comparisons and assignments cannot be calculated.", "Calculate both sides and compare them.")
    return bad(f"{character!r} cannot be read.", "Use numbers, + - * / // % **, brackets, commas and function names.")


def _thousands(tokens: list[_Token]) -> list[_Token]:
    """Join 1 , 234 , 567.8 where a comma cannot separate values."""
    joined: list[_Token] = []
    opened: list[bool] = []  # for each open bracket, whether commas separate values in it
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.text in ("(", "["):
            before = [item for item in joined[-2:] if item.kind != "space"][-1:]
            opened.append(token.text == "[" or any(item.kind == "name" for item in before))
        elif token.kind == "close" and opened:
            opened.pop()
        separates = bool(opened) and opened[-1]
        if token.kind == "number" and not separates and re.fullmatch(r"\d{1,3}", token.text):
            length, token = _grouped(tokens[position:])
            position += length
        elif token.text == "," and not separates:
            hint = "Write 1234.5 or 1,234.5: the comma groups thousands, the point starts the decimals."
            raise bad("A comma stands where it has no meaning.", hint)
        else:
            position += 1
        joined.append(token)
    return joined


def _grouped(tokens: list[_Token]) -> tuple[int, _Token]:
    """The number at the head with the groups of three that follow it, and how many tokens that took."""
    text, length = tokens[0].text, 1
    while length + 1 < len(tokens) and tokens[length].text == "," and _LAST_GROUP.fullmatch(tokens[length + 1].text):
        text += tokens[length + 1].text
        length += 2
        if not _GROUP.fullmatch(tokens[length - 1].text):
            break
    return length, _Token("number", text)


def _without_spaces(tokens: list[_Token]) -> list[_Token]:
    """Drop spaces, after marking the percent sign that clings to its number and to nothing else."""
    kept: list[_Token] = []
    for position, token in enumerate(tokens):
        if token.text == "%":
            clings = position > 0 and tokens[position - 1].kind == "number"
            kept.append(_Token("percent" if clings else "operator", "%"))
        elif token.kind != "space":
            kept.append(token)
    return kept


def _percentages(tokens: list[_Token]) -> list[_Token]:
    """15% is 15/100 unless a value follows, which makes it a remainder: 15 % 4."""
    read: list[_Token] = []
    for position, token in enumerate(tokens):
        after = tokens[position + 1] if position + 1 < len(tokens) else _Token("close", "")
        value_before = bool(read) and read[-1].kind == "number"
        signed = token.kind == "percent" and after.text in ("+", "-")
        ends = after.kind == "close" or after.text in (",", "*", "/", "//", "**", "of") or signed
        if token.text == "%" and value_before and ends:
            read[-1] = _Token("close", f"({_number(read[-1].text)}/100)")
        elif token.text == "of" and read and read[-1].text.endswith("/100)"):
            read.append(_Token("operator", "*"))
        else:
            read.append(token if token.kind != "percent" else _Token("operator", "%"))
    return read


def _check_neighbours(left: _Token, right: _Token) -> None:
    ends, starts = left.kind in ("number", "close", "name"), right.kind in ("number", "name")
    called = left.kind in ("number", "close") and right.text in ("(", "[")
    if left.kind == "number" and right.kind == "number":
        raise bad("Two numbers follow each other.", "Write a number without spaces, or put an operator between.")
    if (ends and starts) or called:
        hint = "Write * for products (2 * pi) and brackets for functions (sin(1))."
        raise bad(f"There is no operator between {left.text} and {right.text}.", hint)


def _number(text: str) -> str:
    """Without the underscores and leading zeros that would change how it is read."""
    text = text.replace("_", "")
    return (text.lstrip("0") or "0") if text.isdecimal() else text

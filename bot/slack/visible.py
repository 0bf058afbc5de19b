"""Characters that a reader cannot see: shown to the model and on cards, removed from what we post."""

from __future__ import annotations

import regex

# What Unicode lets a renderer ignore, controls (tab and newline aside), format characters such as the bidi
# overrides, line and paragraph separators, unpaired surrogates, noncharacters, and blanks that look like nothing.
_HIDDEN = (
    r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}"
    r"\u2800\U0001D159--[\t\n]]"
)
# Joiners and selectors that people do see: in emoji (families, regional flags, keycaps) and between the letters of
# scripts that are written with them.
_JOINED = (
    r"[\p{Arabic}\p{Syriac}\p{Devanagari}\p{Bengali}\p{Gujarati}\p{Gurmukhi}\p{Oriya}"
    r"\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}--\p{Cf}]"
)
_PICTURE = r"\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?"
_SEEN = (
    r"\U0001F3F4[\U000E0030-\U000E0039\U000E0061-\U000E007A]{2,6}\U000E007F"
    rf"|{_PICTURE}(?:\u200d{_PICTURE})*"
    r"|[#*0-9]\ufe0f\u20e3"
    rf"|(?<={_JOINED})[\u200c\u200d](?={_JOINED})"
)
_PATTERN = rf"(?V1)(?P<seen>{_SEEN})|(?P<hidden>{_HIDDEN}+)"
_SPELLED_OUT = 4
HIDDEN_RUN = " invisible characters]"
"""The end of what stands for a longer run."""


def visible(text: str) -> str:
    r"""Show what hides: ``[U+202E]`` for up to four characters, ``[12 invisible characters]`` for a longer run.

    Emoji sequences and the joiners of Arabic and Indic scripts stay. Line ends become ``\n``. Idempotent.
    """
    return regex.sub(_PATTERN, _shown, _plain_newlines(text))


def without_hidden(text: str) -> str:
    """Remove what `visible` would show. Idempotent."""
    return regex.sub(_PATTERN, lambda match: match["seen"] or "", _plain_newlines(text))


def _shown(match: regex.Match[str]) -> str:
    if seen := match["seen"]:
        return seen
    run = match["hidden"]
    if len(run) > _SPELLED_OUT:
        # Hidden text is not decoded: what nobody saw must not reach the model as words.
        return f"[{len(run)}{HIDDEN_RUN}"
    return "".join(f"[U+{ord(character):04X}]" for character in run)


def _plain_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")

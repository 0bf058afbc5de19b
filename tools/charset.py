"""Bytes of a page to text, when the page says how and when it does not."""

from __future__ import annotations

import codecs
import re
from typing import Final

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META: Final = re.compile(
    rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.I
)
_META_BYTES: Final = 1_024

# Pages name the small set and use the large one (WHATWG Encoding, section 4.2).
_SUPERSETS: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# Python's other text codecs hide text or take quadratic time.
_PAGE_CODECS: Final = re.compile(
    r"utf-(8|16(-[lb]e)?|32(-[lb]e)?)|cp\d+|iso8859-\d+|iso2022_jp|gb18030|big5hkscs|euc_jp|koi8-[ru]|mac-roman|tis-620"
)


def decode(body: bytes, declared: str | None) -> str:
    """The text of a page. First of: byte order mark, ``declared`` (the header), the page's own declaration,
    UTF-8, a guess. Bytes that do not fit become U+FFFD; never fails.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    own = _META.search(body[:_META_BYTES])
    for label in (declared, own[1].decode("ascii") if own else None):
        if codec := _codec(label):
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return _guessed(body)


def _codec(label: str | None) -> str | None:
    try:
        name = codecs.lookup((label or "").strip()).name
    except (LookupError, ValueError):
        return None
    name = _SUPERSETS.get(name, name)
    return name if _PAGE_CODECS.fullmatch(name) else None


def _guessed(body: bytes) -> str:
    # Loading the detector takes a tenth of a second, and hardly any page needs it.
    from trafilatura.utils import detect_encoding  # noqa: PLC0415

    codec = next((found for name in detect_encoding(body) if (found := _codec(name))), "utf-8")
    return body.decode(codec, "replace")

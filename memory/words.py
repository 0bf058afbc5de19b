"""What a text is made of: words for finding it again, and the marks by which two claims differ. Pure."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

_TOKEN = re.compile(r"[a-z0-9]+(?:[-_.:/@#][a-z0-9]+)*|[\u3400-\u9fff]+")
_INNER = re.compile(r"[-_.:/@#]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?。]\s)(?<!^)\b[A-Z][\w-]*|\b[\w]+[-_/.][\w./-]*\w|\b[A-Z]{2,}\w*", re.MULTILINE)
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾"
    "丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段钱汤尹"
    "黎易常武乔贺赖龚文"
)
_HAN_NAME = re.compile(f"[{_SURNAMES}](?=([\u3400-\u9fff]{{1,2}}))")
_HAN_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_HAN_NUMBER = re.compile("[零〇一二三四五六七八九两十百千万]+")
_STATED = re.compile(r"^\s*[(（\[](\d{4})[-./年](\d{1,2})(?:[-./月](\d{1,2}))?[^)）\]]{0,2}[)）\]]")


def is_chinese(text: str) -> bool:
    """Whether Chinese carries the text: a name or two in another script do not change that."""
    return len(_HAN.findall(text)) * 4 >= len(re.sub(r"\s", "", text)) > 0


def words(text: str) -> frozenset[str]:
    """Lower-case words and identifiers (whole and in parts); Chinese as pairs of characters."""
    found = set[str]()
    for token in _TOKEN.findall(text.lower()):
        if _HAN.match(token):
            found |= {token[i : i + 2] for i in range(len(token) - 1)} or {token}
        else:
            found |= {token, *_INNER.split(token)}
    return frozenset(one for one in found if len(one) <= 64)


def numbers(text: str) -> frozenset[str]:
    """Every number of a text in one spelling: ``1,200`` and ``一千二百`` are both ``1200``."""
    plain = {one.replace(",", "") for one in _NUMBER.findall(text)}
    return frozenset(plain | {str(_han_value(one)) for one in _HAN_NUMBER.findall(text)})


def names(text: str) -> frozenset[str]:
    """What looks like a name or an identifier; rather one too many than one too few."""
    latin = {match[0].lower() for match in _NAME.finditer(text)}
    han = {match[0] + match[1][:length] for match in _HAN_NAME.finditer(text) for length in (1, 2)}
    return frozenset(latin | han)


def agree(claim: str, other: str) -> bool:
    """Whether two texts can say the same: no number, date or name is in one of them only."""
    if numbers(claim) != numbers(other):
        return False
    return _told(names(claim), other) and _told(names(other), claim)


def _told(wanted: frozenset[str], text: str) -> bool:
    """A Chinese name is looked for by surname and given name, so that 赵敏 is not found in 赵敏敏."""
    low = text.lower()
    latin = [one for one in wanted if not _HAN.match(one)]
    if any(one not in low for one in latin):
        return False
    return {one for one in wanted if _HAN.match(one)} <= names(text)


def normal(text: str) -> str:
    """One spelling for texts that differ in case, spaces and final punctuation only."""
    return re.sub(r"\s+", " ", text).strip().strip(".。!！").casefold()


def mark(kind: str, *parts: str) -> str:
    """A hash by which something is known again without being kept."""
    return hashlib.sha256("\0".join((kind, *parts)).encode()).hexdigest()


def stated_date(text: str) -> float | None:
    """The day that a text begins with, as in ``(2026-03-04) ...``, in seconds since 1970; None without one."""
    if (match := _STATED.match(text)) is None:
        return None
    try:
        return datetime(int(match[1]), int(match[2]), int(match[3] or 1), tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _han_value(text: str) -> int:
    if not any(c in _HAN_UNITS for c in text):
        return int("".join(str(_HAN_DIGITS[c]) for c in text))
    total, part, digit = 0, 0, 0
    for c in text:
        if c == "万":
            total, part, digit = (total + part + digit or 1) * 10_000, 0, 0
        elif c in _HAN_UNITS:
            part, digit = part + (digit or 1) * _HAN_UNITS[c], 0
        else:
            digit = _HAN_DIGITS[c]
    return total + part + digit

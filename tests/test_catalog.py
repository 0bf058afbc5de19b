"""The bot's own words: both languages, the same values in both, every key used and every used key there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest

from bot.catalog import WORDS, language, say
from memory.records import StopReason, Verdict
from memory.remember import Why
from tools.base import Effect
from tools.memory import memory_tools
from tools.slack_write import SLACK_WRITE_TOOLS

ROOT = Path(__file__).parent.parent
FILES = [
    path for folder in ("bot", "tools") for path in sorted((ROOT / folder).rglob("*.py")) if path.stem != "catalog"
]
SECTIONS = "|".join(sorted({key.partition(".")[0] for key in WORDS}))
KEY = re.compile(rf"(?:{SECTIONS})\.(?!json$)[a-z_]+")  # memory.json is the name of a file

NOTEBOOK: Any = None  # the tools are only described here, not run
WRITES = [tool for tool in (*SLACK_WRITE_TOOLS, *memory_tools(NOTEBOOK)) if tool.effect != Effect.READ]
BUILT: dict[str, set[str]] = {
    # Keys that are put together at run time, by the pattern in the code.
    "approval.{}": {"approve", "refuse", *get_args(Verdict)},
    "approval.line_{}": set(get_args(Verdict)) - {"superseded"},
    "card.{}": {"uncertain", "repeated"},
    "change.{}": {tool.name for tool in WRITES},
    "memory.refused_{}": set(get_args(Why)) - {"elsewhere"},
    "notice.{}": {"error", "configuration", "refusal", "empty"},
}


def nodes() -> Iterator[ast.AST]:
    for path in FILES:
        yield from ast.walk(ast.parse(path.read_text()))


def pattern(node: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def constants() -> set[str]:
    everything = list(nodes())
    parts = {id(part) for node in everything if isinstance(node, ast.JoinedStr) for part in node.values}
    found = {node.value for node in everything if isinstance(node, ast.Constant) and id(node) not in parts}
    return {text for text in found if isinstance(text, str) and KEY.fullmatch(text)}


def patterns() -> set[str]:
    found = {pattern(node) for node in nodes() if isinstance(node, ast.JoinedStr)}
    return {text for text in found if re.fullmatch(rf"(?:{SECTIONS})\.[a-z_]*{{}}", text)}


def built() -> set[str]:
    return {shape.format(value) for shape, values in BUILT.items() for value in values}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("key", WORDS)
def test_each_key_has_both_languages_with_the_same_values(key: str) -> None:
    both = WORDS[key]
    assert set(both) == {"en", "zh"}
    assert all(text.strip() for text in both.values())
    assert placeholders(both["en"]) == placeholders(both["zh"])
    for locale in ("en-US", "zh-CN"):
        told = say(key, locale, **dict.fromkeys(placeholders(both["en"]), "VALUE"))
        assert told.count("VALUE") == len(re.findall(r"{\w+}", both["en"]))


@pytest.mark.parametrize("key", WORDS)
def test_chinese_is_chinese(key: str) -> None:
    written = re.sub(r"{\w+}|\W|tokens|sha256", "", WORDS[key]["en"])
    assert not re.search(r"[\u4e00-\u9fff]", WORDS[key]["en"])
    assert not written or re.search(r"[\u4e00-\u9fff]", WORDS[key]["zh"])


def test_the_patterns_of_built_keys_are_those_listed_here() -> None:
    assert patterns() == set(BUILT)


def test_every_key_that_the_code_uses_exists() -> None:
    assert constants() | built() <= set(WORDS)


def test_every_key_is_used() -> None:
    assert set(WORDS) <= constants() | built()


def test_reasons_to_stop_all_have_words() -> None:
    elsewhere = {"cancelled": "stopped", "deleted": "stopped", "limit": "limit", "budget": "budget"}
    for reason in get_args(StopReason):
        assert f"notice.{elsewhere.get(reason, reason)}" in WORDS


@pytest.mark.parametrize("tool", WRITES, ids=lambda tool: str(tool.name))
def test_each_tool_that_changes_something_says_what(tool: object) -> None:
    """Else its card would only say that it runs; and a placeholder that is no argument would say so too."""
    (one,) = [write for write in WRITES if write is tool]
    assert placeholders(WORDS[f"change.{one.name}"]["en"]) <= set(one.input.model_fields)


SHOWN = {"Notice", "whisper"}
"""What people read goes through these; answers are the model's words."""


def test_no_words_of_our_own_bypass_the_catalogue() -> None:
    bypassing = list[str]()
    for node in nodes():
        if isinstance(node, ast.Call) and (getattr(node.func, "id", "") or getattr(node.func, "attr", "")) in SHOWN:
            for argument in ast.walk(node):
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    bypassing.append(argument.value)
    assert [text for text in bypassing if re.search(r"\w\s+\w", text)] == []


@pytest.mark.parametrize(
    ("locale", "expected"),
    [("en-US", "en"), ("pt-PT", "en"), ("", "en"), ("zh-CN", "zh"), ("zh-TW", "zh"), ("ZH", "zh")],
)
def test_whose_locale_is_chinese(locale: str, expected: str) -> None:
    assert language(locale) == expected


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        say("notice.never_heard_of", "en-US")

"""The README is true: its settings, its tool, its commands, its links."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from pydantic import AliasChoices, SecretStr

from bot.app import offered
from bot.config import ApprovalRule, ChannelSettings, Settings
from memory.db import Database
from memory.log import Logs
from memory.types import Person, ThreadKey, ToolCall
from tools.base import Chat, Effect, Tool, ToolContext
from tools.memory import Notebook, memory_tools
from tools.registry import Registry

TOP = Path(__file__).parent.parent
README = (TOP / "README.md").read_text("utf-8")
PAGES = [TOP / "README.md", *(TOP / "docs").rglob("*.md"), *TOP.glob("[A-Z]*.md")]


def settings() -> dict[str, object]:
    """Every setting by its name in the environment -> its default."""
    names = dict[str, object]()
    for field, about in Settings.model_fields.items():
        alias = about.validation_alias
        name = str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"BOBBIN_{field.upper()}"
        names[name] = about.get_default(call_default_factory=True, validated_data={})
    return names


def shown(default: object) -> str:
    """A default as the table shows it."""
    value = default.get_secret_value() if isinstance(default, SecretStr) else default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"`{value:g}`" if value < 100_000 else f"`{value:.0f}`"
    return f"`{value}`" if value not in ("", (), {}) else "—"


def test_the_table_of_settings_is_complete_and_its_defaults_are_true() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\S+) \| (.+) \|$", README, re.MULTILINE)
    assert {name: default for name, default, _ in rows} == {name: shown(value) for name, value in settings().items()}
    assert len(rows) == len(settings())
    assert all(len(meaning) > 8 for _, _, meaning in rows)


def test_the_channel_that_is_shown_is_one_and_all_its_settings_are_named() -> None:
    found = re.search(r"BOBBIN_CHANNELS='(.+)'", README)
    assert found is not None
    channels = Settings(channels=json.loads(found[1]))
    assert channels.in_channel("C0123456789").summarize_at == 60_000
    named = README[README.index("[channels.C0123456789]") :].partition("## Limits")[0]
    assert set(re.findall(r"`([a-z]+_?[a-z]+)`", named)) == set(ChannelSettings.model_fields)


def test_the_rule_that_is_shown_is_one() -> None:
    shown_rule = re.search(r"BOBBIN_APPROVAL_RULES='(.+)'", README)
    assert shown_rule is not None
    rules = cast("dict[str, Any]", json.loads(shown_rule[1]))
    assert ApprovalRule.model_validate(rules["delete_message"]).needed == 2


async def test_the_tool_that_is_shown_works() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    written = dict[str, Any]()
    exec(compile(snippet, "README.md", "exec"), written)
    stock = cast("Tool[Any]", written["count_stock"])
    assert stock.effect is Effect.READ
    context = ToolContext(ThreadKey("t"), "c", Person(id="U1", name="Ana"), datetime.now(UTC), cast("Chat", None))

    async def call(article: str) -> str:
        call = ToolCall(id="c", name="count_stock", arguments={"article": article})
        return (await Registry([stock]).run(call, context, "r1")).result.text

    assert await call("B-17") == "B-17: 42 pieces"
    assert "hint: Ask for its number." in await call("nothing")


def test_the_tools_that_are_named_are_those_that_there_are(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/x.db")
    tools = list(offered(Logs(database), *memory_tools(cast("Notebook", None))))
    database.close()
    reads, notes, changes = re.findall(
        r"^(?:Reads run at once|Notes run at once|Changes ask first)\b[^:]*: (.+?)\.$", README, re.MULTILINE | re.DOTALL
    )
    kinds = ((reads, {Effect.READ}), (notes, {Effect.NOTE}), (changes, {Effect.WRITE, Effect.DESTROY}))
    for named, effects in kinds:
        assert set(re.findall(r"`(\w+)`", named)) == {tool.name for tool in tools if tool.effect in effects}


def test_commands_and_links_lead_somewhere() -> None:
    targets = set(re.findall(r"^([a-z]+):", (TOP / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        text = page.read_text("utf-8")
        assert set(re.findall(r"^ *`?make ([a-z]+)", text, re.MULTILINE)) <= targets, page
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            assert link.startswith("https://") or (page.parent / link).exists(), (page, link)


def test_files_that_the_pages_name_are_there() -> None:
    for page in PAGES:
        for named in re.findall(r"`((?:bot|memory|tools|tests|docs)/[\w/.]+)`", page.read_text("utf-8")):
            assert (TOP / named).exists(), (page, named)


def test_the_change_log_knows_this_version() -> None:
    version = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"## [{version}]" in (TOP / "CHANGELOG.md").read_text("utf-8")

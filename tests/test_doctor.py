"""The doctor, against the local workspace and a small provider of models."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from bot.config import load_settings
from bot.demo.server import Running, serve
from bot.demo.workspace import Workspace
from bot.doctor import CLOCKS_APART, Finding, clock, examine, granted_scopes, python_version
from bot.lock import FolderLock
from bot.manifest import manifest, scopes
from tests.e2e.visitor import clean_environment

TOP = Path(__file__).parent.parent
KEY = "sk-ant-a-key-that-is-accepted"


@dataclass(slots=True)
class Scene:
    """A workspace, a provider, and settings that fit both; ``settings`` may be changed before a check."""

    slack: Running
    settings: dict[str, str]
    folder: Path

    async def check(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Finding]:
        for name in clean_environment().keys() ^ dict.fromkeys(os.environ):
            monkeypatch.delenv(name)
        for name, value in self.settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.folder)
        return {finding.what: finding async for finding in examine(load_settings)}


async def list_models(request: web.Request) -> web.Response:
    if KEY not in (request.headers.get("x-api-key"), request.headers.get("Authorization", "").removeprefix("Bearer ")):
        error = {"type": "authentication_error", "message": "invalid key"}
        return web.json_response({"type": "error", "error": error}, status=401)
    model = {"type": "model", "id": "claude-sonnet-5-5", "display_name": "S", "created_at": "2026-01-01T00:00:00Z"}
    if (wanted := request.match_info.get("model")) is None:
        return web.json_response({"data": [model], "has_more": False, "first_id": "x", "last_id": "x"})
    if wanted == "claude-latest":
        return web.json_response(model)
    error = {"type": "not_found_error", "message": f"model: {wanted}"}
    return web.json_response({"type": "error", "error": error}, status=404)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    slack = await serve(Workspace())
    provider = web.Application()
    provider.add_routes([web.get("/v1/models", list_models), web.get("/v1/models/{model}", list_models)])
    runner = web.AppRunner(provider)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    settings = {
        "SLACK_API_URL": slack.api_url,
        "SLACK_BOT_TOKEN": slack.workspace.bot_token,
        "SLACK_APP_TOKEN": slack.workspace.app_token,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{runner.addresses[0][1]}",
        "BOBBIN_HTTP_PORT": "0",
        "BOBBIN_EMBEDDER": "light",  # loads at once; the default has a test of its own
    }
    yield Scene(slack, settings, tmp_path)
    await runner.cleanup()
    await slack.close()


async def test_when_all_is_well_every_part_says_so(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await scene.check(monkeypatch)
    assert [finding for finding in found.values() if not finding.well] == []
    assert list(found) == [
        *("Python", "settings", "data folder", "port", "database", "embedder", "Slack", "scopes", "clock"),
        *("app token", "model key", "model"),
    ]
    assert "as @bobbin" in found["Slack"].said
    assert "claude-sonnet-5-5 exists" in found["model"].said


@pytest.mark.parametrize(
    ("name", "value", "what", "told"),
    [
        ("SLACK_BOT_TOKEN", "", "settings", "SLACK_BOT_TOKEN is not set"),
        ("SLACK_BOT_TOKEN", "xoxp-mine", "settings", "does not begin with xoxb-"),
        ("SLACK_BOT_TOKEN", "xoxb-wrong-token", "Slack", "SLACK_BOT_TOKEN is refused by Slack (invalid_auth)"),
        ("SLACK_API_URL", "http://127.0.0.1:9/api/", "Slack", "cannot be reached at http://127.0.0.1:9/api/"),
        ("SLACK_API_URL", "http://127.0.0.1:9/api/", "app token", "Slack did not answer"),
        ("SLACK_APP_TOKEN", "xapp-wrong-token", "app token", "SLACK_APP_TOKEN is refused by Slack (invalid_auth)"),
        ("ANTHROPIC_API_KEY", "", "settings", "ANTHROPIC_API_KEY is not set"),
        ("ANTHROPIC_API_KEY", "sk-ant-another", "model key", "ANTHROPIC_API_KEY is refused (401)"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9", "model key", "no good answer from the provider"),
        ("BOBBIN_MODEL", "claude-nothing", "model", "claude-nothing does not exist for this key"),
        ("BOBBIN_DATABASE_URL", "nonsense", "database", "Write sqlite:///"),
        ("BOBBIN_DATABASE_URL", "mongodb://u:secret@x/y", "database", "Write sqlite:///"),
        ("BOBBIN_DATABASE_URL", "postgresql+psycopg://u:secret@127.0.0.1:9/x", "database", "cannot be opened"),
        ("BOBBIN_EMBEDDER_URL", "http://127.0.0.1:9", "embedder", "http://127.0.0.1:9/embeddings made no vectors"),
        ("BOBBIN_CHROMA_URL", "http://127.0.0.1:9", "Chroma", "Could not connect to a Chroma server"),
        ("BOBBIN_STEPS", "many", "settings", "BOBBIN_STEPS"),
    ],
)
async def test_what_is_wrong_is_named(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str, value: str, what: str, told: str
) -> None:
    scene.settings[name] = value
    if name == "BOBBIN_EMBEDDER_URL":
        scene.settings["BOBBIN_EMBEDDER"] = "openai"
    found = await scene.check(monkeypatch)
    assert not found[what].well
    assert told in found[what].said
    everything = " ".join(finding.said + finding.fix for finding in found.values())
    assert not any(
        secret in everything for secret in (KEY, "secret", "xoxb-wrong-token", scene.slack.workspace.app_token)
    )


async def test_a_model_by_its_short_name_and_other_providers(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.settings["BOBBIN_MODEL"] = "claude-latest"
    assert (await scene.check(monkeypatch))["model"] == Finding(True, "model", "claude-latest exists")
    scene.settings["BOBBIN_MODEL"] = "scripted"
    assert "needs no key" in (await scene.check(monkeypatch))["model"].said
    scene.settings |= {"BOBBIN_MODEL": "x", "BOBBIN_PROVIDER": "bedrock"}
    assert "bedrock is not checked" in (await scene.check(monkeypatch))["model"].said


@pytest.mark.parametrize("crashes", [False, True])
async def test_the_default_embedder_and_what_stands_in_for_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, crashes: bool
) -> None:
    del scene.settings["BOBBIN_EMBEDDER"]
    if crashes:
        monkeypatch.setattr(sys, "executable", "/bin/false")
    found = (await scene.check(monkeypatch))["embedder"]
    assert found.well
    assert found.said.startswith("use3," if crashes else "e5small-use3")


async def test_a_data_folder_that_cannot_be_made(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    (scene.folder / "file").write_text("")
    scene.settings["BOBBIN_DATA_DIR"] = str(scene.folder / "file" / "data")
    scene.settings["BOBBIN_DATABASE_URL"] = f"sqlite:///{scene.folder}/x.db"
    found = await scene.check(monkeypatch)
    assert "cannot be written" in found["data folder"].said
    assert "BOBBIN_DATA_DIR" in found["data folder"].fix


async def test_a_port_is_taken_by_others_or_by_ourselves(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        scene.settings["BOBBIN_HTTP_PORT"] = str(taken.getsockname()[1])
        found = await scene.check(monkeypatch)
        assert not found["port"].well
        assert "BOBBIN_HTTP_PORT" in found["port"].fix
        lock = FolderLock(scene.folder / "data")
        found = await scene.check(monkeypatch)
        lock.release()
    assert found["port"].well
    assert "in use by a running Bobbin" in found["data folder"].said


async def test_a_database_that_may_only_be_read(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.folder / "data" / "bobbin.db"
    assert (await scene.check(monkeypatch))["database"].well
    connection = sqlite3.connect(path)
    connection.execute("CREATE TRIGGER no BEFORE UPDATE ON threads BEGIN SELECT RAISE(ABORT, 'read only'); END")
    connection.close()
    scene.settings["BOBBIN_DATABASE_URL"] = f"sqlite:///file:{path}?mode=ro&uri=true"
    found = await scene.check(monkeypatch)
    assert "cannot be written: attempt to write a readonly database" in found["database"].said


def test_python_is_new_enough_from_3_11_on() -> None:
    assert python_version((3, 11, 0)).well
    assert python_version((4, 0, 0)).well
    assert "Install" in python_version((3, 10, 12)).fix


@given(st.sets(st.sampled_from(sorted(scopes(manifest())))))
def test_exactly_the_scopes_that_are_missing_are_named_with_their_use(missing: set[str]) -> None:
    wanted = scopes(manifest())
    finding = granted_scopes(", ".join([*(wanted.keys() - missing), "emoji:read"]), wanted)
    assert finding.well == (not missing)
    assert set(re.findall(r"([\w:.]+) \(", finding.said)) == missing
    assert all(wanted[scope] in finding.said for scope in missing)


@given(st.integers(1_000_000_000, 2_000_000_000), st.floats(-100, 100))
def test_clocks_may_differ_a_little(slack: int, ahead: float) -> None:
    finding = clock(slack, slack + 0.5 + ahead)
    assert finding.well == (abs(slack + 0.5 + ahead - slack - 0.5) <= CLOCKS_APART)
    if not finding.well:
        assert ("ahead" in finding.said) == (ahead > 0)


def test_the_manifest_is_read_as_yaml_reads_it_and_every_scope_says_what_it_is_for() -> None:
    assert manifest() == (TOP / "manifest.yml").read_text()
    found = scopes(manifest())
    assert list(found) == yaml.safe_load(manifest())["oauth_config"]["scopes"]["bot"]
    assert all(found.values())
    assert scopes("nothing") == {}


async def test_the_command_prints_a_line_for_each_and_exits_with_2_or_0(scene: Scene) -> None:
    async def run(**more: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "doctor"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=clean_environment(**scene.settings, BOBBIN_DATA_DIR=str(scene.folder), **more),
        )
        said, _ = await process.communicate()
        return process.returncode, said.decode()

    code, said = await run()
    broken, told = await run(BOBBIN_MODEL="claude-nothing", BOBBIN_DOLLAR="1")
    assert (code, said.count("✓"), said.count("✗")) == (0, 12, 0)
    assert "All is well" in said
    assert (broken, told.count("✗")) == (2, 2)
    assert "Did you mean BOBBIN_DOLLARS?" in told
    assert "Set BOBBIN_MODEL to one of: claude-sonnet-5-5." in told

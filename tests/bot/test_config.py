"""Settings: where they come from, and what is said about those that cannot work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.app import channels
from bot.config import ChannelSettings, ConfigurationError, Settings, load_settings, unknown_names

GOOD = {
    "SLACK_BOT_TOKEN": "xoxb-1-abcdefgh",
    "SLACK_APP_TOKEN": "xapp-1-abcdefgh",
    "ANTHROPIC_API_KEY": "sk-ant-abcdefgh",
}


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and none of our settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("BOBBIN_", "SLACK_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


@pytest.fixture
def good(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("good")
def test_three_tokens_are_enough() -> None:
    settings = load_settings()
    assert settings.missing() == []
    assert settings.mode == "socket"
    assert settings.database == "sqlite:///data/bobbin.db"


def test_everything_that_is_missing_is_named_at_once() -> None:
    problems = Settings(SLACK_APP_TOKEN="xapp-1-abcdefgh").missing()  # pyright: ignore[reportCallIssue] - an alias
    assert [problem.split()[0] for problem in problems] == ["SLACK_BOT_TOKEN", "ANTHROPIC_API_KEY"]
    assert "OAuth & Permissions" in problems[0]
    assert "platform.claude.com" in problems[1]


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.usefixtures("good")
def test_each_missing_setting_is_named_with_its_fix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name)
    monkeypatch.setenv("BOBBIN_SLACK_MODE", "socket")
    (problem,) = load_settings().missing()
    assert problem.startswith(f"{name} is not set.")
    assert len(problem) > 60


@pytest.mark.parametrize(
    ("name", "value", "begins"), [("SLACK_BOT_TOKEN", "xoxp-1", "xoxb-"), ("SLACK_APP_TOKEN", "xoxb-1", "xapp-")]
)
@pytest.mark.usefixtures("good")
def test_another_kind_of_token_is_named(name: str, value: str, begins: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    (problem,) = load_settings().missing()
    assert name in problem
    assert begins in problem
    assert value not in problem


@pytest.mark.usefixtures("good")
def test_over_http_a_signing_secret_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACK_APP_TOKEN")
    (problem,) = load_settings().missing()
    assert "SLACK_SIGNING_SECRET" in problem
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "abcdefgh")
    assert load_settings().missing() == []
    assert load_settings().mode == "http"


@pytest.mark.usefixtures("good")
def test_other_providers_and_the_scripted_model_need_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("BOBBIN_PROVIDER", "bedrock")
    assert load_settings().missing() == []
    monkeypatch.delenv("BOBBIN_PROVIDER")
    monkeypatch.setenv("BOBBIN_MODEL", "scripted")
    assert load_settings().missing() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BOBBIN_STEPS", "many"),
        ("BOBBIN_STEPS", "-1"),
        ("BOBBIN_DOLLARS", "two"),
        ("BOBBIN_HTTP_PORT", "70000"),
        ("BOBBIN_FOLLOW", "everywhere"),
        ("BOBBIN_PROVIDER", "openai"),
        ("BOBBIN_SLACK_MODE", "carrier pigeon"),
        ("BOBBIN_SOCKETS", "11"),
        ("BOBBIN_PREFIX_TTL", "2h"),
        ("BOBBIN_LOG_LEVEL", "loud"),
        ("BOBBIN_APPROVAL_HOURS", "0"),
        ("BOBBIN_MAX_OUTPUT", "100000"),
        ("BOBBIN_MODEL_ATTEMPTS", "0"),
        ("BOBBIN_THINKING", "perhaps"),
        ("BOBBIN_APPROVAL_RULES", '{"*": {"needed": 2}}'),
        ("BOBBIN_CHANNELS", '{"C0123": {"dollars": 2}}'),
        ("BOBBIN_CHANNELS", '{"C0123": {"summary_tokens": 20}}'),
        ("BOBBIN_APPROVAL_RULES", '{"*": {"aprovers": ["U1"]}}'),
    ],
)
@pytest.mark.usefixtures("good")
def test_a_value_that_does_not_fit_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    (problem,) = caught.value.problems
    assert problem.startswith(f"{name}: ")
    assert "README" in problem


@pytest.mark.usefixtures("good")
def test_a_file_sets_what_the_environment_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['model = "claude-opus-5-5"', "steps = 7", 'free_tools = ["a", "b"]', 'anthropic_base_url = "http://x"']
    (tmp_path / "bobbin.toml").write_text("\n".join(lines))
    monkeypatch.setenv("BOBBIN_STEPS", "9")
    settings = load_settings()
    assert (settings.model, settings.steps, settings.free_tools) == ("claude-opus-5-5", 9, ("a", "b"))
    assert settings.anthropic_base_url == "http://x"


@pytest.mark.parametrize("name", ["step", "BOBBIN_STEPS", "slack_token", "temperature"])
@pytest.mark.usefixtures("good")
def test_a_name_in_the_file_that_does_not_exist_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "bobbin.toml").write_text(f"{name} = 7")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert name.upper().removeprefix("BOBBIN_") in caught.value.problems[0]


def test_a_file_that_is_no_toml_is_said(tmp_path: Path) -> None:
    (tmp_path / "bobbin.toml").write_text("steps = = 7")
    with pytest.raises(ConfigurationError, match=r"bobbin\.toml cannot be read"):
        load_settings()


@pytest.mark.parametrize("value", ["U1,U2", "U1 U2", " U1 ,  U2,"])
@pytest.mark.usefixtures("good")
def test_lists_in_the_environment(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOBBIN_SHARED_CHANNELS", value)
    assert load_settings().shared_channels == ("U1", "U2")


@pytest.mark.usefixtures("good")
def test_a_channel_has_its_own_settings_and_else_those_of_all(tmp_path: Path) -> None:
    lines = ["summarize_at = 90000", "clear_at = 7", "[channels.C0123]", "summarize_at = 0", 'moving_ttl = "1h"']
    (tmp_path / "bobbin.toml").write_text("\n".join(lines))
    settings = load_settings()
    other, usual = settings.in_channel("C0123"), settings.in_channel("C0999")
    assert (other.summarize_at, other.clear_at, other.moving_ttl, other.steps) == (0, 7, "1h", 40)
    assert usual == settings
    found = channels(settings)
    assert (found.of("C0123").marks.summarize_at, found.of("C0123").cached.moving) == (0, "1h")
    assert (found.of("C0999").marks.summarize_at, found.of("C0999").cached.moving) == (90_000, "5m")


def test_each_setting_of_a_channel_is_one_of_all() -> None:
    usual = Settings()
    assert set(ChannelSettings.model_fields) <= set(Settings.model_fields)
    assert all(isinstance(getattr(usual, name), int | str | tuple) for name in ChannelSettings.model_fields)


@pytest.mark.usefixtures("good")
def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOBBIN_STEPS", "")
    assert load_settings().steps == 40


@pytest.mark.usefixtures("good")
def test_secrets_are_known_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOBBIN_DATABASE_URL", "postgresql+psycopg://u:hunter22@db/x")
    settings = load_settings()
    assert {*GOOD.values(), "postgresql+psycopg://u:hunter22@db/x"} <= set(settings.secrets)
    shown = f"{settings!r} {settings} {settings.model_dump_json()}"
    assert not any(secret in shown for secret in settings.secrets)


def test_a_name_that_is_no_setting_is_told_with_the_one_that_was_meant() -> None:
    names = ["BOBBIN_DOLLAR", "bobbin_steps", "BOBBIN_STEPS", "BOBBIN_XYZZY", "SLACK_TOKEN", "PATH"]
    assert unknown_names(names) == [
        "BOBBIN_DOLLAR is no setting and is ignored. Did you mean BOBBIN_DOLLARS?",
        "BOBBIN_XYZZY is no setting and is ignored.",
    ]

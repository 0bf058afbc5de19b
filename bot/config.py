"""All settings, from the environment or from ``bobbin.toml``, checked before anything starts."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

SCRIPTED = "scripted"
"""The model of the demo when there is no key: it plays a fixed part."""


def _words(value: Any) -> Any:
    """``a, b c`` -> ``("a", "b", "c")``; lists of a TOML file stay as they are."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]


def _plain(name: str) -> Any:
    """A setting that others know by this name, without our prefix."""
    return AliasChoices(name, name.lower())


class ApprovalRule(BaseModel):
    """Who decides on a tool's calls: people (U...) and user groups (S...); nobody named means the requester."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    approvers: tuple[str, ...] = ()
    needed: int = Field(default=1, ge=1)
    requester: bool = True
    """Whether the requester may be one of those who say yes."""

    @model_validator(mode="after")
    def _possible(self) -> ApprovalRule:
        if not self.approvers and (self.needed > 1 or not self.requester):
            raise ValueError("a rule that asks others than the requester must name approvers")
        return self


class ChannelSettings(BaseModel):
    """What is set otherwise in one channel; what is left out is as everywhere."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    clear_at: int | None = Field(default=None, ge=0)
    clear_to: int | None = Field(default=None, ge=0)
    clear_gain: int | None = Field(default=None, ge=0)
    summarize_at: int | None = Field(default=None, ge=0)
    summarize_hard: int | None = Field(default=None, ge=0)
    summary_tokens: int | None = Field(default=None, ge=500)
    words_tokens: int | None = Field(default=None, ge=1_000)
    pinned_tools: tuple[str, ...] | None = None
    summary_model: str | None = None
    summaries: Literal["own", "server"] | None = None
    result_characters: int | None = Field(default=None, ge=0)
    prefix_ttl: Literal["5m", "1h"] | None = None
    moving_ttl: Literal["5m", "1h"] | None = None


class Settings(BaseSettings):
    """Each field is the setting ``BOBBIN_<NAME>``, except those of Slack and Anthropic, which keep theirs."""

    model_config = SettingsConfigDict(
        env_prefix="BOBBIN_", toml_file="bobbin.toml", extra="forbid", env_ignore_empty=True, frozen=True
    )

    slack_bot_token: SecretStr = Field(default=SecretStr(""), validation_alias=_plain("SLACK_BOT_TOKEN"))
    slack_app_token: SecretStr = Field(default=SecretStr(""), validation_alias=_plain("SLACK_APP_TOKEN"))
    slack_signing_secret: SecretStr = Field(default=SecretStr(""), validation_alias=_plain("SLACK_SIGNING_SECRET"))
    slack_api_url: str = Field(default="https://slack.com/api/", validation_alias=_plain("SLACK_API_URL"))
    anthropic_api_key: SecretStr = Field(default=SecretStr(""), validation_alias=_plain("ANTHROPIC_API_KEY"))
    anthropic_base_url: str = Field(default="", validation_alias=_plain("ANTHROPIC_BASE_URL"))

    provider: Literal["anthropic", "bedrock", "vertex"] = "anthropic"
    model: str = "claude-sonnet-5-5"
    fallback_model: str = "claude-sonnet-5-5"
    thinking: bool = True
    max_output: int = Field(default=16_000, ge=256, le=40_000)
    prefix_ttl: Literal["5m", "1h"] = "1h"
    moving_ttl: Literal["5m", "1h"] = "5m"
    model_attempts: int = Field(default=8, ge=1, le=50)
    model_wait: float = Field(default=60, gt=0)
    model_timeout: float = Field(default=120, gt=0)

    data_dir: Path = Path("data")
    database_url: SecretStr = SecretStr("")
    http_host: str = "127.0.0.1"
    http_port: int = Field(default=8788, ge=0, le=65535)
    slack_mode: Literal["auto", "socket", "http"] = "auto"
    sockets: int = Field(default=2, ge=1, le=10)
    log_format: Literal["console", "json"] = "console"
    failpoint: str = Field(default="", pattern=r"^$|^[\w.]+(@\d+)?$")
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    follow: Literal["own", "all", "mention"] = "own"
    shared_channels: Words = ()
    message_characters: int = Field(default=40_000, ge=1_000)

    steps: int = Field(default=40, ge=0)
    calls: int = Field(default=120, ge=0)
    tokens: int = Field(default=2_000_000, ge=0)
    dollars: float = Field(default=2.0, ge=0)
    seconds: float = Field(default=900, ge=0)
    daily_dollars: float = Field(default=20.0, ge=0)

    clear_at: int = Field(default=55_000, ge=0)
    clear_to: int = Field(default=10_000, ge=0)
    clear_gain: int = Field(default=20_000, ge=0)
    summarize_at: int = Field(default=120_000, ge=0)
    summarize_hard: int = Field(default=160_000, ge=0)
    summary_tokens: int = Field(default=4_000, ge=500)
    words_tokens: int = Field(default=24_000, ge=1_000)
    pinned_tools: Words = ()
    summary_model: str = ""
    summaries: Literal["own", "server"] = "own"
    result_characters: int = Field(default=0, ge=0)
    channels: dict[str, ChannelSettings] = Field(default_factory=dict[str, ChannelSettings])

    learn: bool = True
    learn_quiet: float = Field(default=60, ge=0)
    memory_model: str = "claude-haiku-5-5"
    embedder: Literal["local", "light", "openai", "voyage", "chroma"] = "local"
    embedder_url: str = ""
    embedder_key: SecretStr = SecretStr("")
    embedder_model: str = ""
    chroma_url: str = ""

    approval_hours: float = Field(default=24, gt=0)
    approval_rules: dict[str, ApprovalRule] = Field(default_factory=dict[str, ApprovalRule])
    undo_seconds: float = Field(default=0, ge=0)
    grant_minutes: float = Field(default=60, ge=0)
    free_tools: Words = ()
    forbidden_tools: Words = ()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def in_channel(self, channel: str) -> Settings:
        """The settings as they hold in one channel."""
        other = self.channels.get(channel)
        return self.model_copy(update=other.model_dump(exclude_none=True)) if other else self

    @property
    def database(self) -> str:
        """Where the log is kept, in SQLAlchemy's form."""
        return self.database_url.get_secret_value() or f"sqlite:///{self.data_dir / 'bobbin.db'}"

    @property
    def mode(self) -> Literal["socket", "http"]:
        if self.slack_mode == "auto":
            return "socket" if self.slack_app_token.get_secret_value() else "http"
        return self.slack_mode

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must never be shown anywhere."""
        values = (
            self.slack_bot_token,
            self.slack_app_token,
            self.slack_signing_secret,
            self.anthropic_api_key,
            self.database_url,
            self.embedder_key,
        )
        return tuple(value.get_secret_value() for value in values if len(value.get_secret_value()) >= 8)

    def missing(self) -> list[str]:
        """What must be set before the bot can start, each with the way to get it."""
        problems = list[str]()
        _check_token(
            problems,
            "SLACK_BOT_TOKEN",
            self.slack_bot_token,
            "xoxb-",
            "in the app's settings under OAuth & Permissions, 'Bot User OAuth Token'",
        )
        if self.mode == "socket":
            _check_token(
                problems,
                "SLACK_APP_TOKEN",
                self.slack_app_token,
                "xapp-",
                "under Basic Information, 'App-Level Tokens', with the scope connections:write",
            )
        elif not self.slack_signing_secret.get_secret_value():
            problems.append(
                "SLACK_SIGNING_SECRET is not set. It is needed to check that requests over HTTP come from Slack: "
                "Basic Information, 'App Credentials'. (Or set SLACK_APP_TOKEN to use Socket Mode.)"
            )
        needs_key = self.model != SCRIPTED and self.provider == "anthropic"
        if needs_key and not self.anthropic_api_key.get_secret_value():
            problems.append(
                "ANTHROPIC_API_KEY is not set. Make a key at platform.claude.com, or set BOBBIN_PROVIDER to "
                f"bedrock or vertex, or BOBBIN_MODEL={SCRIPTED} to try the bot without a model."
            )
        return problems


def _check_token(problems: list[str], name: str, value: SecretStr, prefix: str, where: str) -> None:
    token = value.get_secret_value()
    if not token:
        problems.append(f"{name} is not set. You find it {where}; it begins with {prefix}.")
    elif not token.startswith(prefix):
        problems.append(f"{name} does not begin with {prefix}: another kind of token. Find the right one {where}.")


class ConfigurationError(Exception):
    """Settings that cannot work; ``problems`` names each with its fix."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load_settings() -> Settings:
    """Raises ``ConfigurationError`` for a value that does not fit or a name that does not exist."""
    try:
        return Settings()
    except ValidationError as error:
        raise ConfigurationError(*(_problem(item) for item in error.errors())) from error
    except ValueError as error:
        raise ConfigurationError(f"bobbin.toml cannot be read: {error}") from error


def unknown_names(environment: Iterable[str]) -> list[str]:
    """Names with our prefix that are no setting: a limit that is misspelt must not be taken for set."""
    known = {f"BOBBIN_{field.upper()}" for field in Settings.model_fields}
    found = list[str]()
    for name in sorted(name for name in environment if name.upper().startswith("BOBBIN_")):
        if name.upper() not in known:
            near = get_close_matches(name.upper(), known, n=1)
            found.append(f"{name} is no setting and is ignored." + (f" Did you mean {near[0]}?" if near else ""))
    return found


def _problem(item: Any) -> str:
    name = str(item["loc"][0]) if item["loc"] else "settings"
    setting = Settings.model_fields.get(name.lower())
    plain = setting is not None and setting.validation_alias is not None
    shown = name.upper() if plain else f"BOBBIN_{name.upper()}"
    return f"{shown}: {item['msg']}. Correct it in the environment or in bobbin.toml; the README lists all settings."

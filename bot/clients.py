"""The clients of the two platforms, made from the settings."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.claude import Claude
from bot.config import SCRIPTED, ConfigurationError, Settings
from bot.model import Model
from bot.scripted import Scripted
from bot.slack.inbound import Own


def make_model(settings: Settings) -> Model:
    if settings.model == SCRIPTED:
        return Scripted()
    return Claude(model_client(settings), settings.fallback_model, thinking=settings.thinking)


def model_client(settings: Settings) -> anthropic.AsyncAnthropic:
    """The provider's client. Retries are ours, so that people see them."""
    timeout = httpx2.Timeout(settings.model_timeout, connect=10)
    shared: dict[str, Any] = {"max_retries": 0, "timeout": timeout}
    match settings.provider:
        case "anthropic":
            return anthropic.AsyncAnthropic(
                api_key=settings.anthropic_api_key.get_secret_value(),
                base_url=settings.anthropic_base_url or None,
                **shared,
            )
        case "bedrock":
            return _platform_client("AsyncAnthropicBedrock", shared)
        case "vertex":
            return _platform_client("AsyncAnthropicVertex", shared)


def _platform_client(name: str, arguments: dict[str, Any]) -> Any:
    """A cloud's client takes its credentials from the cloud's own environment."""
    try:
        return getattr(anthropic, name)(**arguments)
    except Exception as error:
        raise ConfigurationError(
            f"BOBBIN_PROVIDER: {name} cannot be used ({error}). Install its extra of anthropic, set its credentials."
        ) from error


def slack_client(settings: Settings) -> AsyncWebClient:
    """Without the SDK's own retries: a post that is sent again blindly stands there twice."""
    client = AsyncWebClient(
        token=settings.slack_bot_token.get_secret_value(),
        base_url=settings.slack_api_url.rstrip("/") + "/",
        timeout=15,
        retry_handlers=[],
    )
    if urlsplit(settings.slack_api_url).hostname in ("127.0.0.1", "localhost", "::1"):
        client.proxy = None  # the SDK takes a proxy from the environment for every address, also for this machine
    return client


async def authenticate(client: AsyncWebClient) -> Any:
    """Slack's answer to ``auth.test``. Raises ``ConfigurationError`` if the token is refused or Slack out of reach."""
    try:
        return await client.auth_test()  # pyright: ignore[reportUnknownMemberType] - **kwargs without a type
    except SlackApiError as error:
        said: Any = error.response
        raise ConfigurationError(
            f"SLACK_BOT_TOKEN is refused by Slack ({said['error']}). Copy it again, or reinstall the app."
        ) from error
    except Exception as error:
        raise ConfigurationError(
            f"Slack cannot be reached at {client.base_url} ({type(error).__name__}). Check network and SLACK_API_URL."
        ) from error


async def identify(client: AsyncWebClient) -> Own:
    """Who we are. Raises ``ConfigurationError`` as ``authenticate`` does."""
    found = await authenticate(client)
    address = urlsplit(str(found.get("url") or ""))
    messages = f"{address.netloc}/archives/" if address.netloc else ""
    return Own(str(found["team_id"]), str(found["user_id"]), str(found.get("bot_id") or ""), messages)


async def check_app_token(client: AsyncWebClient, token: str) -> None:
    """Raises ``ConfigurationError`` when Slack does not take the token; sockets would try again for ever.

    Failures that pass by themselves are left to the sockets.
    """
    try:
        await client.apps_connections_open(app_token=token)  # pyright: ignore[reportUnknownMemberType] - as above
    except SlackApiError as error:
        said: Any = error.response
        if said["error"] in _REFUSED:
            raise ConfigurationError(
                f"SLACK_APP_TOKEN is refused by Slack ({said['error']}). Make a new one under Basic Information, "
                "'App-Level Tokens', with the scope connections:write, and see that Socket Mode is on."
            ) from error
    except Exception as error:
        structlog.get_logger().warning("slack did not answer", action="app_token_unchecked", why=type(error).__name__)


_REFUSED = {
    "invalid_auth",
    "not_authed",
    "not_allowed_token_type",
    "token_revoked",
    "token_expired",
    "account_inactive",
    "missing_scope",
    "no_permission",
    "forbidden_team",
    "socket_mode_disabled",
}
"""What Slack says of a token with which no socket will ever open."""

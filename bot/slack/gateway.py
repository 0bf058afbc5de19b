"""The one way out to Slack's Web API: paced, never unfurling, and clear about what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.pacer import Pacer, Priority
from memory.failpoints import Reach, nothing

Json = dict[str, Any]

TRIES = 5
"""How often a call is made when Slack is limiting or failing, before we give up."""

_FAILED_INSIDE = {
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "ratelimited",
    "rate_limited",
}
_UNFURLING = {"chat.postMessage", "chat.update", "chat.scheduleMessage"}
"""What makes Slack fetch the links of a text, unless it is told not to."""


class Refused(Exception):
    """Slack said no. ``error`` is Slack's name for it, ``needed`` the scope that is missing."""

    def __init__(self, method: str, error: str, needed: str = "") -> None:
        super().__init__(f"{method}: {error}" + (f" (needs the scope {needed})" if needed else ""))
        self.method, self.error, self.needed = method, error, needed


class Lost(Exception):
    """The answer did not arrive: Slack may or may not have done it."""


class Limited(Exception):
    """Slack wants us to wait; the pacer knows for how long."""


@dataclass(slots=True)
class Gateway:
    client: AsyncWebClient
    pacer: Pacer
    reach: Reach = nothing
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def read(self, method: str, priority: Priority = Priority.OTHER, **arguments: Any) -> Json:
        """A call that may be made again at will. Raises ``Refused``, or ``Lost`` after several failures."""
        for attempt in range(1, TRIES):
            try:
                return await self.write(method, priority, **arguments)
            except Lost:
                await self.sleep(0.3 * 2**attempt)
        return await self.write(method, priority, **arguments)

    async def write(self, method: str, priority: Priority = Priority.OTHER, **arguments: Any) -> Json:
        """A call that must not be repeated blindly. Waits for the limits. Raises ``Refused`` or ``Lost``."""
        for _ in range(TRIES):
            await self.pacer.turn(method, str(arguments.get("channel", "")), priority)
            try:
                return await self.once(method, **arguments)
            except Limited:
                continue
        raise Refused(method, "ratelimited")

    async def once(self, method: str, **arguments: Any) -> Json:
        """One call, for which the caller has waited. Raises ``Limited``, ``Refused`` or ``Lost``."""
        if method in _UNFURLING:
            arguments = {**arguments, "unfurl_links": False, "unfurl_media": False}
        self.reach(f"slack.{method}.before")
        try:
            response = await getattr(self.client, method.replace(".", "_"))(**arguments)
        except SlackApiError as error:
            if (wait := _retry_after(error)) is None:
                raise _explained(method, error) from error
            self.pacer.block(method, wait, str(arguments.get("channel", "")))
            structlog.get_logger().warning("slack limits", action="rate_limited", method=method, wait=wait)
            raise Limited from error
        except (aiohttp.ClientError, TimeoutError, SlackClientError, AttributeError) as error:
            # The SDK stumbles (AttributeError) over a page where an answer should be.
            raise Lost(f"{method}: {type(error).__name__}") from error
        self.reach(f"slack.{method}.after")
        return dict(response.data)


def _retry_after(error: SlackApiError) -> float | None:
    """Seconds that Slack wants us to wait; None if this is not about limits."""
    response: Any = error.response
    if getattr(response, "status_code", 200) != 429:
        return None
    try:
        return float(response.headers.get("Retry-After", 1))
    except ValueError:
        return 1.0


def _explained(method: str, error: SlackApiError) -> Exception:
    response: Any = error.response
    status = getattr(response, "status_code", 200)
    data: Any = getattr(response, "data", response)
    name = str(data.get("error", "")) if hasattr(data, "get") else ""
    if status >= 500 or name in _FAILED_INSIDE or not name:
        return Lost(f"{method}: {name or status}")
    needed = str(data.get("needed") or "")
    return Refused(method, name, needed)

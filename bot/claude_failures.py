"""Failures of Claude's client, as errors of ours, by the table of the platform's rules."""

from __future__ import annotations

import anthropic
import httpx2

from bot.model import Busy, Misconfigured, ModelError, Rejected, StaleThinking, TooLong


def explained(error: Exception) -> ModelError:
    """The error of ``bot/model.py`` for a failure of the SDK, by the table of the platform's rules."""
    if isinstance(error, anthropic.APIStatusError):
        return _explained_status(error)
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError):
        return Busy("the connection to the model broke")
    if isinstance(error, ValueError):
        return Busy("the model's answer arrived damaged")
    return Misconfigured(f"the model's client cannot work: {error}")


def _explained_status(error: anthropic.APIStatusError) -> ModelError:
    said = error.api_message or str(error)
    match error.status_code:
        case 401 | 402 | 403:
            return Misconfigured(f"the model's provider refused the key ({error.status_code}): {said}")
        case 429 if _spend_limit(error):
            return Misconfigured(f"the spending limit at the model's provider is reached: {said}")
        case 408 | 409 | 429:
            return Busy("the model's rate limit is reached", _retry_after(error))
        case 413:
            return TooLong(said)
        case 400:
            return _explained_request(said)
        case 200 if error.type == "invalid_request_error":
            return _explained_request(said)
        case status if status == 200 or status >= 500:
            return Busy(
                "the model is overloaded" if _overloaded(error) else "the model's service failed", _retry_after(error)
            )
        case _:
            return Rejected(said)


def _explained_request(said: str) -> ModelError:
    lowered = said.lower()
    if "too long" in lowered or "exceeds the maximum size" in lowered:
        return TooLong(said)
    if "thinking" in lowered and any(word in lowered for word in ("signature", "bound", "cannot be modified")):
        return StaleThinking(said)
    return Rejected(said)


def _overloaded(error: anthropic.APIStatusError) -> bool:
    return error.status_code == 529 or error.type == "overloaded_error"


def _spend_limit(error: anthropic.APIStatusError) -> bool:
    code = (error.error_code or "").lower()
    return any(word in code for word in ("spend", "billing", "credit", "quota"))


def _retry_after(error: anthropic.APIStatusError) -> float | None:
    try:
        return max(0.0, float(error.response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None

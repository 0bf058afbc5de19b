"""The arguments of a Web API call, read by kind. Forms carry everything as text, JSON bodies carry values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from bot.demo.values import Json, SlackError, objects


@dataclass(frozen=True, slots=True)
class Arguments:
    values: Json

    def need(self, name: str) -> str:
        """A text that must be there. Raises SlackError("invalid_arguments")."""
        found = self.text(name)
        if not found:
            raise SlackError("invalid_arguments", response_metadata={"messages": [f"[ERROR] missing: {name}"]})
        return found

    def text(self, name: str, default: str = "") -> str:
        found = self.values.get(name)
        return default if found is None else str(found)

    def flag(self, name: str, *, default: bool = False) -> bool:
        return self.text(name, str(default)).lower() in ("1", "true")

    def number(self, name: str, default: int) -> int:
        """Raises SlackError("invalid_arguments") for what is not a whole number."""
        try:
            return int(self.text(name) or default)
        except ValueError:
            raise SlackError("invalid_arguments") from None

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def listed(self, name: str) -> tuple[str, ...]:
        """A list of texts, given as JSON or separated by commas."""
        found = self.values.get(name)
        items = cast("list[object]", found) if isinstance(found, list) else self.text(name).split(",")
        return tuple(str(item) for item in items if item)

    def objects(self, name: str, refusal: str = "invalid_arguments") -> tuple[Json, ...]:
        return objects(self._parsed(name, refusal))

    def object(self, name: str, refusal: str = "invalid_arguments") -> Json | None:
        found = self._parsed(name, refusal)
        return cast("Json", found) if isinstance(found, dict) else None

    def _parsed(self, name: str, refusal: str) -> object:
        found = self.values.get(name)
        if not isinstance(found, str) or not found:
            return found
        try:
            return json.loads(found)
        except ValueError:
            raise SlackError(refusal) from None

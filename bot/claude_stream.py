"""Events of the provider's stream -> the answer as it grows, and whole at the end.

The client's own helper rebuilds the whole answer and parses all arguments anew at each event, and completes cut-off
JSON in silence. Here a block grows by what arrives, and arguments are parsed once, when they are whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bot.model import CallNamed, ModelEvent, TextGrew, ThoughtGrew

Json = dict[str, Any]


@dataclass(slots=True)
class Growing:
    """An answer as it arrives. Each block of ``blocks`` is in the end what the provider would show of it."""

    blocks: list[Json] = field(default_factory=list[Json])
    usage: Json = field(default_factory=Json)
    stop: str = ""
    whole: bool = False
    """The provider said that this is all. A connection may also end politely in the middle of an answer."""
    _arguments: str = ""
    _cut_off: bool = False

    def take(self, event: Any) -> ModelEvent | None:
        """Move on by one event; returns what there is to show. Raises ``ValueError`` for what makes no answer."""
        match event.type:
            case "message_start":
                self.usage = event.message.usage.to_dict()
            case "content_block_start":
                self.blocks.append(event.content_block.to_dict())
                if event.content_block.type == "tool_use":
                    return CallNamed(event.content_block.name)
            case "content_block_delta":
                return self._grow(self._block(event.index), event.delta)
            case "content_block_stop":
                self._close(self._block(event.index))
            case "message_delta":
                self.stop = event.delta.stop_reason or ""
                self.usage |= {name: value for name, value in event.usage.to_dict().items() if value is not None}
            case "message_stop":
                self._end()
            case _:
                pass
        return None

    def _block(self, index: int) -> Json:
        if index != len(self.blocks) - 1:
            raise ValueError("the blocks of an answer arrived out of order")
        return self.blocks[index]

    def _grow(self, block: Json, delta: Any) -> ModelEvent | None:
        match delta.type:
            case "text_delta":
                block["text"] += delta.text
                return TextGrew(delta.text)
            case "thinking_delta":
                block["thinking"] += delta.thinking
                return ThoughtGrew(delta.thinking)
            case "signature_delta":
                block["signature"] = delta.signature
            case "input_json_delta":
                self._arguments += delta.partial_json
            case "compaction_delta":
                block |= delta.to_dict() | {"type": block["type"]}
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or ()), delta.citation.to_dict()]
            case _:
                pass
        return None

    def _close(self, block: Json) -> None:
        """Arguments that are no whole object may only come of an answer that was cut off."""
        text, self._arguments = self._arguments, ""
        try:
            parsed: Any = json.loads(text) if text else {}
        except ValueError:
            parsed = None
        if isinstance(parsed, dict):
            block |= {"input": parsed} if text else {}
        else:
            self._cut_off = True

    def _end(self) -> None:
        if self._cut_off and self.stop != "max_tokens":
            raise ValueError("the arguments of a call are not a whole object")
        self.whole = True

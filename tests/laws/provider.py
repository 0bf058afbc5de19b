"""A model that plays a part and, as the real provider does, refuses what breaks its rules."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import anthropic

from bot.claude import Claude
from bot.model import Model, ModelError, ModelEvent, Request, TextGrew
from memory.log import ThreadLog
from memory.records import Cleared, Compacted, Framed, ModelSaid, Unbound
from memory.types import Message, Opaque, Part, Text, Thinking, ToolCall, Usage
from tests.doubles import Around, undisturbed
from tests.laws.legality import broken_seals, drops_stale, flat, head, problems, seal, signatures

Json = dict[str, Any]
Stop = Literal["end", "length", "refusal", "pause"]


@dataclass(frozen=True, slots=True)
class Line:
    """One answer of the part: words and calls (name, text), or a way to end without either."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    stop: Stop = "end"
    opaque: bool = False
    """Ends with a part that only the provider understands."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it went over the wire, and the epoch it belongs to.

    ``aside``: not a step of the conversation, but a question about it (a summary).
    """

    epoch: object
    body: Json
    aside: bool


@dataclass(slots=True)
class Provider(Model):
    """Checks every request, keeps it, and answers with thinking that is bound to all that stood before it.

    ``log`` is the thread's log at the moment.
    The same request is always answered alike: a part is played on from where the conversation stands.
    """

    lines: list[Line | ModelError]
    log: Callable[[], ThreadLog]
    around: Around = undisturbed
    asked: list[Asked] = field(default_factory=list[Asked])
    _adapter: Claude = field(default_factory=lambda: Claude(_client(), "fallback"))
    _known: dict[str, ModelSaid] = field(default_factory=dict[str, ModelSaid])
    _thought: dict[str, str] = field(default_factory=dict[str, str])
    """Call id -> signature of the thinking that it came with."""
    _gone: set[str] = field(default_factory=set[str])
    """Thinking that a request has left out: it may never come back."""

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        body = self._adapter._body(request, request.model)  # pyright: ignore[reportPrivateUsage] - what goes out
        log = self.log()
        self._check(body, stripped=any(isinstance(s.record, Unbound) and s.record.how == "strip" for s in log.records))
        boundaries = [s.seq for s in log.records if isinstance(s.record, Framed | Unbound | Cleared | Compacted)]
        self.asked.append(Asked(boundaries[-1:], body, aside=request.context != log.context))
        await self.around("before model")
        said = self._answer(body)
        if said.message.text:
            yield TextGrew(said.message.text)
        await self.around("after model")
        yield said

    def forget_wire(self) -> None:
        """The program began anew: what its adapter had converted is gone."""
        self._adapter._converted.clear()  # pyright: ignore[reportPrivateUsage] - keeping the tools saves much time

    def _check(self, body: Json, *, stripped: bool) -> None:
        assert problems(body) == [], (problems(body), body["messages"])
        there = set(signatures(body))
        assert drops_stale(body) or broken_seals(body) == [], "thinking is bound to another conversation"
        assert not there & self._gone, "thinking that was left out has come back"
        self._gone |= set(self._thought.values()) - there
        last = body["messages"][-1]["content"]
        loop = {self._thought.get(block["tool_use_id"]) for block in last if block["type"] == "tool_result"} - {None}
        assert stripped or loop <= there, "the thinking of a tool loop has vanished from its middle"

    def _answer(self, body: Json) -> ModelSaid:
        sign = seal(body)
        self._gone.discard(sign)  # thought anew
        key = f"{_shape(body)}{body['max_tokens']}"
        if key not in self._known:
            line = self.lines.pop(0) if self.lines else Line("done")
            if isinstance(line, ModelError):
                raise line
            self._known[key] = self._said(line, len(self._known), sign)
        said = self._known[key]
        self._thought |= {call.id: sign for call in said.message.calls}
        return said

    @staticmethod
    def _said(line: Line, number: int, sign: str) -> ModelSaid:
        calls = [
            ToolCall(id=f"call_{number}_{i}", name=name, arguments={"text": text})
            for i, (name, text) in enumerate(line.calls)
        ]
        parts: list[Part] = [Thinking(text="", opaque={"type": "thinking", "thinking": "", "signature": sign})]
        if line.text:
            parts.append(Text(text=line.text))
        if line.opaque:
            parts.append(Opaque(opaque={"type": "server_tool_use", "id": f"server_{number}", "name": "think"}))
        stop = "calls" if calls and line.stop == "end" else line.stop
        usage = Usage(fresh=10, output=1, dollars=0.001)
        return ModelSaid(message=Message(role="assistant", parts=(*parts, *calls)), usage=usage, stop=stop)


@cache
def _client() -> anthropic.AsyncAnthropic:
    """Never called: only the bodies of its requests are wanted, and making one takes long."""
    return anthropic.AsyncAnthropic(api_key="none")


def _shape(body: Json) -> str:
    """What tells requests apart when the words of results, which may say ``uncertain`` after a crash, do not count."""
    shape = [
        (role, block["type"], block.get("tool_use_id") or block.get("id") or block.get("text"))
        for _, role, block in flat(body)
        if block["type"] != "thinking"
    ]
    return repr(shape)


def extends(before: Json, after: Json) -> bool:
    """Whether one request begins, byte for byte, with another."""
    old, new = flat(before), flat(after)
    return head(before) == head(after) and new[: len(old)] == old

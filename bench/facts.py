"""What a long thread still knows: facts planted in words, answers and results, after several compactions.

The model is a perfect summarizer: it carries over every planted fact that its request holds. So what is
lost is lost by the way the conversation is shortened, as in the peers' ceilings of the same kind.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from bench.figures import Figure
from bench.loops import MODEL
from bench.threads import THREAD, Conversation, noise
from bot.model import Model, ModelEvent, Request
from memory.compaction import Marks
from memory.records import ApprovalGiven, Compacted, ModelSaid, UserSaid
from memory.summary import HEADINGS, summary_of
from memory.tokens import counter
from memory.types import Message, Text, ToolCall, ToolResult, Usage

PEERS = {"LangChain": 21, "codex": 57, "opencode": 61, "Anthropic compact": 71, "pi": 78}
"""Percent of facts in context after compaction with a perfect summarizer, from published designs."""
FACTOR = 1.45
TURNS, LOOKS = 48, 3
COMPACTED_AFTER = (20, 29, 38, 47)
"""Turns after which somebody writes "compact": with clearing at its marks, this thread would not need it so soon."""
Place = Literal["words", "answer", "result", "long result"]
PLACES: tuple[Place, ...] = ("words", "answer", "result", "long result")


@dataclass(frozen=True, slots=True)
class Fact:
    """``token`` is what must be found, ``question`` what one would search for."""

    text: str
    token: str
    question: str
    place: Place
    turn: int


def facts() -> list[Fact]:
    """Ids, numbers, constraints, decisions and names of files, in two languages, in every place, in early turns."""
    forms = [
        ("The order of project {p} is ORD-{n}-X.", "ORD-{n}-X", "order of project {p}"),
        ("Project {p} may cost at most {n}.50 EUR.", "{n}.50 EUR", "cost of project {p}"),
        ("Never ship {p} without the sign-off of auditor Q{n}.", "auditor Q{n}", "sign-off {p}"),
        ("Mara decided on Tuesday that {p} moves to cluster k{n}.", "cluster k{n}", "{p} moves cluster"),
        ("The plan of {p} is in plan-{n}.xlsx.", "plan-{n}.xlsx", "plan of {p}"),
        ("项目{p}的发票号是 FP{n}。", "FP{n}", "项目{p} 发票号"),
        ("客户{p}要求在{n}小时之内答复。", "在{n}小时之内", "客户{p} 答复 小时"),
        ("李伟决定把{p}推迟到第{n}周。", "推迟到第{n}周", "{p} 推迟"),
    ]
    made = list[Fact]()
    for index in range(len(forms) * len(PLACES)):
        form, place = forms[index % len(forms)], PLACES[index // len(forms)]
        project = "".join(chr(97 + (index * 7 + i * 11) % 26) for i in range(6)).capitalize()
        text, token, question = (part.format(p=project, n=4_000 + index * 37) for part in form)
        made.append(Fact(text, token, question, place, 1 + index * 5 % 18))
    return made


@dataclass(slots=True)
class Perfect(Model):
    """Looks around, answers, and summarizes without losing what it can see."""

    planted: list[Fact]
    turn: int = 0
    left: int = 0
    asked: int = 0

    def content(self, q: str) -> str:
        turn, look = (int(part) for part in q.split("."))
        here = [fact.text for fact in self.planted if fact.turn == turn and fact.place == "result" and look == 1]
        long = [fact.text for fact in self.planted if fact.turn == turn and fact.place == "long result" and look == 2]
        size = 20_000 if long else 3_000
        return "\n".join([noise(f"{q}a", size), *here, *long, noise(f"{q}b", size)])

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        texts = read(request)
        usage = Usage(fresh=round(FACTOR * sum(map(counter(), texts))) + 3_000, output=60)
        yield self._said(texts).model_copy(update={"usage": usage, "model": MODEL})

    def _said(self, texts: list[str]) -> ModelSaid:
        if "Summarize the conversation so far" in texts[-1]:
            seen = "\n".join(texts[:-1])
            known = "\n".join(f"- {fact.text}" for fact in self.planted if fact.token in seen)
            return answer("\n".join(f"## {h}\n{known if h.startswith('Facts') else 'as above'}" for h in HEADINGS))
        self.asked += 1
        if self.left == 0:
            here = [fact.text for fact in self.planted if fact.turn == self.turn and fact.place == "answer"]
            return answer(" ".join(["Done with this part.", *here]))
        self.left -= 1
        name, arguments = "look", {"q": f"{self.turn}.{self.left}"}
        if self.left == 0 and self.turn % 10 == 3:
            name, arguments = "announce", {"text": f"Part {self.turn} begins"}
        call = ToolCall(id=f"toolu_{self.asked:06}", name=name, arguments=dict(arguments))
        return ModelSaid(message=Message(role="assistant", parts=(call,)), usage=Usage(), stop="calls")


def answer(text: str) -> ModelSaid:
    return ModelSaid(message=Message(role="assistant", parts=(Text(text=text),)), usage=Usage(), stop="end")


def read(request: Request) -> list[str]:
    """All texts that a request holds."""
    parts = [part for message in request.context.messages for part in message.parts]
    return [part.text for part in parts if isinstance(part, Text | ToolResult)]


@dataclass(slots=True)
class Found:
    """What is left at the end of the thread."""

    compactions: list[Compacted] = field(default_factory=list[Compacted])
    in_context: list[bool] = field(default_factory=list[bool])
    retrievable: list[bool] = field(default_factory=list[bool])
    verbatim: list[bool] = field(default_factory=list[bool])
    most: int = 0


async def converse(marks: Marks) -> Found:
    planted = facts()
    model = Perfect(planted)
    with TemporaryDirectory() as folder:
        thread = Conversation.over(Path(folder), model, model.content, marks)
        for turn in range(1, TURNS + 1):
            model.turn, model.left = turn, LOOKS
            here = [fact.text for fact in planted if fact.turn == turn and fact.place == "words"]
            await thread.say(" ".join([f"Please go on with part {turn}, and keep to rule {turn * 31}.", *here]))
            if turn % 10 == 3:
                await thread.say("yes")
            if turn in COMPACTED_AFTER:
                await thread.say("compact")
        found = await _look_back(thread, planted)
        thread.database.close()
    return found


async def _look_back(thread: Conversation, planted: list[Fact]) -> Found:
    log = await thread.log()
    parts = [part for message in log.context.messages for part in message.parts]
    text = "\n".join(part.text for part in parts if isinstance(part, Text | ToolResult))
    found = Found()
    for fact in planted:
        hits = await thread.logs.search(THREAD, fact.question)
        found.in_context.append(fact.token in text)
        found.retrievable.append(fact.token in text or any(fact.token in hit.text for hit in hits))
    for stored in await thread.logs.matching(THREAD, ['"kind"']):
        match stored.record:
            case UserSaid(header=header, text=words):
                found.verbatim.append(f"{header}\n{words}" in text)
            case ApprovalGiven(by=by) if by is not None:
                found.verbatim.append(f"approved by {by.name}" in text)
            case Compacted() as record:
                found.compactions.append(record)
            case _:
                pass
    return found


async def measure() -> list[Figure]:
    found = await converse(Marks())
    sizes = [FACTOR * counter()(summary_of(record.text)) for record in found.compactions]
    whole = [record.after for record in found.compactions]
    shown = [there for fact, there in zip(facts(), found.in_context, strict=True) if fact.place != "long result"]
    peers = ", ".join(f"{name} {ceiling}" for name, ceiling in PEERS.items())
    note = f"{len(shown)} that the model was shown; peers' ceilings in percent: {peers}"
    every = f"{len(found.retrievable)} facts, 8 of them in parts of results that were never shown"
    return [
        Figure("compactions of the thread with facts", len(sizes), "", 3, more=True, note=f"{TURNS} turns"),
        Figure("facts in context or retrievable", share(found.retrievable), "", 0.99, more=True, note=every),
        Figure("facts in context alone", share(shown), "", 0.75, more=True, note=note),
        Figure("instructions and approvals verbatim", share(found.verbatim), "", 1.0, more=True),
        Figure("largest summary", max(sizes, default=0), "", 4_000, note="tokens"),
        Figure("growth of the summary", sizes[-1] / sizes[-2] if len(sizes) > 1 else 0, "x", 1.1, note="last two"),
        Figure("largest text after a compaction", max(whole, default=0), "", note="tokens, words of people included"),
    ]


def share(values: list[bool]) -> float:
    return sum(values) / len(values) if values else 0.0

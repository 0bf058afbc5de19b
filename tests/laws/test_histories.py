"""Laws 1, 2 and 5 over random histories, without a database: thousands of them in a minute.

A history is told by moves that the program could make. Whenever the model may be asked, the request is legal and
extends the one before it; whatever is compacted, when and how often, words and changes of people stay as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.compaction import Marks, plan_clearing, stand_in
from memory.context import Assembly, assemble, assembly, unbind
from memory.records import (
    ApprovalAsked,
    ApprovalGiven,
    Briefed,
    Cleared,
    Compacted,
    Framed,
    MessageDeleted,
    MessageEdited,
    ModelSaid,
    Noted,
    Record,
    Stopped,
    Stored,
    ToolEnded,
    ToolStarted,
    Unbound,
    UserSaid,
    digest,
)
from memory.state import ThreadState
from memory.steps import AskModel, Deliver, Refuse, Rest, RunCalls, Step, Wait, next_step
from memory.summary import HEADINGS, compose, deeds, last_answer, loose_identifiers, quotes, transcript
from memory.tokens import Estimate, Factors
from memory.types import MessageId, Text, ToolCall, ToolResult
from tests.bot.shortened import body_of
from tests.doubles import ANA, BEN, LIN, says
from tests.laws.legality import broken_seals, drops_stale, problems, seal
from tests.laws.provider import extends
from tests.memory.samples import posted, thinks

Move = Literal[
    "say", "answer", "call", "pause", "refuse to answer", "cut off", "result", "ask", "yes", "no", "stop", "note",
    "brief", "edit", "delete", "clear", "compact", "frame", "unbind",
]  # fmt: skip
MOVES: tuple[Move, ...] = Move.__args__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue]
EXACT = Factors(1.0, 1.0)
MARKS = Marks(clear_at=1, clear_to=40, clear_gain=1, words=1_000_000)
BOUNDARY = (Cleared, Compacted, Framed, Unbound)


@dataclass(slots=True)
class History:
    """A log as it is told, with what is checked on the way."""

    log: list[Stored] = field(default_factory=list[Stored])
    state: ThreadState = field(default_factory=ThreadState)
    live: Assembly = field(default_factory=Assembly)
    before: dict[str, Any] | None = None
    """The last request of this epoch."""
    made: int = 0

    def add(self, *records: Record) -> None:
        for record in records:
            stored = Stored(len(self.log) + 1, float(len(self.log)), record)
            self.log.append(stored)
            self.state.take(stored)
            if not self.live.take(stored) or isinstance(record, BOUNDARY):
                self.live, self.before = assembly(self.log), None
            assert self.live.context == assemble(self.log), "what is kept up to date is not what is read anew"
        self.settle()

    def settle(self) -> None:
        """What the program does by itself: show what is due, close what must not run."""
        match next_step(self.state):
            case Deliver(of=of, what=what):
                self.add(posted(of, what, final=True))
            case Refuse(call=call, outcome=outcome):
                self.add(ToolEnded(result=ToolResult(call_id=call.id, text="not run", is_error=True), outcome=outcome))
            case _:
                pass

    @property
    def step(self) -> Step:
        return next_step(self.state)

    @property
    def current(self) -> list[Stored]:
        cut = max((s.seq for s in self.log if isinstance(s.record, Compacted)), default=0)
        return [stored for stored in self.log if stored.seq >= cut]

    def call(self, number: int) -> ToolCall:
        self.made += 1
        return ToolCall(id=f"c{self.made}", name=("look", "post")[number % 2], arguments={"n": self.made})

    # -- moves -----------------------------------------------------------------------------------

    def play(self, move: Move, number: int) -> None:
        match move:
            case "say":
                author = (ANA, BEN, LIN)[number % 3]
                message = MessageId(f"m{len(self.log)}")
                text = ("go", "继续，编号 OPS-4711", "a long story " * 9)[number % 3] + f" {len(self.log)}"
                self.add(UserSaid(author=author, source=message, header=f"[{author.name}]", text=text))
            case "answer" | "call" | "pause" | "refuse to answer" | "cut off":
                if isinstance(self.step, AskModel):
                    self.ask(move, number)
            case "result" | "ask" | "yes" | "no":
                self.handle(move, number)
            case "stop" if not self.state.turn.over:
                self.add(Stopped(reason="cancelled", by=ANA))
            case "note" if isinstance(self.step, AskModel):
                self.add(Noted(reason="empty", text="go on"))
            case "brief" if isinstance(self.step, AskModel):
                self.made += 1
                call = ToolCall(id=f"b{self.made}", name="read_thread", arguments={})
                self.add(Briefed(call=call, result=ToolResult(call_id=call.id, text="before", untrusted=True)))
            case "edit" | "delete" if words := [s.record for s in self.log if isinstance(s.record, UserSaid)]:
                source = words[number % len(words)].source
                edited = MessageEdited(by=ANA, source=source, text=f"rather {len(self.log)}")
                self.add(edited if move == "edit" else MessageDeleted(source=source))
            case "clear" | "compact" | "frame" | "unbind" if isinstance(self.step, AskModel | Rest):
                self.turn_over(move, keep=number % 3 == 0)
            case _:
                pass

    def ask(self, move: Move, number: int) -> None:
        body = body_of(self.live.context)
        assert problems(body) == []
        assert drops_stale(body) or broken_seals(body) == [], (
            "thinking stands behind other words than it was thought at"
        )
        assert self.before is None or extends(self.before, body), "a request does not extend the one before it"
        self.before = body
        text, thought = f"answer {len(self.log)}", seal(body)
        match move:
            case "answer":
                self.add(thinks(thought, text))
            case "call" | "cut off":
                made = [self.call(number + n) for n in range(1 + number % 3)]
                stop = "calls" if move == "call" else "length"
                self.add(thinks(thought, text if number % 2 else "", *made).model_copy(update={"stop": stop}))
            case "pause":
                self.add(thinks(thought, text).model_copy(update={"stop": "pause"}), Noted(reason="paused", text="on"))
            case _:
                refusal = says("I will not").model_copy(update={"stop": "refusal", "kept": False})
                self.add(refusal, Stopped(reason="refusal"))

    def handle(self, move: Move, number: int) -> None:
        """One of the open calls goes on."""
        match self.step:
            case RunCalls(calls=calls, approved=approved):
                call = calls[number % len(calls)]
                if move == "ask" and call.id not in approved:
                    people = (ANA.id,)
                    name = digest(call)
                    self.add(
                        ApprovalAsked(call_id=call.id, digest=name, requester=ANA, approvers=people, expires_at=1e12)
                    )
                elif move == "result":
                    text = ("ok", "a long result of many lines\n" * 5)[number % 2]
                    result = ToolEnded(result=ToolResult(call_id=call.id, text=text), handle=f"r{call.id[1:]}")
                    start = [ToolStarted(call_id=call.id, digest=digest(call))] if call.id in approved else []
                    self.add(*start, result)
            case Wait(asked=asked) if move in ("yes", "no"):
                one = asked[number % len(asked)]
                verdict = "approved" if move == "yes" else "refused"
                self.add(ApprovalGiven(call_id=one.call_id, digest=one.digest, verdict=verdict, by=ANA))
            case _:
                pass

    def turn_over(self, move: Move, *, keep: bool) -> None:
        """Begin a new epoch as the program would."""
        match move:
            case "clear":
                plan = plan_clearing(self.current, Estimate(1_000, EXACT, 0), MARKS, len)
                self.add(*([plan] if plan else []))
            case "compact":
                self.add(self.compacted(keep=keep))
                self.check_compaction()
            case "unbind":
                record = unbind(self.live.context)
                self.add(*([record] if record else []))
            case _:
                self.add(Framed(digest=f"f{len(self.log)}"))

    def compacted(self, *, keep: bool) -> Compacted:
        """As the compactor puts it together; or one that keeps the newest words of people as they are."""
        log = self.current
        said, did, answer = quotes(log), deeds(log), last_answer(log)
        summary = "\n".join(f"## {heading}\nkept" for heading in HEADINGS)
        loose = loose_identifiers(transcript(log), summary, *(one.text for one in said))
        text = compose(summary, said, MARKS, len, EXACT, did=did, answer=answer, loose=loose, owed=self.state.owed)
        seqs = [s.seq for s in log if isinstance(s.record, UserSaid)]
        keep_from = seqs[-1] if keep and seqs and not self.state.turn.over else len(self.log) + 1
        return stand_in(self.state, text, keep_from, said=said, did=did)

    def check_compaction(self) -> None:
        """Law 5: what people said, changed and decided stands in the text, from the very beginning on."""
        text = "\n".join(p.text for m in self.live.context.messages for p in m.parts if isinstance(p, Text))
        decided = {s.record.call_id for s in self.log if isinstance(s.record, ApprovalGiven)}
        done = {s.record.result.call_id for s in self.log if isinstance(s.record, ToolEnded)}
        numbers = {
            c.id: c.arguments["n"] for s in self.log if isinstance(s.record, ModelSaid) for c in s.record.message.calls
        }
        for stored in self.log:
            match stored.record:
                case UserSaid(header=header, text=words):
                    assert f"{header}\n{words}" in text, "words of a person are gone"
                case MessageEdited(text=words):
                    assert words in text, "a correction is gone"
                case _:
                    pass
        for call_id in decided & done:
            assert f'{{"n":{numbers[call_id]}}}' in text, "a decided change is gone"


moves = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 5)), min_size=5, max_size=40)


@settings(max_examples=settings().max_examples * 10)
@given(moves)
def test_every_history_is_legal_grows_by_extension_and_keeps_what_people_said(told: Sequence[tuple[Move, int]]) -> None:
    history = History()
    history.play("say", 0)
    for move, number in told:
        history.play(move, number)
    history.play("compact", 1)
    history.play("say", 1)
    history.play("compact", 1)

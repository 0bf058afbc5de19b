"""Random stories: what people do and when, what the model says, and where an epoch begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from hypothesis import strategies as st

from bot.model import Busy, Misconfigured, ModelError, Rejected, StaleThinking
from memory.compaction import stand_in
from memory.inbox import Gesture
from memory.log import ThreadLog
from memory.records import Cleared, Compacted, ModelSaid, Record, Stored, ToolEnded, Unbound, UserSaid
from memory.steps import AskModel, next_step
from memory.types import MessageId
from tests.doubles import ANA, BEN, GUEST, LIN, ROBOT
from tests.laws.provider import Line
from tests.laws.verdicts import check_at_rest, check_requests, check_writes
from tests.laws.world import World

Deed = Literal[
    "say", "say", "ask in a foreign thread", "say yes", "say no", "say stop", "edit", "delete", "again",
    "approve", "approve", "approve", "refuse", "stop", "approve an old one", "hours", "days", "restart", "frame",
]  # fmt: skip
Boundary = Literal["clear", "compact", "compact all", "drop", "strip"]
PEOPLE = (ANA.id, ANA.id, ANA.id, BEN.id, LIN.id, GUEST.id, ROBOT.id, "U0NOBODY")
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Move:
    """``after``: 0 when everything is quiet, else after so many more points of the work that is under way."""

    deed: Deed
    who: str
    after: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    moves: tuple[Move, ...]
    lines: tuple[Line | ModelError, ...]
    boundaries: dict[int, Boundary]
    """By the number of the question to the model before which they are drawn."""


words = st.sampled_from(["a", "b", "the longer answer of a model", "*c*"])
calls = st.tuples(
    st.sampled_from(["look", "look", "page", "post", "post", "tidy", "jot", "wipe", "nope", "banned"]),
    st.sampled_from(["x", "x", "y", "z", "lost", "broken", "long"]),
)
lines = st.one_of(
    st.builds(Line, words),
    st.builds(Line, st.sampled_from(["", "first"]), st.lists(calls, min_size=1, max_size=3).map(tuple)),
    st.builds(Line, st.sampled_from(["", "first"]), st.lists(calls, min_size=1, max_size=3).map(tuple)),
    st.sampled_from(
        [
            Line(),
            Line("no", stop="refusal"),
            Line("half an", stop="length"),
            Line("half a", (("post", "x"),), stop="length"),
            Line("wait", stop="pause", opaque=True),
            Line("", stop="pause"),
            Busy("busy"),
            StaleThinking("bound to a different conversation"),
            Misconfigured("no key"),
            Rejected("never"),
        ]
    ),
)
moves = st.builds(Move, st.sampled_from(get_args(Deed)), st.sampled_from(PEOPLE), st.sampled_from([0, 0, 1, 2, 4, 7]))
boundaries = st.dictionaries(st.integers(1, 12), st.sampled_from(get_args(Boundary)), max_size=4)
stories = st.builds(
    Story, st.lists(moves, min_size=1, max_size=12).map(tuple), st.lists(lines, max_size=14).map(tuple), boundaries
)


@dataclass(slots=True)
class Player:
    """Plays a story in a world, and checks the world whenever it is quiet."""

    story: Story
    world: World
    waiting: list[Move] = field(default_factory=list[Move])
    ticks: int = 0
    questions: int = 0
    spoken: list[MessageId] = field(default_factory=list[MessageId])
    requests: list[MessageId] = field(default_factory=list[MessageId])
    renew: bool = False

    async def play(self) -> None:
        self.world.fate.around = self.point
        await self.world.say(ANA.id, "begin")
        for move in (*self.story.moves, Move("say", ANA.id)):
            self.waiting.append(move)
            if move.after == 0:
                await self.rest()
        await self.rest()

    async def rest(self) -> None:
        """Let the thread come to rest, with all that happens meanwhile; what did not happen then happens now."""
        while True:
            await self.world.settle()
            await check_at_rest(self.world)
            if not self.waiting:
                break
            await self.act(self.waiting.pop(0))
        if self.renew:
            self.renew = False
            await self.world.restart()
        check_requests(self.world)
        check_writes(self.world)

    async def point(self, _: str) -> None:
        """At each point of the work: the next move may be due."""
        if not self.waiting or not self.waiting[0].after:
            return
        self.ticks += 1
        if self.ticks >= self.waiting[0].after:
            self.ticks = 0
            await self.act(self.waiting.pop(0))
            for _turn in range(3):  # what was put in may be noticed before the work goes on
                await self.world.database.read(lambda _: None)

    async def act(self, move: Move) -> None:
        world, who = self.world, move.who
        match move.deed:
            case "say" | "ask in a foreign thread":
                said = await world.say(who, f"words {len(self.spoken)}", catch_up=move.deed != "say")
                self.spoken.append(said)
            case "say yes" | "say no" | "say stop":
                await world.say(who, move.deed.removeprefix("say "))
            case "edit" if self.spoken:
                await world.edit(who, self.spoken[-1], f"other words {world.clock.now}")
            case "delete" if self.spoken:
                await world.delete(self.spoken[-1])
            case "again" if self.spoken:
                number = int(self.spoken[-1].rsplit("u", 1)[1])
                await world.say(who, "again", number=number)
            case "approve" | "refuse" | "stop" | "approve an old one":
                await self.react(move)
            case "hours" | "days":
                world.clock.now += HOUR * (1 if move.deed == "hours" else 49)
            case "restart" | "frame":
                world.system += "!" if move.deed == "frame" else ""
                self.renew = True
            case _:
                pass

    async def react(self, move: Move) -> None:
        requests = [m for m, shown in self.world.surface.messages.items() if shown.key.kind == "approval"]
        old = requests[0] if requests and move.deed == "approve an old one" else None
        gesture: Gesture = "stop" if move.deed == "stop" else "refuse" if move.deed == "refuse" else "approve"
        await self.world.gesture(move.who, gesture, old)

    async def before_ask(self, log: ThreadLog) -> None:
        """Begin a new epoch where the story says so, if the rules allow it here."""
        self.questions += 1
        boundary = self.story.boundaries.get(self.questions)
        if boundary is not None and isinstance(next_step(log.state), AskModel):
            await log.append(*drawn(boundary, log))


def drawn(boundary: Boundary, log: ThreadLog) -> Sequence[Record]:
    match boundary:
        case "drop" | "strip":
            return [Unbound(how=boundary)]
        case "clear":
            return _cleared(log.records)
        case "compact" | "compact all":
            return _compacted(log, keep=boundary == "compact")


def _cleared(records: Sequence[Stored]) -> Sequence[Record]:
    """Every second result that was not cleared yet."""
    done = {call for s in records if isinstance(s.record, Cleared) for call in s.record.placeholders}
    ended = [s.record.result.call_id for s in records if isinstance(s.record, ToolEnded)]
    fresh = [call for call in ended if call not in done][::2]
    return [Cleared(placeholders={call: f"[{call} was set aside]" for call in fresh})] if fresh else []


def _compacted(log: ThreadLog, *, keep: bool) -> Sequence[Record]:
    """Keep from some words or answer in the second half on, or keep nothing."""
    last = max((s.record.keep_from for s in log.records if isinstance(s.record, Compacted)), default=0)
    cuts = [
        s.seq
        for s in log.records
        if s.seq > last and (isinstance(s.record, UserSaid) or (isinstance(s.record, ModelSaid) and s.record.kept))
    ]
    end = log.records[-1].seq + 1
    keep_from = cuts[len(cuts) // 2] if keep and cuts else end
    return [stand_in(log.state, f"summary of what came before {keep_from}", keep_from)]


async def tell(story: Story, folder: Path) -> World:
    """Play a story to its end; returns the world as it then is."""
    world = World(folder, list(story.lines))
    player = Player(story, world)
    world.before_ask = player.before_ask
    async with world:
        await player.play()
    return world

"""Whatever the model makes of a summary, the thread goes on, and nothing that was said is lost."""

from __future__ import annotations

import pytest

from bot.model import Busy, Rejected, Request, StaleThinking, TooLong
from memory.records import Compacted, ModelSaid, Unbound
from memory.types import Message, Text, Thinking
from tests.bot.conftest import Build
from tests.bot.doubles import THREAD, Line, says
from tests.bot.shortened import (
    GOOD,
    LONG,
    WORDS,
    compacted,
    long_answer,
    marked,
    notices,
    playback_of,
    player,
    say,
    wants_summary,
    wire,
)

ENDLESS = says("word " * 500, stop="length")
FAULTS: dict[str, tuple[tuple[Line, ...], str, int]] = {
    "server errors": ((Busy("500"),), "fallback", 3),
    "rejected": ((Rejected("400"),), "fallback", 1),
    "stale thinking": ((StaleThinking("400"),), "fallback", 1),
    "empty": ((says(""),), "fallback", 2),
    "refusal": ((says("I will not", stop="refusal"),), "fallback", 2),
    "endless": ((ENDLESS,), "fallback", 4),
    "wrong headings": ((says("# Summary\nall is well, see OPS-77"),), "fallback", 2),
    "too long": ((says(GOOD + "\n" + "word " * 9_000),), "fallback", 2),
    "bad, then good": ((says("no headings"), says(GOOD)), "model", 2),
    "empty, then an error": ((says(""), Busy("529"), Busy("529")), "fallback", 4),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_the_summarizer_does_the_thread_goes_on_with_a_text_that_is_legal_and_small(
    build: Build, fault: str
) -> None:
    lines, how, attempts = FAULTS[fault]
    world = await compacted(build, *lines)
    (record,) = await world.records(Compacted)
    assert record.how == how
    asked = [request for request in playback_of(world).asked if wants_summary(request)]
    assert len(asked) == attempts
    body = wire(playback_of(world).asked[-1])
    assert WORDS in str(body["messages"])
    assert record.after < 8_000
    assert len(notices(world)) == 1
    assert world.surface.words[-1] == "done"


async def test_old_thinking_that_is_refused_is_dropped_first_then_left_out_and_the_summary_is_the_models(
    build: Build,
) -> None:
    thought = Thinking(text="", opaque={"type": "thinking", "thinking": "", "signature": "s"})
    answer = long_answer().model_copy(update={"message": Message(role="assistant", parts=(thought, Text(text="done")))})
    world = marked(build(player(answer, StaleThinking("bound"), StaleThinking("bound"), says(GOOD)), repeat=True))
    await say(world, WORDS)
    await say(world, "compact")
    assert [one.how for one in await world.records(Unbound)] == ["drop", "strip"]
    assert [one.how for one in await world.records(Compacted)] == ["model"]
    asked = [request.context for request in playback_of(world).asked if wants_summary(request)]
    assert [context.stale_thinking for context in asked] == [False, True, False]
    assert not any(isinstance(part, Thinking) for message in asked[-1].messages for part in message.parts)


async def test_what_a_bad_summary_said_is_not_thrown_away(build: Build) -> None:
    world = await compacted(build, says("all is well, the ticket is OPS-77"))
    assert "OPS-77" in (await world.records(Compacted))[0].text


async def test_facts_that_a_summary_drops_are_listed_beside_it(build: Build) -> None:
    answer = says("I filed OPS-4711 and uploaded plan.csv (12.5 MB)", usage=LONG)
    world = marked(build(player(answer, says(GOOD)), repeat=True))
    await say(world, WORDS)
    await world.say("go on")
    await world.advance()
    await say(world, "compact")
    (record,) = await world.records(Compacted)
    assert all(fact in record.text for fact in ("OPS-4711", "plan.csv", "12.5 MB"))
    found = await world.turns.logs.search(THREAD, "ops-4711")
    assert any("I filed OPS-4711" in one.text for one in found)


async def test_a_history_that_no_window_holds_is_summarized_in_parts(build: Build) -> None:
    told = list[str]()

    def summarize(request: Request) -> ModelSaid:
        first = request.context.messages[0].parts[0]
        assert isinstance(first, Text)
        if len(first.text) > 90_000 or len(request.context.messages) > 1:
            raise TooLong("prompt is too long")
        told.append(first.text)
        return says(f"{GOOD}\npart {len(told)}")

    answers = iter("abc")
    talk = player(lambda _: long_answer(f"{next(answers)} " * 25_000), summarize)
    world = marked(build(talk, repeat=True))
    for _ in range(3):
        await say(world, WORDS)
    await say(world, "compact")
    (record,) = await world.records(Compacted)
    assert record.how == "parts"
    assert len(told) == 3
    assert all(f"part {n}" in text for n, text in enumerate(told[1:], start=1))
    assert "part 3" in record.text

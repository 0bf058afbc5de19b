"""An answer put together from its events is the one that the provider's own client puts together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.claude_stream import Growing
from bot.model import CallNamed, ModelEvent, TextGrew, ThoughtGrew
from tests.bot.adapter import MODEL, adapter, events, human, request
from tests.fake_claude import Fault, Says, call, fake_claude, new_id, text, thinking

Json = dict[str, Any]
words = st.text(min_size=1, max_size=40).filter(str.strip)
arguments = st.dictionaries(
    st.text(max_size=5), st.one_of(st.none(), st.integers(), words, st.lists(words)), max_size=3
)


def tool_use(given: Json) -> Json:
    return {"type": "tool_use", "id": new_id("toolu"), "name": "weather", "input": given}


def written(said: str) -> Json:
    return {"type": "text", "text": said}


thoughts = st.builds(thinking, st.one_of(st.just(""), words))
blocks = st.lists(
    st.one_of(st.builds(written, words), thoughts, st.builds(tool_use, arguments)), min_size=1, max_size=4
)
usages = st.fixed_dictionaries(
    {name: st.integers(0, 9_999) for name in ("input_tokens", "cache_read_input_tokens", "output_tokens")}
)


@given(blocks, st.sampled_from(["end_turn", "tool_use", "refusal", "pause_turn"]), usages)
async def test_it_is_what_the_client_makes_of_the_same_events(made: list[Json], stop: str, usage: Json) -> None:
    async with fake_claude() as server, adapter(server) as claude:
        server.default = Says(tuple(made), stop, usage)
        body: Any = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "go"}]}
        async with claude.client.messages.stream(**body) as stream:
            theirs = await stream.get_final_message()
        ours = Growing()
        async with await claude.client.messages.create(**body, stream=True) as raw:
            told = [news async for event in raw if (news := ours.take(event)) is not None]
    assert ours.whole
    assert [bare(block) for block in ours.blocks] == [bare(block.to_dict()) for block in theirs.content]
    assert ours.stop == theirs.stop_reason
    assert {name: ours.usage[name] for name in usage} == {name: getattr(theirs.usage, name) for name in usage}
    check_told(told, made)


def bare(block: Json) -> Json:
    """Without what is not there: null and left out mean the same."""
    return {name: value for name, value in block.items() if value is not None}


def check_told(told: list[ModelEvent], made: list[Json]) -> None:
    """What was shown on the way is what was said, in order."""
    assert "".join(one.text for one in told if isinstance(one, TextGrew)) == "".join(b.get("text", "") for b in made)
    thought = "".join(block.get("thinking", "") for block in made)
    assert "".join(one.text for one in told if isinstance(one, ThoughtGrew)) == thought
    assert sum(isinstance(one, CallNamed) for one in told) == sum(block["type"] == "tool_use" for block in made)


@pytest.mark.parametrize("raw", ['{"city": "Ber', '["a list"]', "17"])
async def test_arguments_that_the_output_limit_cut_off_are_told_from_damaged_ones(raw: str) -> None:
    block = {**tool_use({}), "_raw": raw}
    async with fake_claude() as server, adapter(server) as claude:
        server.plan("cut", Says((block,), "max_tokens"))
        answer = (await events(claude, request(human("cut"))))[-1]
        assert getattr(answer, "stop", "") == "length"
        server.plan("damaged", Says((block,), "tool_use"))
        with pytest.raises(Exception, match="arrived damaged"):
            await events(claude, request(human("damaged")))


async def test_blocks_out_of_order_are_no_answer() -> None:
    async with fake_claude() as server, adapter(server) as claude:
        body: Any = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "go"}]}
        server.default = text("one two three four five")
        async with await claude.client.messages.create(**body, stream=True) as raw:
            seen = [event async for event in raw]
        answer = Growing()
        answer.take(seen[0])
        with pytest.raises(ValueError, match="out of order"):
            answer.take(seen[2])


async def test_a_polite_end_in_the_middle_is_no_whole_answer() -> None:
    async with fake_claude() as server, adapter(server) as claude:
        server.default = call("weather", {"city": "Bern"}, fault=Fault("end", 3))
        with pytest.raises(Exception, match="broke off"):
            await events(claude, request(human("go")))

"""What the adapter sends: the same beginning for ever, cache marks in the right places, thinking as it came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.claude import BINDING, UPDATES
from bot.model import Cached, Request
from memory.context import assemble
from memory.records import ModelSaid, Noted, Record, Stored, ToolEnded, UserSaid
from memory.types import Message, MessageId, Person, ToolCall, ToolResult
from tests.bot.adapter import MODEL, THREAD, TOOLS, adapter, human, request, results, said
from tests.fake_claude import FakeClaude, call, calls, text, thinking
from tests.message_rules import beginning, marks
from tools.registry import Registry

ANA = Person(id="U1", name="Ana")


class Story:
    """A thread that grows, asked about again and again as a turn does."""

    def __init__(self) -> None:
        self.log: list[Stored] = []

    def add(self, *records: Record) -> None:
        self.log += [Stored(len(self.log) + 1 + i, 0.0, record) for i, record in enumerate(records)]

    def says(self, words: str) -> None:
        self.add(UserSaid(author=ANA, source=MessageId(f"T:C:{len(self.log)}"), header="[Ana]", text=words))

    def ends(self, answer: ModelSaid, result: str) -> None:
        made = [ToolResult(call_id=one.id, text=result) for one in answer.message.calls]
        self.add(answer, *(ToolEnded(result=one) for one in made))

    @property
    def request(self) -> Request:
        return Request(THREAD, "You are a test.", TOOLS, assemble(self.log), MODEL, 1_000)


async def test_each_request_begins_with_the_one_before(server: FakeClaude) -> None:
    story = Story()
    async with adapter(server) as claude:
        for turn in range(3):
            story.says(f"question {turn}")
            for step in range(3):
                server.plan(f"question {turn}", call("weather", {"city": f"{turn} {step}"}))
                answer = await said(claude, story.request)
                story.ends(answer, f"sunny {turn} {step}")
            server.plan(f"question {turn}", text(f"answer {turn}"))
            story.add(await said(claude, story.request))
            story.add(Noted(reason="paused", text="go on"))
    assert len(server.seen) == 12
    assert server.problems == []
    for before, after in zip(server.seen, server.seen[1:], strict=False):
        count = len(before.body["messages"])
        assert beginning(after.body, count) == beginning(before.body, count)


async def test_marks_stand_at_the_end_of_system_and_behind_what_people_said(server: FakeClaude) -> None:
    story = Story()
    async with adapter(server) as claude:
        for turn in range(4):
            story.says(f"question {turn}")
            server.plan(f"question {turn}", call("weather", {"city": f"{turn}"}), text("sunny"))
            answer = await said(claude, story.request)
            story.ends(answer, "sunny")
            story.add(await said(claude, story.request))
    found = [marks(seen.body) for seen in server.seen]
    assert found[0] == [("system", "1h"), ("messages.0", "1h")]
    assert found[1] == [("system", "1h"), ("messages.0", "1h"), ("messages.2", "5m")]
    assert found[2] == [("system", "1h"), ("messages.0", "1h"), ("messages.4", "1h")]
    assert found[7] == [("system", "1h"), ("messages.8", "1h"), ("messages.12", "1h"), ("messages.14", "5m")]
    assert max(map(len, found)) == 4
    assert server.problems == []


@pytest.mark.parametrize(("prefix", "moving"), [("5m", "5m"), ("1h", "1h"), ("1h", "5m")])
async def test_times_of_the_marks_are_settings(server: FakeClaude, prefix: Any, moving: Any) -> None:
    messages = (human("one"), Message(role="assistant", parts=(ToolCall(id="c1", name="weather", arguments={}),)))
    asked = replace(request(*messages, results(("c1", "sunny")), anchors=(0,)), cached=Cached(prefix, moving))
    async with adapter(server) as claude:
        await said(claude, asked)
    assert [ttl for _, ttl in marks(server.seen[0].body)] == [prefix, prefix, moving]
    assert server.problems == []


async def test_a_mark_goes_on_the_last_block_and_changes_nothing_else(server: FakeClaude) -> None:
    made = (ToolCall(id="c1", name="weather", arguments={}), ToolCall(id="c2", name="weather", arguments={"city": "x"}))
    thread = (human("one"), Message(role="assistant", parts=made), results(("c1", "a"), ("c2", "b")))
    async with adapter(server) as claude:
        await said(claude, request(*thread))
        await said(claude, request(*thread, Message(role="assistant", parts=made[:1]), results(("c1", "c"))))
    first, second = (seen.body["messages"][2]["content"] for seen in server.seen)
    assert ["cache_control" in block for block in first] == [False, True]
    assert ["cache_control" in block for block in second] == [False, False]


async def test_thinking_is_shown_as_updates_unless_the_server_has_none(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        await said(claude, request(human("one")))
    assert server.seen[0].body["thinking"] == {"type": "adaptive", "display": "updates"}
    assert server.seen[0].headers["anthropic-beta"] == UPDATES
    async with adapter(server, thinking=False) as claude:
        await said(claude, request(human("one"), stale_thinking=True))
    assert "thinking" not in server.seen[1].body
    assert "anthropic-beta" not in server.seen[1].headers


async def test_stale_thinking_is_dropped_by_the_provider(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        await said(claude, request(human("one"), stale_thinking=True))
    body, headers = server.seen[0].body, server.seen[0].headers
    assert body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert set(headers["anthropic-beta"].split(",")) == {UPDATES, BINDING}


async def test_the_provider_takes_our_own_answers_with_their_thinking_back(server: FakeClaude) -> None:
    server.plan("one", calls(("weather", {}), before=(thinking(), thinking("words"))))
    async with adapter(server) as claude:
        answer = await said(claude, request(human("one")))
        await said(claude, request(human("one"), answer.message, results((answer.message.calls[0].id, "sunny"))))
    assert server.problems == []


async def test_frame_of_a_request(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        await said(claude, request(human("one")))
    body = server.seen[0].body
    assert (body["model"], body["max_tokens"], body["stream"]) == (MODEL, 1_000, True)
    assert [block["text"] for block in body["system"]] == ["You are a test."]
    assert [tool["name"] for tool in body["tools"]] == ["weather"]
    assert body["tools"][0]["input_schema"]["additionalProperties"] is False
    assert not {"temperature", "top_p", "top_k", "tool_choice"} & set(body)


async def test_an_error_result_says_so(server: FakeClaude) -> None:
    made = Message(role="assistant", parts=(ToolCall(id="c1", name="weather", arguments={}),))
    failed = Message(role="user", parts=(ToolResult(call_id="c1", text="code: x", is_error=True, line="not sent"),))
    async with adapter(server) as claude:
        await said(claude, request(human("one"), made, failed))
    (block,) = server.seen[0].body["messages"][2]["content"]
    assert block.pop("cache_control")
    assert block == {"type": "tool_result", "tool_use_id": "c1", "content": "code: x", "is_error": True}


# -- what is kept between two requests -------------------------------------------------------------


async def test_the_same_messages_give_the_same_bytes(server: FakeClaude) -> None:
    thread = (
        human("one"),
        Message(role="assistant", parts=(ToolCall(id="c1", name="weather", arguments={"city": "a"}),)),
    )
    ask = request(*thread, results(("c1", "sunny")), anchors=(0,))
    async with adapter(server) as claude:
        for _ in range(3):
            await said(claude, ask)
    async with adapter(server) as claude:
        await said(claude, ask)
    assert len({seen.words for seen in server.seen}) == 1


async def test_an_edited_history_is_not_read_from_what_was_kept(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        await said(claude, request(human("one"), Message(role="assistant", parts=human("yes").parts), human("two")))
        await said(claude, request(human("ONE"), Message(role="assistant", parts=human("no").parts), human("two")))
        await said(claude, request(human("ONE")))
    assert "ONE" in server.seen[1].words
    assert "yes" not in server.seen[1].words
    assert len(server.seen[2].body["messages"]) == 1


async def test_threads_do_not_share_what_was_kept(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        for number in range(80):
            ask = request(human(f"thread {number % 40}"))
            thread = Request(f"T:C:{number % 40}", *_rest(ask))  # pyright: ignore[reportArgumentType] - a new key
            await said(claude, thread)
    for number, seen in enumerate(server.seen):
        assert seen.words.count("thread ") == 1
        assert f"thread {number % 40}" in seen.words


def _rest(ask: Request) -> tuple[Any, ...]:
    return ask.system, ask.tools, ask.context, ask.model, ask.max_output


async def test_other_tools_are_other_bytes(server: FakeClaude) -> None:
    async with adapter(server) as claude:
        await said(claude, request(human("one")))
        await said(claude, request(human("one"), tools=Registry([])))
        await said(claude, request(human("one")))
    assert [len(seen.body["tools"]) for seen in server.seen] == [1, 0, 1]

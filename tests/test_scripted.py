"""The scripted model: its part as examples and laws, and its stream."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from bot.model import CallNamed, Request, TextGrew, ThoughtGrew
from bot.prompts import NOTES
from bot.script import play, read_lines
from bot.script_talk import Play
from bot.scripted import Scripted, pieces
from memory.context import Context
from memory.records import ModelSaid
from memory.types import Message, Text, ThreadKey, ToolCall, ToolResult
from tools.registry import Registry, failure

OPS = (
    "Wei 魏 (U0WEI00001) at 2026-11-30 00:27 UTC, message 1796000820.000100: Deploying 2.4.0 now.\n"
    "Wei 魏 (U0WEI00001) at 2026-11-30 00:41 UTC, message 1796001660.000100: Errors at 4.1 %, 0.2 % | before,\n"
    "says @Ana (U0ANA00001) to @you.\n"
    "Ana (U0ANA00001) at 2026-11-30 01:08 UTC, message 1796003280.000100: Rolled back. 错误率 0.2%。"
)
NOW = "Monday, 2026-11-30 09:30:00+08:00 (Asia/Shanghai)\nUTC: 2026-11-30 01:30:00\nISO week: 2026-W49"


def remark(words: str, who: str = "Ana (U0ANA00001)", zone: str = "Asia/Shanghai") -> Text:
    return Text(text=f"[{who} in #ops (C0OPS00001), Mon 2026-11-30 09:30 {zone}, message 1796002200.000100]\n{words}")


class Conversation:
    """A thread as the model reads it; the model's calls are answered with results by the tool's name."""

    def __init__(self, words: str) -> None:
        self.messages = [Message(role="user", parts=(remark(words),))]

    def step(self, **results: ToolResult | str) -> Play:
        """Let the model play once; its calls get these results."""
        said = play(self.messages)
        if not said.calls:
            self.messages.append(Message(role="assistant", parts=(Text(text=said.text),)))
            return said
        made = len(self.messages)
        calls = [ToolCall(id=f"c{made}{n}", name=name, arguments=given) for n, (name, given) in enumerate(said.calls)]
        answers = [_answer(call, results[call.name]) for call in calls]
        self.messages += [Message(role="assistant", parts=tuple(calls)), Message(role="user", parts=tuple(answers))]
        return said

    def add(self, *parts: Text) -> None:
        """Words that come now: behind the results of a message of ours, or as a new one."""
        last = self.messages[-1]
        if last.role == "user":
            self.messages[-1] = Message(role="user", parts=(*last.parts, *parts))
        else:
            self.messages.append(Message(role="user", parts=parts))


def _answer(call: ToolCall, given: ToolResult | str) -> ToolResult:
    return (
        ToolResult(call_id=call.id, text=given)
        if isinstance(given, str)
        else given.model_copy(update={"call_id": call.id})
    )


def failed(code: str, message: str, hint: str = "") -> ToolResult:
    return failure(ToolCall(id="x", name="x", arguments={}), code, message, hint=hint)


def argument(said: Play, name: str) -> JsonValue:
    (call,) = said.calls
    return call[1][name]


# -- a report ------------------------------------------------------------------------------------


def test_a_usual_question_is_read_calculated_and_told_with_a_table() -> None:
    talk = Conversation("@you what happened in #ops today?")
    first = talk.step(read_channel=OPS, now=NOW)
    assert first.thought
    assert first.calls == (("read_channel", {"channel": "#ops"}), ("now", {}))
    second = talk.step(calculate="4.1 / 0.2 = 20.5")
    assert argument(second, "expression") == "4.1 / 0.2"
    answer = talk.step().text
    assert "#ops holds 3 messages, from 08:27 to 09:08; the last one is by Ana" in answer
    assert "| 08:41 | Wei 魏 | Errors at 4.1 %, 0.2 % \\| before, says @Ana to @Bobbin. |" in answer
    assert "`4.1 / 0.2 = 20.5`" in answer
    assert "Where you are it is now 2026-11-30 09:30." in answer
    assert "Scripted demo model" in answer


def test_a_person_is_answered_in_their_language() -> None:
    talk = Conversation("@you 用中文总结一下 #ops 的讨论")
    assert "读取 #ops" in talk.step(read_channel=OPS, now=NOW).thought
    talk.step(calculate="4.1 / 0.2 = 20.5")
    answer = talk.step().text
    assert "#ops 共有 3 条消息" in answer
    assert "脚本模型" in answer


def test_the_name_of_somebody_does_not_change_the_language() -> None:
    assert "I will read" in play([Message(role="user", parts=(remark("help @Wei 魏 (U0WEI00001) please"),))]).thought


def test_without_shares_the_length_of_the_talk_is_calculated() -> None:
    talk = Conversation("and in #general?")
    plain = (
        OPS.replace("4.1 %", "many")
        .replace("0.2 %", "few")
        .replace("0.2%", "few")
        .replace("2026-11-30 01", "2026-12-01 01")
    )
    assert argument(talk.step(read_channel=plain, now=NOW) and talk.step(calculate="x = 1481"), "expression") == (
        "(1*24*60 + 1*60 + 8) - (0*60 + 27)"
    )


def test_an_empty_channel_is_said_to_be_empty_without_a_calculation() -> None:
    talk = Conversation("what is new in #news?")
    talk.step(read_channel="(no messages)", now=NOW)
    assert "Nothing has been said in #news yet" in talk.step().text


def test_errors_of_tools_are_told_with_their_way_out() -> None:
    talk = Conversation("what is new in #secret?")
    talk.step(read_channel=failed("not_in_channel", "I am not a member of it.", "Invite the bot."), now=NOW)
    assert "**I could not read #secret.** I am not a member of it. Invite the bot." in talk.step().text
    talk = Conversation("what happened?")
    talk.step(read_channel=OPS, now=failed("timeout", "No answer."))
    talk.step(calculate=failed("bad_expression", "It cannot be read."))
    assert "I could not calculate: It cannot be read." in talk.step().text


def test_lines_of_a_channel_keep_what_stands_on_several_lines_together() -> None:
    assert [
        (line.who, line.text) for line in read_lines(f"Eve (U1) at 2026-02-31 00:00 UTC, message 1.2: never\n{OPS}")
    ] == [
        ("Wei 魏", "Deploying 2.4.0 now."),
        ("Wei 魏", "Errors at 4.1 %, 0.2 % | before, says @Ana to @Bobbin."),
        ("Ana", "Rolled back. 错误率 0.2%。"),
    ]


# -- a post --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "channel", "text"),
    [
        ("@you post in #news that release 2.4 is out", "#news", "Release 2.4 is out"),
        ("tell #general lunch is ready", "#general", "Lunch is ready"),
        ("please announce: we are hiring", "#news", "We are hiring"),
        ("post “all green” to #ops.", "#ops", "All green"),
        ("在 #news 发布：2.4 版已上线", "#news", "2.4 版已上线"),
        ("请在 #ops 发一条消息，说 已回滚", "#ops", "已回滚"),
        ("发布 2.4 已上线 到 #general", "#general", "2.4 已上线"),
    ],
)
def test_what_to_post_and_where_is_found_in_the_words(words: str, channel: str, text: str) -> None:
    said = play([Message(role="user", parts=(remark(words),))])
    assert said.calls == (("post_message", {"channel": channel, "text": text}),)
    assert said.thought


@pytest.mark.parametrize(
    "words", ["what happened in #ops?", "#ops 发生了什么", "who posted here?", "read the post-mortem"]
)
def test_other_words_post_nothing(words: str) -> None:
    assert play([Message(role="user", parts=(remark(words),))]).calls[0][0] in {"read_channel", "recall"}


def test_a_post_without_words_is_asked_for() -> None:
    assert "What shall I post in #news?" in Conversation("post in #news").step().text


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (
            "Posted in #news: https://x.slack.com/archives/C1/p1",
            "Posted in [#news](https://x.slack.com/archives/C1/p1).",
        ),
        ("Posted.", "Posted in #news."),
        (failed("refused", f"{NOTES['refused_refused']} too early"), "refused.** Reason: too early"),
        (failed("refused", NOTES["refused_refused"]), "the request was refused.**\n"),
        (failed("expired", NOTES["refused_expired"]), "nobody decided in time"),
        (failed("withdrawn", NOTES["refused_withdrawn"]), "taken back"),
        (failed("unknown_outcome", "The connection broke."), "I do not know whether the post reached #news"),
        (failed("forbidden", "post_message is switched off here.", "Say so."), "switched off here."),
    ],
)
def test_what_became_of_a_post_is_told(result: ToolResult | str, told: str) -> None:
    talk = Conversation("post in #news that it is out")
    talk.step(post_message=result)
    assert told in talk.step().text


def test_new_words_while_a_post_waits_become_the_post_that_is_asked_for_anew() -> None:
    talk = Conversation("post in #news that it is out")
    talk.step(post_message=failed("superseded", NOTES["refused_superseded"]))
    talk.add(remark("better: Version 2.4 is out"))
    again = talk.step(post_message="Posted.")
    assert again.calls == (("post_message", {"channel": "#news", "text": "Version 2.4 is out"}),)
    assert "Posted in #news." in talk.step().text


# -- smaller parts -------------------------------------------------------------------------------


def test_what_was_said_before_is_told_from_the_conversation() -> None:
    talk = Conversation("thanks for being here")
    assert "You are welcome" in talk.step().text
    talk.add(remark("谢谢", "Wei 魏 (U0WEI00001)"))
    assert "不客气" in talk.step().text
    talk.add(remark("what did I say before?"))
    answer = talk.step().text
    assert "**Ana**: thanks for being here" in answer
    assert "**Wei 魏**: 谢谢" in answer
    assert "Nothing was said" in Conversation("what did we say?").step().text


@pytest.mark.parametrize("words", ["@you what is 17 * 23?", "17 * 23", "@you 计算 17 * 23", "17 * 23 等于多少？"])
def test_a_sum_is_calculated(words: str) -> None:
    talk = Conversation(words)
    assert argument(talk.step(calculate="17 * 23 = 391"), "expression") == "17 * 23"
    assert "**17 × 23 = 391**" in talk.step().text


def test_after_a_limit_it_answers_without_calls() -> None:
    talk = Conversation("what happened?")
    talk.step(read_channel=OPS, now=NOW)
    talk.add(Text(text=f"[Bobbin: {NOTES['limit'].format(limit='steps')}]"))
    assert "reached a limit" in talk.step().text
    talk.add(remark("go on"))
    assert talk.step(read_channel=OPS, now=NOW).calls


results = st.one_of(
    st.text(max_size=200), st.just(OPS), st.builds(failed, st.sampled_from(["refused", "x"]), st.text(max_size=50))
)


@given(
    words=st.one_of(
        st.text(max_size=80),
        st.lists(
            st.sampled_from(
                [
                    "post",
                    "tell",
                    "#news",
                    "#ops",
                    "发布",
                    "发",
                    "说",
                    "that",
                    "what",
                    "did",
                    "I",
                    "say",
                    "17",
                    "*",
                    "2",
                    "?",
                    ":",
                    "中",
                    "thanks",
                ]
            ),
            max_size=8,
        ).map(" ".join),
    ),
    given_results=st.fixed_dictionaries(dict.fromkeys(("read_channel", "now", "calculate", "post_message"), results)),
)
def test_whatever_is_said_and_found_there_is_an_answer_after_a_few_calls(
    words: str, given_results: dict[str, ToolResult | str]
) -> None:
    talk = Conversation(words)
    played = [talk.step(**given_results)]
    while played[-1].calls:
        played.append(talk.step(**given_results))
        assert len(played) <= 3
    assert played[-1].text.strip()
    assert not any(said.text for said in played[:-1])


# -- the stream ----------------------------------------------------------------------------------


@given(st.text())
def test_pieces_make_up_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


async def test_the_stream_speaks_in_pieces_and_ends_with_the_whole() -> None:
    messages = [Message(role="user", parts=(remark("what happened in #ops?"),))]
    request = Request(ThreadKey("t"), "", Registry([]), Context(tuple(messages)), "scripted", 1000)
    events = [event async for event in Scripted(pause=0).stream(request)]
    said = cast("ModelSaid", events[-1])
    thoughts = [event.text for event in events if isinstance(event, ThoughtGrew)]
    assert len(thoughts) > 5
    assert "".join(thoughts) == play(messages).thought
    assert [event.name for event in events if isinstance(event, CallNamed)] == ["read_channel", "now"]
    assert [call.name for call in said.message.calls] == ["read_channel", "now"]
    assert said.stop == "calls"
    assert len({call.id for call in said.message.calls}) == 2

    thanked = Context((Message(role="user", parts=(remark("thanks"),)),))
    request = Request(ThreadKey("t"), "", Registry([]), thanked, "scripted", 1000)
    events = [event async for event in Scripted(pause=0).stream(request)]
    last = cast("ModelSaid", events[-1])
    assert "".join(event.text for event in events if isinstance(event, TextGrew)) == last.message.text
    assert last.stop == "end"
    assert last.usage.dollars == 0

"""A provider that fails, a model that never ends, a budget that is used up: one plain end each, said in the thread."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.demo.workspace import ANA, WEI
from tests.e2e.town import Town, seen
from tests.fake_claude import Answer, Fails, Fault, Says, call, text, thinking

pytestmark = pytest.mark.asyncio(loop_scope="module")


def used(dollars: float) -> dict[str, Any]:
    """Usage that costs so much at the price of the default model."""
    return {"input_tokens": 0, "output_tokens": round(dollars * 100_000)}


WHOLE = Says((thinking("Well."), {"type": "text", "text": "a whole answer that comes in several pieces"}))
FAULTS: dict[str, Answer] = {
    "rate-limit": Fails(429, "rate_limit_error", "slow down", retry_after=0.2),
    "overloaded": Fails(529, "overloaded_error", "Overloaded", retry_after=0.2),
    "broken": Fails(500, "api_error", "internal"),
    "error-in-stream": Says(WHOLE.blocks, fault=Fault("error", 5)),
    "cut-in-stream": Says(WHOLE.blocks, fault=Fault("drop", 6)),
    "early-end": Says(WHOLE.blocks, fault=Fault("end", 7)),
    "broken-arguments": Says(
        ({"type": "tool_use", "id": "t1", "name": "now", "input": {"a": 1}, "_raw": '{"a": '},), "tool_use"
    ),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_failure_shows_the_wait_and_ends_in_one_answer(running: Town, name: str) -> None:
    running.claude.plan(name, FAULTS[name], text(f"After {name}."))
    thread = running.begin(f"@Bobbin {name}", WEI)
    await thread.says(f"After {name}.")
    assert len(thread.of("answer")) == 1
    assert not thread.saying("several pieces")
    assert len(running.claude.about(name)) == 2


async def test_the_card_says_for_what_it_waits(running: Town) -> None:
    running.claude.plan("waiting", Fails(529, "overloaded_error", "Overloaded", retry_after=60), text("At last."))
    thread = running.begin("@Bobbin waiting", WEI)
    await thread.shows("card", "秒后重试")
    await thread.says("At last.")


async def test_patience_ends_with_one_notice_and_a_reply_tries_again(running: Town) -> None:
    down = Fails(529, "overloaded_error", "Overloaded", retry_after=0.05)
    running.claude.plan("patience", down, down, down, text("Back again."))
    thread = running.begin("@Bobbin patience")
    notice = await thread.says("overloaded")
    assert "reply here to try again" in seen(notice)
    thread.reply("try again")
    await thread.says("Back again.")
    assert len(thread.of("notice")) == 1


async def test_a_refused_key_is_said_with_who_must_mend_it(running: Town) -> None:
    running.claude.plan("keyless", Fails(401, "authentication_error", "invalid x-api-key"))
    thread = running.begin("@Bobbin keyless")
    notice = await thread.says("administrator")
    assert "invalid x-api-key" in seen(notice)
    assert len(running.claude.about("keyless")) == 1


async def test_a_request_that_is_refused_is_never_sent_again(running: Town) -> None:
    running.claude.plan("refused-body", Fails(400, "invalid_request_error", "messages.0: nobody knows why"), text("?"))
    thread = running.begin("@Bobbin refused-body")
    await thread.says("nobody knows why")
    await thread.rests()
    assert len(running.claude.about("refused-body")) == 1


async def test_steps_end_with_one_closing_answer(running: Town) -> None:
    steps = [call("calculate", {"expression": f"{number} + 1"}) for number in range(6)]
    running.claude.plan("endless", *steps, text("This is what I know."))
    thread = running.begin("@Bobbin endless")
    await thread.says("This is what I know.")
    assert len(running.claude.about("endless")) == 7
    assert "limit of this run is reached" in running.claude.about("endless")[-1].newest


async def test_a_model_that_never_stops_is_stopped(running: Town) -> None:
    def more(body: dict[str, Any]) -> Says:
        return call("calculate", {"expression": f"{len(body['messages'])} + 1"})

    running.claude.plan("stubborn", *([more] * 20))
    thread = running.begin("@Bobbin stubborn")
    await thread.says("I reached a limit")
    await thread.rests()
    assert len(running.claude.about("stubborn")) == 7
    assert running.claude.problems == []


async def test_going_round_in_circles_is_closed(running: Town) -> None:
    running.claude.plan("circles", *(call("calculate", {"expression": "6 * 7"}) for _ in range(5)), text("I give up."))
    thread = running.begin("@Bobbin circles")
    await thread.says("I give up.")
    asked = running.claude.about("circles")
    assert "same call for the 3rd time" in asked[3].newest
    assert "round in circles" in asked[5].newest
    assert len(asked) == 6


async def test_dollars_of_a_run_and_of_a_day(running: Town) -> None:
    spent = call("calculate", {"expression": "1 + 1"}, usage=used(0.6))
    running.claude.plan("costly", spent, text("Dear.", usage=used(0.5)), text("Never!"))
    thread = running.begin("@Bobbin costly", WEI)
    await thread.says("Dear.")
    assert "dollars" in running.claude.about("costly")[1].newest
    thread.reply("more, please", WEI)
    notice = await thread.says("预算已用完")
    assert "00" in seen(notice)
    assert len(running.claude.about("costly")) == 2
    running.claude.plan("another-person", text("Of course."))
    await running.begin("@Bobbin another-person", ANA).says("Of course.")


async def test_a_wrong_tool_and_wrong_arguments_come_back_with_what_is_right(running: Town) -> None:
    running.claude.plan("clumsy", call("calculat"), call("calculate", {"wrong": 1}), text("Recovered."))
    thread = running.begin("@Bobbin clumsy")
    await thread.says("Recovered.")
    first, second = (seen.newest for seen in running.claude.about("clumsy")[1:3])
    assert "calculate" in first
    assert "expression" in second
    assert '"is_error": true' in first


async def test_a_thread_that_hangs_holds_no_other_up(running: Town) -> None:
    hold = asyncio.Event()
    running.claude.plan("hanging", text("Finally.").after(hold))
    slow = running.begin("@Bobbin hanging")
    await running.claude.asked("hanging")
    await running.passes()
    assert slow.of("answer") == []
    hold.set()
    await slow.says("Finally.")


async def test_no_secret_is_in_the_log(running: Town) -> None:
    for secret in (running.workspace.bot_token, running.workspace.app_token, "sk-ant-end-to-end-0123456789"):
        assert secret not in running.log

"""Buttons, the slash command, forms and response_urls with a real Bolt app."""

from __future__ import annotations

from typing import Any

import pytest

from bot.demo.server import Running
from bot.demo.socket import NotAcknowledged
from bot.demo.values import SlackError
from bot.demo.workspace import ANA, WEI
from tests.demo.conftest import GENERAL, Bot, Client, connected

BUTTON = {"type": "button", "action_id": "approve", "value": "42", "text": {"type": "plain_text", "text": "Approve"}}
ASK: list[dict[str, Any]] = [{"type": "actions", "block_id": "verdict", "elements": [BUTTON]}]
FORM = {
    "type": "modal",
    "callback_id": "why",
    "title": {"type": "plain_text", "text": "Why?"},
    "blocks": [{"type": "input", "block_id": "why", "element": {"type": "plain_text_input", "action_id": "text"}}],
}


async def answer_click(ack: Any, body: Any, respond: Any) -> None:
    await ack()
    action = body["actions"][0]
    await respond(text=f"{body['user']['id']} chose {action['value']} of {action['block_id']}", replace_original=True)


async def open_form(ack: Any, body: Any, client: Any) -> None:
    await ack()
    await client.views_open(trigger_id=body["trigger_id"], view=FORM)


async def answer_command(ack: Any, command: Any) -> None:
    await ack(f"{command['command']} {command['text']} by {command['user_name']}")


async def ask(bot: Bot) -> str:
    return str((await bot.client.chat_postMessage(channel=GENERAL, text="Approve?", blocks=ASK))["ts"])


def on_click(listener: Any) -> Any:
    def setup(app: Any) -> None:
        app.action("approve")(listener)

    return setup


async def test_a_click_carries_the_button_and_can_replace_its_message(running: Running) -> None:
    async with connected(running, on_click(answer_click)) as bot:
        ts = await ask(bot)
        await running.interactions.click(WEI, GENERAL, ts, "approve")
        await running.workspace.until(lambda: "chose" in running.workspace.message(GENERAL, ts).text)
    assert running.workspace.message(GENERAL, ts).text == f"{WEI} chose 42 of verdict"
    assert running.workspace.message(GENERAL, ts).blocks == ()


async def test_a_response_url_works_five_times_and_privately(running: Running) -> None:
    statuses: list[int] = []

    async def answer_six_times(ack: Any, respond: Any) -> None:
        await ack()
        for _ in range(6):
            statuses.append((await respond(text="not you")).status_code)
        running.workspace.changed({})

    async with connected(running, on_click(answer_six_times)) as bot:
        await running.interactions.click(WEI, GENERAL, await ask(bot), "approve")
        await running.workspace.until(lambda: len(statuses) == 6)
    assert statuses == [200] * 5 + [404]
    assert [message.seen_by for message in running.workspace.messages(GENERAL)[1:]] == [WEI] * 5


async def test_the_ack_of_a_command_is_shown_to_the_person_alone(running: Running) -> None:
    def setup(app: Any) -> None:
        app.command("/bobbin")(answer_command)

    async with connected(running, setup):
        await running.interactions.command(ANA, GENERAL, "status")
    (shown,) = running.workspace.messages(GENERAL)
    assert (shown.text, shown.seen_by) == ("/bobbin status by Ana", ANA)


async def test_a_form_opens_and_returns_what_was_typed(running: Running) -> None:
    got: list[Any] = []

    async def take(ack: Any, view: Any) -> None:
        got.append(view["state"]["values"]["why"]["text"]["value"])
        await ack()

    def setup(app: Any) -> None:
        app.action("approve")(open_form)
        app.view("why")(take)

    async with connected(running, setup) as bot:
        await running.interactions.click(ANA, GENERAL, await ask(bot), "approve")
        await running.workspace.until(lambda: bool(running.workspace.modals))
        (view,) = running.workspace.modals
        await running.interactions.submit(ANA, view, {"why": {"text": "because"}})
    assert got == ["because"]
    assert running.workspace.modals == {}


async def test_home_is_published_and_its_buttons_work(running: Running) -> None:
    async with connected(running, on_click(open_form)) as bot:
        await bot.client.views_publish(user_id=ANA, view={"type": "home", "blocks": ASK})
        await running.interactions.click_home(ANA, "approve")
        await running.workspace.until(lambda: bool(running.workspace.modals))
        assert bot.bodies[-1]["view"]["type"] == "home"


async def test_clicks_that_cannot_be_delivered_say_so(running: Running, client: Client) -> None:
    ts = str((await client.chat_postMessage(channel=GENERAL, text="Approve?", blocks=ASK))["ts"])
    with pytest.raises(SlackError, match="action_not_found"):
        await running.interactions.click(ANA, GENERAL, ts, "other")
    with pytest.raises(NotAcknowledged):
        await running.interactions.click(ANA, GENERAL, ts, "approve")

"""The page in a real browser, with a small Bolt app behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from bot.demo.server import Running, serve
from bot.demo.workspace import ANA, WEI, Workspace
from tests.demo.conftest import GENERAL, Client, connected

# One browser, and so one event loop, for the whole file.
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EVIL = "<img src=x onerror=document.title='broken'> <script>document.title='broken'</script>"
LINKS = (
    "[a](javascript:document.title='broken') <javascript:alert(1)|b> [c](data:text/html,x) [d](https://d.example/\"x)"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        one = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        yield one
        await one.close()


@pytest_asyncio.fixture(loop_scope="module")
async def running() -> AsyncIterator[Running]:
    served = await serve(Workspace())
    yield served
    await served.close()


@asynccontextmanager
async def opened(browser: Browser, running: Running, *, width: int = 1280, height: int = 800) -> AsyncGenerator[Page]:
    """The page, as a first-time visitor sees it. Fails if the page reports an error."""
    problems: list[str] = []
    page = await browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(5_000)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    await page.goto(running.url)
    await expect(page.locator("#title")).to_have_text("# general")
    yield page
    await page.close()
    assert problems == []


def answering(app: Any) -> None:
    """A bot that posts in the thread and then edits what it posted."""

    async def answer(event: dict[str, Any], client: Client) -> None:
        posted = await client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text="Working")
        await client.chat_update(channel=event["channel"], ts=posted["ts"], text="Done: *42*")

    app.event("app_mention")(answer)


async def test_a_person_mentions_the_bot_and_sees_the_answer_change(browser: Browser, running: Running) -> None:
    async with connected(running, answering), opened(browser, running) as page:
        box = page.get_by_role("combobox", name="Message")
        await box.press_sequentially("hey @bo")
        await expect(page.get_by_role("option")).to_have_count(1)
        await box.press("Enter")
        await expect(box).to_have_value("hey @Bobbin ")
        await box.press_sequentially("what is it?")
        await box.press("Shift+Enter")
        await box.press_sequentially(EVIL)
        await box.press("Enter")
        await expect(box).to_have_value("")
        said = page.locator("#list article").first
        await expect(said).to_contain_text(f"hey @Bobbin what is it?{EVIL}")
        await said.get_by_text("1 reply").click()
        answer = page.locator("#replies article").nth(1)
        await expect(answer).to_contain_text("Done: 42")
        await expect(answer.locator("strong")).to_have_text("42")
        await expect(answer.locator(".edited")).to_be_visible()
        reply = page.get_by_role("combobox", name="Reply in thread")
        await reply.fill("thanks")
        await reply.press("Enter")
        await expect(page.locator("#replies article")).to_have_count(3)
        await expect(said).to_contain_text("2 replies")
        await page.keyboard.press("Escape")
        await expect(page.locator("#thread")).to_be_hidden()
        assert await page.title() == "Bobbin demo"


async def test_reactions_edits_and_deletions_by_two_people(browser: Browser, running: Running) -> None:
    said = running.workspace.say(ANA, GENERAL, "first words")
    async with opened(browser, running) as page:
        message = page.locator("#list article").first
        await message.hover()
        await message.get_by_label("Add reaction").click()
        await page.get_by_role("dialog").get_by_label("octagonal_sign").click()
        await expect(message.locator(".pill")).to_have_text("🛑1")
        await expect(message.locator(".pill")).to_have_attribute("aria-pressed", "true")
        await page.get_by_role("radio", name="Wei 魏").click()
        await expect(message.locator(".pill")).to_have_attribute("aria-pressed", "false")
        await message.locator(".pill").click()
        await expect(message.locator(".pill")).to_have_text("🛑2")
        assert running.workspace.message(GENERAL, said.ts).reactions == (
            ("octagonal_sign", ANA),
            ("octagonal_sign", WEI),
        )
        await expect(message.get_by_label("Edit message")).to_have_count(0)
        await page.get_by_role("radio", name="Ana Ferreira").click()
        await message.hover()
        await message.get_by_label("Edit message").click()
        await page.get_by_role("combobox", name="Message").fill("better words")
        await page.keyboard.press("Enter")
        await expect(message).to_contain_text("better words (edited)")
        await message.hover()
        await message.get_by_label("Delete message").click()
        await message.get_by_label("Really delete?").click()
        await expect(page.locator("#list article")).to_have_count(0)


async def test_an_edit_changes_the_words_and_nothing_else(browser: Browser, running: Running, client: Client) -> None:
    ts = str((await client.chat_postMessage(channel=GENERAL, text="step 1"))["ts"])
    async with opened(browser, running) as page:
        message = page.locator("#list article").first
        await message.evaluate("node => { node.kept = true }")
        await page.get_by_role("combobox", name="Message").press_sequentially("half a thou")
        await client.chat_update(channel=GENERAL, ts=ts, text="step 2")
        await expect(message).to_contain_text("step 2")
        assert await message.evaluate("node => node.kept")
        await page.keyboard.type("ght")
        await expect(page.get_by_role("combobox", name="Message")).to_have_value("half a thought")


async def test_a_form_opens_and_closes_when_it_was_taken(browser: Browser, running: Running) -> None:
    form = {
        "type": "modal",
        "callback_id": "why",
        "title": {"type": "plain_text", "text": "Why not?"},
        "submit": {"type": "plain_text", "text": "Refuse"},
        "blocks": [
            {
                "type": "input",
                "block_id": "why",
                "label": {"type": "plain_text", "text": "Reason"},
                "element": {"type": "plain_text_input", "action_id": "text"},
            }
        ],
    }
    reasons: list[str] = []

    async def ask_why(ack: Any, body: dict[str, Any], client: Client) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=form)

    async def take(ack: Any, view: dict[str, Any]) -> None:
        reasons.append(view["state"]["values"]["why"]["text"]["value"])
        await ack()

    def setup(app: Any) -> None:
        app.command("/bobbin")(ask_why)
        app.view("why")(take)

    async with connected(running, setup), opened(browser, running) as page:
        await page.get_by_role("combobox", name="Message").fill("/bobbin refuse")
        await page.keyboard.press("Enter")
        await page.get_by_label("Reason").fill("too early")
        await page.get_by_role("button", name="Refuse").click()
        await expect(page.locator("dialog")).to_have_count(0)
        assert reasons == ["too early"]


async def test_no_message_brings_markup_of_its_own(browser: Browser, running: Running, client: Client) -> None:
    blocks = [
        {"type": "markdown", "text": f"# {EVIL}\n- {EVIL}\n\n| {EVIL} |\n|---|\n| {LINKS} |\n\n```{EVIL}\n{EVIL}\n```"},
        {"type": "section", "text": {"type": "mrkdwn", "text": EVIL + LINKS}},
        {"type": "header", "text": {"type": "plain_text", "text": EVIL}},
        {"type": "image", "image_url": "https://x.example/x.png", "alt_text": EVIL},
        {"type": "table", "rows": [[{"type": "raw_text", "text": EVIL}]]},
    ]
    await client.chat_postMessage(channel=GENERAL, text=EVIL, blocks=blocks)
    await client.chat_postMessage(channel=GENERAL, text=EVIL + LINKS)
    running.workspace.say(ANA, GENERAL, EVIL + LINKS)
    async with opened(browser, running) as page:
        await expect(page.locator("#list article")).to_have_count(3)
        assert await page.locator("article :is(img, script, iframe)").count() == 0
        links = await page.locator("article .body a").evaluate_all("all => all.map(one => one.protocol)")
        assert set(links) == {"https:"}
        assert await page.title() == "Bobbin demo"


async def test_markdown_is_rendered_as_slack_renders_it(browser: Browser, running: Running, client: Client) -> None:
    text = (
        "**bold** _it_is_ ~~gone~~ `a<b` [link](https://x.example)\n\n1. one\n   - inner\n     - deep\n2. two\n\n"
        "| 名字 | n |\n|:--|--:|\n| 魏 | 1 |\n\n```python\nif a < b:\n    pass\n```\n\n> quote\n\n- [x] done"
    )
    await client.chat_postMessage(channel=GENERAL, text="x", blocks=[{"type": "markdown", "text": text}])
    async with opened(browser, running) as page:
        body = page.locator("article .body")
        for selector, shown in (
            ("strong", "bold"),
            ("em", "it_is"),
            ("s", "gone"),
            ("p code", "a<b"),
            ("p a", "link"),
            ("ol > li > ul > li > ul > li", "deep"),
            ("td.to-right", "1"),
            ("figcaption", "python"),
            ("pre", "if a < b:\n    pass"),
            ("blockquote", "quote"),
        ):
            await expect(body.locator(selector)).to_have_text(shown)
        await expect(body.locator("ol > li")).to_have_count(2)
        await expect(body.locator("li.task")).to_contain_text("done")


async def test_buttons_ephemeral_messages_and_the_home(browser: Browser, running: Running) -> None:
    button = {"type": "button", "action_id": "approve", "text": {"type": "plain_text", "text": "Approve"}}
    ask = [{"type": "actions", "elements": [button]}]

    async def press(ack: Any, body: dict[str, Any], client: Client) -> None:
        await ack()
        await client.chat_postEphemeral(channel=GENERAL, user=body["user"]["id"], text="Only Ana may approve.")

    async def show(event: dict[str, Any], client: Client) -> None:
        view = {"type": "home", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Welcome *home*"}}]}
        await client.views_publish(user_id=event["user"], view=view)

    def setup(app: Any) -> None:
        app.action("approve")(press)
        app.event("app_home_opened")(show)

    async with connected(running, setup) as bot, opened(browser, running) as page:
        await bot.client.chat_postMessage(channel=GENERAL, text="Approve?", blocks=ask)
        await page.get_by_role("radio", name="Wei 魏").click()
        await page.get_by_role("button", name="Approve").click()
        await expect(page.locator(".msg.only")).to_contain_text("Only visible to you")
        await page.get_by_role("radio", name="Ana Ferreira").click()
        await expect(page.locator(".msg.only")).to_have_count(0)
        await page.get_by_role("button", name="App Home").click()
        await expect(page.locator("#list")).to_contain_text("Welcome home")


async def test_a_restart_is_seen_from_offline_to_back(browser: Browser) -> None:
    async def restart() -> None:
        await running.socket.close()

    running = await serve(Workspace(notice="Answers are scripted."), 0, restart)
    async with connected(running), opened(browser, running) as page:
        await expect(page.locator("#notice")).to_have_text("Answers are scripted.")
        await page.get_by_role("button", name="Restart the bot").click()
        await expect(page.locator("#state")).to_contain_text("back online")
        await expect(page.locator("nav .dot")).to_have_attribute("aria-label", "online")
    await running.close()


async def test_the_narrow_page_has_hints_a_menu_and_unread_threads(browser: Browser, running: Running) -> None:
    said = running.workspace.say(ANA, GENERAL, "hello")
    async with opened(browser, running, width=390, height=844) as page:
        await page.get_by_role("button", name="#ops today").click()
        await expect(page.get_by_role("combobox", name="Message")).to_have_value("@Bobbin what happened in #ops today?")
        running.workspace.say(WEI, GENERAL, "a reply", said.ts)
        await expect(page.locator(".fresh")).to_have_text("New")
        await page.get_by_text("1 reply").click()
        await page.get_by_label("Close thread").click()
        await expect(page.locator(".fresh")).to_have_count(0)
        running.workspace.say(WEI, "C0OPS00001", "an incident")
        await page.get_by_label("Show channels").click()
        await expect(page.locator("nav .unread")).to_have_text("#ops")
        await page.locator("nav .unread").click()
        await expect(page.locator("#title")).to_have_text("# ops")
        assert await page.evaluate("document.documentElement.scrollWidth") == 390

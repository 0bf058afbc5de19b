"""Asking for a change on the page: the wrong person, the right one, a restart while it waits, and a no.

The bot is the real process; its model plays a part that this file gives it. With BOBBIN_SCREENSHOTS naming a folder,
what people see is kept there as pictures.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, async_playwright, expect

from bot.demo.server import Running, serve
from bot.demo.workspace import Workspace
from bot.trial import BotProcess
from tests.demo.test_browser import CHROMIUM
from tests.fake_claude import FakeClaude, call, calls, fake_claude, text

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("approval page"),
]

NEWS = "C0NEWS0001"
ROOT = Path(__file__).parents[2]
SLOW = 60_000
RELEASE = "Release **2.4** is out: faster search, dark mode, CSV export. Thanks to all who tested!"


@dataclass(frozen=True, slots=True)
class Stage:
    page: Page
    running: Running
    claude: FakeClaude

    async def ask(self, words: str, as_: str = "Ana Ferreira") -> None:
        """A mention in #general, and its thread opened."""
        page = self.page
        await self.act_as(as_)
        await page.get_by_role("button", name="general").first.click()
        field = page.get_by_role("combobox", name="Message")
        await field.fill(f"@Bobbin {words}")
        await field.press("Enter")
        await expect(field).to_have_value("")
        root = page.locator("#list article").filter(has_text=words).last
        await root.locator("button.replies").click(timeout=SLOW)

    async def act_as(self, name: str) -> None:
        await self.page.get_by_role("radio", name=name).click()

    def request(self, number: int = 0) -> Locator:
        return self.page.locator("#replies article").filter(has_text="bound to exactly").nth(number)

    async def react(self, request: Locator, name: str) -> None:
        """Click the emoji that the bot has put there."""
        await request.get_by_label(re.compile(f"^{name}, ")).click(timeout=SLOW)

    def posted(self) -> list[str]:
        return [str(message.blocks) for message in self.running.workspace.messages(NEWS)]

    async def picture(self, name: str) -> None:
        await self.page.mouse.move(0, 0)
        if folder := os.environ.get("BOBBIN_SCREENSHOTS"):
            await self.page.screenshot(path=Path(folder) / f"approval-{name}.png")


def environment(running: Running, claude: FakeClaude, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(("SLACK_", "BOBBIN_"))}
    return {
        **{name: value for name, value in kept.items() if not name.lower().endswith("_proxy")},
        "PYTHONPATH": str(ROOT),
        "SLACK_API_URL": running.api_url,
        "SLACK_BOT_TOKEN": running.workspace.bot_token,
        "SLACK_APP_TOKEN": running.workspace.app_token,
        "ANTHROPIC_BASE_URL": claude.url,
        "ANTHROPIC_API_KEY": "sk-ant-of-the-page",
        "BOBBIN_DATA_DIR": str(folder),
        "BOBBIN_HTTP_PORT": "0",
        "BOBBIN_LOG_LEVEL": "warning",
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One page for all tests of this file. Fails if it reports an error."""
    problems: list[str] = []
    bot = BotProcess()
    running = await serve(Workspace(), 0, bot.restart)
    folder = tmp_path_factory.mktemp("bot")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(running.close)
        claude = await stack.enter_async_context(fake_claude())
        playwright = await stack.enter_async_context(async_playwright())
        bot.environment, bot.folder = environment(running, claude, folder / "data"), folder
        stack.push_async_callback(bot.stop)
        assert await bot.start() is None
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        stack.push_async_callback(browser.close)
        page = await browser.new_page(viewport={"width": 1280, "height": 860}, device_scale_factor=1.5)
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(running.url)
        await expect(page.locator("#title")).to_have_text("# general")
        yield Stage(page, running, claude)
    assert claude.problems == []
    assert problems == []


async def test_only_the_one_who_asked_decides_and_then_it_happens(stage: Stage) -> None:
    post = call("post_message", {"channel": "#news", "text": RELEASE})
    stage.claude.plan("tell everybody about 2.4", post, text("Done: it is in #news."))
    await stage.ask("tell everybody about 2.4 in #news")
    request = stage.request()
    await expect(request).to_contain_text("Release **2.4** is out", timeout=SLOW)
    await expect(request.get_by_label(re.compile("^repeat, "))).to_be_visible(timeout=SLOW)
    await stage.picture("1-asked")
    await stage.act_as("Wei 魏")
    await stage.react(request, "white_check_mark")
    await expect(stage.page.locator("#replies article.only")).to_contain_text("@Ana", timeout=SLOW)
    await stage.picture("2-wrong-person")
    assert stage.posted() == []
    await stage.act_as("Ana Ferreira")
    await stage.react(request, "white_check_mark")
    await expect(stage.page.locator("#replies article").last).to_contain_text("Done: it is in #news.", timeout=SLOW)
    await expect(request).to_contain_text("Approved by @Ana")
    await expect(request.get_by_role("button", name="Refuse")).to_have_count(0)
    assert sum("faster search" in shown for shown in stage.posted()) == 1
    await stage.picture("3-done")


async def test_a_restart_while_it_waits_changes_nothing(stage: Stage) -> None:
    post = call("post_message", {"channel": "#news", "text": "The office is closed on Friday."})
    stage.claude.plan("office is closed", post, text("It is posted."))
    await stage.ask("tell #news that the office is closed on Friday")
    request = stage.request()
    await expect(request.get_by_label(re.compile("^x, "))).to_be_visible(timeout=SLOW)
    await stage.page.get_by_role("button", name="Restart the bot").click()
    await expect(stage.page.locator("#state")).to_contain_text("back online", timeout=SLOW)
    await stage.picture("4-restarted")
    await stage.react(request, "white_check_mark")
    await expect(stage.page.locator("#replies article").last).to_contain_text("It is posted.", timeout=SLOW)
    assert sum("closed on Friday" in shown for shown in stage.posted()) == 1
    await expect(stage.page.locator("#replies article").nth(1)).to_contain_text("✓ 1 step", timeout=SLOW)
    await stage.picture("5-approved-after-the-restart")


async def test_several_requests_one_of_them_long_are_decided_one_by_one(stage: Stage) -> None:
    long = "\n".join(f"{number}. Step {number} of the plan, with what is needed for it." for number in range(1, 60))
    spoof = {"channel": "#ops", "text": "Lunch?\n```\n✅ *Approved by everyone* <!channel>\n```\u202eevil"}
    both = calls(("upload_file", {"channel": "#news", "name": "plan.md", "content": long}), ("post_message", spoof))
    stage.claude.plan("share the plan", both, text("The plan is shared; the message was refused."))
    await stage.ask("share the plan and ask #ops about lunch")
    file, message = stage.request(0), stage.request(1)
    await expect(message.get_by_label(re.compile("^x, "))).to_be_visible(timeout=SLOW)
    await expect(message).to_contain_text("[U+202E]evil")
    await expect(file).to_contain_text("the whole is in the file")
    await stage.picture("6-two-requests")
    await stage.react(message, "x")
    await expect(message).to_contain_text("Refused by @Ana", timeout=SLOW)
    await stage.react(file, "white_check_mark")
    await expect(stage.page.locator("#replies article").last).to_contain_text("The plan is shared", timeout=SLOW)
    await stage.picture("7-one-yes-one-no")
    assert any("plan.md" in file.name for file in stage.running.workspace.files.values())


async def test_in_chinese_and_stopped(stage: Stage) -> None:
    invite = call("invite_to_channel", {"channel": "#leads", "user": "@Wei 魏"})
    stage.claude.plan("把我加进", invite, text("好。"))
    await stage.ask("把我加进 #leads", as_="Wei 魏")
    request = stage.page.locator("#replies article").filter(has_text="需要批准").last
    await expect(request).to_contain_text("#leads", timeout=SLOW)
    await stage.picture("8-chinese")
    field = stage.page.get_by_role("combobox", name="Reply in thread")
    await field.fill("停")
    await field.press("Enter")
    await expect(stage.page.locator("#replies article").last).to_contain_text("已停止任务", timeout=SLOW)
    await expect(stage.page.locator("#replies")).to_contain_text("已关闭", timeout=SLOW)
    await stage.picture("9-stopped")

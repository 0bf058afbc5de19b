"""A first visit: the real ``bobbin demo`` in a real browser.

With BOBBIN_SCREENSHOTS naming a folder, what the visitor sees is kept there as pictures.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright, expect

from tests.demo.test_browser import CHROMIUM
from tests.e2e.visitor import demo

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("demo page"),
]

SLOW = 60_000
"""Milliseconds for what the bot does; an answer takes it a few seconds."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def visit() -> AsyncIterator[Page]:
    """The page of one demo, for all tests of this file. Fails if it reports an error."""
    problems: list[str] = []
    async with demo() as running, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        page = await browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5)
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(await running.url())
        await expect(page.locator("#title")).to_have_text("# general")
        yield page
        await browser.close()
    assert problems == []


@pytest_asyncio.fixture(loop_scope="module")
async def page(visit: Page) -> Page:
    """The page as Ana finds it when she comes: #general, and no thread open."""
    await visit.goto(visit.url.split("#")[0])
    await visit.get_by_role("radio", name="Ana Ferreira").click()
    await visit.get_by_role("button", name="general").first.click()
    await expect(visit.locator("#title")).to_have_text("# general")
    return visit


async def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("BOBBIN_SCREENSHOTS"):
        await page.screenshot(path=Path(folder) / f"{name}.png")


async def say(page: Page, box: str, words: str) -> None:
    field = page.get_by_role("combobox", name=box)
    await field.fill(words)
    await field.press("Enter")
    await expect(field).to_have_value("")


async def test_a_mention_works_in_plain_sight_folds_is_answered_and_a_reply_goes_on(page: Page) -> None:
    await expect(page.locator("#notice")).to_contain_text("scripted model")
    await picture(page, "1-first-sight")
    await page.get_by_role("button", name="what happened in #ops today?").click()
    await page.keyboard.press("Enter")
    root = page.locator("#list article").filter(has_text="what happened in #ops today?").last
    await root.locator("button.replies").click(timeout=SLOW)
    card = page.locator("#replies article").nth(1)
    await expect(card).to_contain_text("Working", timeout=SLOW)
    await picture(page, "2-working")
    answer = page.locator("#replies article").nth(2)
    await expect(answer.locator("table")).to_be_visible(timeout=SLOW)
    await expect(answer).to_contain_text("#ops holds 6 messages")
    await expect(answer).to_contain_text("4.1 / 0.2 = 20.5")
    await expect(card).to_contain_text("✓ 3 steps", timeout=SLOW)
    await expect(card).not_to_contain_text("Working")
    await page.mouse.move(0, 0)
    await picture(page, "3-answered")
    await say(page, "Reply in thread", "what did I ask before?")
    answer = page.locator("#replies article").last
    await expect(answer).to_contain_text("Ana: what happened in #ops today?", timeout=SLOW)
    await expect(page.locator("#replies article").nth(-2)).to_contain_text(re.compile(r"✓ \d+ s"), timeout=SLOW)
    await picture(page, "4-reply")


async def test_another_person_is_answered_in_their_language(page: Page) -> None:
    await page.get_by_role("radio", name="Wei 魏").click()
    await say(page, "Message", "@Bobbin 用中文总结一下 #ops 的讨论")
    root = page.locator("#list article").filter(has_text="用中文总结一下").last
    await root.locator("button.replies").click(timeout=SLOW)
    card = page.locator("#replies article").nth(1)
    await picture(page, "5-working-in-chinese")
    answer = page.locator("#replies article").nth(2)
    await expect(answer).to_contain_text("#ops 共有 6 条消息", timeout=SLOW)
    await expect(card).to_contain_text("✓ 3 步", timeout=SLOW)
    await page.mouse.move(0, 0)
    await picture(page, "6-answered-in-chinese")


async def test_a_post_waits_for_a_yes_of_the_one_who_asked(page: Page) -> None:
    await page.locator(".try .icon").click()
    await say(page, "Message", "@Bobbin post in #news that release 2.4 is out")
    root = page.locator("#list article").filter(has_text="release 2.4 is out").last
    await root.locator("button.replies").click(timeout=SLOW)
    request = page.locator("#replies article").filter(has_text="Approval needed")
    await expect(request).to_contain_text("Release 2.4 is out", timeout=SLOW)
    await expect(page.locator("#replies article").nth(1)).to_contain_text("Waiting for a decision", timeout=SLOW)
    await page.mouse.move(0, 0)
    await picture(page, "7-approval")
    await page.get_by_role("radio", name="Wei 魏").click()
    await request.get_by_role("button", name="Approve").click()
    await expect(page.locator("#replies article.only")).to_contain_text("可由 @Ana 决定", timeout=SLOW)
    await picture(page, "8-not-yours-to-decide")
    await page.get_by_role("radio", name="Ana Ferreira").click()
    await request.get_by_role("button", name="Approve").click()
    answer = page.locator("#replies article").last
    await expect(answer).to_contain_text("Posted in #news.", timeout=SLOW)
    await expect(page.locator("#replies article").nth(1)).to_contain_text("✓ 1 step", timeout=SLOW)
    await page.mouse.move(0, 0)
    await picture(page, "9-approved")
    await page.get_by_role("button", name="news").first.click()
    await expect(page.locator("#list article").last).to_contain_text("Release 2.4 is out")
    await picture(page, "10-posted")


async def test_a_request_in_chinese_can_be_refused_with_a_reason(page: Page) -> None:
    await page.get_by_role("radio", name="Wei 魏").click()
    await say(page, "Message", "@Bobbin 在 #news 发布：2.4 版已上线")
    root = page.locator("#list article").filter(has_text="2.4 版已上线").last
    await root.locator("button.replies").click(timeout=SLOW)
    await expect(page.locator("#replies article").filter(has_text="仅对以上参数有效")).to_be_visible(timeout=SLOW)
    await picture(page, "11-approval-in-chinese")
    await say(page, "Reply in thread", "不，太早了")
    await expect(page.locator("#replies article").last).to_contain_text("请求被拒绝", timeout=SLOW)
    await expect(page.locator("#replies article").last).to_contain_text("太早了", timeout=SLOW)
    await page.mouse.move(0, 0)
    await picture(page, "12-refused")


async def test_a_restart_in_the_middle_is_seen_and_survived(page: Page) -> None:
    await say(page, "Message", "@Bobbin what is new in #general?")
    root = page.locator("#list article").filter(has_text="what is new in #general?").last
    await root.locator("button.replies").click(timeout=SLOW)
    card = page.locator("#replies article").nth(1)
    await expect(card).to_contain_text("Working", timeout=SLOW)
    await page.get_by_role("button", name="Restart the bot").click()
    await expect(page.locator("#state")).to_be_visible()
    await picture(page, "13-restarting")
    await expect(page.locator("#replies article").nth(2)).to_contain_text("#general holds", timeout=SLOW)
    await expect(card).to_contain_text("✓ 3 steps", timeout=SLOW)
    await expect(page.locator("#replies article")).to_have_count(3)
    await picture(page, "14-survived")

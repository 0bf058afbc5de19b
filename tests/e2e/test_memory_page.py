"""What a team sees of the memory on the page: told here, known there, corrected, forgotten, and private words kept.

The bot is the real process with its scripted model; embedder and index are those of the product. With
BOBBIN_SCREENSHOTS naming a folder, what people see is kept there as pictures.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Dialog, Locator, Page, async_playwright, expect

from tests.demo.test_browser import CHROMIUM
from tests.e2e.visitor import demo

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("memory page"),
]

ANA, WEI = "Ana Ferreira", "Wei 魏"
SLOW = 60_000
"""Milliseconds for what the bot does; its first search waits for the embedder."""


@dataclass(frozen=True, slots=True)
class Team:
    page: Page
    asked: list[str]
    """What the page asked before it did something for good."""

    async def ask(self, person: str, channel: str, words: str) -> Locator:
        """Say something in a channel; the answer in its thread."""
        page = self.page
        await page.get_by_role("radio", name=person).click()
        await page.get_by_role("button", name=re.compile(rf"{channel}$")).first.click()
        field = page.get_by_role("combobox", name="Message")
        await field.fill(words)
        await field.press("Enter")
        await expect(field).to_have_value("")
        root = page.locator("#list article").filter(has_text=words.removeprefix("@Bobbin ")).last
        await root.locator("button.replies").click(timeout=SLOW)
        return await self.answer()

    async def reply(self, words: str) -> Locator:
        field = self.page.get_by_role("combobox", name="Reply in thread")
        answers = await self.signed.count()
        await field.fill(words)
        await field.press("Enter")
        return await self.answer(answers)

    async def answer(self, after: int = 0) -> Locator:
        """The answer after so many others, once the card above it is done."""
        await expect(self.signed).to_have_count(after + 1, timeout=SLOW)
        await expect(self.page.locator("#replies article", has_text=re.compile("^.*✓ "))).to_have_count(
            after + 1, timeout=SLOW
        )
        return self.signed.nth(after)

    @property
    def signed(self) -> Locator:
        """Answers; the scripted model puts its name to each."""
        return self.page.locator("#replies article", has_text=re.compile("Scripted demo model|演示用脚本模型"))

    async def home(self, person: str) -> Locator:
        await self.page.get_by_role("radio", name=person).click()
        await self.page.get_by_role("button", name="App Home").click()
        return self.page.locator("#list .home")

    async def picture(self, name: str) -> None:
        await self.page.mouse.move(0, 0)
        if folder := os.environ.get("BOBBIN_SCREENSHOTS"):
            await self.page.screenshot(path=Path(folder) / f"memory-{name}.png")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team() -> AsyncIterator[Team]:
    """One demo for all tests of this file. Fails if its page reports an error."""
    problems, asked = list[str](), list[str]()

    async def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        await dialog.accept()

    async with demo() as running, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        page = await browser.new_page(viewport={"width": 1280, "height": 860}, device_scale_factor=1.5)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", agree)
        await page.goto(await running.url())
        await page.get_by_role("button", name="Hide these suggestions").click()
        yield Team(page, asked)
        await browser.close()
    assert problems == []


async def test_told_in_one_thread_known_in_another_and_corrected(team: Team) -> None:
    told = await team.ask(ANA, "general", "@Bobbin remember that the staging database is db-stg-2")
    await expect(told).to_contain_text("Remembered.")
    await team.picture("1-told")
    await expect(await team.ask(WEI, "news", "@Bobbin 预发布环境的数据库是哪一台？")).to_contain_text("db-stg-2")
    await team.picture("2-known-in-another-thread-and-language")

    await expect(await team.ask(ANA, "general", "@Bobbin which is the staging database?")).to_contain_text("db-stg-2")
    await expect(await team.reply("that's wrong, it is db-stg-3")).to_contain_text("the staging database is db-stg-3")
    await team.picture("3-corrected")
    new = await team.ask(WEI, "news", "@Bobbin which one is the staging database now?")
    await expect(new).to_contain_text("db-stg-3")
    await expect(new).not_to_contain_text("db-stg-2")


async def test_what_is_said_in_private_is_not_told_in_public(team: Team) -> None:
    await team.ask(ANA, "leads", "@Bobbin remember that the price goes up to 49 euros in March")
    for person, channel in ((WEI, "general"), (ANA, "general")):
        public = await team.ask(person, channel, "@Bobbin when does the price go up?")
        await expect(public).to_contain_text("I know nothing about that")
    await team.picture("4-nothing-in-public")
    await expect(await team.ask(ANA, "leads", "@Bobbin when does the price go up?")).to_contain_text("in March")
    await team.picture("5-known-where-it-was-said")
    await expect(await team.home(WEI)).to_contain_text("我记得的内容", timeout=SLOW)
    await expect(team.page.locator("#list .home")).not_to_contain_text("49 euros")
    await expect(await team.home(ANA)).to_contain_text("49 euros", timeout=SLOW)


async def test_forgotten_by_a_word(team: Team) -> None:
    await team.ask(ANA, "general", "@Bobbin remember that the coffee machine is on floor four")
    gone = await team.ask(ANA, "general", "@Bobbin forget that the coffee machine is on floor four")
    await expect(gone).to_contain_text("Forgotten, for good.")
    await team.picture("6-forgotten")
    asked = await team.ask(WEI, "news", "@Bobbin where is the coffee machine?")
    await expect(asked).not_to_contain_text("floor four")


async def test_the_home_lists_searches_edits_and_forgets(team: Team) -> None:
    await team.ask(ANA, "general", "@Bobbin remember that invoices are paid on the 15th")
    await team.ask(ANA, "general", "@Bobbin remember that Fridays are without meetings")
    await team.ask(WEI, "general", "@Bobbin 记住：年会在杭州西溪举行")
    home, page = await team.home(ANA), team.page
    await expect(home).to_contain_text("invoices are paid on the 15th", timeout=SLOW)
    await expect(home).to_contain_text("年会在杭州西溪举行")
    await team.picture("7-home")

    search = page.get_by_label("Search")
    await search.fill("when are bills settled?")
    await search.press("Enter")
    await expect(home).to_contain_text("Found for “when are bills settled?”", timeout=SLOW)
    await expect(home).to_contain_text("invoices are paid on the 15th")
    await expect(home).not_to_contain_text("年会在杭州西溪举行")
    await team.picture("8-search")

    await home.get_by_role("button", name="Edit").first.click()
    form = page.get_by_role("dialog")
    await form.get_by_role("textbox").fill("my key is sk-ant-abcdefghijklmnopqrstuvwx")
    await team.picture("9-edit")
    await form.get_by_role("button", name="Save").click()
    await expect(page.locator("#toast")).to_contain_text("looks like a secret")
    await form.get_by_role("textbox").fill("invoices are paid on the 20th")
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    await expect(home).to_contain_text("invoices are paid on the 20th", timeout=SLOW)
    await expect(home).not_to_contain_text("the 15th")
    await home.get_by_role("button", name="Show all").click()
    await expect(home).to_contain_text("Fridays are without meetings", timeout=SLOW)

    team.asked.clear()
    fact = home.locator(".block", has_text="Fridays are without meetings").locator("+ .actions")
    await fact.get_by_role("button", name="Forget").click()
    await expect(home).not_to_contain_text("Fridays are without meetings", timeout=SLOW)
    assert [words[:20] for words in team.asked] == ["I forget it for good"]
    await team.picture("10-home-after")


async def test_a_pin_keeps_a_message_of_anybody(team: Team) -> None:
    page = team.page
    await page.get_by_role("radio", name=WEI).click()
    await page.get_by_role("button", name=re.compile("news$")).first.click()
    await page.get_by_role("combobox", name="Message").fill("The on-call phone has the number 4711.")
    await page.keyboard.press("Enter")
    said = page.locator("#list article", has_text="on-call phone").last
    await page.get_by_role("radio", name=ANA).click()
    await said.hover()
    await said.get_by_label("Add reaction").click()
    await page.get_by_role("dialog").get_by_label("pushpin").click()
    await expect(said.get_by_label("pushpin, 2")).to_be_visible(timeout=SLOW)
    await team.picture("11-pinned")
    asked = await team.ask(ANA, "general", "@Bobbin what is the number of the on-call phone?")
    await expect(asked).to_contain_text("4711")
    await expect(asked.get_by_role("link")).to_have_count(1)
    await team.picture("12-with-its-source")

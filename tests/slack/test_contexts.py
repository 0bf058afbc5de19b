"""``/bobbin context`` tells how long the conversations of a channel are, to the one who asks, in their language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.channel import Channel, Channels
from bot.demo.values import TEAM
from bot.demo.workspace import ANA, WEI
from bot.slack.contexts import LISTED, Contexts
from bot.slack.ids import spot
from memory.compaction import Marks
from memory.db import Database
from memory.log import Logs
from memory.types import ThreadKey, Usage
from tests.doubles import says
from tests.memory.samples import compacted, said
from tests.slack.parts import GENERAL, NEWS, Edge

USAGE = Usage(fresh=2_000, cache_read=57_000, output=1_000)


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    database = Database(f"sqlite:///{tmp_path / 'bobbin.db'}")
    yield Logs(database)
    database.close()


@pytest.fixture
def contexts(edge: Edge, logs: Logs) -> Contexts:
    channels = Channels(Channel(Marks(summarize_at=120_000)), {NEWS: Channel(Marks(summarize_at=0))})
    return Contexts(logs, channels, edge.gateway, edge.people)


async def talk(logs: Logs, thread: ThreadKey, usage: Usage = USAGE) -> None:
    log = await logs.open(thread)
    await log.append(said("the secret plan"), says("done", usage=usage))


async def told(contexts: Contexts, channel: str = GENERAL, user: str = ANA) -> str:
    answer = await contexts.command(user, TEAM, channel)
    assert answer["response_type"] == "ephemeral"
    return str(answer["text"])


async def test_sizes_shares_and_links_and_no_words(contexts: Contexts, logs: Logs, edge: Edge) -> None:
    thread = edge.thread()
    await talk(logs, thread)
    text = await told(contexts)
    assert "60k tokens (50 %)" in text
    assert "96 % cached" in text
    assert f"/archives/{GENERAL}/p{spot(thread).ts.replace('.', '')}" in text
    assert "120k tokens a summary" in text
    assert "secret" not in text


async def test_the_newest_first_a_few_of_them_and_only_of_this_channel(
    contexts: Contexts, logs: Logs, edge: Edge
) -> None:
    threads = [edge.thread() for _ in range(LISTED + 2)]
    for number, thread in enumerate(threads):
        await talk(logs, thread, Usage(fresh=(number + 1) * 1_000))
    await talk(logs, edge.thread(NEWS), Usage(fresh=77_000))
    await logs.open(ThreadKey(f"{TEAM}:{GENERAL}:1.5"))
    text = await told(contexts)
    sizes = [line.split(" · ")[1].split(" ")[0] for line in text.splitlines() if line.startswith("•")]
    assert len(sizes) == LISTED - 1  # the newest of them has said nothing yet
    assert sizes == sorted(sizes, key=lambda one: float(one.rstrip("k")), reverse=True)
    assert "77" not in text


async def test_a_compaction_is_told_with_what_it_won(contexts: Contexts, logs: Logs, edge: Edge) -> None:
    thread = edge.thread()
    await talk(logs, thread)
    log = await logs.open(thread)
    await log.append(compacted(log.state.last_seq + 1).model_copy(update={"before": 118_000, "after": 9_000}))
    text = await told(contexts)
    assert "compacted 118k → 9k at 20" in text
    assert text.split(" · ")[1] == "9k tokens (7 %)"


async def test_in_chinese_where_nothing_is_summarized_and_where_nothing_was_said(
    contexts: Contexts, logs: Logs, edge: Edge
) -> None:
    assert await told(contexts, GENERAL, WEI) == "此频道中还没有对话。"
    await talk(logs, edge.thread(NEWS))
    text = await told(contexts, NEWS, WEI)
    assert "此处不会自动生成摘要" in text
    assert "%)" not in text


async def test_without_a_link_the_time_has_to_do(contexts: Contexts, logs: Logs, edge: Edge) -> None:
    await talk(logs, ThreadKey(f"{TEAM}:{GENERAL}:1700000000.000100"))
    text = await told(contexts)
    assert "• 2023-11-14 22:13 · " in text

"""The tools that read Slack: by name, id or mention, and nothing private where it does not belong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.demo.values import Channel, Message
from bot.demo.workspace import ANA, WEI
from memory.types import Person, ThreadKey
from tests.slack.parts import DM, GENERAL, LEADS, NEWS, Always, Edge
from tools.base import Output, ToolContext, ToolError
from tools.slack_read import read_channel, read_thread

WEIS_DM = "D0WEI00001"


def context(edge: Edge, thread: ThreadKey, who: str) -> ToolContext:
    return ToolContext(thread, "c1", Person(id=who, name=who), datetime.now(UTC), edge.chat)


async def channel(edge: Edge, named: str, *, here: str = GENERAL, who: str = ANA, limit: int = 40) -> Output:
    thread = ThreadKey(f"T0BOBBIN01:{here}:1.000000")
    return await read_channel.run(read_channel.input(channel=named, limit=limit), context(edge, thread, who))


def fill(edge: Edge, where: str, count: int = 3) -> None:
    for number in range(1, count + 1):
        edge.workspace.put(Message(where, f"17000{number:05d}.000000", ANA, f"said {number}"))


@pytest.mark.parametrize("named", ["#news", "news", "NEWS", " #news ", NEWS, f"<#{NEWS}>", f"<#{NEWS}|news>"])
async def test_a_channel_by_name_id_or_mention(edge: Edge, named: str) -> None:
    fill(edge, NEWS)
    output = await channel(edge, named)
    assert [line.rpartition(": ")[2] for line in output.text.split("\n")] == ["said 1", "said 2", "said 3"]
    assert output.line == "#news · 3 messages"


async def test_a_name_beyond_the_first_page(edge: Edge) -> None:
    for number in range(450):
        edge.workspace.put_channel(Channel(f"C0MANY{number:04d}", f"many-{number}", members=(ANA, "U0BOBBIN01")))
    fill(edge, "C0MANY0449", 1)
    assert (await channel(edge, "#many-449")).line == "#many-449 · 1 messages"


async def test_the_newest_of_a_channel(edge: Edge) -> None:
    fill(edge, NEWS, 300)
    output = await channel(edge, "#news", limit=5)
    assert [line.rpartition(" ")[2] for line in output.text.split("\n")] == ["296", "297", "298", "299", "300"]


async def test_a_thread_with_everybody_in_it(edge: Edge) -> None:
    root = edge.workspace.say(ANA, GENERAL, "root")
    for number in range(250):
        edge.workspace.say(WEI, GENERAL, f"reply {number}", root.ts)
    thread = ThreadKey(f"T0BOBBIN01:{GENERAL}:{root.ts}")
    output = await read_thread.run(read_thread.input(limit=10), context(edge, thread, ANA))
    lines = output.text.split("\n")
    assert lines[0] == "[241 earlier messages are left out; these are the newest 10]"
    assert lines[-1].endswith("reply 249")
    assert (len(lines), output.line) == (11, "10 of 251 messages")


# -- private channels ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "who", "allowed"),
    [
        (LEADS, ANA, True),
        (GENERAL, ANA, False),
        (NEWS, ANA, False),
        (DM, ANA, True),
        (WEIS_DM, WEI, False),
        (GENERAL, WEI, False),
    ],
)
@pytest.mark.parametrize("named", ["#leads", LEADS])
async def test_what_is_private_stays_where_it_was_said(
    edge: Edge, here: str, who: str, allowed: bool, named: str
) -> None:
    fill(edge, LEADS)
    if allowed:
        assert "said 3" in (await channel(edge, named, here=here, who=who)).text
        return
    with pytest.raises(ToolError) as refused:
        await channel(edge, named, here=here, who=who)
    assert (refused.value.code, refused.value.retryable) == ("private", False)
    assert "said" not in refused.value.message.replace("what is said there", "")
    assert edge.calls("conversations.history") == []


async def test_other_peoples_direct_messages_are_private(edge: Edge) -> None:
    fill(edge, DM)
    for here, who in ((GENERAL, ANA), (WEIS_DM, WEI)):
        with pytest.raises(ToolError, match="private"):
            await channel(edge, DM, here=here, who=who)
    assert "said 1" in (await channel(edge, DM, here=DM)).text


async def test_a_place_that_cannot_be_looked_up_is_not_a_direct_message(edge: Edge) -> None:
    fill(edge, LEADS)
    with pytest.raises(ToolError, match="private"):
        await channel(edge, LEADS, here="D0NOWHERE1")


async def test_a_former_member_reads_no_more(edge: Edge) -> None:
    fill(edge, LEADS)
    assert "said 1" in (await channel(edge, LEADS, here=DM)).text
    leads = edge.workspace.channels[LEADS]
    edge.workspace.put_channel(replace(leads, members=("U0BOBBIN01",)))
    with pytest.raises(ToolError, match="private"):
        await channel(edge, LEADS, here=DM)


# -- what goes wrong -----------------------------------------------------------------------------


async def problem(edge: Edge, named: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await channel(edge, named)
    assert caught.value.message.endswith((".", ")"))
    assert caught.value.hint.endswith(".")
    return caught.value


async def test_each_refusal_says_what_to_do(edge: Edge) -> None:
    edge.workspace.put_channel(Channel("C0FOREIGN1", "foreign", members=(ANA,)))
    assert (await problem(edge, "#nowhere")).code == "channel_not_found"
    assert (await problem(edge, "C0NOWHERE1")).code == "channel_not_found"
    assert "/invite" in (await problem(edge, "#foreign")).hint


async def test_words_of_slack_for_what_we_do_not_know(edge: Edge) -> None:
    edge.workspace.refuse("conversations.history", "channel", "something_new")
    assert "something_new" in (await problem(edge, "#news")).message


@pytest.mark.parametrize(("error", "code"), [("ratelimited", "ratelimited"), ("internal_error", "slack_failed")])
async def test_what_passes_may_be_tried_again(edge: Edge, error: str, code: str) -> None:
    if error == "ratelimited":
        edge.workspace.rate_limits = Always({"conversations.history": 0})
    else:
        edge.workspace.refuse("conversations.history", "channel", error)
    found = await problem(edge, "#news")
    assert (found.code, found.retryable) == (code, True)


async def test_a_thread_that_is_gone(edge: Edge) -> None:
    thread = ThreadKey("T0BOBBIN01:C0NOWHERE1:1.000000")
    arguments: Any = read_thread.input(limit=10)
    with pytest.raises(ToolError, match="no such channel"):
        await read_thread.run(arguments, context(edge, thread, ANA))

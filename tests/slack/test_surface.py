"""Posting exactly once, in the best form that Slack takes, where it belongs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from bot.demo.values import BOT_USER, Json, Message
from bot.demo.workspace import ANA, WEI
from bot.progress import Card
from bot.slack.gateway import Lost
from bot.slack.ids import spot
from bot.slack.surface import METADATA, settled
from bot.surface import Answer, Body, Notice, PostKey, Request, SurfaceError
from memory.inbox import Edited, Said
from memory.records import ApprovalAsked, ApprovalGiven, PostKind, digest
from memory.types import MessageId, Person, ThreadKey, ToolCall
from tests.slack.parts import GENERAL, LEADS, SECRET, Always, Edge

PERSON = Person(id=ANA, name="Ana")
CALL = ToolCall(id="c1", name="post_message", arguments={"channel": "#news", "text": "2.4 is out"})
WORD = "word " * 200


def request(call: ToolCall = CALL, **more: Any) -> Request:
    asked = ApprovalAsked(call_id="c1", digest=digest(call), requester=PERSON, approvers=(ANA,), expires_at=2e9)
    return Request(call, asked, "en-US", **more)


def key(kind: PostKind = "answer", of: int = 7) -> PostKey:
    return PostKey(3, of, kind)


BODIES: dict[PostKind, Body] = {
    "answer": Answer("**391**"),
    "notice": Notice("Stopped."),
    "card": Card(began=0.0),
    "approval": request(),
}


def ours(edge: Edge, thread: ThreadKey) -> list[Message]:
    """Our messages in a thread, oldest first."""
    place = spot(thread)
    return [one for one in edge.workspace.messages(place.channel) if one.by_app and one.thread_ts == place.ts]


def markdown(message: Message) -> str:
    return "".join(str(block["text"]) for block in message.blocks if block["type"] == "markdown")


# -- once, and in its place ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", BODIES)
async def test_posts_stand_in_the_thread_and_say_what_they_are(edge: Edge, kind: PostKind) -> None:
    thread = edge.thread()
    (message,) = await edge.surface.post(thread, key(kind), BODIES[kind], check=False)
    (posted,) = ours(edge, thread)
    assert spot(message).ts == posted.ts
    metadata: Json = posted.metadata or {}
    assert metadata["event_type"] == METADATA == "bobbin_post"
    assert metadata["event_payload"] == {"turn": 3, "of": 7, "part": 0, "piece": 0, "pieces": 1, "kind": kind}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("times", [1, 3])
async def test_a_lost_answer_is_looked_for_before_posting_again(edge: Edge, kind: PostKind, times: int) -> None:
    thread = edge.thread()
    for _ in range(times):
        edge.workspace.lose_answer_once("chat.postMessage")
    messages = await edge.surface.post(thread, key(kind), BODIES[kind], check=False)
    assert [spot(one).ts for one in messages] == [one.ts for one in ours(edge, thread)]
    assert len(messages) == 1


async def test_what_was_posted_before_a_crash_is_found(edge: Edge) -> None:
    thread, answer = edge.thread(), Answer((WORD + "\n\n") * 40)
    before = await edge.surface.post(thread, key(), answer, check=False)
    assert len(before) > 2
    edge.workspace.remove(edge.workspace.message(GENERAL, spot(before[1]).ts))
    after = await edge.surface.post(thread, key(), answer, check=True)
    assert [after[0], *after[2:]] == [before[0], *before[2:]]
    assert len(ours(edge, thread)) == len(before)


async def test_other_posts_of_ours_are_not_taken_for_it(edge: Edge) -> None:
    thread = edge.thread()
    await edge.surface.post(thread, key("answer", of=6), Answer("earlier"), check=False)
    await edge.surface.post(thread, key("notice", of=7), Notice("other kind"), check=False)
    edge.workspace.say(WEI, GENERAL, "a reply", spot(thread).ts)
    await edge.surface.post(thread, key("answer", of=7), Answer("now"), check=True)
    assert [markdown(one) for one in ours(edge, thread)] == ["earlier", "other kind", "now"]


async def test_a_long_answer_comes_whole_and_in_order(edge: Edge) -> None:
    thread, lines = edge.thread(), [f"line {number} of the answer" for number in range(1_500)]
    await edge.surface.post(thread, key(), Answer("\n\n".join(lines)), check=False)
    told = "\n".join(markdown(one) for one in ours(edge, thread))
    assert [line for line in told.split("\n") if line] == lines


@pytest.mark.parametrize("blank", ["", " \n\t ", "\u200b\u2060"])
async def test_nothing_is_not_posted(edge: Edge, blank: str) -> None:
    thread = edge.thread()
    assert await edge.surface.post(thread, key(), Answer(blank), check=False) == ()
    assert ours(edge, thread) == []


# -- the ladder ----------------------------------------------------------------------------------

POST = "chat.postMessage"
LONG = "\n\n".join(f"{number}. {'word ' * 100}" for number in range(20))


def forms(edge: Edge) -> list[str]:
    """In which form each post was tried."""
    names = ("blocks", "markdown_text", "text")
    return [next(name for name in names if name in call.arguments) for call in edge.calls(POST)]


async def test_blocks_that_are_refused_become_markdown_text(edge: Edge) -> None:
    thread = edge.thread()
    edge.workspace.refuse(POST, "blocks", "invalid_blocks")
    assert len(await edge.surface.post(thread, key(), Answer("**bold** & more"), check=False)) == 1
    assert forms(edge) == ["blocks", "markdown_text"]
    assert markdown(ours(edge, thread)[0]) == "**bold** & more"


async def test_and_then_text_in_pieces_that_stay_in_order(edge: Edge) -> None:
    thread = edge.thread()
    edge.workspace.refuse(POST, "blocks", "msg_blocks_too_long")
    edge.workspace.refuse(POST, "markdown_text", "msg_too_long")
    messages = await edge.surface.post(thread, key(), Answer(LONG), check=False)
    posted = ours(edge, thread)
    assert [spot(one).ts for one in messages] == [one.ts for one in posted]
    assert len(posted) > 2
    assert all(len(one.text.encode()) <= 4_000 for one in posted)
    numbers = [line.split(".")[0] for one in posted for line in one.text.split("\n") if "word" in line]
    assert numbers == [str(number) for number in range(20)]
    assert await edge.surface.post(thread, key(), Answer(LONG), check=True) == messages
    assert len(ours(edge, thread)) == len(posted)


@pytest.mark.parametrize("after", [1, 2])
async def test_pieces_that_a_crash_left_out_are_posted(edge: Edge, after: int) -> None:
    thread = edge.thread()
    edge.workspace.refuse(POST, "blocks", "invalid_blocks")
    edge.workspace.refuse(POST, "markdown_text", "msg_too_long")
    posting = asyncio.create_task(edge.surface.post(thread, key(), Answer(LONG), check=False))
    await edge.workspace.until(lambda: len(ours(edge, thread)) == after)
    posting.cancel()
    await asyncio.wait({posting})
    begun = [one.ts for one in ours(edge, thread)]
    messages = await edge.surface.post(thread, key(), Answer(LONG), check=True)
    posted = [one.ts for one in ours(edge, thread)]
    assert posted[: len(begun)] == begun
    assert [spot(one).ts for one in messages] == posted
    assert sum(one.text.count("word") for one in ours(edge, thread)) == LONG.count("word")


async def test_and_then_a_file_once(edge: Edge) -> None:
    thread = edge.thread()
    for form in ("blocks", "markdown_text", "text"):
        edge.workspace.refuse(POST, form, "msg_too_long")
    for check in (False, True):
        assert await edge.surface.post(thread, key(), Answer("**whole** & true"), check=check) == ()
    (shared,) = ours(edge, thread)
    (file,) = [edge.workspace.files[one] for one in shared.files]
    assert (file.name, file.content) == ("answer-7-1.md", b"**whole** & true")


@pytest.mark.parametrize("error", ["channel_not_found", "is_archived", "not_in_channel", "restricted_action"])
async def test_a_place_that_is_closed_is_closed_in_every_form(edge: Edge, error: str) -> None:
    thread = edge.thread()
    edge.workspace.refuse(POST, "channel", error)
    with pytest.raises(SurfaceError, match=error):
        await edge.surface.post(thread, key(), Answer("x"), check=False)
    assert len(edge.calls(POST)) == 1


async def test_a_thread_that_is_gone(edge: Edge) -> None:
    gone = ThreadKey(edge.thread().replace("T0BOBBIN01:C0GENERAL1", "T0BOBBIN01:C0NOWHERE1"))
    for check in (True, False):
        with pytest.raises(SurfaceError, match="channel_not_found"):
            await edge.surface.post(gone, key(), Answer("x"), check=check)


@pytest.mark.parametrize("fault", ["limits", "losses"])
async def test_what_passes_never_ends_a_post_for_good(edge: Edge, fault: str) -> None:
    """The caller tries again later; only ``SurfaceError`` would let the answer go."""
    thread = edge.thread()
    if fault == "limits":
        edge.workspace.rate_limits = Always({POST: 0})
    else:
        edge.workspace.refuse(POST, "channel", "internal_error")
    with pytest.raises(Lost):
        await edge.surface.post(thread, key(), Answer("x"), check=False)
    edge.workspace.rate_limits, edge.workspace.refusals = {}, {}
    await edge.surface.post(thread, key(), Answer("x"), check=True)
    assert len(ours(edge, thread)) == 1


# -- requests and cards --------------------------------------------------------------------------


async def test_a_request_is_seeded_with_the_emoji_that_decide(edge: Edge) -> None:
    thread = edge.thread()
    (message,) = await edge.surface.post(thread, key("approval"), request(), check=False)
    for _ in range(2):
        await edge.surface.offer(message, ("approve", "refuse"))
    (posted,) = ours(edge, thread)
    assert posted.reactions == (("white_check_mark", BOT_USER), ("x", BOT_USER))


async def test_the_people_who_may_decide_are_called_by_name(edge: Edge) -> None:
    thread = edge.thread()
    await edge.surface.post(thread, key("approval"), request(), check=False)
    assert f"<@{ANA}> may approve" in str(ours(edge, thread)[0].blocks)


async def test_long_arguments_come_as_a_file_once(edge: Edge) -> None:
    thread = edge.thread()
    asked = request(ToolCall(id="c1", name="post_message", arguments={"channel": "#news", "text": WORD * 3}))
    for check in (False, True):
        assert len(await edge.surface.post(thread, key("approval"), asked, check=check)) == 1
    post, file = ours(edge, thread)
    assert "sha256" in str(post.blocks)
    assert WORD * 3 in str(edge.workspace.files[file.files[0]].content)


async def test_a_request_stands_also_when_its_file_is_refused(edge: Edge) -> None:
    thread = edge.thread()
    edge.workspace.refuse("files.getUploadURLExternal", "filename", "missing_scope")
    asked = request(ToolCall(id="c1", name="post_message", arguments={"channel": "#news", "text": WORD * 3}))
    assert len(await edge.surface.post(thread, key("approval"), asked, check=False)) == 1


async def test_edits_keep_what_the_message_is(edge: Edge) -> None:
    thread = edge.thread()
    (message,) = await edge.surface.post(thread, key("approval"), request(), check=False)
    given = ApprovalGiven(call_id="c1", digest=digest(CALL), verdict="approved", by=PERSON)
    await edge.surface.edit(message, key("approval"), request(given=given))
    (posted,) = ours(edge, thread)
    assert "Approved by" in posted.text
    assert "actions" not in {block["type"] for block in posted.blocks}
    assert (posted.metadata or {})["event_type"] == METADATA


async def test_the_card_is_edited_when_there_is_time(edge: Edge) -> None:
    thread = edge.thread()
    (message,) = await edge.surface.post(thread, key("card"), Card(began=0.0), check=False)
    for asks in range(9):
        edge.surface.edit_soon(message, key("card"), Card(began=time.time(), asks=asks + 1))
    await settled(edge.surface)
    assert "step 10" in ours(edge, thread)[0].text
    assert len(edge.calls("chat.update")) < 4


# -- whom it reaches -----------------------------------------------------------------------------


async def test_only_people_of_the_conversation_are_notified(edge: Edge) -> None:
    thread, text = edge.thread(), f"<@{ANA}> and <@{WEI}>, <!channel> @here"
    for body in (Answer(text, frozenset({ANA})), Notice(text, frozenset({ANA}))):
        await edge.surface.post(thread, key(body.__class__.__name__.lower(), 1), body, check=False)  # pyright: ignore[reportArgumentType] - the two kinds
    for one in ours(edge, thread):
        for told in (one.text, markdown(one)):
            assert f"<@{ANA}>" in told
            assert not any(ping in told for ping in (f"<@{WEI}>", "<!channel>", "@here"))


async def test_after_strangers_words_only_named_hosts_are_linked(edge: Edge) -> None:
    thread = edge.thread()
    answer = Answer(
        "[a](https://status.example.org/x) [b](https://evil.example/?q=1)", trusted_words="status.example.org"
    )
    await edge.surface.post(thread, key(), answer, check=False)
    told = markdown(ours(edge, thread)[0])
    assert "https://status.example.org/x" in told
    assert "https://evil.example" not in told


async def test_configured_secrets_are_masked_everywhere(edge: Edge) -> None:
    thread = edge.thread()
    call = ToolCall(id="c1", name="post_message", arguments={"channel": "#news", "text": f"{SECRET} {WORD * 3}"})
    await edge.surface.post(thread, key(), Answer(f"it is {SECRET}"), check=False)
    (message,) = await edge.surface.post(thread, key("approval"), request(call), check=False)
    await edge.surface.edit(message, key("approval"), request(call, ended=True))
    assert SECRET not in str([call.arguments for call in edge.workspace.calls])
    assert not any(SECRET.encode() in (file.content or b"") for file in edge.workspace.files.values())


async def test_a_whisper_is_seen_by_one_person_and_names_who_is_meant(edge: Edge) -> None:
    thread = edge.thread()
    await edge.surface.whisper(thread, WEI, f"You can't decide this one: <@{ANA}> may.")
    (whispered,) = [one for one in edge.workspace.messages(GENERAL) if one.seen_by]
    assert (whispered.seen_by, whispered.thread_ts) == (WEI, spot(thread).ts)
    assert f"<@{ANA}> may" in whispered.text


async def test_a_whisper_that_slack_refuses_is_only_logged(edge: Edge) -> None:
    await edge.surface.whisper(edge.thread(LEADS), WEI, "you are not a member here")


async def test_a_message_is_marked_as_seen_once(edge: Edge) -> None:
    message = MessageId(edge.thread())
    for _ in range(2):
        await edge.surface.mark_seen(message)
    assert edge.workspace.message(GENERAL, spot(message).ts).reactions == (("eyes", BOT_USER),)


async def test_marks_do_not_hold_up_the_work(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack.surface.PATIENCE", 0.2)
    edge.workspace.rate_limits = Always({"reactions.add": 60})
    began = time.monotonic()
    await edge.surface.mark_seen(MessageId(edge.thread()))
    assert time.monotonic() - began < 3


# -- hearing -------------------------------------------------------------------------------------


async def test_words_become_records(edge: Edge) -> None:
    message = MessageId(edge.thread())
    content: Any = {"text": f"<@{BOT_USER}> 1 &lt; 2"}
    said = Said(thread=ThreadKey(message), message=message, author=ANA, words="", at=1.0, follow=True, opaque=content)
    heard = await edge.surface.hear(said.model_copy(update={"catch_up": True}))
    assert (heard.author.name, heard.text, heard.source, heard.catch_up) == (
        "Ana",
        "@you 1 < 2",
        message,
        True,
    )
    edited = Edited(thread=ThreadKey(message), message=message, author=WEI, words="", opaque={"text": "new"})
    person, text = await edge.surface.reread(edited)
    assert (person.name, person.locale, text) == ("Wei 魏", "zh-CN", "new")


async def test_who_somebody_is(edge: Edge) -> None:
    person, standing = await edge.surface.person(WEI)
    assert (person.name, standing) == ("Wei 魏", "member")
    edge.workspace.people[WEI] = replace(edge.workspace.people[WEI], is_guest=True)
    edge.now[0] += 31
    assert (await edge.surface.person(WEI))[1] == "guest"

"""The chat as a turn sees it, on Slack: posting exactly once, editing, and reading what people wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.progress import Card
from bot.secrets import Mask
from bot.slack.answer import Body as Rungs
from bot.slack.answer import answer_messages
from bot.slack.directory import Directory
from bot.slack.editor import Editor
from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.hosts import named_hosts
from bot.slack.ids import Spot, spot
from bot.slack.inbound import gesture_of
from bot.slack.mentions import mentioned_users
from bot.slack.pacer import Priority
from bot.slack.reader import Reader
from bot.slack.render import arguments_file, card_blocks, long_arguments, request_blocks
from bot.surface import Answer, Body, Notice, PostKey, Request, Standing, SurfaceError
from memory.inbox import Edited, Gesture, Said
from memory.records import UserSaid
from memory.types import MessageId, Person, ThreadKey
from tools.base import Output

Content = dict[str, Any]

METADATA = "bobbin_post"
SEEDS: dict[Gesture, str] = {"approve": "white_check_mark", "refuse": "x", "grant": "repeat"}
POST_TRIES = 5
PATIENCE = 3.0
"""Seconds that a mark on a message may hold up the work on its thread."""

_TOO_MUCH = {
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_too_long",
    "markdown_text_conflict",
    "no_text",
    "invalid_arguments",
}
"""Refusals that another form of the same message may get around."""


@dataclass(frozen=True, slots=True)
class _Posting:
    place: Spot
    key: PostKey
    priority: Priority


@dataclass(frozen=True, slots=True)
class Stands:
    """What an earlier try has left in the thread."""

    posts: Mapping[tuple[int, int], tuple[str, int]] = field(default_factory=dict[tuple[int, int], tuple[str, int]])
    """(part, piece of the part) -> timestamp, and of how many pieces the part was to be."""
    files: frozenset[str] = frozenset()


@dataclass(slots=True)
class SlackSurface:
    """``clock`` in seconds since 1970."""

    gateway: Gateway
    directory: Directory
    reader: Reader
    editor: Editor
    clock: Callable[[], float]
    mask: Mask

    # -- reading ---------------------------------------------------------------------------------

    async def hear(self, said: Said) -> UserSaid:
        author, header, text = await self.reader.hear(said.author, said.message, said.opaque)
        return UserSaid(author=author, source=said.message, header=header, text=text, catch_up=said.catch_up)

    async def reread(self, edited: Edited) -> tuple[Person, str]:
        author, _, text = await self.reader.hear(edited.author, edited.message, edited.opaque)
        return author, text

    async def person(self, person: str) -> tuple[Person, Standing]:
        people = self.directory.people
        return await people.person(person), await people.standing(person)

    async def reactions(self, message: MessageId) -> list[tuple[Gesture, str]]:
        place = spot(message)
        try:
            found = await self.gateway.read("reactions.get", channel=place.channel, timestamp=place.ts, full=True)
        except (Refused, Lost) as error:
            structlog.get_logger().warning("no reactions", action="reactions_unknown", why=str(error))
            return []
        own = self.directory.people.own.user
        message_now: dict[str, Any] = found.get("message") or {}
        reactions: list[dict[str, Any]] = message_now.get("reactions") or []
        standing = list[tuple[Gesture, str]]()
        for reaction in reactions:
            users: list[str] = reaction.get("users") or []
            gesture = gesture_of(str(reaction["name"]))
            if gesture is not None:
                standing.extend((gesture, user) for user in users if user != own)
        return standing

    async def group(self, group: str) -> frozenset[str]:
        try:
            return frozenset(await self.directory.group(group))
        except (Refused, Lost) as error:
            structlog.get_logger().warning("no group", action="group_unknown", group=group, why=str(error))
            return frozenset()

    def place(self, thread: ThreadKey) -> str:
        return spot(thread).channel

    async def earlier(self, thread: ThreadKey, before: MessageId, since: MessageId | None) -> Output:
        return await self.reader.earlier(thread, before, since)

    # -- posting ---------------------------------------------------------------------------------

    async def post(self, thread: ThreadKey, key: PostKey, body: Body, *, check: bool) -> tuple[MessageId, ...]:
        posting = _Posting(spot(thread), key, _priority(body))
        stands = await self._stands(posting) if check else Stands()
        posted = list[MessageId]()
        # A long answer takes tenths of a second to lay out: events are acknowledged meanwhile.
        for part, ladder in enumerate(await asyncio.to_thread(self._ladders, body)):
            sent = await self._climb(posting, part, ladder, stands)
            posted += [Spot(posting.place.team, posting.place.channel, ts).message for ts in sent]
        if isinstance(body, Request) and long_arguments(body.call) and posted:
            await self._upload_arguments(posting, body, stands)
        return tuple(posted)

    def _ladders(self, body: Body) -> list[list[list[Content]]]:
        """For each message: its forms, best first; each form is one or more posts."""
        match body:
            case Answer(markdown=markdown, notify=notify, trusted_words=words):
                hosts = None if words is None else named_hosts(words) | {self.reader.own.messages} - {""}
                return [_rungs(rungs) for rungs in answer_messages(markdown, notify, hosts)]
            case Notice(markdown=markdown, notify=notify):
                return [_rungs(rungs) for rungs in answer_messages(markdown, notify)]
            case Card() | Request():
                content = self._content(body)
                return [[[content], [{"text": content["text"]}]]]

    def _content(self, body: Card | Request) -> Content:
        blocks, text = card_blocks(body, self.clock()) if isinstance(body, Card) else request_blocks(body)
        return {"blocks": blocks, "text": text}

    async def _climb(self, posting: _Posting, part: int, ladder: list[list[Content]], stands: Stands) -> list[str]:
        """Try one form after the other until Slack takes one; go on with the form that was begun before."""
        begun = next((pieces for (known, _), (_, pieces) in stands.posts.items() if known == part), None)
        for form in ladder:
            if begun not in (None, len(form)):
                continue
            try:
                return [
                    await self._post_once(posting, content, (part, piece), len(form), stands)
                    for piece, content in enumerate(form)
                ]
            except Refused as error:
                if error.error not in _TOO_MUCH:
                    raise _for_good(error) from error
                structlog.get_logger().warning("form refused", action="form_refused", why=str(error))
        key = posting.key
        await self._upload(posting, f"{key.kind}-{key.of}-{part + 1}.md", _whole_text(ladder), stands)
        return []

    async def _post_once(
        self, posting: _Posting, content: Content, where: tuple[int, int], pieces: int, stands: Stands
    ) -> str:
        """Post, and after a lost answer look whether it is there before posting again."""
        place = posting.place
        more = {"channel": place.channel, "thread_ts": place.ts, "metadata": _metadata(posting.key, *where, pieces)}
        arguments = self.mask.any(content) | more
        for attempt in range(1, POST_TRIES + 1):
            if where in stands.posts:
                return stands.posts[where][0]
            try:
                return str((await self.gateway.write("chat.postMessage", posting.priority, **arguments))["ts"])
            except Lost as error:
                structlog.get_logger().warning("post lost", action="post_lost", why=str(error), attempt=attempt)
                await self.gateway.sleep(0.3 * 2**attempt)
                stands = await self._stands(posting)
        raise Lost("Slack did not take a post, again and again")

    async def _stands(self, posting: _Posting) -> Stands:
        """What stands in the thread of this post already."""
        posts, files, key = dict[tuple[int, int], tuple[str, int]](), set[str](), posting.key
        try:
            async for message in self.reader.replies(posting.place, include_all_metadata=True):
                if not self.reader.own.wrote(message):
                    continue
                metadata: dict[str, Any] = message.get("metadata") or {}
                payload: dict[str, Any] = metadata.get("event_payload") or {}
                same = payload.get("of") == key.of and payload.get("kind") == key.kind
                if metadata.get("event_type") == METADATA and same:
                    where = int(payload.get("part", 0)), int(payload.get("piece", 0))
                    posts[where] = str(message["ts"]), int(payload.get("pieces", 1))
                shown: list[dict[str, Any]] = message.get("files") or []
                files |= {str(file.get("name")) for file in shown}
        except Refused as error:
            raise _for_good(error) from error
        return Stands(posts, frozenset(files))

    async def _upload_arguments(self, posting: _Posting, request: Request, stands: Stands) -> None:
        """The whole of what a request asks for. Without it the request stands all the same: it can be refused."""
        name = f"{request.call.name}-{request.asked.digest[:12]}.json"
        try:
            await self._upload(posting, name, arguments_file(request.call), stands)
        except (Lost, SurfaceError) as error:
            structlog.get_logger().warning("no file", action="file_refused", why=str(error))

    async def _upload(self, posting: _Posting, name: str, text: str, stands: Stands) -> None:
        """A file in the thread, once: files carry no metadata, so its name stands for it."""
        if name in stands.files:
            return
        place, content = posting.place, self.mask.text(text)
        try:
            await self.gateway.write(
                "files_upload_v2", channel=place.channel, thread_ts=place.ts, filename=name, content=content
            )
        except Refused as error:
            raise _for_good(error) from error

    # -- editing, marking, whispering ------------------------------------------------------------

    async def edit(self, message: MessageId, key: PostKey, body: Body) -> None:
        # Behind a request there may be a change that was approved and waits for this; a card only ends.
        priority = Priority.APPROVAL if isinstance(body, Request) else Priority.OTHER
        await self.editor.now(message, lambda: self._edited(key, body), priority)

    def edit_soon(self, message: MessageId, key: PostKey, body: Body) -> None:
        self.editor.soon(message, lambda: self._edited(key, body))

    def _edited(self, key: PostKey, body: Body) -> Content:
        content = self._content(body) if isinstance(body, Card | Request) else self._ladders(body)[0][0][0]
        return {**self.mask.any(content), "metadata": _metadata(key)}

    async def offer(self, message: MessageId, gestures: Sequence[Gesture]) -> None:
        for gesture in gestures:
            await self._react(message, SEEDS[gesture])

    async def mark_seen(self, message: MessageId) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._react(message, "eyes")
        except TimeoutError:
            structlog.get_logger().warning("no mark in time", action="mark_late", message=message)

    async def _react(self, message: MessageId, name: str) -> None:
        place = spot(message)
        try:
            await self.gateway.read("reactions.add", channel=place.channel, timestamp=place.ts, name=name)
        except (Refused, Lost) as error:
            if not isinstance(error, Refused) or error.error != "already_reacted":
                structlog.get_logger().warning("no reaction", action="reaction_refused", why=str(error))

    async def whisper(self, thread: ThreadKey, person: str, markdown: str) -> None:
        place = spot(thread)
        # Our own words: whom they name is meant, and nobody else sees them.
        text = answer_messages(markdown, mentioned_users(markdown))[0].texts[0]
        try:
            await self.gateway.write(
                "chat.postEphemeral", channel=place.channel, user=person, thread_ts=place.ts, text=text
            )
        except (Refused, Lost) as error:
            structlog.get_logger().warning("whisper refused", action="whisper_refused", why=str(error))


def _rungs(rungs: Rungs) -> list[list[Content]]:
    return [
        [{"blocks": list(rungs.blocks), "text": rungs.text}],
        [{"markdown_text": rungs.markdown_text}],
        [{"text": text} for text in rungs.texts],
    ]


def _priority(body: Body) -> Priority:
    match body:
        case Answer() | Notice():
            return Priority.ANSWER
        case Request():
            return Priority.APPROVAL
        case Card():
            return Priority.OTHER


def _metadata(key: PostKey, part: int = 0, piece: int = 0, pieces: int = 1) -> Content:
    payload = {"turn": key.turn, "of": key.of, "part": part, "piece": piece, "pieces": pieces, "kind": key.kind}
    return {"event_type": METADATA, "event_payload": payload}


def _whole_text(ladder: list[list[Content]]) -> str:
    """What a ladder says, as markdown if it has that form."""
    contents = [content for form in ladder for content in form]
    markdown = next((content["markdown_text"] for content in contents if "markdown_text" in content), None)
    return str(markdown or contents[-1]["text"])


def _for_good(error: Refused) -> Exception:
    """What ends a post for ever. Too many calls do not: it is tried again later."""
    return Lost(str(error)) if error.error == "ratelimited" else SurfaceError(str(error))


async def settled(surface: SlackSurface) -> None:
    """Wait for edits that are under way; at the end of the program."""
    await asyncio.wait_for(surface.editor.settle(), timeout=5)

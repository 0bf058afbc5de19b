"""The chat as a turn sees it, on Slack: posting exactly once, editing, and reading what people wrote."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

_MENTION = re.compile(r"<@([UW][A-Z0-9]+)>")
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
        place, priority = spot(thread), _priority(body)
        there = await self._there(place, key) if check else {}
        posted = list[MessageId]()
        for part, ladder in enumerate(self._ladders(body)):
            known = [ts for (known_part, _), ts in there.items() if known_part == part]
            sent = known or await self._climb(place, key, part, ladder, priority)
            posted += [Spot(place.team, place.channel, ts).message for ts in sent]
        if isinstance(body, Request) and long_arguments(body.call) and posted:
            await self._upload(place, f"{body.call.name}-{body.asked.digest[:12]}.json", arguments_file(body.call))
        return tuple(posted)

    def _ladders(self, body: Body) -> list[list[list[Content]]]:
        """For each message: its forms, best first; each form is one or more posts."""
        match body:
            case Answer(markdown=markdown, notify=notify, trusted_words=words):
                hosts = None if words is None else named_hosts(words)
                return [_rungs(rungs) for rungs in answer_messages(markdown, notify, hosts)]
            case Notice(markdown=markdown, notify=notify):
                return [_rungs(rungs) for rungs in answer_messages(markdown, notify)]
            case Card() | Request():
                content = self._content(body)
                return [[[content], [{"text": content["text"]}]]]

    def _content(self, body: Card | Request) -> Content:
        blocks, text = card_blocks(body, self.clock()) if isinstance(body, Card) else request_blocks(body)
        return {"blocks": blocks, "text": text}

    async def _climb(
        self, place: Spot, key: PostKey, part: int, ladder: list[list[Content]], priority: Priority
    ) -> list[str]:
        """Try one form after the other until Slack takes one."""
        for form in ladder:
            try:
                return [
                    await self._post_once(place, content, _metadata(key, part, piece), priority)
                    for piece, content in enumerate(form)
                ]
            except Refused as error:
                if error.error not in _TOO_MUCH:
                    raise SurfaceError(str(error)) from error
                structlog.get_logger().warning("form refused", action="form_refused", why=str(error))
        return await self._as_file(place, ladder[-1])

    async def _post_once(self, place: Spot, content: Content, metadata: Content, priority: Priority) -> str:
        """Post, and after a lost answer look whether it is there before posting again."""
        arguments = {**self.mask.any(content), "channel": place.channel, "thread_ts": place.ts, "metadata": metadata}
        payload = metadata["event_payload"]
        key = PostKey(payload["turn"], payload["of"], payload["kind"])
        for attempt in range(1, POST_TRIES + 1):
            try:
                return str((await self.gateway.write("chat.postMessage", priority, **arguments))["ts"])
            except Lost as error:
                structlog.get_logger().warning("post lost", action="post_lost", why=str(error), attempt=attempt)
                await self.gateway.sleep(0.3 * 2**attempt)
                if (found := (await self._there(place, key)).get((payload["part"], payload["piece"]))) is not None:
                    return found
        raise SurfaceError("Slack did not answer, again and again")

    async def _there(self, place: Spot, key: PostKey) -> dict[tuple[int, int], str]:
        """What stands in the thread of this post already: (part, piece of the part) -> timestamp."""
        found = dict[tuple[int, int], str]()
        try:
            async for message in self.reader.replies(place, include_all_metadata=True):
                metadata: dict[str, Any] = message.get("metadata") or {}
                payload: dict[str, Any] = metadata.get("event_payload") or {}
                same = payload.get("of") == key.of and payload.get("kind") == key.kind
                if metadata.get("event_type") == METADATA and same:
                    found[int(payload.get("part", 0)), int(payload.get("piece", 0))] = str(message["ts"])
        except Refused as error:
            raise SurfaceError(str(error)) from error
        return found

    async def _as_file(self, place: Spot, form: list[Content]) -> list[str]:
        """The last rung: the text as a file in the thread."""
        await self._upload(place, "answer.md", "\n".join(str(content.get("text", "")) for content in form))
        return []

    async def _upload(self, place: Spot, name: str, text: str) -> None:
        content = self.mask.text(text)
        try:
            await self.gateway.write(
                "files_upload_v2", channel=place.channel, thread_ts=place.ts, filename=name, content=content
            )
        except (Refused, Lost) as error:
            raise SurfaceError(str(error)) from error

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
        await self._react(message, "eyes")

    async def _react(self, message: MessageId, name: str) -> None:
        place = spot(message)
        try:
            await self.gateway.read("reactions.add", channel=place.channel, timestamp=place.ts, name=name)
        except (Refused, Lost) as error:
            if not isinstance(error, Refused) or error.error != "already_reacted":
                structlog.get_logger().warning("no reaction", action="reaction_refused", why=str(error))

    async def whisper(self, thread: ThreadKey, person: str, markdown: str) -> None:
        place = spot(thread)
        named = frozenset(_MENTION.findall(markdown))  # our own words, and only one person is notified by them
        text = answer_messages(markdown, named)[0].texts[0]
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


def _metadata(key: PostKey, part: int = 0, piece: int = 0) -> Content:
    payload = {"turn": key.turn, "of": key.of, "part": part, "piece": piece, "kind": key.kind}
    return {"event_type": METADATA, "event_payload": payload}


async def settled(surface: SlackSurface) -> None:
    """Wait for edits that are under way; at the end of the program."""
    await asyncio.wait_for(surface.editor.settle(), timeout=5)

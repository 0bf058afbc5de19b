"""Slack for tools: what the agent may read and change, and for whom."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.slack.answer import answer_messages
from bot.slack.directory import Directory, explained
from bot.slack.gateway import Gateway, Lost, Refused
from bot.slack.ids import spot
from bot.slack.mentions import mentioned_users
from bot.slack.people import People
from bot.slack.reader import Reader
from tools.base import Output, ToolContext, ToolError, UnknownOutcome

CALL = "bobbin_call"
"""Type of the metadata that names the call by which a message was posted."""


@dataclass(frozen=True, slots=True)
class SlackChat:
    gateway: Gateway
    people: People
    reader: Reader
    directory: Directory

    # -- reading ---------------------------------------------------------------------------------

    async def read_thread(self, context: ToolContext, limit: int) -> Output:
        place = spot(context.thread)
        async with _reading():
            return await self.reader.told([m async for m in self.reader.replies(place)], keep=limit)

    async def read_channel(self, context: ToolContext, channel: str, limit: int) -> Output:
        async with _reading():
            found = await self.directory.channel(channel)
            await self.directory.check_readable(found, spot(context.thread).channel, context.requester)
            output = await self.reader.told(await self.reader.newest(str(found["id"]), limit), keep=limit)
        return Output(output.text, f"#{found.get('name') or channel} · {output.line}")

    # -- changing --------------------------------------------------------------------------------

    async def post(self, context: ToolContext, channel: str, text: str) -> Output:
        target, name = await self._target(context, channel)
        async with _changing():
            posted = await self.gateway.write("chat.postMessage", channel=target, **await self._content(context, text))
        ts = str(posted["ts"])
        return Output(f"Posted in {name} as message {ts}. {await self._link(target, ts)}".strip(), f"{name}")

    async def send_dm(self, context: ToolContext, user: str, text: str) -> Output:
        async with _reading():
            person = await self.directory.person(user)
            opened: Any = await self.gateway.read("conversations.open", users=person.id)
        target = str(opened["channel"]["id"])
        async with _changing():
            await self.gateway.write("chat.postMessage", channel=target, **await self._content(context, text))
        return Output(f"Sent to {person.name} ({person.id}).", f"to {person.name}")

    async def react(self, context: ToolContext, channel: str, ts: str, name: str) -> Output:
        target, where = await self._target(context, channel)
        async with _changing(done_already="already_reacted"):
            await self.gateway.write("reactions.add", channel=target, timestamp=ts, name=name)
        return Output(f"Added :{name}: to message {ts} in {where}.", f":{name}: in {where}")

    async def pin(self, context: ToolContext, channel: str, ts: str) -> Output:
        target, where = await self._target(context, channel)
        async with _changing(done_already="already_pinned"):
            await self.gateway.write("pins.add", channel=target, timestamp=ts)
        return Output(f"Pinned message {ts} in {where}.", where)

    async def schedule(self, context: ToolContext, channel: str, text: str, at: datetime) -> Output:
        target, where = await self._target(context, channel)
        return await self._schedule(context, {"channel": target}, where, text, at)

    async def remind(self, context: ToolContext, text: str, at: datetime) -> Output:
        place = spot(context.thread)
        return await self._schedule(
            context, {"channel": place.channel, "thread_ts": place.ts}, "this thread", f"⏰ {text}", at
        )

    async def _schedule(
        self, context: ToolContext, target: dict[str, str], where: str, text: str, at: datetime
    ) -> Output:
        content = await self._content(context, text)
        content.pop("metadata")  # Slack takes none with a scheduled message
        async with _changing():
            done = await self.gateway.write("chat.scheduleMessage", **target, post_at=int(at.timestamp()), **content)
        when = f"{at:%Y-%m-%d %H:%M} UTC"
        return Output(f"Scheduled in {where} for {when} as {done.get('scheduled_message_id')}.", f"{where} · {when}")

    async def upload(self, context: ToolContext, channel: str, name: str, content: str) -> Output:
        target, where = await self._target(context, channel)
        async with _changing():
            await self.gateway.write("files_upload_v2", channel=target, filename=name, content=content)
        return Output(f"Uploaded {name} ({len(content.encode()):,} bytes) to {where}.", f"{name} to {where}")

    async def set_topic(self, context: ToolContext, channel: str, topic: str) -> Output:
        target, where = await self._target(context, channel)
        async with _changing():
            await self.gateway.write("conversations.setTopic", channel=target, topic=topic)
        return Output(f"The topic of {where} is now: {topic or '(empty)'}", where)

    async def invite(self, context: ToolContext, channel: str, user: str) -> Output:
        target, where = await self._target(context, channel)
        async with _reading():
            person = await self.directory.person(user)
        async with _changing(done_already="already_in_channel"):
            await self.gateway.write("conversations.invite", channel=target, users=person.id)
        return Output(f"{person.name} ({person.id}) is now a member of {where}.", f"{person.name} to {where}")

    async def delete_own(self, context: ToolContext, channel: str, ts: str) -> Output:
        target, where = await self._target(context, channel)
        async with _changing():
            await self.gateway.write("chat.delete", channel=target, ts=ts)
        return Output(f"Message {ts} in {where} is deleted.", where)

    # -- pieces ----------------------------------------------------------------------------------

    async def _target(self, context: ToolContext, channel: str) -> tuple[str, str]:
        """The id of a channel in which the requester may have something changed, and its name for people."""
        async with _reading():
            found = await self.directory.channel(channel)
            if found.get("is_archived"):
                raise Refused("conversations.info", "is_archived")
            await self.directory.check_writable(found, context.requester)
        return str(found["id"]), f"#{found['name']}" if found.get("name") else str(found["id"])

    async def _content(self, context: ToolContext, text: str) -> dict[str, Any]:
        """What was approved, as one message. People may be named by id; nothing else notifies anybody."""
        known = frozenset([u for u in mentioned_users(text) if await self.people.standing(u) != "unknown"])
        messages = answer_messages(text, known)
        if not messages:
            raise ToolError("empty_text", "There is nothing to read in that text.", hint="Write the text.")
        if len(messages) > 1:
            raise ToolError(
                "too_long", "That text does not fit into one message.", hint="Shorten it, or use upload_file."
            )
        metadata = {"event_type": CALL, "event_payload": {"call": context.call_id}}
        return {"blocks": list(messages[0].blocks), "text": messages[0].text, "metadata": metadata}

    async def _link(self, channel: str, ts: str) -> str:
        """The address of a message; nothing if Slack does not say."""
        try:
            found = await self.gateway.read("chat.getPermalink", channel=channel, message_ts=ts)
        except (Refused, Lost):
            return ""
        return str(found.get("permalink") or "")


@asynccontextmanager
async def _reading() -> AsyncGenerator[None]:
    """What Slack refuses becomes an error that the model can act on."""
    try:
        yield
    except (Refused, Lost) as error:
        raise explained(error) from error


@asynccontextmanager
async def _changing(done_already: str = "") -> AsyncGenerator[None]:
    """The same where a lost answer leaves open whether it happened. ``done_already`` counts as done."""
    try:
        yield
    except Lost as error:
        raise UnknownOutcome("Slack did not answer after the request was sent.") from error
    except Refused as error:
        if error.error != done_already:
            raise explained(error) from error

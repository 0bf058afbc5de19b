"""One Slack workspace in memory: people act in it, the app calls it, and each change becomes the event Slack sends."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bot.demo import text as texts
from bot.demo import wire
from bot.demo.values import (
    BOT_USER,
    TEAM,
    Call,
    Channel,
    Json,
    Message,
    Person,
    Scheduled,
    SlackError,
    StoredFile,
    Timing,
)

ANA = "U0ANA00001"
WEI = "U0WEI00001"


def _people() -> dict[str, Person]:
    people = (
        Person(ANA, "Ana", "Ana Ferreira"),
        Person(WEI, "Wei 魏", "Wei 魏", locale="zh-CN", timezone="Asia/Shanghai"),
        Person(BOT_USER, "Bobbin", "Bobbin", timezone="Etc/UTC", is_bot=True),
    )
    return {person.id: person for person in people}


def _channels() -> dict[str, Channel]:
    everyone = (ANA, WEI, BOT_USER)
    channels = (
        Channel("C0GENERAL1", "general", members=everyone, topic="Company-wide talk and work"),
        Channel("C0NEWS0001", "news", members=everyone, topic="Announcements"),
        Channel("C0OPS00001", "ops", members=everyone, topic="Deploys, incidents, on-call"),
        Channel("C0LEADS001", "leads", "group", members=(ANA, BOT_USER), topic="Plans and people"),
        Channel("D0ANA00001", "Bobbin", "im", members=(ANA, BOT_USER)),
        Channel("D0WEI00001", "Bobbin", "im", members=(WEI, BOT_USER)),
    )
    return {channel.id: channel for channel in channels}


def _token(prefix: str) -> Callable[[], str]:
    # Random, so that no page in the same browser can guess it and act as the app.
    return lambda: f"{prefix}-demo-{secrets.token_hex(12)}"


@dataclass(slots=True)
class Workspace:
    """All state of the workspace. Methods that take a person's id are acts of people; the app acts by `methods`."""

    people: dict[str, Person] = field(default_factory=_people)
    channels: dict[str, Channel] = field(default_factory=_channels)
    groups: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"S0OPS00001": (ANA,)})
    bot_token: str = field(default_factory=_token("xoxb"))
    app_token: str = field(default_factory=_token("xapp"))
    timing: Timing = field(default_factory=Timing)
    base_url: str = ""
    notice: str = ""
    """A line that the page shows on top, such as that the model's answers are scripted."""
    suggestions: tuple[str, ...] = (
        "@Bobbin what happened in #ops today?",
        "@Bobbin post in #news that release 2.4 is out",
        "@Bobbin 用中文总结一下 #ops 的讨论",
        "@Bobbin remember that the staging database is db-stg-2",
    )
    """What the page proposes to a first-time visitor."""
    files: dict[str, StoredFile] = field(default_factory=dict[str, StoredFile])
    homes: dict[str, Json] = field(default_factory=dict[str, Json])
    modals: dict[str, Json] = field(default_factory=dict[str, Json])
    scheduled: dict[str, Scheduled] = field(default_factory=dict[str, Scheduled])
    calls: deque[Call] = field(default_factory=lambda: deque[Call](maxlen=10_000))
    on_event: list[Callable[[Json], None]] = field(default_factory=list[Callable[[Json], None]])
    """Each gets the payload of every event for the app."""
    on_change: list[Callable[[Json], None]] = field(default_factory=list[Callable[[Json], None]])
    """Each gets every change that the page shows."""
    rate_limits: dict[str, int] = field(default_factory=dict[str, int])
    lost_answers: list[str] = field(default_factory=list[str])
    refusals: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _messages: dict[str, dict[str, Message]] = field(default_factory=dict[str, dict[str, Message]])
    _last_ts: int = 0
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    # What is there

    def messages(self, channel: str) -> list[Message]:
        """All messages of a channel, oldest first, replies and ephemeral ones too."""
        return list(self._messages.get(channel, {}).values())

    def message(self, channel: str, ts: str) -> Message:
        """Raises SlackError("message_not_found")."""
        found = self._messages.get(channel, {}).get(ts)
        if found is None:
            raise SlackError("message_not_found")
        return found

    def channel(self, channel: str) -> Channel:
        """By id, as Slack's methods take it. Raises SlackError("channel_not_found")."""
        found = self.channels.get(channel) or next(
            (one for one in self.channels.values() if one.kind != "im" and f"#{one.name}" == channel), None
        )
        if found is None or (found.kind != "channel" and BOT_USER not in found.members):
            raise SlackError("channel_not_found")
        return found

    def person(self, person: str) -> Person:
        """Raises SlackError("user_not_found")."""
        if person not in self.people:
            raise SlackError("user_not_found")
        return self.people[person]

    def shown(self, message: Message, *, with_metadata: bool = False) -> Json:
        """The message as Slack's history methods return it."""
        files = [wire.file_json(self.files[file], self.base_url) for file in message.files]
        siblings = self.messages(message.channel)
        return wire.message_json(message, siblings, files, with_metadata=with_metadata)

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._ids):09d}"

    def new_ts(self, at: float | None = None) -> str:
        """A new message id, later than all before it unless a time is given (in seconds)."""
        micros = int((at or time.time()) * 1_000_000)
        if at is None:
            micros = self._last_ts = max(micros, self._last_ts + 1)
        return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"

    async def until(self, holds: Callable[[], bool], seconds: float = 10) -> None:
        """Return as soon as a change makes `holds()` true. Raises TimeoutError."""
        changed = asyncio.Event()

        def wake(_: Json) -> None:
            changed.set()

        self.on_change.append(wake)
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    changed.clear()
                    await changed.wait()
        finally:
            self.on_change.remove(wake)

    # What people do

    def say(
        self, person: str, channel: str, typed: str, thread_ts: str | None = None, files: tuple[str, ...] = ()
    ) -> Message:
        """A person's message as typed in the composer: "@Bobbin" becomes a mention. Raises SlackError."""
        where = self.channel(channel)
        if person not in where.members:
            raise SlackError("not_in_channel")
        if thread_ts is not None:
            thread_ts = self.message(where.id, thread_ts).thread_ts or thread_ts
        text = texts.from_composer(typed, self.people.values(), self.channels.values())
        subtype = "file_share" if files else None
        blocks = (texts.rich_text(text),) if text else ()
        message = Message(where.id, self.new_ts(), person, text, blocks, (), thread_ts, subtype, files=files)
        return self.publish(message)

    def edit(self, person: str, channel: str, ts: str, typed: str) -> Message:
        """A person changes an own message. Raises SlackError("cant_update_message")."""
        message = self._own(person, channel, ts)
        text = texts.from_composer(typed, self.people.values(), self.channels.values())
        return self.revise(replace(message, text=text, blocks=(texts.rich_text(text),)), person)

    def delete(self, person: str, channel: str, ts: str) -> None:
        """A person deletes an own message. Raises SlackError("cant_delete_message")."""
        self.remove(self._own(person, channel, ts, "cant_delete_message"))

    def react(self, user: str, channel: str, ts: str, name: str) -> None:
        """Raises SlackError("already_reacted")."""
        message = self.message(channel, ts)
        if (name, user) in message.reactions:
            raise SlackError("already_reacted")
        self._replace_reactions(message, (*message.reactions, (name, user)), "reaction_added", user, name)

    def unreact(self, user: str, channel: str, ts: str, name: str) -> None:
        """Raises SlackError("no_reaction")."""
        message = self.message(channel, ts)
        if (name, user) not in message.reactions:
            raise SlackError("no_reaction")
        rest = tuple(pair for pair in message.reactions if pair != (name, user))
        self._replace_reactions(message, rest, "reaction_removed", user, name)

    def open_home(self, person: str, tab: str = "home") -> None:
        channel = self.direct_channel(person)
        event: Json = {"type": "app_home_opened", "user": person, "channel": channel.id, "tab": tab}
        self._emit(event | ({"view": self.homes[person]} if person in self.homes else {}), channel)

    def upload(self, person: str, name: str, content: bytes) -> StoredFile:
        """A file that the next message can carry."""
        file = StoredFile(self.new_id("F0"), name, len(content), self.person(person).id, int(time.time()), name)
        return self.store(file, content)

    # What changes, whoever did it

    def publish(self, message: Message) -> Message:
        """Store a new message, show it, and send the app what Slack sends: the message and, for a mention, a twin."""
        channel = self.channels[message.channel]
        self.put(message)
        if message.seen_by is None:
            self._emit(self._message_event(message), channel)
            self._emit_mention(message, channel)
        return message

    def revise(self, message: Message, editor: str) -> Message:
        """Store a new version of a message and send message_changed."""
        before = self.shown(self.message(message.channel, message.ts))
        message = replace(message, edited=(editor, self.new_ts()))
        self.put(message)
        self._changed_event(message, before)
        self._emit_mention(message, self.channels[message.channel])
        return message

    def remove(self, message: Message) -> None:
        """Delete a message; a root with replies stays as a tombstone."""
        before = self.shown(message)
        if "reply_count" in before:
            self.put(wire.tombstone(message))
            self._changed_event(wire.tombstone(message), before)
            return
        del self._messages[message.channel][message.ts]
        self.changed({"kind": "gone", "channel": message.channel, "ts": message.ts})
        event: Json = {"type": "message", "subtype": "message_deleted", "hidden": True, "deleted_ts": message.ts}
        if message.seen_by is None:
            self._emit(event | {"previous_message": before, "ts": self.new_ts()}, self.channels[message.channel])

    def put(self, message: Message) -> None:
        """Store a message and show it without an event."""
        stored = self._messages.setdefault(message.channel, {})
        comes_last = message.ts in stored or not stored or float(message.ts) > float(next(reversed(stored)))
        stored[message.ts] = message
        if not comes_last:
            self._messages[message.channel] = dict(sorted(stored.items(), key=lambda item: float(item[0])))
        self.changed({"kind": "message", "message": self.for_page(message)})

    def post_due(self, now: float) -> None:
        """Post the scheduled messages whose time (in seconds) has come."""
        for scheduled in [one for one in self.scheduled.values() if one.post_at <= now]:
            del self.scheduled[scheduled.id]
            self.publish(replace(scheduled.message, ts=self.new_ts()))

    def store(self, file: StoredFile, content: bytes) -> StoredFile:
        self.files[file.id] = replace(file, content=content)
        return self.files[file.id]

    def changed(self, change: Json) -> None:
        for listener in tuple(self.on_change):
            listener(change)

    def for_page(self, message: Message) -> Json:
        """The message with what only the page needs to know."""
        own: Json = {"channel": message.channel, "seen_by": message.seen_by, "pinned": message.pinned}
        own["source"] = texts.to_composer(message.text, self.people.values())
        return self.shown(message) | own

    def direct_channel(self, person: str) -> Channel:
        """The direct messages of the app and a person, opened if needed."""
        members = (self.person(person).id, BOT_USER)
        for channel in self.channels.values():
            if channel.kind == "im" and channel.members == members:
                return channel
        return self.put_channel(Channel(self.new_id("D0"), "Bobbin", "im", members))

    def put_channel(self, channel: Channel) -> Channel:
        """Store a new or changed channel and show it."""
        self.channels[channel.id] = channel
        shown = wire.channel_json(channel) | {"members": list(channel.members)}
        self.changed({"kind": "channel", "channel": shown})
        return channel

    # Faults for tests

    def rate_limit_once(self, method: str, retry_after: int = 1) -> None:
        """The next call of `method` is refused with 429 and Retry-After (in seconds)."""
        self.rate_limits[method] = retry_after

    def lose_answer_once(self, method: str) -> None:
        """The next call of `method` is carried out, then the connection is cut without an answer."""
        self.lost_answers.append(method)

    def refuse(self, method: str, argument: str, error: str) -> None:
        """From now on calls of `method` that carry `argument` are refused."""
        self.refusals[method, argument] = error

    # Events

    def _own(self, person: str, channel: str, ts: str, refusal: str = "cant_update_message") -> Message:
        message = self.message(channel, ts)
        if message.user != person or message.subtype == "tombstone":
            raise SlackError(refusal)
        return message

    def _message_event(self, message: Message) -> Json:
        event = self.shown(message, with_metadata=True)
        return event if message.by_app else event | {"client_msg_id": f"{message.channel}-{message.ts}"}

    def _emit_mention(self, message: Message, channel: Channel) -> None:
        by_person = not message.by_app and channel.kind != "im"
        if by_person and texts.mentions(message.text, BOT_USER):
            self._emit(self._message_event(message) | {"type": "app_mention"}, channel)

    def _changed_event(self, message: Message, before: Json) -> None:
        event: Json = {"type": "message", "subtype": "message_changed", "hidden": True, "ts": self.new_ts()}
        now = self.shown(message, with_metadata=True)
        if message.seen_by is None:
            self._emit(event | {"message": now, "previous_message": before}, self.channels[message.channel])

    def _replace_reactions(
        self, message: Message, reactions: tuple[tuple[str, str], ...], kind: str, user: str, name: str
    ) -> None:
        self.put(replace(message, reactions=reactions))
        item = {"type": "message", "channel": message.channel, "ts": message.ts}
        event: Json = {"type": kind, "user": user, "reaction": name, "item": item, "item_user": message.user}
        self._emit(event, self.channels[message.channel])

    def _emit(self, event: Json, channel: Channel) -> None:
        if BOT_USER not in channel.members:
            return
        event = {"team": TEAM, "event_ts": event.get("ts") or self.new_ts()} | event
        if event["type"] in ("message", "app_mention"):
            event["channel"] = channel.id
        if event["type"] == "message":
            event["channel_type"] = channel.kind
        payload = wire.event_callback(event, self.new_id("Ev"), "verification")
        for listener in tuple(self.on_event):
            listener(payload)

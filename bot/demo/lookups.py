"""The Web API methods that read the workspace, and those for channels and files."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from bot.demo import wire
from bot.demo.arguments import Arguments
from bot.demo.chat import Method, thread_of, writable
from bot.demo.text import normalised
from bot.demo.values import APP, BOT, BOT_USER, TEAM, Channel, Json, Message, SlackError, StoredFile
from bot.demo.workspace import Workspace

Item = TypeVar("Item")


def methods() -> dict[str, Method]:
    return {
        "api.test": lambda _, arguments: {"args": arguments.values},
        "auth.test": auth_test,
        "team.info": lambda _workspace, _: {"team": {"id": TEAM, "name": "Bobbin demo", "domain": "bobbin-demo"}},
        "bots.info": lambda _workspace, _: {"bot": {"id": BOT, "app_id": APP, "user_id": BOT_USER, "name": "Bobbin"}},
        "conversations.info": channel_info,
        "conversations.replies": replies,
        "conversations.history": history,
        "conversations.list": list_channels,
        "conversations.open": open_direct,
        "conversations.members": members,
        "conversations.setTopic": set_topic,
        "conversations.invite": invite,
        "users.info": user_info,
        "users.list": list_users,
        "users.conversations": list_channels_of_user,
        "usergroups.users.list": list_group,
        "files.getUploadURLExternal": get_upload_url,
        "files.completeUploadExternal": complete_upload,
        "files.info": file_info,
    }


def auth_test(workspace: Workspace, _: Arguments) -> Json:
    names: Json = {"team": "Bobbin demo", "user": "bobbin", "url": f"{workspace.base_url}/"}
    return names | {"team_id": TEAM, "user_id": BOT_USER, "bot_id": BOT, "is_enterprise_install": False}


def channel_info(workspace: Workspace, arguments: Arguments) -> Json:
    return {"channel": wire.channel_json(workspace.channel(arguments.need("channel")))}


def replies(workspace: Workspace, arguments: Arguments) -> Json:
    """The thread, oldest first; asked for by a reply, only that reply."""
    channel = _readable(workspace, arguments)
    root = workspace.message(channel.id, arguments.need("ts"))
    thread = [root] if root.is_reply else [root, *_replies_to(workspace, root)]
    return _page(workspace, _within(thread, arguments), arguments, newest_first=False)


def history(workspace: Workspace, arguments: Arguments) -> Json:
    """The channel's messages outside threads, newest first."""
    channel = _readable(workspace, arguments)
    shown = [
        message
        for message in reversed(workspace.messages(channel.id))
        if not message.seen_by and (not message.is_reply or message.subtype == "thread_broadcast")
    ]
    return _page(workspace, _within(shown, arguments), arguments, newest_first=True)


def list_channels(workspace: Workspace, arguments: Arguments) -> Json:
    kinds = {{"public_channel": "channel", "private_channel": "group"}.get(kind, kind) for kind in _kinds(arguments)}
    hidden = arguments.flag("exclude_archived")
    channels = [
        wire.channel_json(channel)
        for channel in workspace.channels.values()
        if channel.kind in kinds and (channel.kind == "channel" or BOT_USER in channel.members)
        if not (hidden and channel.archived)
    ]
    found, cursor = _slice(channels, arguments, 100)
    return {"channels": found, "response_metadata": {"next_cursor": cursor}}


def list_channels_of_user(workspace: Workspace, arguments: Arguments) -> Json:
    user = arguments.text("user", BOT_USER)
    shared = {channel.id for channel in workspace.channels.values() if user in channel.members}
    answer = list_channels(workspace, Arguments(arguments.values | {"limit": 1000}))
    channels = Arguments(answer).objects("channels")
    return answer | {"channels": [channel for channel in channels if channel["id"] in shared]}


def open_direct(workspace: Workspace, arguments: Arguments) -> Json:
    if channel := arguments.text("channel"):
        return {"channel": {"id": workspace.channel(channel).id}}
    users = arguments.listed("users")
    if len(users) != 1:
        raise SlackError("users_list_not_supplied" if not users else "method_not_supported_for_channel_type")
    if users[0] == BOT_USER:
        raise SlackError("cannot_dm_bot")
    return {"channel": {"id": workspace.direct_channel(users[0]).id}}


def members(workspace: Workspace, arguments: Arguments) -> Json:
    channel = workspace.channel(arguments.need("channel"))
    found, cursor = _slice(list(channel.members), arguments, 100)
    return {"members": found, "response_metadata": {"next_cursor": cursor}}


def set_topic(workspace: Workspace, arguments: Arguments) -> Json:
    channel = _readable(workspace, arguments)
    if channel.archived:
        raise SlackError("is_archived")
    topic = normalised(arguments.text("topic"))
    if len(topic) > 250:
        raise SlackError("too_long")
    changed = workspace.put_channel(replace(channel, topic=topic))
    text = f"set the channel topic: {topic}"
    workspace.publish(Message(channel.id, workspace.new_ts(), BOT_USER, text, subtype="channel_topic", by_app=True))
    return {"channel": wire.channel_json(changed)}


def invite(workspace: Workspace, arguments: Arguments) -> Json:
    channel = _readable(workspace, arguments)
    users = [workspace.person(user).id for user in arguments.listed("users")]
    if any(user in channel.members for user in users):
        raise SlackError("already_in_channel")
    channel = workspace.put_channel(replace(channel, members=(*channel.members, *users)))
    for user in users:
        text = f"<@{user}> has joined the channel"
        workspace.publish(Message(channel.id, workspace.new_ts(), user, text, subtype="channel_join"))
    return {"channel": wire.channel_json(channel)}


def user_info(workspace: Workspace, arguments: Arguments) -> Json:
    person = workspace.person(arguments.need("user"))
    return {"user": wire.person_json(person, with_locale=arguments.flag("include_locale"))}


def list_users(workspace: Workspace, arguments: Arguments) -> Json:
    with_locale = arguments.flag("include_locale")
    people = [wire.person_json(person, with_locale=with_locale) for person in workspace.people.values()]
    found, cursor = _slice(people, arguments, 200)
    return {"members": found, "response_metadata": {"next_cursor": cursor}}


def list_group(workspace: Workspace, arguments: Arguments) -> Json:
    group = arguments.need("usergroup")
    if group not in workspace.groups:
        raise SlackError("no_such_subteam")
    return {"users": list(workspace.groups[group])}


def get_upload_url(workspace: Workspace, arguments: Arguments) -> Json:
    size = arguments.number("length", 0)
    if size < 1:
        raise SlackError("invalid_arguments")
    file = StoredFile(workspace.new_id("F0"), arguments.need("filename"), size, BOT_USER, int(time.time()))
    workspace.files[file.id] = file
    return {"upload_url": f"{workspace.base_url}/upload/{file.id}", "file_id": file.id}


def complete_upload(workspace: Workspace, arguments: Arguments) -> Json:
    """Shares the uploaded files: with a channel they become one message."""
    given = [(_stored(workspace, str(one.get("id"))), str(one.get("title", ""))) for one in arguments.objects("files")]
    if not given or any(file.content is None for file, _ in given):
        raise SlackError("file_not_found")
    files = [replace(file, title=title or file.name) for file, title in given]
    workspace.files |= {file.id: file for file in files}
    if arguments.text("channel_id"):
        channel = writable(workspace, arguments.text("channel_id"))
        text = normalised(arguments.text("initial_comment"))
        thread_ts = thread_of(workspace, channel, arguments)
        ids = tuple(file.id for file in files)
        shared = Message(channel.id, workspace.new_ts(), BOT_USER, text, (), (), thread_ts, "file_share", by_app=True)
        workspace.publish(replace(shared, files=ids))
    return {"files": [wire.file_json(file, workspace.base_url) for file in files]}


def file_info(workspace: Workspace, arguments: Arguments) -> Json:
    return {"file": wire.file_json(_stored(workspace, arguments.need("file")), workspace.base_url)}


def _stored(workspace: Workspace, file: str) -> StoredFile:
    if file not in workspace.files:
        raise SlackError("file_not_found")
    return workspace.files[file]


def _readable(workspace: Workspace, arguments: Arguments) -> Channel:
    channel = workspace.channel(arguments.need("channel"))
    if BOT_USER not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def _replies_to(workspace: Workspace, root: Message) -> list[Message]:
    messages = workspace.messages(root.channel)
    return [
        message for message in messages if message.is_reply and message.thread_ts == root.ts and not message.seen_by
    ]


def _within(messages: Sequence[Message], arguments: Arguments) -> list[Message]:
    """Only messages between `oldest` and `latest`, the ends only if `inclusive`."""
    inclusive = arguments.flag("inclusive")
    oldest, latest = arguments.text("oldest", "0") or "0", arguments.text("latest") or "inf"
    try:
        low, high = float(oldest), float(latest)
    except ValueError:
        raise SlackError("invalid_ts_oldest") from None

    def inside(ts: float) -> bool:
        return low <= ts <= high if inclusive else low < ts < high

    return [message for message in messages if inside(float(message.ts))]


def _page(workspace: Workspace, messages: list[Message], arguments: Arguments, *, newest_first: bool) -> Json:
    """One page. The cursor names the next message by time, so what arrives meanwhile shifts nothing."""
    if given := arguments.text("cursor"):
        start = _decoded(given)
        messages = [one for one in messages if (float(one.ts) <= start if newest_first else float(one.ts) >= start)]
    limit = _limit(arguments, 100)
    cursor = _encoded(messages[limit].ts) if limit < len(messages) else ""
    with_metadata = arguments.flag("include_all_metadata")
    shown = [workspace.shown(message, with_metadata=with_metadata) for message in messages[:limit]]
    answer: Json = {"messages": shown, "has_more": bool(cursor)}
    return answer | ({"response_metadata": {"next_cursor": cursor}} if cursor else {})


def _slice(items: list[Item], arguments: Arguments, default: int) -> tuple[list[Item], str]:
    """One page of a list, and the cursor of the next page or an empty text. Raises SlackError("invalid_cursor")."""
    given = arguments.text("cursor")
    start = int(_decoded(given)) if given else 0
    end = start + _limit(arguments, default)
    return items[start:end], _encoded(str(end)) if end < len(items) else ""


def _limit(arguments: Arguments, default: int) -> int:
    return min(max(arguments.number("limit", default), 1), 1000)


def _encoded(position: str) -> str:
    return base64.b64encode(f"next:{position}".encode()).decode()


def _decoded(cursor: str) -> float:
    try:
        return float(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
    except ValueError:
        raise SlackError("invalid_cursor") from None


def _kinds(arguments: Arguments) -> tuple[str, ...]:
    return arguments.listed("types") or ("public_channel",)

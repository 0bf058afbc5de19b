"""The Web API methods that change what people see: messages, reactions, pins, views."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from bot.demo import limits, wire
from bot.demo.arguments import Arguments
from bot.demo.text import normalised
from bot.demo.values import APP, BOT, BOT_USER, TEAM, Channel, Json, Message, Scheduled, SlackError
from bot.demo.workspace import Workspace

Method = Callable[[Workspace, Arguments], Json]


def methods() -> dict[str, Method]:
    return {
        "chat.postMessage": post_message,
        "chat.update": update,
        "chat.delete": delete,
        "chat.postEphemeral": post_ephemeral,
        "chat.getPermalink": get_permalink,
        "chat.scheduleMessage": schedule_message,
        "chat.deleteScheduledMessage": delete_scheduled_message,
        "chat.scheduledMessages.list": list_scheduled_messages,
        "reactions.add": add_reaction,
        "reactions.remove": remove_reaction,
        "reactions.get": get_reactions,
        "pins.add": add_pin,
        "pins.remove": remove_pin,
        "views.publish": publish_view,
        "views.open": open_view,
    }


def post_message(workspace: Workspace, arguments: Arguments) -> Json:
    channel = _where_to_post(workspace, arguments.need("channel"))
    message = workspace.publish(compose(workspace, channel, arguments))
    shown = workspace.shown(message, with_metadata=True)
    return {"channel": channel.id, "ts": message.ts, "message": shown}


def update(workspace: Workspace, arguments: Arguments) -> Json:
    channel = writable(workspace, arguments.need("channel"))
    before = workspace.message(channel.id, arguments.need("ts"))
    if not before.by_app or before.seen_by:
        raise SlackError("cant_update_message")
    given = compose(workspace, channel, arguments, before.thread_ts)
    limits.check_update_text(given.text)
    # What the call does not name stays, except that a text alone replaces the blocks.
    keeps_blocks = not (arguments.has("blocks") or arguments.text("text") or arguments.has("markdown_text"))
    message = replace(
        before,
        text=given.text if arguments.has("text") else before.text,
        blocks=before.blocks if keeps_blocks else given.blocks,
        attachments=given.attachments if arguments.has("attachments") else before.attachments,
        metadata=given.metadata if arguments.has("metadata") else before.metadata,
    )
    message = workspace.revise(message, BOT_USER)
    shown = workspace.shown(message, with_metadata=True)
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": shown}


def delete(workspace: Workspace, arguments: Arguments) -> Json:
    channel = writable(workspace, arguments.need("channel"))
    message = workspace.message(channel.id, arguments.need("ts"))
    if not message.by_app:
        raise SlackError("cant_delete_message")
    workspace.remove(message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(workspace: Workspace, arguments: Arguments) -> Json:
    channel = writable(workspace, arguments.need("channel"))
    person = workspace.person(arguments.need("user"))
    if person.id not in channel.members:
        raise SlackError("user_not_in_channel")
    message = replace(compose(workspace, channel, arguments), seen_by=person.id)
    return {"message_ts": workspace.publish(message).ts}


def get_permalink(workspace: Workspace, arguments: Arguments) -> Json:
    channel = workspace.channel(arguments.need("channel"))
    message = workspace.message(channel.id, arguments.need("message_ts"))
    address = f"{workspace.base_url}/archives/{channel.id}/p{message.ts.replace('.', '')}"
    thread = f"?thread_ts={message.thread_ts}&cid={channel.id}" if message.is_reply else ""
    return {"channel": channel.id, "permalink": address + thread}


def schedule_message(workspace: Workspace, arguments: Arguments) -> Json:
    channel = _where_to_post(workspace, arguments.need("channel"))
    post_at = arguments.number("post_at", 0)
    if post_at <= time.time():
        raise SlackError("time_in_past")
    if post_at > time.time() + limits.SCHEDULE_SECONDS:
        raise SlackError("time_too_far")
    scheduled = Scheduled(workspace.new_id("Q0"), post_at, compose(workspace, channel, arguments))
    workspace.scheduled[scheduled.id] = scheduled
    return {"channel": channel.id, "scheduled_message_id": scheduled.id, "post_at": post_at}


def delete_scheduled_message(workspace: Workspace, arguments: Arguments) -> Json:
    if workspace.scheduled.pop(arguments.need("scheduled_message_id"), None) is None:
        raise SlackError("invalid_scheduled_message_id")
    return {}


def list_scheduled_messages(workspace: Workspace, _: Arguments) -> Json:
    waiting = [
        {"id": one.id, "channel_id": one.message.channel, "post_at": one.post_at, "text": one.message.text}
        for one in sorted(workspace.scheduled.values(), key=lambda one: one.post_at)
    ]
    return {"scheduled_messages": waiting}


def add_reaction(workspace: Workspace, arguments: Arguments) -> Json:
    message = _target(workspace, arguments)
    workspace.react(BOT_USER, message.channel, message.ts, arguments.need("name").strip(":"))
    return {}


def remove_reaction(workspace: Workspace, arguments: Arguments) -> Json:
    message = _target(workspace, arguments)
    workspace.unreact(BOT_USER, message.channel, message.ts, arguments.need("name").strip(":"))
    return {}


def get_reactions(workspace: Workspace, arguments: Arguments) -> Json:
    message = _target(workspace, arguments)
    shown = {"type": "message", "ts": message.ts, "user": message.user, "text": message.text}
    return {
        "type": "message",
        "channel": message.channel,
        "message": shown | {"reactions": wire.reactions_json(message)},
    }


def add_pin(workspace: Workspace, arguments: Arguments) -> Json:
    message = _target(workspace, arguments)
    if message.pinned:
        raise SlackError("already_pinned")
    workspace.put(replace(message, pinned=True))
    return {}


def remove_pin(workspace: Workspace, arguments: Arguments) -> Json:
    message = _target(workspace, arguments)
    if not message.pinned:
        raise SlackError("no_pin")
    workspace.put(replace(message, pinned=False))
    return {}


def publish_view(workspace: Workspace, arguments: Arguments) -> Json:
    person = workspace.person(arguments.need("user_id"))
    view = _view(workspace, arguments)
    workspace.homes[person.id] = view
    workspace.changed({"kind": "home", "user": person.id, "view": view})
    return {"view": view}


def open_view(workspace: Workspace, arguments: Arguments) -> Json:
    # A trigger names the person who clicked; see interactions.
    _, _, person = arguments.need("trigger_id").partition("-")
    if person not in workspace.people:
        raise SlackError("invalid_trigger_id")
    view = _view(workspace, arguments)
    workspace.modals[str(view["id"])] = view
    workspace.changed({"kind": "modal", "user": person, "view": view})
    return {"view": view}


def compose(workspace: Workspace, channel: Channel, arguments: Arguments, thread_ts: str | None = None) -> Message:
    """A message of the app from the arguments of a call, within Slack's limits. Raises SlackError."""
    markdown = arguments.text("markdown_text")
    if markdown and (arguments.text("text") or arguments.has("blocks")):
        raise SlackError("markdown_text_conflict")
    blocks: tuple[Json, ...] = arguments.objects("blocks", "invalid_blocks_format")
    if markdown:
        if len(markdown) > limits.MARKDOWN_CHARACTERS:
            raise SlackError("msg_too_long")
        blocks = ({"type": "markdown", "text": markdown},)
    attachments = arguments.objects("attachments")
    text = normalised(arguments.text("text"))[: limits.POST_CHARACTERS]
    if not (text.strip() or blocks or attachments):
        raise SlackError("no_text")
    limits.check_blocks(blocks)
    metadata = arguments.object("metadata", "invalid_metadata_format")
    if metadata is not None and not {"event_type", "event_payload"} <= metadata.keys():
        raise SlackError("invalid_metadata_schema")
    return Message(
        channel.id,
        workspace.new_ts(),
        BOT_USER,
        text,
        _with_block_ids(workspace, blocks),
        attachments,
        thread_ts or thread_of(workspace, channel, arguments),
        "thread_broadcast" if arguments.flag("reply_broadcast") else None,
        by_app=True,
        metadata=metadata,
    )


def thread_of(workspace: Workspace, channel: Channel, arguments: Arguments) -> str | None:
    # Slack takes the ts of a reply too and puts the message into that reply's thread.
    thread_ts = arguments.text("thread_ts")
    if not thread_ts:
        return None
    try:
        return workspace.message(channel.id, thread_ts).thread_ts or thread_ts
    except SlackError:
        raise SlackError("thread_not_found") from None


def _with_block_ids(workspace: Workspace, blocks: tuple[Json, ...]) -> tuple[Json, ...]:
    return tuple({"block_id": workspace.new_id("b")} | block for block in blocks)


def _view(workspace: Workspace, arguments: Arguments) -> Json:
    view = arguments.object("view")
    if view is None or "type" not in view:
        raise SlackError("invalid_arguments")
    blocks = _with_block_ids(workspace, Arguments(view).objects("blocks"))
    limits.check_blocks(blocks[:50] if view["type"] == "home" else blocks)
    identity: Json = {"id": workspace.new_id("V0"), "team_id": TEAM, "app_id": APP, "bot_id": BOT, "hash": "1"}
    return view | identity | {"blocks": list(blocks)}


def _where_to_post(workspace: Workspace, target: str) -> Channel:
    # chat.postMessage opens the direct messages of a person by itself.
    return workspace.direct_channel(target) if target in workspace.people else writable(workspace, target)


def writable(workspace: Workspace, target: str) -> Channel:
    channel = workspace.channel(target)
    if channel.archived:
        raise SlackError("is_archived")
    if BOT_USER not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def _target(workspace: Workspace, arguments: Arguments) -> Message:
    channel = writable(workspace, arguments.need("channel"))
    return workspace.message(channel.id, arguments.need("timestamp"))

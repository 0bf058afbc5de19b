"""Slack's JSON for the workspace's values. Pure: a value goes in, an object for the wire comes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.demo.values import APP, BOT, BOT_USER, SLACKBOT, TEAM, Channel, Json, Message, Person, StoredFile

OTHER_TEAM = "T0ELSEWHERE"


def person_json(person: Person, *, with_locale: bool) -> Json:
    offset = datetime.now(ZoneInfo(person.timezone)).utcoffset()
    team = OTHER_TEAM if person.is_stranger else TEAM
    profile: Json = {"real_name": person.real_name, "display_name": person.name, "team": team}
    shown: Json = {
        "id": person.id,
        "team_id": team,
        "name": person.name,
        "real_name": person.real_name,
        "deleted": person.deleted,
        "tz": person.timezone,
        "tz_offset": int(offset.total_seconds()) if offset else 0,
        "profile": profile,
        "is_bot": person.is_bot,
        "is_app_user": False,
        "is_restricted": person.is_guest,
        "is_ultra_restricted": False,
        "is_stranger": person.is_stranger,
        "is_admin": False,
        "is_owner": False,
    }
    if person.is_bot:
        profile["api_app_id"] = APP
        profile["bot_id"] = BOT
    return shown | ({"locale": person.locale} if with_locale else {})


def channel_json(channel: Channel) -> Json:
    shared: Json = {"id": channel.id, "is_archived": channel.archived, "is_ext_shared": channel.shared, "is_im": False}
    if channel.kind == "im":
        other = next(member for member in channel.members if member != BOT_USER)
        return shared | {"is_im": True, "user": other, "is_user_deleted": False, "context_team_id": TEAM}
    return shared | {
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": True,
        "is_group": False,
        "is_mpim": False,
        "is_private": channel.kind == "group",
        "is_general": channel.name == "general",
        "is_shared": channel.shared,
        "is_org_shared": False,
        "is_pending_ext_shared": False,
        "is_member": BOT_USER in channel.members,
        "context_team_id": TEAM,
        "topic": {"value": channel.topic, "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
        "num_members": len(channel.members),
    }


def file_json(file: StoredFile, base_url: str) -> Json:
    address = f"{base_url}/files/{file.id}/{file.name}"
    extension = file.name.rpartition(".")[2].lower()
    return {
        "id": file.id,
        "name": file.name,
        "title": file.title or file.name,
        "filetype": extension,
        "mimetype": _MIME_TYPES.get(extension, "application/octet-stream"),
        "size": file.size,
        "user": file.user,
        "created": file.created,
        "timestamp": file.created,
        "mode": "hosted",
        "is_external": False,
        "is_public": True,
        "url_private": address,
        "url_private_download": f"{address}?download=1",
        "permalink": address,
    }


_MIME_TYPES = {
    "csv": "text/csv",
    "txt": "text/plain",
    "md": "text/markdown",
    "json": "application/json",
    "pdf": "application/pdf",
    "png": "image/png",
    "jpg": "image/jpeg",
}


def message_json(message: Message, siblings: Iterable[Message], files: Sequence[Json], *, with_metadata: bool) -> Json:
    """One message as the history methods show it; `siblings` are the live messages of its channel."""
    shown: Json = {"type": "message", "ts": message.ts, "user": message.user, "text": message.text, "team": TEAM}
    optional: Json = {
        "subtype": message.subtype,
        "blocks": list(message.blocks),
        "attachments": list(message.attachments),
        "files": list(files),
        "reactions": reactions_json(message),
        "edited": {"user": message.edited[0], "ts": message.edited[1]} if message.edited else None,
        "metadata": message.metadata if with_metadata else None,
        "pinned_to": [message.channel] if message.pinned else None,
        "is_ephemeral": message.seen_by is not None,
    }
    shown |= {name: value for name, value in optional.items() if value}
    if message.by_app:
        profile = {"id": BOT, "app_id": APP, "user_id": BOT_USER, "name": "Bobbin", "deleted": False, "team_id": TEAM}
        shown |= {"bot_id": BOT, "app_id": APP, "bot_profile": profile}
    return shown | _thread_fields(message, siblings)


def reactions_json(message: Message) -> list[Json]:
    users: dict[str, list[str]] = {}
    for name, user in message.reactions:
        users.setdefault(name, []).append(user)
    return [{"name": name, "users": who, "count": len(who)} for name, who in users.items()]


def tombstone(message: Message) -> Message:
    """What stays of a deleted message that has replies."""
    return Message(
        message.channel,
        message.ts,
        SLACKBOT,
        "This message was deleted.",
        thread_ts=message.ts,
        subtype="tombstone",
    )


def event_callback(event: Json, event_id: str, token: str) -> Json:
    authorization = {
        "enterprise_id": None,
        "team_id": TEAM,
        "user_id": BOT_USER,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "token": token,
        "team_id": TEAM,
        "context_team_id": TEAM,
        "context_enterprise_id": None,
        "api_app_id": APP,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(float(str(event["event_ts"]))),
        "authorizations": [authorization],
        "is_ext_shared_channel": False,
        "event_context": f"4-{event_id}",
    }


def _thread_fields(message: Message, siblings: Iterable[Message]) -> Json:
    if message.is_reply:
        parent = next((other for other in siblings if other.ts == message.thread_ts), None)
        fields: Json = {"thread_ts": message.thread_ts}
        return fields | ({"parent_user_id": parent.user} if parent else {})
    replies = [other for other in siblings if other.thread_ts == message.ts and other.is_reply and not other.seen_by]
    if not replies:
        return {"thread_ts": message.ts} if message.subtype == "tombstone" else {}
    return {
        "thread_ts": message.ts,
        "reply_count": len(replies),
        "reply_users": list(dict.fromkeys(reply.user for reply in replies)),
        "reply_users_count": len({reply.user for reply in replies}),
        "latest_reply": replies[-1].ts,
        "subscribed": False,
    }

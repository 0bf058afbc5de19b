"""The scopes of manifest.yml are those that the program's calls and events need: none is missing, none is too many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
KINDS = ("channels", "groups", "im", "mpim")
READ = {f"{kind}:read" for kind in KINDS}
HISTORY = {f"{kind}:history" for kind in KINDS}

# From the method pages of Slack's documentation: the granular bot scopes, for each kind of channel that we call it in.
METHODS: dict[str, set[str]] = {
    "chat.postMessage": {"chat:write"},
    "chat.update": {"chat:write"},
    "chat.delete": {"chat:write"},
    "chat.postEphemeral": {"chat:write"},
    "chat.scheduleMessage": {"chat:write"},
    "chat.getPermalink": set(),
    "reactions.add": {"reactions:write"},
    "reactions.get": {"reactions:read"},
    "pins.add": {"pins:write"},
    "conversations.info": READ,
    "conversations.list": {"channels:read", "groups:read"},
    "conversations.members": READ,
    "conversations.history": HISTORY,
    "conversations.replies": HISTORY,
    "conversations.open": {"im:write"},
    "conversations.setTopic": {"channels:write.topic", "groups:write.topic"},
    "conversations.invite": {"channels:write.invites", "groups:write.invites"},
    "users.info": {"users:read"},
    "users.list": {"users:read"},
    "usergroups.users.list": {"usergroups:read"},
    "files_upload_v2": {"files:write"},
    "views.open": set(),
    "views.publish": set(),
    "users.conversations": READ,
}
EVENTS: dict[str, set[str]] = {
    "app_mention": {"app_mentions:read"},
    "message.channels": {"channels:history", "files:read"},  # without files:read a message tells nothing of its files
    "message.groups": {"groups:history"},
    "message.im": {"im:history"},
    "message.mpim": {"mpim:history"},
    "reaction_added": {"reactions:read"},
    "reaction_removed": {"reactions:read"},
    "app_uninstalled": set(),
    "tokens_revoked": set(),
    "app_home_opened": set(),
}
FEATURES = {"commands"}
"""Scopes of what is neither a method nor an event: the slash command."""


def manifest() -> Any:
    return yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))


def methods_called() -> set[str]:
    """Names of methods in the calls of the Slack edge."""
    called = set[str]()
    for file in (ROOT / "bot" / "slack").glob("*.py"):
        call = r"""(?:\.read|\.write|\.once|pages|_look_up)\((?:self\._channels, |known, )?\s*"([\w.]+)\""""
        called |= set(re.findall(call, file.read_text("utf-8")))
    return called | {"users.info"}  # its name is handed on


def test_every_method_that_is_called_is_in_the_table() -> None:
    assert methods_called() == METHODS.keys()


def test_the_scopes_suffice_and_none_is_unused() -> None:
    needed = FEATURES.union(*METHODS.values(), *EVENTS.values())
    granted = manifest()["oauth_config"]["scopes"]["bot"]
    assert set(granted) == needed
    assert len(granted) == len(set(granted))


def test_every_event_is_subscribed_and_can_be_read() -> None:
    assert set(manifest()["settings"]["event_subscriptions"]["bot_events"]) == EVENTS.keys()

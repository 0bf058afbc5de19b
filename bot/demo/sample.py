"""A little history, so that a first visitor has something to ask about."""

from __future__ import annotations

import time

from bot.demo import text as texts
from bot.demo.values import Message
from bot.demo.workspace import ANA, WEI, Workspace

_TALK = (
    ("C0OPS00001", 190, WEI, "Deploying checkout 2.4.0-rc3 to production now."),
    ("C0OPS00001", 176, WEI, "Error rate on checkout is 4.1 %, it was 0.2 % before. Looking."),
    ("C0OPS00001", 171, ANA, "Customers report timeouts at payment. Shall we roll back?"),
    ("C0OPS00001", 168, WEI, "Yes. The connection pool is exhausted: `max_connections` is 20, it should be 200."),
    ("C0OPS00001", 152, WEI, "Rolled back. 错误率已恢复到 0.2%。"),
    (
        "C0OPS00001",
        149,
        ANA,
        "Thanks. I take the post-mortem, due Thursday. Wei fixes the setting before the next deploy.",
    ),
    (
        "C0GENERAL1",
        120,
        ANA,
        "Release 2.4 moves to tomorrow. The notes are ready: faster search, dark mode, CSV export.",
    ),
    ("C0GENERAL1", 118, WEI, "好的，明天上午十点发布。"),
)


def add_history(workspace: Workspace) -> None:
    """Put some earlier talk into the channels, without events."""
    now = time.time()
    for channel, minutes, person, typed in _TALK:
        text = texts.from_composer(typed, workspace.people.values(), workspace.channels.values())
        ts = workspace.new_ts(now - minutes * 60)
        workspace.put(Message(channel, ts, person, text, (texts.rich_text(text),)))

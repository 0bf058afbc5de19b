"""Our keys and Slack's ids: the one place where a ``ThreadKey`` or ``MessageId`` is put together or taken apart."""

from __future__ import annotations

from dataclasses import dataclass

from memory.types import MessageId, ThreadKey


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in Slack: a message, or the thread that it roots."""

    team: str
    channel: str
    ts: str

    @property
    def thread(self) -> ThreadKey:
        return ThreadKey(f"{self.team}:{self.channel}:{self.ts}")

    @property
    def message(self) -> MessageId:
        return MessageId(f"{self.team}:{self.channel}:{self.ts}")


def spot(key: ThreadKey | MessageId) -> Spot:
    """Raises ``ValueError`` for what is not one of our keys."""
    team, channel, ts = key.split(":")
    return Spot(team, channel, ts)

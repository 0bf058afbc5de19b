"""What the settings say about one channel: how its conversations are shortened, shown to the model and cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.model import Cached
from memory.compaction import Marks


@dataclass(frozen=True, slots=True)
class Channel:
    marks: Marks = field(default_factory=Marks)
    cap: int = 0
    """Characters of a result that the model is shown at once; 0: as each tool says."""
    cached: Cached = field(default_factory=Cached)
    summary_model: str = ""
    """The model that writes summaries; empty: the one that the conversation is held with."""
    on_server: bool = False
    """The provider writes summaries by a feature of its own, where it has one."""


@dataclass(frozen=True, slots=True)
class Channels:
    """``others`` names the channels for which something else was set, by id."""

    usual: Channel = field(default_factory=Channel)
    others: Mapping[str, Channel] = field(default_factory=dict[str, Channel])

    def of(self, place: str) -> Channel:
        return self.others.get(place, self.usual)

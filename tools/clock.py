"""What time it is where the person is. The system prompt holds no clock, so the model has to ask."""

from __future__ import annotations

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from tools.base import Arguments, Effect, Output, ToolContext, tool


class NoArguments(Arguments):
    pass


@tool(Effect.READ, timeout=5.0)
async def now(arguments: NoArguments, context: ToolContext) -> Output:
    """Tell the current date and time where the person who asks is: weekday, time zone, ISO week, and UTC."""
    zone = _zone(context.requester.time_zone)
    local = context.now.astimezone(zone or UTC)
    name = context.requester.time_zone if zone else "UTC"
    year, week, _ = local.isocalendar()
    lines = [
        f"{local:%A}, {local.isoformat(sep=' ', timespec='seconds')} ({name})",
        f"UTC: {context.now.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        f"ISO week: {year}-W{week:02}",
    ]
    if zone is None:
        lines.append(f"The time zone {context.requester.time_zone!r} of the person is not known; this is UTC.")
    return Output("\n".join(lines), f"{local:%Y-%m-%d %H:%M} {name}")


def _zone(name: str) -> tzinfo | None:
    """The zone of this IANA name; None if there is none. Names that are paths or folders raise other errors."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.site import context
from tools.clock import NoArguments, now


async def told(zone: str, moment: datetime) -> list[str]:
    return (await now.run(NoArguments(), context(zone, moment))).text.split("\n")


@pytest.mark.parametrize(
    ("zone", "moment", "local", "week"),
    [
        (
            "Europe/Berlin",
            datetime(2026, 7, 3, 22, 5, 9, tzinfo=UTC),
            "Saturday, 2026-07-04 00:05:09+02:00",
            "2026-W27",
        ),
        ("Asia/Shanghai", datetime(2026, 1, 1, 16, 0, tzinfo=UTC), "Friday, 2026-01-02 00:00:00+08:00", "2026-W01"),
        ("Asia/Kathmandu", datetime(2027, 1, 1, tzinfo=UTC), "Friday, 2027-01-01 05:45:00+05:45", "2026-W53"),
        ("America/New_York", datetime(2026, 3, 8, 7, 0, tzinfo=UTC), "Sunday, 2026-03-08 03:00:00-04:00", "2026-W10"),
    ],
)
async def test_the_time_is_that_of_the_person(zone: str, moment: datetime, local: str, week: str):
    lines = await told(zone, moment)
    assert lines == [f"{local} ({zone})", f"UTC: {moment:%Y-%m-%d %H:%M:%S}", f"ISO week: {week}"]


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "UTC\x00", "x" * 999]
)
async def test_an_unknown_zone_becomes_utc_and_says_so(zone: str):
    lines = await told(zone, datetime(2026, 3, 5, 12, 30, 15, tzinfo=UTC))
    assert lines[0] == "Thursday, 2026-03-05 12:30:15+00:00 (UTC)"
    assert repr(zone) in lines[-1]


@given(
    st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)), st.sampled_from(["Asia/Tokyo", "America/Lima", "Mars/X"])
)
async def test_every_way_of_telling_names_the_same_moment(moment: datetime, zone: str):
    aware = moment.replace(tzinfo=UTC, microsecond=0)
    local, utc, *_ = await told(zone, aware)
    assert datetime.fromisoformat(local.split(", ")[1].rsplit(" (")[0]) == aware
    assert datetime.fromisoformat(utc.removeprefix("UTC: ")).replace(tzinfo=UTC) - aware == timedelta(0)


async def test_people_see_a_short_line():
    assert (await now.run(NoArguments(), context("Asia/Shanghai"))).line == "2026-03-05 20:30 Asia/Shanghai"

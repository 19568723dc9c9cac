import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.hours.zones import instant
from shared.domain.notices.updates import (
    MAX_BYTES,
    BadRange,
    Marks,
    Span,
    UpdateEntry,
    collected_after,
    cut,
    day_of,
    days_of,
    line,
    link_range,
    local_time,
    next_stamp,
    read_range,
    settled,
)

SYDNEY = ZoneInfo("Australia/Sydney")
ZONES = st.sampled_from(["Australia/Sydney", "Europe/Berlin", "America/Havana", "Asia/Kathmandu", "UTC", "Asia/Beirut"])
NOON = int(datetime(2026, 11, 23, 12, 0, 3, tzinfo=SYDNEY).timestamp() * 1000)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def at(*parts: int, zone: ZoneInfo = SYDNEY, fold: int = 0) -> int:
    return int(datetime(*parts, tzinfo=zone, fold=fold).timestamp() * 1000)  # type: ignore[arg-type,misc]


def test_a_local_time_that_does_not_exist_is_the_first_that_does() -> None:
    assert instant(wall("2026-10-04 02:30:00"), SYDNEY) == at(2026, 10, 4, 3)
    assert instant(wall("2026-10-04 02:00:00"), SYDNEY) == at(2026, 10, 4, 3)
    assert instant(wall("2026-10-04 01:59:59"), SYDNEY) == at(2026, 10, 4, 3) - 1000


def test_a_local_time_that_exists_twice_is_its_first() -> None:
    assert instant(wall("2026-04-05 02:30:00"), SYDNEY) == at(2026, 4, 5, 2, 30, fold=0)


@given(ZONES, st.datetimes(wall("2020-01-01"), wall("2030-01-01")), st.timedeltas(timedelta(0), timedelta(1)))
def test_instants_are_in_the_order_of_local_times(zone: str, local: datetime, later: timedelta) -> None:
    whole = local.replace(microsecond=0)
    found = instant(whole, ZoneInfo(zone))
    shown = datetime.fromtimestamp(found / 1000, ZoneInfo(zone)).replace(tzinfo=None)
    assert shown >= whole
    if whole + later < whole.replace(hour=0):
        assert found <= instant(whole + later, ZoneInfo(zone))


def test_a_range_in_days_is_half_open_in_the_notifier_s_zone() -> None:
    assert read_range("20261121-20261123", SYDNEY, NOON) == Span(at(2026, 11, 21), at(2026, 11, 23))
    assert read_range("20261123-20261123", SYDNEY, NOON) == Span(at(2026, 11, 23), at(2026, 11, 23))


def test_a_range_in_days_has_a_time_at_which_its_last_day_is_settled() -> None:
    midnight = at(2026, 11, 23)
    assert isinstance(read_range("20261122-20261123", SYDNEY, midnight + 4_999), BadRange)
    assert isinstance(read_range("20261122-20261123", SYDNEY, midnight - 1), BadRange)
    assert read_range("20261122-20261123", SYDNEY, midnight + 5_000) == Span(at(2026, 11, 22), midnight)


def test_a_range_in_seconds_may_reach_into_the_future() -> None:
    found = read_range("20261123120000-20261124000000", SYDNEY, NOON)
    assert found == Span(at(2026, 11, 23, 12), at(2026, 11, 24))


def test_the_second_after_an_hour_that_exists_twice_loses_neither() -> None:
    found = read_range("20260405030000-20260405040000", SYDNEY, NOON)
    assert found == Span(at(2026, 4, 5, 2, fold=1), at(2026, 4, 5, 4))


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "20261121", "20261121-", "20261121-2026112200", "20261121-20261122000000", "a-b"),
        *("20261122-20261121", "20261131-20261201", "20261121-20261124", "20261123120000-20261123115959"),
        *("20261123240000-20261124000000", "00000101-20261122", "20261121-20261122\n", "٢٠٢٦١١٢١-20261122"),
        "20261123000000000Z-20261122000000000Z",
    ],
)
def test_a_range_that_is_impossible_is_refused(text: str) -> None:
    assert isinstance(read_range(text, SYDNEY, NOON), BadRange)


@given(ZONES, st.integers(0, 4_000_000_000_000), st.integers(0, 10**9))
def test_a_link_means_the_same_in_every_zone(zone: str, start: int, length: int) -> None:
    span = Span(start, start + length)
    assert read_range(link_range(span), ZoneInfo(zone), NOON) == span


@given(st.integers(0, 4_000_000_000_000), st.integers(0, 10**9))
def test_the_days_of_a_range_hold_its_stamps_and_no_others(start: int, length: int) -> None:
    days = list(days_of(Span(start, start + length)))
    assert days == sorted(set(days))
    if length:
        assert days[0] == day_of(start)
        assert days[-1] == day_of(start + length - 1)
        assert len(days) == (date.fromisoformat(days[-1]) - date.fromisoformat(days[0])).days + 1


@given(st.integers(1, 10**13), st.integers(0, 10**13), st.integers(0, 10**13))
def test_a_stamp_is_later_than_the_notice_s_last_and_than_what_is_closed(now: int, previous: int, closed: int) -> None:
    stamp = next_stamp(now, previous, closed)
    assert stamp >= now
    assert stamp > previous
    assert stamp > closed


def test_updates_settle_at_the_last_whole_second_five_seconds_back() -> None:
    assert settled(10_000) == 5_000
    assert settled(10_999) == 5_000


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 40)), min_size=1, max_size=60), st.integers(45, 500))
def test_an_answer_fits_and_ends_at_a_whole_second_where_it_can(found: list[tuple[int, int]], limit: int) -> None:
    found.sort()
    stamps, sizes = [x[0] for x in found], [x[1] for x in found]
    count = cut(stamps, sizes, limit)
    assert 1 <= count <= len(found)
    if count == len(found):
        assert sum(sizes) + len(sizes) + 1 <= limit
        return
    first_second = sum(1 for x in stamps if x // 1000 == stamps[0] // 1000)
    if stamps[count] // 1000 == stamps[count - 1] // 1000:
        assert count < first_second, "cut within a second that began the answer"
    first_stamp = sum(1 for x in stamps if x == stamps[0])
    if count >= first_stamp:
        assert stamps[count] != stamps[count - 1]
        assert sum(sizes[:count]) + count + 1 <= limit


def test_a_range_that_leaves_a_gap_collects_nothing() -> None:
    marks = Marks(collected=100)
    assert collected_after(marks, Span(0, 50)) == 100
    assert collected_after(marks, Span(100, 150)) == 150
    assert collected_after(marks, Span(101, 150)) == 100


def test_a_line_has_the_zone_s_time_and_an_action_only_if_it_was_rejected() -> None:
    stamp = at(2026, 11, 23, 9, 15, 2) + 123
    entry = UpdateEntry("clinic", "5f0c7f0e-0000-5000-8000-000000000000", "A-1", stamp, "SUCCESS")
    assert json.loads(line(entry, SYDNEY)) == {
        "id": "A-1",
        "status": "SUCCESS",
        "error": None,
        "message": None,
        "updated_at": "2026-11-23T09:15:02.123+11:00",
    }
    rejected = UpdateEntry(
        "clinic", entry.notice, "A-1", stamp, "PERM_FAIL", "MESSAGE_CANCEL", "MESSAGE_NOT_FOUND", "No such message."
    )
    assert json.loads(line(rejected, SYDNEY))["action"] == "MESSAGE_CANCEL"
    nothing = replace(rejected, action="")
    assert json.loads(line(nothing, SYDNEY)).get("action") == "", "a rejection of a record without an action"
    assert local_time(stamp, ZoneInfo("UTC")) == "2026-11-22T22:15:02.123+00:00"
    assert datetime.fromisoformat(local_time(stamp, SYDNEY)).astimezone(UTC).timestamp() * 1000 == stamp
    assert len(line(rejected, SYDNEY)) < MAX_BYTES

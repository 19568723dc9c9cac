"""Hours and waits: no attempt outside of the reasonable hours or after the expiry, whatever zone and date."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.domain.notices import times
from shared.domain.notices.times import HOUR_MS, MINUTE_MS, DayWindow, Hours

ZONES = (
    "UTC",
    "Australia/Sydney",
    "Australia/Lord_Howe",  # half an hour of summer time
    "America/New_York",
    "America/Santiago",  # midnight does not exist in September
    "Africa/Cairo",
    "Asia/Beirut",
    "Atlantic/Azores",  # midnight to one exists twice
    "Antarctica/Troll",  # two hours of summer time
    "Pacific/Apia",  # no 30 December 2011
    "Asia/Kathmandu",
    "Pacific/Chatham",
    "America/St_Johns",
    "Europe/Berlin",
)
DAY_MS = 24 * HOUR_MS

moments = st.integers(
    int(datetime(2009, 1, 1, tzinfo=UTC).timestamp() * 1000), int(datetime(2031, 1, 1, tzinfo=UTC).timestamp() * 1000)
)
zones = st.sampled_from(ZONES)


@st.composite
def all_hours(draw: st.DrawFn) -> tuple[Hours, DayWindow]:
    first = draw(st.integers(0, 23))
    hours = Hours(draw(zones), first, draw(st.integers(first + 1, 24)))
    start = draw(st.none() | st.integers(0, 23))
    end = None if start is None else draw(st.integers(start + 1, 24))
    return hours, hours.preferred(start, end)


def wall(zone: str, at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, ZoneInfo(zone))


def lies_in(hours: Hours, window: DayWindow, at: int) -> bool:
    local = wall(hours.timezone, at)
    return window.start <= local.hour * 60 + local.minute < window.end


def ms(zone: str, *when: int, fold: int = 0) -> int:
    return int(datetime(*when, tzinfo=ZoneInfo(zone), fold=fold).timestamp() * 1000)  # type: ignore[arg-type,misc]


@given(zones, st.dates(date(2009, 1, 1), date(2031, 1, 1)), st.integers(0, 24 * 60))
def test_a_local_time_is_its_first_moment_or_the_first_one_after_it(zone: str, day: date, minute: int) -> None:
    at = times.moment(zone, day, minute)
    asked = datetime(day.year, day.month, day.day) + timedelta(minutes=minute)  # noqa: DTZ001
    found = wall(zone, at).replace(tzinfo=None)
    assert found >= asked
    # Every earlier moment of a day and a half is before that local time.
    assert all(wall(zone, at - n * MINUTE_MS).replace(tzinfo=None) < asked for n in (1, 15, 30, 60, 120, 1440, 2160))


def test_summer_time_moves_what_does_not_exist_forward_and_takes_the_first_of_two() -> None:
    sydney = "Australia/Sydney"
    assert times.moment(sydney, date(2026, 10, 4), 150) == ms("UTC", 2026, 10, 3, 16)
    assert wall(sydney, times.moment(sydney, date(2026, 10, 4), 150)).hour == 3
    assert times.moment(sydney, date(2027, 4, 4), 150) == ms(sydney, 2027, 4, 4, 2, 30, fold=0)
    assert wall("Pacific/Apia", times.moment("Pacific/Apia", date(2011, 12, 30), 600)).isoformat()[:16] == (
        "2011-12-31T00:00"
    )
    assert wall("America/Santiago", times.moment("America/Santiago", date(2026, 9, 6))).hour == 1


@given(all_hours(), moments, st.integers(0, 60))
def test_a_first_attempt_lies_in_preferred_hours_and_is_the_first_such_moment(
    both: tuple[Hours, DayWindow], now: int, ahead: int
) -> None:
    hours, preferred = both
    delivery = times.local_date(hours.timezone, now) + timedelta(days=ahead - 5)
    at = times.first_attempt(hours, preferred, now, now + 400 * DAY_MS, delivery)
    assert at is not None
    assert at >= now
    assert times.local_date(hours.timezone, at) >= delivery
    assert lies_in(hours, preferred, at)
    assert lies_in(hours, hours.window, at)
    for earlier in range(max(now, at - DAY_MS), at, 30 * MINUTE_MS):
        assert not (lies_in(hours, preferred, earlier) and times.local_date(hours.timezone, earlier) >= delivery), (
            "an earlier moment would have done"
        )


@given(all_hours(), moments, st.integers(0, 60), st.integers(-DAY_MS, 10 * DAY_MS))
def test_a_first_attempt_is_made_if_any_reasonable_hour_is_left(
    both: tuple[Hours, DayWindow], now: int, ahead: int, left: int
) -> None:
    hours, preferred = both
    delivery = times.local_date(hours.timezone, now) + timedelta(days=ahead - 5)
    at = times.first_attempt(hours, preferred, now, now + left, delivery)
    wanted = times.first_in(hours.timezone, preferred, now, delivery)
    reasonable = times.first_in(hours.timezone, hours.window, now, delivery)
    assert at == next((x for x in (wanted, reasonable) if x < now + left), None)


@given(all_hours(), moments, st.integers(-DAY_MS, 10 * DAY_MS))
def test_a_next_attempt_lies_in_reasonable_hours_before_the_expiry_and_after_its_wait(
    both: tuple[Hours, DayWindow], failed_at: int, left: int
) -> None:
    hours, preferred = both
    expires = failed_at + left
    at = times.next_attempt(hours, preferred, failed_at, expires)
    if at is None:
        reasonable = times.first_in(hours.timezone, hours.window, failed_at + 10 * MINUTE_MS)
        assert reasonable >= expires
        return
    assert failed_at + 10 * MINUTE_MS <= at < expires
    assert lies_in(hours, hours.window, at)
    waited = at - failed_at
    if waited < times.wait(left):
        earliest = -(-(failed_at + times.wait(left)) // times.ROUND_MS) * times.ROUND_MS
        window = times.permitted(hours, preferred, left)
        assert times.first_in(hours.timezone, window, earliest) >= expires, "the last chance only"


@given(st.integers(0, 30 * DAY_MS), st.integers(0, 30 * DAY_MS))
def test_waits_never_grow_as_the_time_left_shrinks(a: int, b: int) -> None:
    less, more = sorted((a, b))
    assert 10 * MINUTE_MS <= times.wait(less) <= times.wait(more) <= DAY_MS


@given(all_hours(), st.integers(0, 5 * DAY_MS), st.integers(0, 5 * DAY_MS))
def test_permitted_hours_widen_towards_the_reasonable_ones(both: tuple[Hours, DayWindow], a: int, b: int) -> None:
    hours, preferred = both
    less, more = sorted((a, b))
    wide, narrow = times.permitted(hours, preferred, less), times.permitted(hours, preferred, more)
    assert hours.window.start <= wide.start <= narrow.start <= preferred.start
    assert preferred.end <= narrow.end <= wide.end <= hours.window.end
    assert times.permitted(hours, preferred, 72 * HOUR_MS) == preferred
    assert times.permitted(hours, preferred, 24 * HOUR_MS) == hours.window


def test_half_of_the_way_between_three_days_and_one_half_of_the_hours_are_added() -> None:
    hours = Hours("UTC", 9, 21)
    assert times.permitted(hours, DayWindow(13 * 60, 15 * 60), 48 * HOUR_MS) == DayWindow(11 * 60, 18 * 60)


@given(all_hours(), moments, st.integers(1, 10 * DAY_MS))
def test_a_run_ends_with_its_hours_or_the_expiry(both: tuple[Hours, DayWindow], now: int, left: int) -> None:
    hours, _ = both
    end = times.run_end(hours, now, now + left)
    assert end <= now + left
    if not lies_in(hours, hours.window, now):
        assert end == now
        return
    assert end > now
    for at in [*range(now, end, 30 * MINUTE_MS), end - 1]:
        assert lies_in(hours, hours.window, at)
    assert end == now + left or hours.window == DayWindow(0, 1440) or not lies_in(hours, hours.window, end)


@given(all_hours(), moments, st.integers(1, 10 * DAY_MS))
def test_what_waits_without_a_failure_goes_on_in_reasonable_hours(
    both: tuple[Hours, DayWindow], now: int, left: int
) -> None:
    hours, preferred = both
    at = times.resumed(hours, preferred, now, now + left)
    if at is None:
        assert times.first_in(hours.timezone, hours.window, now) >= now + left
    else:
        assert now <= at < now + left
        assert lies_in(hours, hours.window, at)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-24", date(2026, 11, 24)),
        ("20261124", date(2026, 11, 24)),
        (" 2026-11-24T10:00:00Z", date(2026, 11, 24)),
        ("20261124 10:00", date(2026, 11, 24)),
        ("2028-11-23", date(2028, 11, 23)),
        ("2028-11-24", None),
        ("2020-01-01", date(2020, 1, 1)),
        ("2026-1124", None),
        ("202611-24", None),
        ("2026-02-30", None),
        ("0001-01-01", None),
        ("9999-12-31", None),
        ("24.11.2026", None),
        ("2026-11-24x", None),
        ("٢٠٢٦-11-24", None),
        ("", None),
    ],
)
def test_dates_have_two_forms(text: str, expected: date | None) -> None:
    assert times.read_date(text, date(2026, 11, 23)) == expected


def test_two_years_after_a_leap_day_is_the_28th() -> None:
    assert times.read_date("2030-02-28", date(2028, 2, 29)) == date(2030, 2, 28)
    assert times.read_date("2030-03-01", date(2028, 2, 29)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9", (9, 10)),
        ("09", (9, 10)),
        ("0", (0, 1)),
        ("23", (23, 24)),
        ("24", None),
        ("9-12", (9, 12)),
        (" 9 - 12 ", (9, 12)),
        ("9-24", (9, 24)),
        ("12-9", None),
        ("9-9", None),
        ("9-25", None),
        ("9:00", None),
        ("morning", None),
        ("-9", None),
        ("", None),
    ],
)
def test_preferred_times_have_two_forms(text: str, expected: tuple[int, int] | None) -> None:
    assert times.read_hours(text) == expected


def test_preferred_hours_are_clipped_and_blank_if_less_than_an_hour_is_left() -> None:
    hours = Hours("UTC", 9, 21)
    assert hours.preferred(8, 11) == DayWindow(9 * 60, 11 * 60)
    assert hours.preferred(20, 24) == DayWindow(20 * 60, 21 * 60)
    assert hours.preferred(21, 24) == hours.window
    assert hours.preferred(0, 9) == hours.window
    assert hours.preferred(None, None) == hours.window


def test_hours_until_midnight_hold_at_23_59() -> None:
    hours = Hours("Europe/Berlin", 0, 24)
    now = ms("Europe/Berlin", 2026, 11, 23, 23, 59)
    assert times.first_attempt(hours, hours.window, now, now + DAY_MS, date(2026, 11, 23)) == now
    assert times.run_end(hours, now, now + DAY_MS) == now + MINUTE_MS
    late = Hours("Europe/Berlin", 9, 21)
    assert times.first_attempt(late, late.window, now, now + DAY_MS, date(2026, 11, 23)) == ms(
        "Europe/Berlin", 2026, 11, 24, 9
    )


def test_attempts_until_an_expiry_never_wait_longer_than_the_one_before_by_day() -> None:
    """A notice that always fails: the attempts of a week, with nights between."""
    hours = Hours("Australia/Sydney", 0, 24)
    at, expires = ms("Australia/Sydney", 2026, 10, 1, 9), ms("Australia/Sydney", 2026, 10, 8)
    waits = []
    while (following := times.next_attempt(hours, hours.window, at, expires)) is not None:
        waits.append(following - at)
        at = following
    assert all(a >= b - times.ROUND_MS for a, b in pairwise(waits))
    assert waits[0] == DAY_MS
    assert waits[-1] <= 20 * MINUTE_MS
    assert len(waits) > 20


@given(all_hours(), moments, st.integers(-3 * HOUR_MS, 3 * HOUR_MS))
def test_a_clock_that_jumps_breaks_no_bound(both: tuple[Hours, DayWindow], failed_at: int, jump: int) -> None:
    hours, preferred = both
    expires = failed_at + 3 * DAY_MS
    at = times.next_attempt(hours, preferred, failed_at + jump, expires)
    assume(at is not None)
    assert at is not None
    assert lies_in(hours, hours.window, at)
    assert at < expires

"""Hours: no moment outside of them, none of theirs left out, in zones with summer time."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.hours import openings as hours
from shared.domain.hours.hours import OpenHours
from shared.domain.hours.openings import DAYS, InvalidHoursError, Opening, Window, window_of

ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour of summer time
    "America/Santiago",  # midnight does not exist in September
    "Atlantic/Azores",  # midnight to one exists twice
    "Antarctica/Troll",  # two hours of summer time
    "Asia/Kathmandu",
    "Pacific/Apia",  # no 30 December 2011
    "Pacific/Chatham",
)
MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def ms(*when: int, zone: str = "UTC", fold: int = 0) -> int:
    return int(datetime(*when, tzinfo=ZoneInfo(zone), fold=fold).timestamp() * 1000)  # type: ignore[arg-type,misc]


CHANGES = [
    ms(2026, 3, 29, 1),  # Europe
    ms(2026, 10, 25, 1),
    ms(2026, 3, 8, 7),  # New York
    ms(2026, 11, 1, 6),
    ms(2026, 4, 4, 15),  # Lord Howe
    ms(2026, 10, 3, 15, 30),
    ms(2026, 4, 5, 3),  # Santiago
    ms(2026, 9, 6, 4),
    ms(2011, 12, 30, 10),  # Apia
]
moments = st.one_of(
    st.integers(ms(2025, 1, 1), ms(2030, 1, 1)),
    st.builds(lambda at, by: at + by * 1000, st.sampled_from(CHANGES), st.integers(-2 * 86_400, 2 * 86_400)),
)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start = draw(st.integers(0, 1439))
    end = draw(st.integers(1, 1440).filter(lambda x: x - start == 1440 or (x - start) % 1440 >= 15))
    days = draw(st.sets(st.integers(0, 6), min_size=1))
    return Window(start, end, tuple(sorted(days)))


some_openings = st.builds(Opening, windows(), st.sampled_from(ZONES))


def by_the_clock(one: Opening, at: int) -> bool:
    """Tell in another way whether hours are open: the minutes since the start of each day on which they begin."""
    local = datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(one.zone)).replace(tzinfo=None, second=0)
    for back in (0, 1):
        day = local.date() - timedelta(days=back)
        midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - of the zone
        since = (local - midnight) // timedelta(minutes=1)
        length = (one.window.end - one.window.start - 1) % 1440 + 1
        if day.weekday() in one.window.days and one.window.start <= since < one.window.start + length:
            return True
    return False


@given(some_openings, moments, st.booleans())
def test_the_next_opening_and_closing_are_the_first(one: Opening, at: int, wanted: bool) -> None:  # noqa: FBT001
    found = one.next(at, is_open=wanted)
    assert one.is_open(at) is by_the_clock(one, at)
    if found == at:
        assert by_the_clock(one, at) is wanted
        return
    end = found if found is not None else at + 15 * DAY
    step = max(MINUTE, (end - at) // 2000 // MINUTE * MINUTE)
    near = range(max(at, end - 200 * MINUTE), end, MINUTE)
    assert all(by_the_clock(one, x) is not wanted for x in (*range(at, end, step), *near))
    if found is not None:
        assert by_the_clock(one, found) is wanted


@given(st.lists(some_openings, min_size=1, max_size=3), moments)
def test_all_are_open_from_the_opening_to_the_closing(of: list[Opening], at: int) -> None:
    begin = hours.opening(of, at)
    if not hours.meets(of, at):
        return
    assert all(by_the_clock(x, begin) for x in of)
    end = hours.closing(of, begin)
    if end is not None:
        assert not all(by_the_clock(x, end) for x in of)
        assert all(by_the_clock(x, y) for x in of for y in range(begin, end, max(MINUTE, (end - begin) // 500)))


@given(some_openings, moments, st.integers(0, 40 * 60))
def test_time_that_is_open_is_added_up(one: Opening, at: int, minutes: int) -> None:
    end = hours.after([one], at, minutes * MINUTE)
    counted = left = at
    while counted < end and left < end:
        counted = hours.opening([one], left)
        left = min(end, hours.closing([one], counted) or end)
        minutes -= (left - counted) // MINUTE if counted < end else 0
    assert -1 <= minutes <= 60  # seconds of parts are rounded down


def test_summer_time_leaves_out_the_hour_that_does_not_exist() -> None:
    paris = Opening(window_of("02:15", "02:45", ["sun"]), "Europe/Paris")
    saturday = ms(2026, 3, 28, 12)
    assert paris.next(saturday, is_open=True) == ms(2026, 4, 5, 2, 15, zone="Europe/Paris")
    longer = Opening(window_of("02:15", "05:00"), "Europe/Paris")
    assert longer.next(ms(2026, 3, 29, 0), is_open=True) == ms(2026, 3, 29, 1)  # from two it is three o'clock


def test_what_the_clock_shows_twice_counts_twice() -> None:
    paris = Opening(window_of("02:15", "02:45"), "Europe/Paris")
    midnight = ms(2026, 10, 25, 0, zone="Europe/Paris")
    seen = []
    for _ in range(2):
        begin = paris.next(midnight, is_open=True)
        assert begin is not None
        midnight = paris.next(begin, is_open=False) or 0
        seen.append((begin, midnight))
    first, second = ((ms(2026, 10, 25, 2, 15, zone="Europe/Paris", fold=x), 30 * MINUTE) for x in (0, 1))
    assert seen == [(at, at + length) for at, length in (first, second)]


def test_a_clock_that_is_put_back_out_of_the_hours_ends_them() -> None:
    paris = Opening(window_of("02:30", "04:00"), "Europe/Paris")
    first, change, again = ms(2026, 10, 25, 0, 30), ms(2026, 10, 25, 1), ms(2026, 10, 25, 1, 30)
    assert paris.next(first, is_open=False) == change
    assert paris.next(change, is_open=True) == again


def test_hours_may_pass_midnight_and_their_day_is_that_of_the_start() -> None:
    night = Opening(window_of("22:00", "02:00", ["fri"]), "Europe/Paris")
    assert night.is_open(ms(2026, 12, 5, 0, 30))  # Saturday
    assert not night.is_open(ms(2026, 12, 4, 0, 30))
    assert night.next(ms(2026, 12, 4, 12), is_open=True) == ms(2026, 12, 4, 22, zone="Europe/Paris")


def test_quiet_hours_are_open_for_the_rest_of_the_day() -> None:
    calm = hours.quiet("21:00-08:00 Europe/Paris")
    assert (calm.window, calm.zone) == (Window(8 * 60, 21 * 60), "Europe/Paris")
    assert hours.quiet("00:00-08:00 UTC").window == Window(8 * 60, 1440)
    assert hours.quiet("21:00-24:00 UTC").window == Window(0, 21 * 60)
    for text in ("21:00 UTC", "00:00-24:00 UTC", "21-8 UTC", "21:00-21:05 UTC"):
        with pytest.raises(InvalidHoursError):
            hours.quiet(text)


def test_hours_that_never_meet_are_found_out() -> None:
    day = Opening(window_of("09:00", "12:00"), "UTC")
    evening = Opening(window_of("18:00", "20:00"), "UTC")
    assert not hours.meets([day, evening], ms(2026, 12, 1))
    assert hours.meets([day], ms(2026, 12, 1))
    assert hours.opening([day, evening], ms(2026, 12, 1)) > ms(2026, 12, 20)


def test_all_day_on_all_days_never_closes() -> None:
    always = Opening(window_of("00:00", "24:00"), "UTC")
    assert hours.closing([always], ms(2026, 12, 1)) is None
    assert hours.after([always], 5, 7) == 12


def test_a_chunk_is_sent_when_it_is_open_in_all_of_its_zones() -> None:
    found = OpenHours(window_of("09:00", "20:00"), "recipient", "Europe/Paris")
    assert [x.zone for x in found.of("America/New_York,America/Los_Angeles")] == [
        "America/New_York",
        "America/Los_Angeles",
    ]
    assert [x.zone for x in found.of()] == ["Europe/Paris"]
    at = ms(2026, 12, 1, 6)
    both = found.of("America/New_York,America/Los_Angeles")
    assert hours.opening(both, at) == ms(2026, 12, 1, 9, zone="America/Los_Angeles")
    assert hours.closing(both, hours.opening(both, at)) == ms(2026, 12, 1, 20, zone="America/New_York")


def test_a_job_begins_with_the_first_of_its_zones() -> None:
    found = OpenHours(window_of("09:00", "20:00"), "recipient", "UTC", ("Asia/Tokyo", "Europe/Paris"))
    assert found.first(ms(2026, 12, 1, 20)) == ms(2026, 12, 2, 9, zone="Asia/Tokyo")


@given(
    windows(), st.sampled_from([*ZONES, "recipient"]), st.sampled_from(["", "UTC"]), st.lists(st.sampled_from(ZONES))
)
def test_what_is_stored_is_read(window: Window, zone: str, fallback: str, zones: list[str]) -> None:
    found = OpenHours(window, zone, fallback, tuple(zones))
    assert OpenHours.read(found.text()) == found


@pytest.mark.parametrize(
    ("start", "end", "days"),
    [("9:00", "20:00", None), ("09:00", "25:00", None), ("09:00", "09:10", None), ("24:00", "09:00", None)],
)
def test_bad_hours_are_refused(start: str, end: str, days: list[str] | None) -> None:
    with pytest.raises(InvalidHoursError):
        window_of(start, end, days)
    with pytest.raises(InvalidHoursError):
        window_of("09:00", "20:00", [])
    assert window_of("09:00", "20:00", DAYS).days == tuple(range(7))

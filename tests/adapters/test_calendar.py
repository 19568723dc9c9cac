"""Compressed time: notices of a local cloud may go by a clock that is many times as fast."""

from shared.adapters.clock import Calendar
from tests.fakes.clock import FakeClock


def test_a_calendar_is_the_clock() -> None:
    clock = FakeClock()
    assert Calendar(clock).now() == clock.now()
    assert Calendar(clock).at(5.0) == 5.0


def test_a_calendar_in_a_hurry_shows_days_in_seconds() -> None:
    clock = FakeClock()
    began = clock.now()
    calendar = Calendar(clock, began + 10, 86_400)
    assert calendar.now() == began
    clock.advance(10)
    assert calendar.now() == began + 10
    clock.advance(3)
    assert calendar.now() == began + 10 + 3 * 86_400
    assert calendar.at(began + 14) == began + 10 + 4 * 86_400
    calendar.sleep(86_400)
    assert clock.now() == began + 14

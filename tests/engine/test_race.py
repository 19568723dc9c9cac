"""Calls side by side in threads, whose results are taken in the order in which they end."""

import threading

import pytest

from shared.engine.completion_pool import ThreadCompletionPool


def test_calls_are_returned_once_each_as_they_end() -> None:
    first, second = threading.Event(), threading.Event()
    with ThreadCompletionPool(2) as race:
        one = race.submit(first.wait, 10)
        two = race.submit(second.wait, 10)
        second.set()
        assert race.ended() == [two]
        first.set()
        assert race.ended() == [one]


def test_all_that_have_ended_are_returned_together() -> None:
    with ThreadCompletionPool(1) as race:
        calls = [race.submit(str, n) for n in range(5)]
        race.submit(str, "last").result()
        found = list(race.ended())
        while len(found) < 6:
            found += race.ended()
    assert found[:5] == calls
    assert [x.result() for x in found] == ["0", "1", "2", "3", "4", "last"]


def test_a_call_that_raises_has_ended() -> None:
    with ThreadCompletionPool(1) as race:
        race.submit(int, "x")
        (call,) = race.ended()
        with pytest.raises(ValueError, match="invalid literal"):
            call.result()

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.deployed.api import STATES, Api
from tests.deployed.drill import Report, answered
from tests.deployed.inside import Inside
from tests.deployed.watch import Watch


class Answers:
    """An API whose first read times out."""

    def __init__(self, first: Callable[[], Any], *, counted: int) -> None:
        self.first, self.second = threading.Event(), threading.Event()
        self._answer = first
        self._counted = counted
        self._calls = 0

    def get(self, path: str) -> Any:
        self._calls += 1
        if self._calls == 1:
            self.first.set()
            return self._answer()
        self.second.set()
        return {"counts": dict.fromkeys(STATES, 0) | {"sent": self._counted}}


def timed_out() -> Any:
    raise TimeoutError("timed out")


def watched(answers: Answers, until: threading.Event) -> Watch:
    with Watch(cast("Inside", None), cast("Api", answers), patient=True) as watch:
        watch.add("job", 3)
        assert until.wait(30)
    return watch


def test_a_read_that_times_out_is_counted_and_the_watch_goes_on() -> None:
    answers = Answers(timed_out, counted=3)
    watch = watched(answers, answers.second)

    assert (watch.missed, watch.wrong) == (1, [])
    assert watch.samples >= 1


def test_counts_that_do_not_add_up_are_noted_after_a_time_out() -> None:
    answers = Answers(timed_out, counted=2)

    assert watched(answers, answers.second).wrong


def test_any_other_fault_of_a_read_ends_the_drill() -> None:
    def refused() -> Any:
        raise AssertionError("401")

    answers = Answers(refused, counted=3)
    with pytest.raises(AssertionError, match="401"):
        watched(answers, answers.first)


@pytest.mark.parametrize(("samples", "wrong"), [(0, ["none of 2 reads of counts was answered"]), (1, [])])
def test_a_drill_fails_if_none_of_its_reads_was_answered(samples: int, wrong: list[str]) -> None:
    watch, report = Watch(cast("Inside", None), cast("Api", None)), Report()
    watch.samples, watch.missed = samples, 2
    watch.report(report)
    assert report.wrong == wrong


def test_a_condition_whose_read_times_out_does_not_hold_yet() -> None:
    assert not answered(timed_out)()
    assert answered(lambda: True)()

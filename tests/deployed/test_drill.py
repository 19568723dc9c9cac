"""When drills kill, and what they return; these tests need no cloud."""

import random
import threading
from collections import Counter

import pytest

from infra.local.console import LocalCloudError
from tests.deployed.drill import KillsAtAnswers, Report, amounts, beside, judged, killing, percentile

PATIENCE = 30.0
RNG = random.Random(1)  # noqa: S311 - of a drill


def test_kills_are_spread_over_the_answers_and_none_follows_the_end() -> None:
    killed: list[tuple[int, str]] = []
    ended = threading.Event()
    answers = 0
    kills = KillsAtAnswers(8, ["relay", "API", "relay"], RNG, 0.0, lambda x: killed.append((answers, x)))
    for answers in range(1, 9):
        if answers == 6:
            ended.set()
        kills.answered(ended)
    assert killed == [(2, "relay"), (4, "API")]


def test_all_kills_are_made_though_some_find_nothing() -> None:
    found = iter([False, True, False, True, True])
    with killing(lambda: next(found), 2, RNG, (0.0, 0.0)) as done:
        assert done.wait(PATIENCE)
    assert next(found) is True, "no more than so many"


def test_kills_end_with_the_block() -> None:
    with killing(lambda: pytest.fail("killed after the end"), 1, RNG, (PATIENCE, PATIENCE)) as done:
        pass
    assert not done.is_set()


def test_what_a_step_beside_the_work_raises_ends_the_drill() -> None:
    taken = threading.Event()

    def step() -> None:
        taken.set()
        raise LocalCloudError("the cloud has gone")

    with pytest.raises(LocalCloudError, match="has gone"), beside(step, lambda: 0.0):
        taken.wait(PATIENCE)


@pytest.mark.parametrize(("wrong", "code"), [([], 0), (["a mail arrived twice"], 1)])
def test_a_broken_promise_is_printed_and_is_the_exit_code(
    wrong: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(3, {"mails": 7, "s in all": 1.25, "why": {"late": 2}}, Counter(relay=1), wrong)
    assert judged(lambda: report) == code
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    last = f"seed 3: 7 mails; killed: 1 relay; {len(wrong)} faults"
    assert rows == ["mails 7", "s in all 1.2", "why 2 late", last, *(f"WRONG: {x}" for x in wrong)]


def test_a_figure_or_a_kill_that_is_nothing_has_not_happened() -> None:
    report = Report(0, {"mails": 7, "unknown": 0}, Counter(relay=1, API=0))
    names = ("mails", "relay", "unknown", "API", "never named")
    assert [report.happened(name) for name in names] == [True, True, False, False, False]


def test_a_percentile_is_the_least_figure_that_so_many_do_not_exceed() -> None:
    assert [percentile([4, 1, 3, 2], share) for share in (50, 95, 100)] == [2, 4, 4]
    assert percentile([], 95) == 0.0


def test_a_drill_without_a_cloud_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    def drill() -> Report:
        raise LocalCloudError("none is up")

    assert judged(drill) == 1
    assert capsys.readouterr().out == "error: none is up\n"


def test_amounts_are_by_name() -> None:
    assert amounts({"relay": 2, "API": 3, "sender": 0}) == "3 API, 2 relay"
    assert amounts({}) == ""

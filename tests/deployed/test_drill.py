"""When drills kill, and what they return; these tests need no cloud."""

import random
import threading
from dataclasses import dataclass, field

import pytest

from infra.local.console import LocalCloudError
from tests.deployed.drill import KillsAtAnswers, amounts, judged, killing

PATIENCE = 30.0
RNG = random.Random(1)  # noqa: S311 - of a drill


@dataclass(slots=True)
class Kept:
    """The report of a drill that has ended."""

    wrong: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "7 mails"


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


@pytest.mark.parametrize(("wrong", "code"), [([], 0), (["a mail arrived twice"], 1)])
def test_a_broken_promise_is_printed_and_is_the_exit_code(
    wrong: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(lambda: Kept(wrong)) == code
    assert capsys.readouterr().out.splitlines() == ["7 mails", *(f"WRONG: {x}" for x in wrong)]


def test_a_drill_without_a_cloud_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    def drill() -> Kept:
        raise LocalCloudError("none is up")

    assert judged(drill) == 1
    assert capsys.readouterr().out == "error: none is up\n"


def test_amounts_are_by_name() -> None:
    assert amounts({"relay": 2, "API": 3, "sender": 0}) == "3 API, 2 relay"
    assert amounts({}) == ""

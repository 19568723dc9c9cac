"""Whose turn it is on a credential that accounts share."""

from dataclasses import replace

import pytest

from shared.domain.campaigns.turns import REMEMBERED, TURN_MS, WaitingJob, after, in_turn, is_over
from shared.domain.jobs.job import Job
from tests.contracts.conftest import Parts
from tests.fakes.clock import FakeClock


def waiting(*jobs: str) -> list[WaitingJob]:
    """Return jobs that wait, the oldest first; the first letter of each is its account."""
    return [WaitingJob(age, job, f"campaign of {job}", job[0]) for age, job in enumerate(jobs)]


def order(turns: list[str], *jobs: str) -> list[str]:
    return [x.job for x in in_turn(reversed(waiting(*jobs)), turns)]


def test_of_one_account_the_oldest_job_is_first() -> None:
    assert order([], "a1", "a2", "a3") == order(["a"], "a1", "a2", "a3") == ["a1", "a2", "a3"]


def test_the_account_is_first_whose_turn_is_longest_ago_or_never_was() -> None:
    assert order(["b", "a"], "a1", "a2", "b1", "c1", "d1") == ["c1", "d1", "b1", "a1", "a2"]


def test_without_turns_the_account_with_the_oldest_job_is_first_with_all_of_its_jobs() -> None:
    assert order([], "a1", "b1", "a2") == ["a1", "a2", "b1"]


def test_a_turn_moves_an_account_to_the_end() -> None:
    assert after(["a", "b", "c"], "a") == ("b", "c", "a")


def test_accounts_before_the_last_hundred_are_forgotten() -> None:
    many = [str(i) for i in range(REMEMBERED)]
    assert after(many, "new") == (*many[1:], "new")


@pytest.fixture
def job(clock: FakeClock) -> Job:
    return replace(Parts(clock, [2]).job, account="a", planned_at=clock.ms)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.mark.parametrize(
    ("account", "ms", "over"), [("b", TURN_MS, True), ("b", TURN_MS - 1, False), ("a", TURN_MS, False)]
)
def test_a_turn_is_over_for_another_account_after_its_time(job: Job, account: str, ms: int, over: bool) -> None:  # noqa: FBT001
    younger = replace(job, planned_at=job.planned_at + TURN_MS)
    assert is_over([younger, job], account, job.planned_at + ms) is over


def test_a_credential_that_nothing_holds_has_no_turn() -> None:
    assert not is_over([], "a", TURN_MS)

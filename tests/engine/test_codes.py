"""What a log says of a message that was given up."""

from typing import Any

import pytest

from shared.domain.jobs.job import Policy
from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected
from shared.domain.jobs.states import Cell
from tests.fakes.world import ACCOUNT, World, credential

DOWN = Rejected("http_503", permanent=False)


@pytest.fixture
def world() -> World:
    return World(credential("one"), credential("two"))


def accept(world: World, answers: list[Outcome | None], **policy: Any) -> str:
    """Accept a batch of one whose attempts are answered so, in order; None: accepted. Returns the job."""
    given: list[Outcome] = [a or Accepted(f"id-{n}") for n, a in enumerate(answers)]
    left = iter(given)
    job = world.accept(1, policy=Policy(**policy))
    for p in world.providers.values():

        def answer(_targets: object, p: object = p) -> None:
            p.answer = next(left)  # type: ignore[attr-defined]

        p.before = answer
    world.settle()
    return job.id


def word(world: World, job: str, kind: str, attempt: int = 1, **more: Any) -> None:
    """Have the provider of the last attempt say something of it."""
    world.track(world.ledgers.read_all(job)[0].lane, world.word(job, 0, kind, attempt=attempt, **more))
    world.settle()


def error(world: World, job: str) -> str | None:
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    return line.error


def test_when_all_attempts_are_used_up(world: World) -> None:
    job = accept(world, [DOWN] * 3, max_attempts=3)
    assert world.cells(job) == [(Cell.DROPPED, 3)]
    assert error(world, job) == "attempts_exhausted"


def test_the_limit_is_that_of_the_last_retry(world: World) -> None:
    job = accept(world, [DOWN] * 4, max_attempts=2)
    world.control.retry(job, ACCOUNT, frozenset({"failed"}))
    world.settle()
    assert world.cells(job) == [(Cell.DROPPED, 4)]
    assert error(world, job) == "attempts_exhausted"


def test_when_no_provider_is_left(world: World) -> None:
    job = accept(world, [None, None])
    word(world, job, "blocked", code="421")
    word(world, job, "blocked", attempt=2, code="554")
    assert world.cells(job) == [(Cell.DROPPED, 2)]
    assert error(world, job) == "providers_exhausted"


@pytest.mark.parametrize(("code", "shown"), [("554", "554"), ("", "blocked")])
def test_an_event_without_further_providers_is_final(world: World, code: str, shown: str) -> None:
    job = accept(world, [None], retry_on=("dropped",))
    word(world, job, "blocked", code=code)
    assert world.cells(job) == [(Cell.DROPPED, 1)]
    assert error(world, job) == shown


def test_an_event_after_the_last_attempt_is_final(world: World) -> None:
    job = accept(world, [None], max_attempts=1)
    word(world, job, "dropped", code="spam")
    assert world.cells(job) == [(Cell.DROPPED, 1)]
    assert error(world, job) == "spam"


def test_a_word_about_a_copy_explains_nothing(world: World) -> None:
    job = accept(world, [DOWN] * 2, max_attempts=2)
    word(world, job, "blocked", attempt=2, secondary=True)
    assert error(world, job) == "attempts_exhausted"


def test_what_waits_for_its_next_try_has_no_error(world: World) -> None:
    job = accept(world, [None, None])
    world.track(world.ledgers.read_all(job)[0].lane, world.word(job, 0, "blocked", code="421"))
    assert error(world, job) is None

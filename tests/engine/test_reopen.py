"""Retry after feedback: by policy, through providers that have not tried the message, and never a third send."""

import pytest

from shared.domain.jobs.job import Policy
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell, JobState
from tests.fakes.faults import Crash, When
from tests.fakes.world import World, credential

DOWN = Rejected("http_503", permanent=False)


@pytest.fixture
def world() -> World:
    return World(credential("one"), credential("two"))


def accept(world: World, **policy: object) -> str:
    """Accept a batch of one that starts at `one`, and let it be sent."""
    while True:
        job = world.accept(1, policy=Policy(**policy))  # type: ignore[arg-type]
        if world.ledgers.read_all(job.id)[0].lane == "one":
            break
        world.jobs.remove(job.id)
        world.lanes[world.ledgers.read_all(job.id)[0].lane].receive()
    world.run()
    assert world.job(job.id).state is JobState.LOGGED
    assert world.states(job.id) == [Cell.SENT]
    return job.id


def lines(world: World, job: str) -> tuple[dict[str, bool], list[tuple[int, str, str]]]:
    """Return which providers were tried and (number, credential, outcome) of each attempt of the only message."""
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    return line.providers, [(a.n, a.credential_id, a.outcome) for a in line.attempts]


@pytest.mark.promise(1)
@pytest.mark.parametrize("word", ["dropped", "blocked", "failed_temporarily"])
def test_what_a_provider_gives_up_goes_to_one_that_has_not_tried(world: World, word: str) -> None:
    job = accept(world)
    world.track("one", world.word(job, 0, word))
    assert world.job(job).state is JobState.READY
    assert world.counts(job) == {"queued": 1}
    world.settle()
    assert world.cells(job) == [(Cell.SENT, 2)]
    assert lines(world, job)[1] == [(1, "one", "accepted"), (2, "two", "accepted")]
    assert world.job(job).state is JobState.LOGGED
    assert world.job(job).counts["sent"] == 1
    assert world.job(job).by == {"one": (1, 1, 0, 1), "two": (1, 1, 0, 0)}


@pytest.mark.promise(1)
def test_when_none_is_left_the_message_has_failed(world: World) -> None:
    job = accept(world)
    world.track("one", world.word(job, 0, "dropped"))
    world.settle()
    world.track("two", world.word(job, 0, "dropped", attempt=2))
    world.settle()
    assert world.cells(job) == [(Cell.DROPPED, 2)]
    assert world.job(job).counts["failed"] == 1


@pytest.mark.parametrize("word", ["bounced", "complained"])
def test_a_hard_word_is_never_followed_by_another_attempt(world: World, word: str) -> None:
    job = accept(world)
    world.track("one", world.word(job, 0, word))
    world.settle()
    assert world.cells(job) == [(Cell.BOUNCED, 1)]


def test_the_policy_decides(world: World) -> None:
    job = accept(world, retry_on=("blocked",))
    world.track("one", world.word(job, 0, "dropped"))
    world.settle()
    assert world.cells(job) == [(Cell.DROPPED, 1)]


def test_the_last_attempt_is_the_last(world: World) -> None:
    job = accept(world, max_attempts=1)
    world.track("one", world.word(job, 0, "dropped"))
    world.settle()
    assert world.cells(job) == [(Cell.DROPPED, 1)]


def test_a_stopped_job_is_not_reopened() -> None:
    world = World(credential("one"), credential("two"))
    job = world.accept(400).id
    world.send("one")
    world.control.stop(job, world.job(job).account)
    world.settle()
    sent = next(i for i, s in enumerate(world.states(job)) if s is Cell.SENT)
    ledger = next(x for x in world.ledgers.read_all(job) if Cell.SENT in {x.cell(i)[0] for i in range(len(x.cells))})
    world.track(ledger.lane, world.word(job, ledger.having(Cell.SENT)[0], "dropped", chunk=ledger.chunk))
    world.settle()
    assert world.states(job)[sent] is Cell.DROPPED
    assert world.job(job).state is JobState.LOGGED


@pytest.mark.parametrize(("after", "ends"), [(3_599, (Cell.SENT, 1)), (3_600, (Cell.SENT, 2))])
def test_a_message_deferred_for_long_is_tried_elsewhere_if_its_owner_wants_that(
    world: World, after: int, ends: tuple[Cell, int]
) -> None:
    job = accept(world, retry_on=("deferred",), deferred_after=3_600)
    began = world.records.details(job, 0)[0][0].at // 1000
    world.track("one", world.word(job, 0, "deferred", at=began + after))
    world.settle()
    assert world.cells(job) == [ends]
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    assert line.may_duplicate is (ends[1] == 2)


def test_a_deferral_is_no_failure_by_default(world: World) -> None:
    job = accept(world)
    world.track("one", world.word(job, 0, "deferred", at=int(world.clock.now()) + 10**6))
    world.settle()
    assert world.cells(job) == [(Cell.SENT, 1)]


@pytest.mark.promise(1)
def test_a_receipt_of_the_first_provider_is_joined_and_ends_it(world: World) -> None:
    job = accept(world)
    world.track("one", world.word(job, 0, "dropped"))
    world.track("one", world.word(job, 0, "delivered"))  # before the second was called
    world.settle()
    assert world.cells(job) == [(Cell.DELIVERED, 1)]
    assert world.oracle.times(job) == {(0, 0): 1}
    other = accept(world)
    world.track("one", world.word(other, 0, "dropped"))
    world.settle()
    world.track("one", world.word(other, 0, "delivered"))  # after it
    world.track("two", world.word(other, 0, "dropped", attempt=2))
    world.settle()
    assert world.cells(other) == [(Cell.DELIVERED, 2)]
    assert world.oracle.times(other) == {(0, 0): 2}


@pytest.mark.promise(5)
def test_both_words_in_one_batch_are_as_good_as_one_after_the_other(world: World) -> None:
    job = accept(world)
    version = world.job(job).version
    world.track("one", world.word(job, 0, "dropped"), world.word(job, 0, "delivered"))
    assert world.job(job).version == version
    world.settle()
    assert world.cells(job) == [(Cell.DELIVERED, 1)]


@pytest.mark.promise(7)
def test_a_repeated_word_reopens_once(world: World) -> None:
    job = accept(world)
    for _ in range(3):
        world.track("one", world.word(job, 0, "dropped"))
    world.settle()
    for _ in range(3):
        world.track("one", world.word(job, 0, "dropped"))
    world.settle()
    assert world.cells(job) == [(Cell.SENT, 2)]


@pytest.mark.promise(1)
def test_a_credential_that_took_and_failed_it_never_gets_it_again(world: World) -> None:
    job = accept(world)
    world.providers["two"].answer = DOWN
    world.track("one", world.word(job, 0, "dropped"))
    world.settle(seconds=1000)
    assert world.oracle.times(job) == {(0, 0): 1}
    assert world.cells(job) == [(Cell.DROPPED, 6)]
    assert {c for _, c, o in lines(world, job)[1] if o == "not_sent"} == {"two"}


@pytest.mark.promise(1)
def test_what_failed_later_goes_only_to_one_that_never_tried_it() -> None:
    """`one` was down, `two` has taken it and failed it, and `three` is left alone for the moment."""
    world = World(credential("one"), credential("two"), credential("three"))
    world.providers["one"].script("r0@example.com", [DOWN])
    job = accept(world)
    assert world.cells(job) == [(Cell.SENT, 2)]
    world.breaker_cache.open("three", "http_503", 5)
    world.track("two", world.word(job, 0, "dropped", attempt=2))
    world.settle()
    assert world.cells(job) == [(Cell.SENT, 3)]
    assert [c for _, c, _ in lines(world, job)[1]] == ["one", "two", "three"]


def test_the_other_messages_of_a_chunk_are_left_alone(world: World) -> None:
    job = world.accept(6).id
    world.settle()
    x = world.ledgers.read_all(job)[0]
    world.track(x.lane, world.word(job, 1, "dropped", chunk=x.chunk))
    world.settle()
    cells = [world.ledgers.read_all(job)[0].cell(i) for i in range(3)]
    assert cells == [(Cell.SENT, 1), (Cell.SENT, 2), (Cell.SENT, 1)]
    assert sum(world.oracle.times(job).values()) == 7


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_crash_around_the_reopening_loses_nothing(world: World, when: When) -> None:
    job = accept(world)
    world.tap.arm_at("records.reopen", when)
    with pytest.raises(Crash):
        world.track("one", world.word(job, 0, "dropped"))
    world.track("one", world.word(job, 0, "dropped"))
    world.settle()
    assert world.cells(job) == [(Cell.SENT, 2)]
    assert world.job(job).state is JobState.LOGGED

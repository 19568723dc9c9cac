"""Small jobs in a sender's group: they begin by their first claim, and end by the last release."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from shared.contracts import ProviderEvent
from shared.domain.hooks.endpoint import UNHEARD_S
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell, JobState
from shared.engine.lane.group import TOGETHER
from shared.engine.lane.start import PointerResult
from shared.ports import Retriable
from tests.engine.test_group import serve
from tests.engine.test_slow_answers import hang_for
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, World, credential

SENT = PointerResult.SENT


def made(jobs: int = 4) -> World:
    world = World(credential("one", 100), credential("two", 100))
    for _ in range(jobs):
        world.accept(1, route=("one",))
    return world


def first(monkeypatch: pytest.MonkeyPatch, world: World, action: Callable[[], object]) -> None:
    """Have something happen just before a small job begins for the first time."""
    begin, waiting = world.records.begin, [action]

    def after(*args: Any) -> Any:
        if waiting:
            waiting.pop()()
        return begin(*args)

    monkeypatch.setattr(world.records, "begin", after)


def ended(world: World) -> list[Job]:
    return [job for job in map(world.job, world.jobs) if job.state is JobState.LOGGED]


def test_a_job_that_ends_by_its_release_needs_no_fold() -> None:
    world = made()
    assert serve(world)[0] == [SENT] * 4
    assert len(ended(world)) == 4
    assert not any(x.dirty for job in world.jobs for x in world.ledgers.read_all(job))
    assert world.stores.stats(ACCOUNT).get("queued") == 4
    world.check()


def test_an_account_with_webhooks_has_its_jobs_ended_by_their_fold() -> None:
    world = made()
    world.stores.hear(ACCOUNT)
    assert serve(world)[0] == [SENT] * 4
    assert ended(world) == []
    assert all(x.dirty for job in world.jobs for x in world.ledgers.read_all(job))
    world.settle()
    assert len(ended(world)) == 4


def test_a_look_for_webhooks_that_is_old_counts_no_more() -> None:
    world = made(jobs=1)
    world.slow_down(0.1, 0.1)
    world.providers["one"].latency = UNHEARD_S - 0.05
    assert serve(world)[0] == [SENT]
    assert ended(world) == []
    world.settle()
    assert len(ended(world)) == 1


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_what_cannot_end_together_ends_by_itself(when: When) -> None:
    world = made()
    world.tap.arm(0, when, lambda: Retriable("store"), where=lambda name: name == "records.end_jobs")
    assert serve(world)[0] == [SENT] * 4
    assert all(x.status is LedgerStatus.DONE for job in world.jobs for x in world.ledgers.read_all(job))
    world.settle()
    world.check()
    assert len(ended(world)) == 4
    assert world.stores.stats(ACCOUNT).get("queued") == 4


def test_a_message_that_goes_to_another_credential_does_not_end_its_job() -> None:
    world = World(credential("one", 100), credential("two", 100))
    job = world.accept(1, route=("one", "two"))
    [lane] = {x.lane for x in world.ledgers.read_all(job.id)}
    other = {"one": "two", "two": "one"}[lane]
    world.providers[lane].script("r0@example.com", [Rejected("later", permanent=False)])
    world.clock.run(lambda: world.send_together(lane))
    [ledger] = world.ledgers.read_all(job.id)
    assert (ledger.status, ledger.lane, world.job(job.id).state) == (LedgerStatus.IDLE, other, JobState.SENDING)
    world.clock.run(lambda: world.send_together(other))
    assert world.job(job.id).state is JobState.LOGGED
    windows, _ = world.records.details(job.id, 0)
    assert [(x.epoch, x.credential) for x in windows] == [(1, lane), (2, other)]
    world.check()


@pytest.mark.promise(1)
def test_a_worker_that_is_faster_leaves_the_other_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = made(jobs=1)
    [job] = world.jobs
    taken: list[PointerResult] = []

    def other() -> None:
        taken.append(world.sender("one").work(job, 0, owner="other", deadline=world.clock.now() + 60))

    first(monkeypatch, world, other)
    [did] = world.send_together("one")
    assert (taken, did) == ([SENT], PointerResult.NOTHING)
    assert len(world.oracle.calls) == 1
    world.settle()
    world.check()


@pytest.mark.promise(4)
def test_a_stop_between_the_look_and_the_claim_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    world = made(jobs=2)
    stopped = world.jobs[0]
    first(monkeypatch, world, lambda: world.control.stop(stopped, ACCOUNT))
    serve(world)
    world.settle()
    world.check()
    assert world.states(stopped) == [Cell.QUEUED]
    assert {x.ref.job for x in world.oracle.taken} == {world.jobs[1]}


def test_answers_that_come_apart_share_a_transaction_if_they_are_close() -> None:
    world = made(jobs=10)
    world.slow_down(0.004, 0.008)
    hang_for(world, "r0@example.com")
    world.tap.calls.clear()
    serve(world)
    world.settle()
    assert Counter(world.tap.calls)["records.end_jobs"] <= 10 * (TOGETHER + 0.1) / TOGETHER
    assert len(ended(world)) == 10


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_a_foreseen_lease_is_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another's lease has the version that the foreseen one would have: it must not be taken for it."""
    world = made(jobs=1)
    [job] = world.jobs
    taken: list[object] = []

    def other() -> None:
        now = world.clock.ms
        taken.append(world.ledgers.send_start(job, 0, lane="one", owner="other", now=now, until=now + 60_000))
        raise Retriable("store")

    first(monkeypatch, world, other)
    [did] = serve(world)[0]
    assert isinstance(did, Retriable)
    assert world.ledgers.read_all(job) == taken


def delivered(world: World) -> list[ProviderEvent]:
    return [world.word(job, 0, "delivered") for job in world.jobs]


def test_what_is_said_of_jobs_that_have_ended_is_folded_with_them() -> None:
    world = made()
    serve(world)
    assert world.track("one", *delivered(world)).joined == 4
    assert [world.job(job).counts["delivered"] for job in world.jobs] == [1] * 4
    assert not any(x.dirty for job in world.jobs for x in world.ledgers.read_all(job))
    assert world.stores.stats(ACCOUNT).get("success") == 4
    world.track("one", *delivered(world))
    assert world.stores.stats(ACCOUNT).get("success") == 4
    world.check()


def test_what_webhooks_are_to_hear_of_is_folded_once_it_is_announced() -> None:
    world = made()
    serve(world)
    world.stores.hear(ACCOUNT)
    world.track("one", *delivered(world))
    assert all(x.dirty for job in world.jobs for x in world.ledgers.read_all(job))
    world.settle()
    assert world.stores.stats(ACCOUNT).get("success") == 4


@pytest.mark.promise(6)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_words_that_cannot_be_folded_together_are_joined_each_by_itself(when: When) -> None:
    world = made()
    serve(world)
    world.tap.arm(0, when, lambda: Retriable("store"), where=lambda name: name == "records.end_jobs")
    assert world.track("one", *delivered(world)).joined == 4
    world.settle()
    assert world.stores.stats(ACCOUNT).get("success") == 4
    assert {x: words_of(world, x) for x in world.jobs} == {x: ["delivered"] for x in world.jobs}
    world.check()


def words_of(world: World, job: str) -> list[str]:
    """Return what the log has of a provider's words about a job's messages."""
    _, said = world.records.details(job, 0)
    return [entry.word for x in said for entry in x.entries]


@pytest.mark.promise(9)
def test_words_that_are_folded_at_once_are_in_the_log() -> None:
    world = made()
    serve(world)
    before = len(world.tap.calls)
    world.track("one", *delivered(world))
    assert "records.put_feedback" not in world.tap.calls[before:]
    assert {x: words_of(world, x) for x in world.jobs} == {x: ["delivered"] for x in world.jobs}


@pytest.mark.promise(6)
def test_words_that_cannot_be_joined_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    world = made(jobs=2)
    serve(world)
    words = delivered(world)

    def fails(*_: Any) -> Any:
        raise Retriable("store")

    monkeypatch.setattr(world.records, "end_jobs", fails)
    monkeypatch.setattr(world.ledgers, "_swap", fails)
    tracked = world.tracker.join_all("one", words)
    assert (tracked.joined, sorted(x.ref for x in tracked.left)) == (0, sorted(x.ref for x in words))
    assert isinstance(tracked.fault, Retriable)


def test_bad_news_is_not_folded_at_once() -> None:
    world = made(jobs=1)
    serve(world)
    [job] = world.jobs
    world.track("one", world.word(job, 0, "bounced"))
    assert all(x.dirty for x in world.ledgers.read_all(job))
    world.settle()
    assert world.job(job).counts["bounced"] == 1

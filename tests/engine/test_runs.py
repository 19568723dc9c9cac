"""Runs of notices in the engine: what expires is never called for, and nobody but their notices ends them."""

from dataclasses import replace

import pytest

from shared.domain.jobs.job import NOTICE, Job, Policy, StopReason
from shared.domain.jobs.outcomes import Throttled
from shared.domain.jobs.states import Cell, JobState
from shared.engine.jobs.control import NOT_FOR_NOTICES
from shared.engine.jobs.stop import Stopper, can_stop
from shared.engine.reports.message_log import Filter
from tests.fakes.world import ACCOUNT, World, credential, recipients

NO_RETRY = Policy(retry_on=())


@pytest.fixture
def world() -> World:
    return World(credential("one", 1))


def run(world: World, *seconds: float) -> Job:
    """Accept a run with a recipient for each number, who must not be called for so many seconds later; 0: no limit."""
    who = tuple(
        replace(r, not_after=world.clock.ms + int(s * 1000) if s else 0)
        for r, s in zip(recipients(len(seconds)), seconds, strict=True)
    )
    return world.accept(who, kind=NOTICE, policy=NO_RETRY)


def times(world: World) -> dict[str, float]:
    """Return when each recipient's call began, in seconds since the epoch."""
    return {t.address: t.at for t in world.oracle.taken}


def test_who_has_expired_is_not_called_for(world: World) -> None:
    job = run(world, 3600, 5, 0)
    world.settle()
    assert world.states(job.id) == [Cell.SENT, Cell.EXPIRED, Cell.SENT]
    assert world.counts(job.id) == {"sent": 2, "skipped": 1}
    line = world.logs.lines(world.job(job.id), Filter())[0][1]
    assert (line.error, line.attempts) == ("expired", ())
    assert world.job(job.id).state is JobState.LOGGED
    world.check()


@pytest.mark.parametrize("limit", [15, 25])
def test_no_call_begins_after_its_limit_at_a_slow_rate(world: World, limit: int) -> None:
    job = run(world, *[limit] * 30)  # a chunk at 1/s
    until = world.clock.now() + limit
    world.settle()
    assert times(world)
    assert max(times(world).values()) < until
    assert set(world.states(job.id)) == {Cell.SENT, Cell.EXPIRED}


def test_a_provider_that_asks_to_wait_makes_nobody_late(world: World) -> None:
    job = run(world, 60, 3600)
    for address in ("r0@example.com", "r1@example.com"):
        world.providers["one"].script(address, [Throttled(120.0)] * 2)
    world.settle()
    assert world.states(job.id) == [Cell.EXPIRED, Cell.SENT]


def test_a_paused_account_keeps_no_run_from_its_end(world: World) -> None:
    world.records.paused.add(ACCOUNT)  # type: ignore[attr-defined]
    job = run(world, 30, 7200)
    world.clock.advance(60)
    world.sweep()
    assert world.states(job.id) == [Cell.EXPIRED, Cell.QUEUED]
    world.clock.advance(7200)
    world.settle(sweeps=5)
    assert world.states(job.id) == [Cell.EXPIRED, Cell.EXPIRED]
    assert world.job(job.id).state is JobState.LOGGED
    assert world.oracle.calls == []


def test_the_ledger_of_a_run_knows_the_earliest_limit(world: World) -> None:
    job = run(world, 90, 0, 60)
    ledger = world.ledgers.read_all(job.id)[0]
    assert (ledger.not_after, ledger.told) == (world.clock.ms + 60_000, bytes(3))


def test_a_batch_has_neither(world: World) -> None:
    ledger = world.ledgers.read_all(world.accept(2).id)[0]
    assert (ledger.not_after, ledger.told) == (0, b"")


def test_nobody_stops_resumes_or_retries_a_run(world: World) -> None:
    job = run(world, 3600)
    assert world.control.stop(job.id, ACCOUNT) is NOT_FOR_NOTICES
    assert world.control.resume(job.id, ACCOUNT) is NOT_FOR_NOTICES
    assert world.control.retry(job.id, ACCOUNT, frozenset({"failed"})) is NOT_FOR_NOTICES
    assert not can_stop(world.job(job.id))
    stopper = Stopper(records=world.records, clock=world.clock)
    assert stopper.stop(world.job(job.id), StopReason.OPERATOR, by="ops") == (world.job(job.id), False)
    world.settle()
    assert world.states(job.id) == [Cell.SENT]


def test_what_is_withdrawn_while_a_lease_waits_for_slots_is_not_sent(world: World) -> None:
    job = run(world, *[3600] * 4)

    def withdraw(_targets: object) -> None:
        world.ledgers.drop(job.id, 0, [2, 3], Cell.WITHDRAWN)

    world.providers["one"].before = withdraw
    world.settle()
    states = world.states(job.id)
    assert states[3] is Cell.WITHDRAWN
    assert set(times(world)) == {f"r{i}@example.com" for i, s in enumerate(states) if s is Cell.SENT}
    world.check()


def test_a_finished_run_is_looked_at_until_its_notices_know_all(world: World) -> None:
    job = run(world, 3600)
    world.settle()
    ended = world.job(job.id).finished_at
    assert list(world.records.notice_runs(ended + 59_999)) == []
    assert list(world.records.notice_runs(ended + 60_000)) == [job.id]
    world.records.look_at_run_again(job.id, ended + 120_000)
    assert list(world.records.notice_runs(ended + 119_999)) == []
    world.records.look_at_run_again(job.id, None)
    assert list(world.records.notice_runs(ended + 10**9)) == []

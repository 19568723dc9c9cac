"""A stop by the bounce guard and what is told of it are one; an override lasts; the journal keeps what happened."""

from dataclasses import replace

import pytest

from shared.domain.audit import SYSTEM, Event, Log
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import Change, JobState
from shared.ports import Changed, Retriable
from tests.contracts.conftest import ACCOUNT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

GUARD = "bounce_guard"


def stored(stores: Stores, clock: FakeClock, **changes: object) -> Job:
    parts = Parts(clock, [2], **{"campaign": "spring", "kind": "campaign", **changes})
    parts.store(stores)
    return parts.job


def event(job: Job, at: int) -> Event:
    return Event(job.account, at, job.id, "job.stopped", SYSTEM, {"campaign": "spring", "bounced": 11, "why": "ü"})


def guarded(stores: Stores, job: Job, now: int) -> Changed:
    return stores.records.change(job, Change.STOP, now, reason=GUARD, event=event(job, now))


def told(stores: Stores, log: Log) -> list[Event]:
    return list(stores.journal.since(ACCOUNT, log, 0))


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_stop_has_one_event(stores: Stores, clock: FakeClock, when: When | None) -> None:
    job = stored(stores, clock)
    if when is not None:
        stores.tap.arm(0, when)
    changed = guarded(stores, job, clock.ms)
    assert changed.won == (when is None)
    assert changed.job == stores.records.job(job.id)
    assert changed.job is not None
    assert (changed.job.state, changed.job.stop_reason, changed.job.stopped_at) == (JobState.STOPPED, GUARD, clock.ms)
    again = guarded(stores, job, clock.ms + 1)
    assert again == Changed(won=False, job=changed.job)
    assert told(stores, Log.AUDIT) == told(stores, Log.EVENTS) == [event(job, clock.ms)]


def test_an_unstopped_job_has_no_event(stores: Stores, clock: FakeClock) -> None:
    for state in (JobState.SENT, JobState.LOGGED, JobState.STOPPED):
        assert not guarded(stores, stored(stores, clock, state=state), clock.ms).won
    job = stored(stores, clock)
    stores.tap.arm(0, error=Retriable)
    with pytest.raises(Retriable):
        guarded(stores, job, clock.ms)
    assert stores.records.job(job.id) == job
    assert told(stores, Log.AUDIT) == told(stores, Log.EVENTS) == []


def test_an_override_lasts_and_leaves_other_stops_alone(stores: Stores, clock: FakeClock) -> None:
    job = stored(stores, clock)
    for _ in range(2):
        stores.records.override_guard(job.id)
    overridden = stores.records.job(job.id)
    assert overridden == replace(job, guard_off=True, version=job.version + 2)
    assert guarded(stores, job, clock.ms) == Changed(won=False, job=overridden)
    assert told(stores, Log.EVENTS) == []
    assert stores.records.change(job, Change.STOP, clock.ms, reason="user").won
    stores.records.override_guard("0" * 26)
    assert stores.records.job("0" * 26) is None


def test_a_new_job_may_be_overridden_from_the_start(stores: Stores, clock: FakeClock) -> None:
    job = stored(stores, clock, guard_off=True)
    assert stores.records.job(job.id) == job
    assert not guarded(stores, job, clock.ms).won


def test_the_journal_keeps_each_accounts_events_in_the_order_of_time(stores: Stores, clock: FakeClock) -> None:
    job = Parts(clock).job
    first, second, third = (event(replace(job, id=c * 26), clock.ms + at) for c, at in (("c", 0), ("b", 5), ("a", 5)))
    for x in (second, first, third, first):
        stores.journal.write(replace(x, logs=(Log.AUDIT,)))
    stores.journal.write(replace(second, actor="key_1", logs=(Log.EVENTS,)))
    stores.journal.write(replace(second, account="acc_000000000002"))
    assert told(stores, Log.AUDIT) == [first, third, second]
    assert list(stores.journal.since(ACCOUNT, Log.AUDIT, clock.ms + 1)) == [third, second]
    assert told(stores, Log.EVENTS) == [replace(second, actor="key_1")]


def test_an_override_and_its_entry_are_one(stores: Stores, clock: FakeClock) -> None:
    job = stored(stores, clock, campaign="", kind="batch")
    stores.records.override_guard(job.id, event(job, clock.ms))
    assert told(stores, Log.AUDIT) == [event(job, clock.ms)]
    assert not guarded(stores, job, clock.ms + 1).won
    stores.records.override_guard("01m3250v00wh742j0vm8wb7anm", event(job, clock.ms + 2))
    assert told(stores, Log.AUDIT) == [event(job, clock.ms)]

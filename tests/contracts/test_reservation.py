"""A credential serves one campaign at a time: the reservation moves with its jobs' plans and ends."""

from dataclasses import replace

import pytest

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Change, JobState
from shared.ports import Changed, Retriable
from tests.contracts.conftest import Parts
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores


def ready(stores: Stores, clock: FakeClock, campaign: str, **changes: object) -> Job:
    """Store a campaign's job that is READY."""
    parts = Parts(clock, [2], **{"campaign": campaign, "kind": "campaign", "state": JobState.READY, **changes})
    parts.store(stores)
    return parts.job


def change(stores: Stores, job: Job, to: Change, now: int = 5) -> Changed:
    return stores.records.change(job, to, now)


def done(stores: Stores, job: Job, *changes: Change) -> Job:
    """Make some changes of a job, each of which must be made."""
    now = job
    for to in changes:
        changed = change(stores, now, to)
        assert changed.won, to
        assert changed.job is not None
        now = changed.job
    return now


def test_a_plan_takes_the_credential_and_returns_the_job_as_stored(stores: Stores, clock: FakeClock) -> None:
    job = ready(stores, clock, "spring", planned_at=0)
    assert stores.records.reserved("one")[0] == ""
    changed = change(stores, job, Change.PLAN, clock.ms)
    assert changed == Changed(
        won=True, job=replace(job, state=JobState.ENQUEUED, planned_at=clock.ms, version=job.version + 1)
    )
    assert changed.job == stores.records.job(job.id)
    assert (stores.records.reserved("one")[0], stores.records.reserved("two")[0]) == ("spring", "")


def test_a_credential_serves_one_campaign_at_a_time(stores: Stores, clock: FakeClock) -> None:
    spring, autumn = ready(stores, clock, "spring"), ready(stores, clock, "autumn")
    done(stores, spring, Change.PLAN)
    refused = change(stores, autumn, Change.PLAN)
    assert refused == Changed(won=False, job=autumn, held_by="spring")
    assert stores.records.job(autumn.id) == autumn
    elsewhere = ready(stores, clock, "autumn", route=("two", "one"))
    assert change(stores, elsewhere, Change.PLAN).won
    assert (stores.records.reserved("one")[0], stores.records.reserved("two")[0]) == ("spring", "autumn")


def test_jobs_of_one_campaign_share_it_until_the_last_is_logged(stores: Stores, clock: FakeClock) -> None:
    first, second, other = (ready(stores, clock, c) for c in ("spring", "spring", "autumn"))
    first, second = done(stores, first, Change.PLAN), done(stores, second, Change.PLAN)
    done(stores, first, Change.FINISH, Change.LOG)
    assert change(stores, other, Change.PLAN).held_by == "spring"
    done(stores, second, Change.START, Change.STOP, Change.LOG)
    assert stores.records.reserved("one")[0] == ""
    done(stores, other, Change.PLAN)
    assert stores.records.reserved("one")[0] == "autumn"


@pytest.mark.parametrize(
    "changes", [(), (Change.START,), (Change.FINISH,), (Change.STOP,), (Change.START, Change.STOP)]
)
def test_a_job_keeps_the_credential_until_it_is_logged(
    stores: Stores, clock: FakeClock, changes: tuple[Change, ...]
) -> None:
    job, other = ready(stores, clock, "spring"), ready(stores, clock, "autumn")
    done(stores, job, Change.PLAN, *changes)
    assert change(stores, other, Change.PLAN) == Changed(won=False, job=other, held_by="spring")


def test_a_job_that_never_ran_gives_nothing_back(stores: Stores, clock: FakeClock) -> None:
    running, waiting = ready(stores, clock, "spring"), ready(stores, clock, "autumn")
    done(stores, running, Change.PLAN)
    done(stores, waiting, Change.STOP, Change.LOG)
    assert stores.records.reserved("one")[0] == "spring"
    same = ready(stores, clock, "spring")
    done(stores, same, Change.STOP, Change.LOG)
    assert stores.records.reserved("one")[0] == "spring"


def test_what_the_job_forbids_is_no_matter_of_the_credential(stores: Stores, clock: FakeClock) -> None:
    job, other = ready(stores, clock, "spring", not_before=clock.ms + 1000), ready(stores, clock, "autumn")
    assert change(stores, job, Change.PLAN, clock.ms + 999) == Changed(won=False, job=job)
    assert stores.records.reserved("one")[0] == ""
    done(stores, other, Change.PLAN)
    assert change(stores, job, Change.PLAN, clock.ms + 999) == Changed(won=False, job=job)
    assert change(stores, job, Change.PLAN, clock.ms + 1000).held_by == "autumn"
    gone = replace(job, id="0" * 26)
    assert change(stores, gone, Change.PLAN) == Changed(won=False, job=None)


@pytest.mark.promise(7)
def test_a_plan_whose_answer_was_lost_is_made_once(stores: Stores, clock: FakeClock) -> None:
    job, other = ready(stores, clock, "spring"), ready(stores, clock, "autumn")
    stores.tap.arm(0, When.REPEATED)
    changed = change(stores, job, Change.PLAN, clock.ms)
    assert stores.tap.fired == 1
    assert changed.job == stores.records.job(job.id)
    assert changed.job is not None
    assert (changed.job.state, changed.job.planned_at, changed.job.version) == (JobState.ENQUEUED, clock.ms, 2)
    assert (changed.won, changed.held_by) == (False, "")
    done(stores, changed.job, Change.FINISH, Change.LOG)
    assert change(stores, other, Change.PLAN).won


@pytest.mark.promise(7)
def test_an_end_with_a_lost_answer_leaves_the_next_holder_alone(stores: Stores, clock: FakeClock) -> None:
    job, other = ready(stores, clock, "spring"), ready(stores, clock, "autumn")
    sent = done(stores, job, Change.PLAN, Change.FINISH)
    stores.tap.arm(0, When.REPEATED)
    ended = stores.records.change(sent, Change.LOG, 7, strict=True)
    assert ended.job is not None
    assert (ended.won, ended.job.state) == (False, JobState.LOGGED)
    done(stores, other, Change.PLAN)
    again = stores.records.change(sent, Change.LOG, 9, strict=True)
    assert again == Changed(won=False, job=ended.job)
    assert stores.records.reserved("one")[0] == "autumn"


def test_a_store_that_fails_leaves_job_and_credential_together(stores: Stores, clock: FakeClock) -> None:
    job = ready(stores, clock, "spring")
    stores.tap.arm(0, error=Retriable)
    with pytest.raises(Retriable):
        change(stores, job, Change.PLAN)
    assert (stores.records.job(job.id), stores.records.reserved("one")[0]) == (job, "")
    sent = done(stores, job, Change.PLAN, Change.FINISH)
    stores.tap.arm(0, error=Retriable)
    with pytest.raises(Retriable):
        change(stores, sent, Change.LOG)
    assert (stores.records.job(job.id), stores.records.reserved("one")[0]) == (sent, "spring")


def test_a_job_that_has_gone_can_be_taken_from_a_reservation(stores: Stores, clock: FakeClock) -> None:
    first, second, other = (ready(stores, clock, c) for c in ("spring", "spring", "autumn"))
    stores.records.clear("one")
    for job in (first, second):
        done(stores, job, Change.PLAN)
    stores.records.clear("one")
    stores.expire(first.id)
    stores.records.clear("one")
    assert change(stores, other, Change.PLAN).held_by == "spring"
    stores.expire(second.id)
    assert change(stores, other, Change.PLAN).held_by == "spring"
    stores.records.clear("one")
    done(stores, other, Change.PLAN)
    stores.records.clear("one")
    assert stores.records.reserved("one")[0] == "autumn"


def test_what_is_no_campaign_or_only_a_test_reserves_nothing(stores: Stores, clock: FakeClock) -> None:
    done(stores, ready(stores, clock, "spring"), Change.PLAN)
    for free in (ready(stores, clock, ""), ready(stores, clock, "autumn", test=True)):
        assert not free.exclusive
        done(stores, free, Change.PLAN, Change.FINISH, Change.LOG)
    assert stores.records.reserved("one")[0] == "spring"


def test_a_campaigns_only_chunk_ends_the_job_but_not_the_reservation(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [2], campaign="spring", state=JobState.READY)
    parts.store(stores)
    running = done(stores, parts.job, Change.PLAN)
    ended = stores.ledgers.drop(parts.job.id, 0, [0, 1])
    assert isinstance(ended, Ledger)
    folded = stores.records.fold(ended, running, finish=clock.ms)
    assert folded is not None
    assert folded[1] is not None
    assert (folded[1].state, folded[1]) == (JobState.SENT, stores.records.job(parts.job.id))
    assert stores.records.reserved("one")[0] == "spring"
    done(stores, folded[1], Change.LOG)
    assert stores.records.reserved("one")[0] == ""


def test_the_index_lists_waiting_and_running_jobs_of_a_credential(stores: Stores, clock: FakeClock) -> None:
    made = []
    for minute, campaign in ((3, "spring"), (1, "autumn"), (2, "spring")):
        parts = Parts(clock, campaign=campaign, state=JobState.READY, not_before=clock.ms + minute)
        parts.job = replace(parts.job, created_at=clock.ms + minute * 60_000)
        parts.store(stores)
        made.append(parts.job)
    ready(stores, clock, "spring", test=True)
    ready(stores, clock, "", route=("one", "two"))
    late, early, middle = made
    stores.records.change(late, Change.PLAN, clock.ms + 60_000)

    def seen(credential: str, *, running: bool) -> list[tuple[str, str, str, bool, int]]:
        there = stores.records.open_on(credential, running=running)
        return [(x.job, x.campaign, x.credential, x.running, x.not_before) for x in there]

    assert seen("one", running=False) == [
        (early.id, "autumn", "one", False, clock.ms + 1),
        (middle.id, "spring", "one", False, clock.ms + 2),
    ]
    assert seen("one", running=True) == [(late.id, "spring", "one", True, clock.ms + 3)]
    assert seen("two", running=True) == []


def test_a_job_that_gives_way_is_ready_and_not_planned_before_its_time(stores: Stores, clock: FakeClock) -> None:
    spring, autumn = ready(stores, clock, "spring"), ready(stores, clock, "autumn")
    running = done(stores, spring, Change.PLAN, Change.START)
    changed = change(stores, running, Change.GIVE_WAY, now=60)
    assert changed.won
    assert changed.job == replace(running, state=JobState.READY, rests_until=60, version=running.version + 1)
    assert stores.records.job(spring.id) == changed.job
    assert [(x.job, x.running) for x in stores.records.open_on("one", running=False)] == [
        (x.id, False) for x in sorted((spring, autumn), key=lambda x: (x.created_at, x.id))
    ]
    assert list(stores.records.open_on("one", running=True)) == []
    assert change(stores, changed.job, Change.PLAN, now=59) == Changed(won=False, job=changed.job)
    again = change(stores, changed.job, Change.PLAN, now=60)
    assert (again.won, again.job) == (
        True,
        replace(running, state=JobState.ENQUEUED, planned_at=60, version=running.version + 2),
    )


def test_it_holds_its_credential_until_it_gives_it_back(stores: Stores, clock: FakeClock) -> None:
    spring, autumn = ready(stores, clock, "spring"), ready(stores, clock, "autumn")
    rests = change(stores, done(stores, spring, Change.PLAN), Change.GIVE_WAY).job
    assert rests is not None
    assert change(stores, autumn, Change.PLAN).held_by == "spring"
    assert stores.records.give_back(rests)
    assert stores.records.reserved("one") == ("", [])
    assert change(stores, autumn, Change.PLAN).won
    assert stores.records.reserved("one") == ("autumn", [autumn.id])
    assert stores.records.give_back(rests), "to give back what is not held changes nothing"
    assert stores.records.reserved("one") == ("autumn", [autumn.id])
    assert change(stores, rests, Change.PLAN).held_by == "autumn"


def test_one_that_was_written_since_gives_nothing_back(stores: Stores, clock: FakeClock) -> None:
    spring = ready(stores, clock, "spring")
    rests = change(stores, done(stores, spring, Change.PLAN), Change.GIVE_WAY).job
    assert rests is not None
    assert change(stores, rests, Change.PLAN).won
    assert not stores.records.give_back(rests)
    assert stores.records.reserved("one") == ("spring", [spring.id])


def test_a_stop_ends_the_rest(stores: Stores, clock: FakeClock) -> None:
    rests = change(stores, done(stores, ready(stores, clock, "spring"), Change.PLAN), Change.GIVE_WAY, now=60).job
    assert rests is not None
    stopped = change(stores, rests, Change.STOP).job
    assert stopped is not None
    assert stopped.rests_until == 0


def test_a_job_that_is_stopped_does_not_give_way(stores: Stores, clock: FakeClock) -> None:
    stopped = done(stores, ready(stores, clock, "spring"), Change.PLAN, Change.STOP)
    assert change(stores, stopped, Change.GIVE_WAY) == Changed(won=False, job=stopped)
    assert stores.records.reserved("one")[0] == "spring"


def test_a_credential_remembers_whose_turn_it_was(stores: Stores, clock: FakeClock) -> None:
    assert stores.records.turns("one") == []
    stores.records.set_turns("one", ("acc_b", "acc_a"))
    assert (stores.records.turns("one"), stores.records.turns("two")) == (["acc_b", "acc_a"], [])
    done(stores, ready(stores, clock, "spring"), Change.PLAN, Change.FINISH, Change.LOG)
    assert stores.records.turns("one") == ["acc_b", "acc_a"]
    assert stores.records.reserved("one") == ("", [])

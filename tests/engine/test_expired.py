"""How soon after a worker's death its messages go on, with the times that AWS has."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from shared import contracts
from shared.domain.jobs.chunks import MAX_RECIPIENTS
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import Cell
from shared.domain.lanes.lease_hints import MOST, LeaseHint, together
from shared.domain.lanes.pacing import pace
from shared.engine.lane.access import CALL_TIMEOUT
from shared.engine.lane.slots import PATIENCE
from shared.engine.sweeper.expired import CROWDED, IN_HAND, KEPT, LOOKS, NOT_AGAIN_MS
from tests.fakes.faults import Crash
from tests.fakes.world import ACCOUNT, INVOCATION, LEASE_MARGIN, World, credential

RATE = 200
MESSAGES = 400
VISIBILITY = 720.0
"""Seconds after which the pointer of a dead worker comes by itself: six times the sender's time-out."""
GOAL = 40.0
WAITING = {Cell.QUEUED, Cell.CLAIMED, Cell.RETRY}
MINUTE = 60.0


@pytest.fixture
def world() -> World:
    return World(credential("one", RATE))


def killed(world: World, nth: int) -> str:
    """Have the worker of a job die at its nth call to anything; returns the job."""
    job = world.accept(MESSAGES).id
    message = world.lanes["one"].receive()
    assert message is not None
    world.tap.arm(nth)
    with pytest.raises(Crash):
        world.senders["one"].work(job, 0, owner="dead", deadline=world.clock.now() + INVOCATION)
    world.lanes["one"].restore(message, world.clock.now() + VISIBILITY)
    world.senders["one"] = world.sender("one")
    return job


def recovered(world: World, job: str, phase: float) -> float:
    """Look as the schedule does, `phase` seconds into a minute when it died; returns seconds until nothing waits."""
    died = world.clock.now()
    ticks = iter(x - phase for minute in range(20) for x in (60 * minute, *(60 * minute + d for d in LOOKS)))
    while WAITING & set(world.states(job)):
        at = next(x for x in ticks if x > 0)
        world.clock.sleep(died + at - world.clock.now())
        world.expired.look()
        if (at + phase) % MINUTE == 0:
            world.sweep()
        world.run(seconds=3)
    return world.oracle.taken[-1].at - died


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("seed", range(4))
def test_what_a_dead_worker_held_goes_on_within_forty_seconds(world: World, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - moments
    for _ in range(4):
        job = killed(world, rng.randrange(4, MESSAGES))
        took = recovered(world, job, rng.uniform(0, MINUTE))
        world.run(seconds=3)
        assert LEASE_MARGIN < took <= GOAL, "a lease outlives its window, since clocks differ"
        unknown = world.states(job).count(Cell.UNKNOWN)
        assert 0 <= unknown <= pace(RATE, 1).window
        world.check()


def test_a_worker_that_dies_before_it_has_reserved_slots_is_found_by_the_walk(world: World) -> None:
    job = killed(world, 2)
    assert world.stores.hints.read(["one"]) == []
    assert recovered(world, job, 1.0) <= 2 * MINUTE
    assert world.counts(job) == {"sent": MESSAGES}


def beside(world: World, chunks: int, **changes: Any) -> str:
    """Have a worker die in the middle of a job's first lease, with the pointers of its other chunks received."""
    job = world.accept(chunks * MAX_RECIPIENTS, **changes)
    assert job.chunks == chunks
    lane = world.lanes["one"]
    received = [message for message in (lane.receive() for _ in range(chunks)) if message is not None]
    world.tap.arm(20)
    with pytest.raises(Crash):
        world.senders["one"].work(job.id, 0, owner="dead", deadline=world.clock.now() + INVOCATION)
    for message in received:
        lane.restore(message, world.clock.now() + VISIBILITY)
    world.senders["one"] = world.sender("one")
    return job.id


@pytest.mark.promise(3)
def test_pointers_that_a_dead_worker_had_received_without_a_lease_come_again_with_its_leases(world: World) -> None:
    job = beside(world, 3)
    world.lanes["one"].send(["another's"], delay=900)
    died = world.clock.now()
    world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 1)
    assert world.expired.look() == 1
    world.run(seconds=1)
    assert not WAITING & set(world.states(job))
    assert world.oracle.taken[-1].at - died <= GOAL + 2 * MAX_RECIPIENTS / RATE, "two more chunks at their rate"
    world.check()


def test_they_come_again_once_an_hour_at_the_most(world: World) -> None:
    job = beside(world, 3)
    pointers: Counter[str] = Counter()
    for _ in range(4):
        world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 1)
        before = len(world.lanes["one"].sent)
        assert world.expired.look() == 1
        pointers.update(m.body for m in world.lanes["one"].sent[before:])
        world.lanes["one"].lose()
        world.tap.arm(20)
        with pytest.raises(Crash):
            world.senders["one"].work(job, 0, owner="dead", deadline=world.clock.now() + INVOCATION)
    assert [pointers[contracts.pointer(job, n)] for n in range(3)] == [4, 1, 1]
    world.clock.sleep(NOT_AGAIN_MS / 1000)
    before = len(world.lanes["one"].sent)
    assert world.expired.look() == 1
    assert len(world.lanes["one"].sent) - before == 3


@pytest.mark.slow
def test_a_job_with_more_chunks_than_dead_workers_can_hold_gets_none_of_their_pointers(world: World) -> None:
    beside(world, IN_HAND + 2)
    world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 1)
    before = len(world.lanes["one"].sent)
    assert world.expired.look() == 1
    assert len(world.lanes["one"].sent) - before == 1


@pytest.mark.parametrize("change", ["stopped", "later", "elsewhere"])
def test_none_comes_again_of_a_chunk_that_no_worker_of_the_lane_would_take(change: str) -> None:
    world = World(credential("one", RATE), credential("two", RATE))
    job = beside(world, 2, route=("one", "two") if change == "elsewhere" else ("one",), ordered=True)
    if change == "stopped":
        world.control.stop(job, ACCOUNT)
    else:
        lane, at = ("two", 0) if change == "elsewhere" else ("one", world.clock.ms + NOT_AGAIN_MS)
        assert world.ledgers.reschedule(job, 1, not_before=at, lane=lane) is not None
    world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 1)
    before = [len(world.lanes[lane].sent) for lane in ("one", "two")]
    assert world.expired.look() == 1
    after = [len(world.lanes[lane].sent) for lane in ("one", "two")]
    assert [b - a for a, b in zip(before, after, strict=True)] == [int(change != "stopped"), 0]


def test_a_fault_with_one_jobs_pointers_keeps_no_lease_from_being_taken_over(world: World) -> None:
    jobs = [beside(world, 2), beside(world, 2)]
    world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 1)
    before = len(world.lanes["one"].sent)
    world.tap.arm_at("records.note_pointed", error=lambda: RuntimeError("no"))
    with pytest.raises(RuntimeError):
        world.expired.look()
    assert [world.ledgers.find_inflight(job) for job in jobs] == [[], []]
    assert len(world.lanes["one"].sent) - before == 4, "of each job, the chunk that was leased and the one beside it"


@pytest.mark.parametrize(
    ("nth", "most"), [(2, 2 * PATIENCE), (150, PATIENCE + 1), (MESSAGES + 20, PATIENCE + CALL_TIMEOUT + 1)]
)
def test_a_lease_runs_out_after_its_window_and_not_with_its_invocation(world: World, nth: int, most: float) -> None:
    job = killed(world, nth)
    (ledger,) = world.ledgers.read_all(job)
    assert ledger.status is LedgerStatus.BUSY
    assert LEASE_MARGIN + PATIENCE < ledger.until / 1000 - world.clock.now() <= LEASE_MARGIN + most


def test_a_lease_that_works_is_left_alone_however_long_it_works() -> None:
    world = World(credential("one", 2))
    job = world.accept(60)
    expired: list[int] = []
    world.providers["one"].before = lambda _targets: expired.append(world.expired.look())
    world.send("one")
    assert world.clock.now() - world.oracle.taken[0].at > 29 / 2
    assert set(expired) == {0}
    assert world.counts(job.id) == {"sent": 60}


@pytest.mark.promise(1)
def test_a_worker_that_wakes_after_its_window_begins_no_call(world: World) -> None:
    """Between claim and first call it is frozen, for longer than its lease; what it claimed is unknown by then."""
    job = world.accept(MESSAGES).id
    frozen: list[object] = []

    def freeze(ledger: object) -> None:
        if not frozen and world.states(job).count(Cell.CLAIMED):
            frozen.append(ledger)
            world.clock.sleep(PATIENCE + CALL_TIMEOUT + LEASE_MARGIN + 2)
            assert world.expired.look() == 1

    world.stores.listener = freeze
    world.send("one")
    world.stores.listener = lambda _ledger: None
    assert world.oracle.taken == []
    assert world.states(job).count(Cell.UNKNOWN) == pace(RATE, 1).window
    world.run()
    world.check()
    assert len(world.oracle.taken) == MESSAGES - pace(RATE, 1).window


def test_the_later_looks_of_a_minute_are_asked_for_by_delayed_messages(world: World) -> None:
    job = killed(world, 150)
    world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 1)
    begun = world.clock.now()
    assert world.expired.begin(world.due_queue) == 1
    assert [(round(m.due - begun), m.body) for m in world.due_queue.waiting] == [(d, contracts.LOOK) for d in LOOKS]
    assert not world.ledgers.find_inflight(job)


def test_hints_of_ended_leases_are_read_once_and_forgotten_in_the_end(world: World) -> None:
    job = world.accept(1)
    world.run()
    ((_, hint),) = world.stores.hints.read(["one"])
    assert (hint.job, hint.chunk, hint.epoch) == (job.id, 0, 1)
    for _ in range(3):
        before = len(world.tap.calls)
        world.expired.look()
        last = world.tap.calls[before:]
    assert last == ["hints.read"]
    world.clock.sleep(KEPT)
    world.expired.look()
    assert world.stores.hints.read(["one"]) == []


def test_hints_of_the_dead_leave_room_for_those_of_the_living(world: World) -> None:
    """Each worker that dies leaves a hint; they must not fill the item, or the next one's lease is found too late."""
    for n in range(2 * MOST):
        world.stores.pacer.reserve("one", 1, pace(RATE, 1), lead=0, hint=LeaseHint(f"dead{n}", "0" * 26, n, 1))
        for _ in range(2):
            world.expired.look()
        assert len(world.stores.hints.read(["one"])) <= CROWDED
    job = killed(world, 150)
    assert job in {hint.job for _, hint in world.stores.hints.read(["one"])}


def test_a_fault_with_one_lease_keeps_none_of_the_others_from_being_looked_at(world: World) -> None:
    jobs = [killed(world, 150) for _ in range(2)]
    world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 10)
    assert len(world.stores.hints.read(["one"])) == 2
    world.tap.arm_at("ledgers.read", error=lambda: RuntimeError("no"))
    with pytest.raises(RuntimeError):
        world.expired.look()
    assert [len(world.ledgers.find_inflight(job)) for job in jobs].count(0) == 1
    assert world.expired.look() == 1


def test_a_hint_at_a_job_that_has_gone_is_passed_over(world: World) -> None:
    job = killed(world, 150)
    world.clock.sleep(LEASE_MARGIN + PATIENCE + CALL_TIMEOUT + 1)
    world.stores.expire(job)
    world.stores.pacer.reserve("one", 1, pace(RATE, 1), lead=0, hint=LeaseHint("gone0", "0" * 26, 3, 1))
    assert world.expired.look() == 0
    assert replace(world.ledgers.read_all(job)[0]).status is LedgerStatus.BUSY


# Looks of workers


def glancing(world: World) -> tuple[str, int]:
    """Have a worker die, and another serve a job of a second chunk later; returns the first job and its looks."""
    job = killed(world, 150)
    world.clock.sleep(LEASE_MARGIN + PATIENCE + 1)
    before = world.tap.calls.count("hints.read")
    world.accept(MESSAGES)
    world.providers["one"].latency = 0.05
    world.clock.run(lambda: world.send("one"))
    return job, world.tap.calls.count("hints.read") - before


@pytest.mark.promise(3)
def test_a_worker_takes_the_lease_of_a_dead_one_over_between_its_windows(world: World) -> None:
    job, looks = glancing(world)
    assert not world.ledgers.find_inflight(job)
    assert [h.epoch for _, h in world.stores.hints.read(["one"]) if h.job == job] == []
    assert looks == 3, "a job of two seconds was served"
    world.run(seconds=3)
    assert not WAITING & set(world.states(job))
    world.check()


def test_a_worker_whose_look_fails_goes_on_and_looks_again(world: World) -> None:
    world.tap.arm_at("hints.read", error=lambda: RuntimeError("no"))
    job, looks = glancing(world)
    assert (looks, world.tap.fired) == (3, 1)
    assert not world.ledgers.find_inflight(job), "the next look found it"
    assert len(world.oracle.taken) > MESSAGES


def test_a_lease_is_read_again_once_it_may_have_ended(world: World) -> None:
    job = killed(world, 150)
    looks = world.expired_of(lambda: ["one"], world.recovery)
    for _ in range(3):
        before = len(world.tap.calls)
        assert looks.look() == 0
        last = world.tap.calls[before:]
        world.clock.sleep(1)
    assert last == ["hints.read"]
    world.clock.sleep(LEASE_MARGIN + PATIENCE)
    assert looks.look() == 1
    assert not world.ledgers.find_inflight(job)


def test_notes_about_groups_are_not_removed_because_they_are_many(world: World) -> None:
    """They need no room beside the slots: a worker's next group writes over its last."""
    for worker in range(CROWDED + 1):
        hints = [LeaseHint(f"{worker:06}0", f"{n:026}", 0, 1) for n in range(10)]
        world.pacer.reserve("one", 1, pace(RATE, 1), lead=0, hint=together(hints))
        world.pacer.reserve("one", 1, pace(RATE, 1), lead=0, hint=LeaseHint(f"{worker:06}1", f"{0:026}", 0, 1))
    for _ in range(3):
        world.expired.look()
        world.clock.sleep(5)
    groups = [hint for _, hint in world.stores.hints.read(["one"]) if hint.group]
    assert len(groups) == 10 * (CROWDED + 1)
    world.clock.sleep(KEPT)
    world.expired.look()
    assert world.stores.hints.read(["one"]) == []


def test_notes_by_themselves_take_no_room_and_are_not_removed_because_they_are_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints = [("one", LeaseHint(f"{n:06}0", f"{n:026}", 0, 1, alone=n > 0)) for n in range(CROWDED + 1)]
    forgotten: list[str] = []
    monkeypatch.setattr(world.stores.hints, "read", lambda _credentials: list(hints))
    monkeypatch.setattr(world.stores.hints, "forget", lambda _credential, hint: forgotten.append(hint.worker))
    for _ in range(3):
        world.expired.look()
        world.clock.sleep(5)
    assert forgotten == []
    hints.extend(("one", LeaseHint(f"{n:06}1", f"{n:026}", 0, 1)) for n in range(CROWDED))
    for _ in range(3):
        world.expired.look()
    assert {worker[-1] for worker in forgotten} == {"0", "1"}
    assert len(set(forgotten)) == CROWDED + 1, "those beside the slots"


@pytest.mark.parametrize(("workers", "seconds"), [(1, 1.0), (2, 1.0), (4, 2.0), (20, 10.0)])
def test_all_workers_of_a_lane_look_as_often_however_many_they_are(world: World, workers: int, seconds: float) -> None:
    sender = world.sender("one", declared=replace(credential("one", RATE), workers=workers))
    assert sender._every(pace(RATE, 1)) == seconds

"""Whatever call to the store fails, a worker that lives knows what it called: each message is sent once."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Outcome
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.backoff import REDELIVERIES
from shared.engine.pool import Pending
from shared.engine.reports.message_log import Filter
from shared.ports import Retriable
from tests.fakes.clock import FakePool
from tests.fakes.faults import When, is_store
from tests.fakes.world import RECEIVES, World, credential

T = TypeVar("T")


class Denied(Exception):
    """A fault of a store that a repeat does not mend: a key or a right is missing, a request is malformed."""


@pytest.mark.promise(1)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER, When.REPEATED])
@pytest.mark.parametrize("nth", range(15))
def test_a_hiccup_of_the_store_makes_nothing_unknown_or_double(nth: int, when: When) -> None:
    """The worker lives and knows what it called: whatever call fails, each message is sent once and known as sent."""
    world = World(credential("one", 10))
    job = world.accept(12)
    world.tap.arm(nth, when, Retriable, where=is_store)
    world.settle()
    assert world.tap.fired == 1
    assert world.oracle.times(job.id) == {(0, i): 1 for i in range(12)}
    assert world.counts(job.id) == {"sent": 12}
    lines, _ = world.logs.lines(job, Filter())
    assert [[a.provider_message_id != "" for a in line.attempts] for line in lines] == [[True]] * 12
    world.check()


def test_a_reservation_that_fails_in_mid_window_makes_nothing_unknown() -> None:
    """The calls whose slots were missed were never begun; a store that cannot be reached does not change that."""
    world = World(credential("one", 10))
    job = world.accept(9)
    provider = world.providers["one"]
    slow: list[bool] = []

    def stall(_targets: object) -> None:
        if not slow:
            slow.append(True)
            world.clock.advance(3)  # every later slot of the window is missed
            world.tap.arm_at("pacer.reserve", error=Retriable)

    provider.before = stall
    with pytest.raises(Retriable):
        world.send("one")
    assert world.cells(job.id) == [(Cell.SENT, 1)] + [(Cell.QUEUED, 0)] * 8
    world.settle()
    assert world.counts(job.id) == {"sent": 9}
    assert len(world.oracle.taken) == 9
    lines, _ = world.logs.lines(job, Filter())
    assert [[a.outcome for a in line.attempts] for line in lines] == [["accepted"]] * 9


# Faults that are no hiccups


@pytest.mark.promise(1)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("nth", range(9))
def test_any_fault_of_a_store_makes_nothing_unknown_or_double(nth: int, when: When) -> None:
    world = World(credential("one", 10))
    job = world.accept(12)
    world.tap.arm(nth, when, Denied, where=is_store)
    with pytest.raises(Denied):
        world.send("one")
    assert Cell.CLAIMED not in world.states(job.id)
    world.settle()
    assert world.oracle.times(job.id) == {(0, i): 1 for i in range(12)}
    assert world.counts(job.id) == {"sent": 12}
    world.check()


@pytest.mark.promise(3)
def test_a_detail_that_cannot_be_written_makes_nothing_unknown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_args: object, **_named: object) -> None:
        raise Denied

    job = world.accept(9)
    monkeypatch.setattr(world.records, "put_detail", denied)
    with pytest.raises(Denied):
        world.send("one")
    assert world.cells(job.id) == [(Cell.SENT, 1)] * 9


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def test_a_fault_of_the_breaker_leaves_every_call_known(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = world.accept(9)
    admission = world.senders["one"]._admission
    leave = admission.leave

    def leaves(ticket: int, owner: str, outcomes: list[Outcome], account: str) -> None:
        leave(ticket, owner, outcomes, account=account)
        if len(world.oracle.taken) == 4:
            raise Denied

    monkeypatch.setattr(admission, "leave", leaves)
    with pytest.raises(Denied):
        world.send("one")
    states = world.states(job.id)
    assert states.count(Cell.SENT) == len(world.oracle.taken) >= 4
    assert set(states) <= {Cell.SENT, Cell.QUEUED}
    monkeypatch.undo()
    world.settle()
    assert world.counts(job.id) == {"sent": 9}
    world.check()


def test_a_call_that_cannot_begin_leaves_the_others_known(world: World) -> None:
    """When the process has no thread left, say."""
    job = world.accept(9)
    begun: list[object] = []

    class Exhausted(FakePool):
        def submit(self, fn: Callable[..., T], /, *args: Any) -> Pending[T]:
            begun.append(fn)
            if len(begun) == 4:
                raise Denied
            return super().submit(fn, *args)

    with pytest.raises(Denied):
        world.send("one", world.sender("one", pool=Exhausted))
    assert world.cells(job.id) == [(Cell.SENT, 1)] * 3 + [(Cell.UNKNOWN, 1)] + [(Cell.QUEUED, 0)] * 5
    world.settle()
    assert world.counts(job.id) == {"sent": 8, "unknown": 1}
    world.check()


# How long a hiccup holds a chunk up


@pytest.mark.parametrize("call", ["ledgers.lease", "records.load", "pacer.reserve", "records.control"])
@pytest.mark.parametrize("error", [Retriable, Denied])
def test_a_hiccup_costs_seconds(world: World, call: str, error: type[Exception]) -> None:
    job = world.accept(3)
    called = len(world.tap.calls)
    begun = world.clock.now()
    world.tap.arm_at(call, error=error)
    with pytest.raises(error):
        world.send("one")
    assert world.tap.calls[called:].count(call) == 1
    assert world.ledgers.read_all(job.id)[0].status is LedgerStatus.IDLE
    assert len(world.lanes["one"].waiting) == 1
    world.run()
    assert world.counts(job.id) == {"sent": 3}
    assert world.clock.now() - begun < REDELIVERIES[0] + 2


def outage(world: World, seconds: float) -> float:
    """Serve the lane while no store answers; returns when it began. Whatever else runs does not matter."""
    begun = world.clock.now()

    def silent() -> None:
        raise Retriable

    world.tap.delay = silent
    while world.lanes["one"].waiting and world.lanes["one"].waiting[0].due < begun + seconds:
        world.clock.sleep(max(0.0, world.lanes["one"].waiting[0].due - world.clock.now()))
        with suppress(Retriable):
            world.send("one")
    world.clock.sleep(begun + seconds - world.clock.now())
    world.tap.delay = lambda: None
    return begun


@pytest.mark.promise(3)
def test_two_minutes_without_stores_make_no_dead_letters(world: World) -> None:
    jobs = [world.accept(1).id for _ in range(20)]
    begun = outage(world, 120)
    assert world.lanes["one"].dead == []
    world.run()
    assert [world.counts(job) for job in jobs] == [{"sent": 1}] * 20
    assert world.clock.now() - begun < sum(REDELIVERIES) + 5


@pytest.mark.promise(3)
def test_after_a_long_outage_the_sweeper_points_to_what_became_a_dead_letter(world: World) -> None:
    jobs = [world.accept(1).id for _ in range(20)]
    outage(world, 900)
    assert len(world.lanes["one"].dead) == 20
    assert {m.receives for m in world.lanes["one"].dead} == {RECEIVES}
    ended = world.clock.now()
    world.settle()
    assert all(world.job(job).state is JobState.LOGGED for job in jobs)
    assert [world.counts(job) for job in jobs] == [{"sent": 1}] * 20
    assert world.clock.now() - ended < 180


def test_a_fault_that_lasts_makes_no_second_pointer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is released and points to itself, and fails, would be two the next time, and four then."""
    job = world.accept(9)

    def denied(*_args: object, **_named: object) -> None:
        raise Denied

    monkeypatch.setattr(world.pacer, "reserve", denied)
    for _ in range(RECEIVES):
        world.clock.sleep(max(0.0, world.lanes["one"].waiting[0].due - world.clock.now()))
        with pytest.raises(Denied):
            world.send("one")
    lane = world.lanes["one"]
    assert (len(lane.waiting), len(lane.dead), len(lane.sent)) == (0, 1, 1)
    assert world.cells(job.id) == [(Cell.QUEUED, 0)] * 9

"""Kill switches: a credential paused or slowed while it sends; what waits is neither lost nor burnt."""

from dataclasses import replace

import pytest

from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.switches import AS_DECLARED, Switch, Switches
from shared.engine.lane.start import PointerResult
from shared.engine.outcome.resolve import Resolved
from shared.engine.walks.pointing import RESUMED_MS
from tests.engine.measuring import worst_second
from tests.fakes.lists import send_list
from tests.fakes.provider import ResolvingProvider, Swallowed
from tests.fakes.world import ACCOUNT, World, credential

PAUSED = Switches(paused=True)
WINDOW = 24


@pytest.fixture
def world() -> World:
    return World(credential("one", 100))


def move(world: World, switches: Switches, *, after: int = 0) -> None:
    """Move the switches, or have them moved by the call that sends to the recipient of a number."""
    if not after:
        world.stores.switch("one", switches)
        return

    def moved(_targets: object) -> None:
        if len(world.oracle.taken) == after:
            world.stores.switch("one", switches)

    world.providers["one"].before = moved


@pytest.mark.promise(4)
def test_a_paused_credential_sends_the_window_in_flight_and_no_more(world: World) -> None:
    job = world.accept(500)
    move(world, PAUSED, after=30)
    assert world.send("one") is PointerResult.SENT
    assert len(world.oracle.taken) == 2 * WINDOW
    assert world.lanes["one"].is_empty()
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert (ledger.status, ledger.not_before, ledger.rounds) == (LedgerStatus.IDLE, 0, 0)
    assert world.cells(job.id).count((Cell.QUEUED, 0)) == 500 - 2 * WINDOW
    assert world.counts(job.id) == {"queued": 500 - 2 * WINDOW, "sent": 2 * WINDOW}


@pytest.mark.promise(3)
def test_however_often_its_pointers_come_a_paused_lane_uses_no_attempt_and_keeps_its_work(world: World) -> None:
    job = world.accept(50)
    move(world, PAUSED)
    for _ in range(20):
        world.recovery.point(world.job(job.id), world.ledgers.read_all(job.id)[0])
        assert world.send("one") is PointerResult.SENT
    assert world.oracle.calls == []
    assert world.cells(job.id) == [(Cell.QUEUED, 0)] * 50
    move(world, AS_DECLARED)
    world.settle()
    assert world.counts(job.id) == {"sent": 50}


def test_a_pause_in_a_window_holds_calls_with_missed_slots(world: World) -> None:
    job = world.accept(90)

    def stall(_targets: object) -> None:
        if len(world.oracle.taken) == 10:
            world.stores.switch("one", PAUSED)
            world.clock.advance(0.5)

    world.providers["one"].before = stall
    world.run()
    assert 10 < len(world.oracle.taken) < 60
    assert world.lanes["one"].is_empty()
    assert set(world.states(job.id)) == {Cell.SENT, Cell.QUEUED}
    move(world, AS_DECLARED)
    world.settle()
    assert world.counts(job.id) == {"sent": 90}
    world.check()


def test_others_go_on_while_one_is_paused() -> None:
    world = World()
    job = world.accept(200)
    move(world, PAUSED)
    world.run()
    assert {lane for _, lane, _ in world.oracle.calls} == {"two"}
    move(world, AS_DECLARED)
    world.settle()
    assert world.counts(job.id) == {"sent": 200}


@pytest.mark.promise(2)
def test_a_lane_that_is_slowed_in_mid_sending_keeps_the_rate_within_a_window(world: World) -> None:
    world.accept(600)
    move(world, Switches(rate=10), after=150)
    world.run()
    times = sorted((t, n) for t, _, n in world.oracle.calls)
    changed = times[150][0]
    later = [(t, n) for t, n in times if t > changed + 3]
    assert len(later) > 300
    assert worst_second(later) <= 10
    assert (len(later) - 1) / (later[-1][0] - later[0][0]) >= 0.93 * 10
    assert worst_second(times) <= 100


@pytest.mark.promise(2)
@pytest.mark.parametrize("present", [1e9, 100.5])
def test_no_present_rate_exceeds_the_declared_one(world: World, present: float) -> None:
    world.accept(400)
    move(world, Switches(rate=present))
    world.run()
    times = sorted((t, n) for t, _, n in world.oracle.calls)
    assert sum(n for _, n in times) == 400
    assert 93 <= worst_second(times) <= 100


def test_a_job_of_a_lower_rate_keeps_its_own(world: World) -> None:
    job = world.accept(60)
    world.stores.records.jobs[job.id] = replace(world.job(job.id), rate=2.0)  # type: ignore[attr-defined]
    move(world, Switches(rate=50))
    world.run()
    assert worst_second(sorted((t, n) for t, _, n in world.oracle.calls)) <= 2


def test_nothing_is_asked_of_a_provider_that_is_paused() -> None:
    world = World(credential("one", 100), provider=ResolvingProvider)
    world.providers["one"].script("r0@example.com", [Swallowed()])
    job = world.accept(1).id
    world.run()
    move(world, PAUSED)
    assert world.resolve("one", job, 0) == Resolved()
    assert "provider.one.resolve" not in world.tap.calls
    move(world, Switches(rate=5))
    assert world.resolve("one", job, 0) == Resolved(asked=1, accepted=1)


# Resuming


def acknowledged(world: World, lane: str = "one") -> None:
    """Let a lane's pointers come while it is paused."""
    while world.send(lane) is not None:
        pass
    assert world.lanes[lane].is_empty()


@pytest.mark.slow
@pytest.mark.parametrize("switch", [Switch(credential="one"), Switch(account=ACCOUNT), Switch()])
def test_a_resume_wakes_what_waits_at_once(world: World, switch: Switch) -> None:
    job = world.accept(1000)
    hold(world, switch)
    acknowledged(world)
    assert world.oracle.calls == []
    release(world, switch)
    assert world.wake(switch) == 2
    world.run()
    assert world.counts(job.id) == {"sent": 1000}
    world.check()


def hold(world: World, switch: Switch) -> None:
    if switch.credential:
        move(world, PAUSED)
    else:
        world.stores.pause(switch.account)


def release(world: World, switch: Switch) -> None:
    if switch.credential:
        move(world, AS_DECLARED)
    else:
        world.stores.unpause(switch.account)


def test_waking_leaves_others_alone() -> None:
    world = World()
    mine = world.accept(4, route=("one",))
    theirs = world.accept(4, route=("one",), account="acc_000000000002")
    stopped = world.accept(4, route=("one",))
    world.control.stop(stopped.id, ACCOUNT)
    world.accept(4, route=("two",))
    for lane in world.lanes.values():
        lane.lose()
    assert world.wake(Switch(account=ACCOUNT)) == 2
    assert world.wake(Switch(credential="two")) == 1
    assert world.wake(Switch(credential="three")) == 0
    world.ledgers.reschedule(mine.id, 0, not_before=world.clock.ms + 60_000, lane="one")
    assert world.wake(Switch(credential="one")) == 1, "who is not due has a pointer under way"
    assert theirs.account != mine.account


def test_the_sweeper_points_to_nothing_that_is_paused_and_to_all_of_it_once_it_is_not(world: World) -> None:
    job = world.accept(1000)
    move(world, PAUSED)
    acknowledged(world)
    world.clock.advance(7200)
    assert world.sweep().pointed == 0
    assert world.sweep().stuck == ()
    move(world, AS_DECLARED)
    world.clock.advance(RESUMED_MS / 1000)
    other = world.accept(100)
    assert not world.lanes["one"].is_empty(), "others keep the lane busy"
    assert world.sweep().pointed == 2
    world.run()
    assert (world.counts(job.id), world.counts(other.id)) == ({"sent": 1000}, {"sent": 100})


@pytest.mark.promise(3)
def test_in_a_busy_lane_resumed_chunks_get_pointers_after_a_lost_wake(world: World) -> None:
    job = world.accept(1000)
    world.stores.pause(ACCOUNT)
    acknowledged(world)
    world.clock.advance(60)
    world.stores.unpause(ACCOUNT)
    world.clock.advance(RESUMED_MS / 1000)
    world.accept(100, account="acc_000000000002")
    assert world.sweep().pointed == 2
    for _ in range(59):
        world.clock.advance(60)
        assert world.sweep().pointed <= 1, "only the other job's, two minutes after it was planned"
    world.clock.advance(60)
    assert world.sweep().pointed == 3, "each hour from the resume, and from the plan"
    world.run()
    assert world.counts(job.id) == {"sent": 1000}


def test_a_paused_account_keeps_no_others_campaign_from_its_credential(world: World) -> None:
    first = send_list(world, "spring", 3)
    world.clock.advance(1)
    second = send_list(world, "autumn", 3, account="acc_000000000002")
    world.stores.pause(ACCOUNT)
    world.run()
    assert world.job(first.id).state is JobState.READY
    assert world.counts(second.id) == {"sent": 3}
    world.stores.unpause(ACCOUNT)
    assert world.wake(Switch(account=ACCOUNT))
    world.run()
    assert world.counts(first.id) == {"sent": 3}

"""Small jobs that are served together: what they share is read and reserved once, and each fate is its own."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Outcome, Rejected, Throttled, Unknown
from shared.domain.jobs.states import OPEN, Cell, JobState
from shared.engine.lane.access import CALL_TIMEOUT
from shared.engine.lane.slots import PATIENCE
from shared.engine.lane.start import PointerResult
from shared.ports import Retriable
from tests.engine.measuring import worst_second
from tests.engine.pace import Life
from tests.engine.test_slow_answers import hang_for
from tests.fakes.crashes import dying
from tests.fakes.faults import Crash, When
from tests.fakes.world import ACCOUNT, LEASE_MARGIN, World, credential

RATE = 100
TOGETHER = 10
SENT = [PointerResult.SENT] * TOGETHER
PLAIN = ("ledgers.lease", "records.change.start", "ledgers.swap", "records.put_detail")
"""Calls that a small job in one item does not need."""


class Stored:
    """Whether ledgers of small jobs are in items of their own, as older versions have them."""

    apart = False


@pytest.fixture(params=["inside", "apart"], autouse=True)
def _stored(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stored, "apart", request.param == "apart")


def made(rate: float = RATE, jobs: int = TOGETHER, size: int = 1) -> World:
    """Return a world in which small jobs wait."""
    world = World(credential("one", rate))
    world.settings = replace(world.settings, small_jobs_apart=Stored.apart)
    world.reboot()
    for n in range(jobs):
        world.accept([Recipient(to, to) for to in (f"j{n}r{i}@example.com" for i in range(size))])
    return world


def serve(world: World, *beside: Callable[[], None]) -> tuple[Sequence[PointerResult | Exception], list[float]]:
    """Serve a group; returns the results, and when another might have begun beside it."""
    spared: list[float] = []
    results: list[PointerResult | Exception] = []
    world.clock.run(
        lambda: results.extend(world.send_together("one", spare=lambda: spared.append(world.clock.now()))), *beside
    )
    return results, spared


def states(world: World) -> Counter[Cell]:
    return Counter(state for job in world.jobs for state in world.states(job))


def test_what_small_jobs_share_is_read_and_reserved_once() -> None:
    world = made()
    world.tap.calls.clear()
    assert serve(world)[0] == SENT
    own = {
        "ledgers.lease": TOGETHER,
        "records.change.start": TOGETHER,
        "ledgers.swap": 2 * TOGETHER,
        "records.put_detail": TOGETHER,
    }
    shared = {"records.load_each": 1, "pacer.reserve": 1, "records.control": 1, "provider.one": TOGETHER}
    ends = world.tap.calls.count("records.end_jobs")
    assert Counter(world.tap.calls) == {
        **shared,
        **(own if Stored.apart else {"records.begin": TOGETHER, "records.end_jobs": ends}),
    }
    assert ends <= 1
    assert states(world) == {Cell.SENT: TOGETHER}
    world.check()


def test_each_call_has_a_slot_of_its_own() -> None:
    world = made(rate=20, jobs=4)
    for _ in range(3):
        for _ in range(4):
            world.accept(1)
        serve(world)
    world.settle()
    at = sorted(at for at, _, _ in world.oracle.calls)
    assert len(at) == 16
    assert worst_second([(x, 1) for x in at]) <= 20
    assert len(set(at)) == len(at)


def test_the_answer_of_one_that_takes_long_costs_the_others_nothing() -> None:
    world = made()
    world.slow_down(0.004, 0.008)
    hang_for(world, "j3r0@example.com")
    began = world.clock.now()
    seen: list[int] = []

    def look() -> None:
        world.clock.sleep(1)
        seen.append(sum(x.status is LedgerStatus.DONE for job in world.jobs for x in world.ledgers.read_all(job)))

    results, spared = serve(world, look)
    assert results == SENT
    assert seen == [TOGETHER - 1]
    assert [at - began < 1 for at in spared] == [True]
    assert world.clock.now() - began > CALL_TIMEOUT - 2
    assert states(world) == {Cell.SENT: TOGETHER}


@pytest.mark.promise(1)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize(
    "call", ["ledgers.lease", "records.begin", "records.change.start", "ledgers.swap", "records.put_detail"]
)
def test_the_fault_of_one_is_its_own(call: str, when: When) -> None:
    world = made()
    world.tap.arm(3, when, lambda: Retriable("store"), where=lambda name: name == call)
    try:
        results, _ = serve(world)
    except Retriable:
        raise AssertionError("the fault of one is that of its group") from None
    if not world.tap.fired:
        assert call in (("records.begin",) if Stored.apart else PLAIN), f"there is no {call}"
        return
    assert sum(isinstance(x, Exception) for x in results) == 1
    assert [x for x in results if not isinstance(x, Exception)] == SENT[1:]
    assert states(world)[Cell.SENT] >= TOGETHER - 1
    world.settle()
    world.check()
    assert states(world) == {Cell.SENT: TOGETHER}


@pytest.mark.promise(1)
@pytest.mark.parametrize("call", ["records.load_each", "pacer.reserve", "records.control"])
def test_a_fault_of_what_they_share_has_each_come_again_with_its_attempts(call: str) -> None:
    world = made()
    world.tap.arm(0, When.AFTER, lambda: Retriable("store"), where=lambda name: name == call)
    results, _ = serve(world)
    assert [type(x) for x in results] == [Retriable] * TOGETHER
    assert world.oracle.calls == []
    world.settle()
    world.check()
    assert states(world) == {Cell.SENT: TOGETHER}
    assert {attempt for job in world.jobs for _, attempt in world.cells(job)} == {1}


def test_each_outcome_is_that_of_its_message() -> None:
    world = made()
    said: dict[int, Outcome] = {0: Rejected("bad", permanent=True), 1: Unknown("read_timeout"), 2: Throttled(5)}
    for n, outcome in said.items():
        world.providers["one"].script(f"j{n}r0@example.com", [outcome])
    assert serve(world)[0] == SENT
    found = [world.states(job) for job in world.jobs]
    assert found[:2] == [[Cell.FAILED], [Cell.UNKNOWN]]
    assert found[2] in ([Cell.QUEUED], [Cell.SENT])
    world.settle()
    world.check()
    assert states(world) == {Cell.FAILED: 1, Cell.UNKNOWN: 1, Cell.SENT: TOGETHER - 2}


@pytest.mark.promise(4)
def test_what_is_stopped_paused_or_suppressed_is_left_out_and_the_others_are_sent() -> None:
    world = made()
    stopped, other, suppressed = world.jobs[0], world.accept(1, account="acc_000000000002"), world.jobs[2]
    assert world.control.stop(stopped, ACCOUNT) is not None
    world.records.paused.add(other.account)  # type: ignore[attr-defined]
    world.records.suppress(ACCOUNT, "j2r0@example.com", "complaint", world.clock.ms, job=suppressed, channel="email")
    serve(world)
    serve(world)
    assert world.states(stopped) == [Cell.QUEUED]
    assert world.states(suppressed) == [Cell.SKIPPED]
    assert {x.ref.job for x in world.oracle.taken} == set(world.jobs) - {stopped, suppressed, other.id}


def test_jobs_that_do_not_fit_one_window_are_served_by_themselves() -> None:
    world = made(jobs=3, size=8)
    results, _ = serve(world)
    assert results == [PointerResult.SENT] * 3
    world.settle()
    world.check()
    assert states(world) == {Cell.SENT: 24}


def test_a_pointer_that_came_twice_is_served_once() -> None:
    world = made(jobs=4)
    world.lanes["one"].send([m.body for m in world.lanes["one"].waiting], express=True)
    results, _ = serve(world)
    assert Counter(results) == {PointerResult.SENT: 4, PointerResult.NOTHING: 4}
    assert states(world) == {Cell.SENT: 4}


@pytest.mark.promise(3)
def test_leases_of_a_dead_worker_s_group_are_found_by_their_note() -> None:
    world = made()
    world.slow_down(0.004, 0.008)
    hang_for(world, *(f"j{n}r0@example.com" for n in range(TOGETHER)))
    life = Life(world.clock, 0.0, world.clock.now() + 1.0, [])
    world.clock.run(lambda: world.send_together("one", world.sender("one", clock=life, pool=life.pool)))
    world.clock.sleep(2 * PATIENCE + LEASE_MARGIN)
    assert world.expired.look() == TOGETHER
    assert states(world) == {Cell.UNKNOWN: TOGETHER}
    assert world.expired.look() == 0


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_crash_at_any_call_loses_nothing_and_sends_nothing_twice(when: When) -> None:
    def run(world: World) -> None:
        [died] = world.clock.run(lambda: world.send_together("one"))
        if isinstance(died, Crash):
            raise died
        world.run()

    for world in dying(lambda: made(jobs=4), run, when, least=25 if Stored.apart else 12):
        world.check()
        world.reboot()
        world.settle()
        world.check()
        assert all(world.job(job).state is JobState.LOGGED for job in world.jobs)
        found = states(world)
        assert not OPEN & set(found)
        assert found[Cell.UNKNOWN] + found[Cell.SENT] == 4
        taken = {x.ref.job for x in world.oracle.taken}
        assert all(world.states(job) == [Cell.UNKNOWN] or job in taken for job in world.jobs)


@pytest.mark.promise(1)
def test_a_group_whose_provider_hangs_keeps_all_its_leases() -> None:
    """A new process begins few calls; the others wait for them, and what was not called is not unknown."""
    world = made()
    world.slow_down(0.004, 0.008)
    world.providers["one"].latency = CALL_TIMEOUT - 1
    over: list[bool] = []

    def look() -> None:
        while not over:
            world.clock.sleep(0.5)
            assert world.expired.look() == 0

    def work() -> None:
        world.send_together("one")
        over.append(True)

    world.clock.run(work, look)
    world.settle()
    world.check()
    assert states(world) == {Cell.SENT: TOGETHER}
    assert {attempt for job in world.jobs for _, attempt in world.cells(job)} == {1}

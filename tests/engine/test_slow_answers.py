"""A slow answer costs its own slot: a lease claims its next window while answers are still to come."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Throttled, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.lanes.pacing import pace
from shared.engine.lane.access import CALL_TIMEOUT
from shared.engine.lane.slots import PATIENCE
from shared.ports import Target
from tests.engine.pace import Life
from tests.engine.shaky import QUICK, deploy, logged
from tests.fakes.faults import When
from tests.fakes.provider import CollectiveProvider
from tests.fakes.wire import FakeWire, SteppedProvider
from tests.fakes.world import ACCOUNT, INVOCATION, World, credential

RATE = 150
MESSAGES = 4000
SLOW = Unknown("read_timeout")


def hang(world: World, share: float, seconds: float = CALL_TIMEOUT) -> None:
    """Let a share of the calls of lane `one` take long; those that take 14 s are given up after ten."""
    rng, provider = random.Random(7), world.providers["one"]  # noqa: S311 - a provider's whims

    def say(_targets: Sequence[Target]) -> None:
        slow = rng.random() < share
        provider.answer, provider.latency = (SLOW, seconds) if slow else (None, QUICK)

    provider.before = say


def hang_for(world: World, *addresses: str, seconds: float = CALL_TIMEOUT - 1) -> None:
    """Let calls that hold one of these recipients take long, and succeed."""
    provider = world.providers["one"]

    def say(targets: Sequence[Target]) -> None:
        provider.latency = seconds if {t.recipient.address for t in targets} & {*addresses} else QUICK

    if isinstance(provider, SteppedProvider):
        provider.spoil = say
    else:
        provider.before = say


def last_call(share: float, per_call: int) -> float:
    """Return the seconds from acceptance to the last call of a job."""
    world = World(replace(credential("one", RATE), workers=2), provider_limit=per_call)
    hang(world, share)
    began = world.clock.now()
    world.accept(MESSAGES)
    deploy(world, "one", until=lambda: logged(world))
    world.check()
    return max(at for at, _, _ in world.oracle.calls) - began


def serve(world: World) -> list[bool]:
    """Serve the next pointer of lane `one`; returns whether another might have been beside it."""
    spared: list[bool] = []
    world.clock.run(lambda: world.send("one", spare=lambda: spared.append(True)))
    return spared


def wired(rate: float) -> tuple[World, FakeWire]:
    world = World(credential("one", rate))
    provider = world.providers["one"] = SteppedProvider(world.providers["one"])
    return world, FakeWire(world.clock, provider)


@pytest.mark.slow
@pytest.mark.parametrize("per_call", [1, 6])
@pytest.mark.parametrize(("share", "cost"), [(0.01, 0.1), (0.05, 0.25), (0.2, 0.25)])
def test_calls_that_hang_cost_the_others_little(share: float, cost: float, per_call: int) -> None:
    assert last_call(share, per_call) <= (1 + cost) * last_call(0.0, per_call)


@pytest.mark.parametrize("slow", [0, 3])
def test_another_lease_may_begin_beside_one_that_waits_for_slow_answers_alone(slow: int) -> None:
    world = World(credential("one", 40))
    hang_for(world, *(f"r{i}@example.com" for i in range(slow)))
    job = world.accept(30)
    began = world.clock.now()
    assert serve(world) == [True] * bool(slow)
    assert world.counts(job.id) == {"sent": 30}
    assert (world.clock.now() - began > CALL_TIMEOUT - 1) == bool(slow)
    assert max(at for at, _, _ in world.oracle.calls) - began < 2


def test_results_are_written_while_slow_answers_are_to_come() -> None:
    world = World(credential("one", 40))
    hang_for(world, "r0@example.com")
    job = world.accept(30)
    seen: list[int] = []

    def look() -> None:
        world.clock.sleep(3)
        windows, _ = world.records.details(job.id, 0)
        seen.append(sum(len(w.entries) for w in windows))

    world.clock.run(lambda: world.send("one"), look)
    assert seen == [29]
    windows, _ = world.records.details(job.id, 0)
    assert sorted(e.index for w in windows for e in w.entries) == list(range(30)), "each once"


def test_a_lease_waits_when_a_second_of_answers_is_to_come() -> None:
    world = World(credential("one", RATE))
    slow = [f"r{i}@example.com" for i in range(500) if i % 5]
    hang_for(world, *slow)
    job = world.accept(500)
    begun: list[int] = []

    def look() -> None:
        world.clock.sleep(CALL_TIMEOUT - 2)
        begun.append(sum(t.address in slow for t in world.oracle.taken))

    world.clock.run(lambda: world.send("one"), look)
    most = pace(RATE, 1)
    assert most.room - most.window < begun[0] <= most.room + most.window
    world.settle()
    assert world.counts(job.id) == {"sent": 500}


@pytest.mark.parametrize(("seconds", "writes"), [(QUICK, 3), (2.0, 3), (CALL_TIMEOUT - 1, 5)])
def test_a_lease_is_kept_while_it_waits_for_a_slow_answer(seconds: float, writes: int) -> None:
    world = World(credential("one", 40))
    hang_for(world, "r19@example.com", seconds=seconds)
    job = world.accept(20)
    lasts: list[float] = []
    over: list[bool] = []

    def look() -> None:
        while not over:
            world.clock.sleep(0.25)
            world.expired.look()
            [ledger] = world.ledgers.read_all(job.id)
            if ledger.status is LedgerStatus.BUSY:
                lasts.append(ledger.until / 1000 - world.clock.now())

    def work() -> None:
        world.send("one")
        over.append(True)

    world.clock.run(work, look)
    world.check()
    assert world.counts(job.id) == {"sent": 20}
    assert {attempt for _, attempt in world.cells(job.id)} == {1}
    assert min(lasts) > 0
    assert max(lasts) <= 2 * PATIENCE + pace(40, 1).window / 40 + 1
    assert world.tap.calls.count("ledgers.swap") == writes


@pytest.mark.promise(3)
@pytest.mark.parametrize(("dies", "besides"), [(1.2, pace(40, 1).window + QUICK * 40), (3.0, 0)])
def test_a_killed_worker_leaves_a_window_and_slow_answers_unknown_and_its_log_names_the_provider(
    dies: float, besides: float
) -> None:
    world = World(credential("one", 40))
    hang_for(world, "r1@example.com", "r2@example.com")
    job = world.accept(60)
    life = Life(world.clock, 0.0, world.clock.now() + dies, [])
    sender = world.sender("one", clock=life, pool=life.pool)
    world.clock.run(lambda: world.send("one", sender))
    world.clock.sleep(INVOCATION)
    world.reboot()
    world.providers["one"].before = lambda _targets: None
    world.settle()
    world.check()
    unknown = [i for i, state in enumerate(world.states(job.id)) if state is Cell.UNKNOWN]
    assert unknown[:2] == [1, 2]
    assert len(unknown) <= 2 + besides
    lines = [world.logs.line(world.job(job.id), 0, i) for i in unknown]
    assert [[(a.code, a.credential_id) for a in line.attempts] for line in lines if line] == [
        [("worker_lost", "one")] for _ in unknown
    ]


@pytest.mark.promise(1)
def test_a_claim_whose_answer_is_lost_gives_no_slow_call_back() -> None:
    world = World(credential("one", 40))
    hang_for(world, "r1@example.com", "r2@example.com")
    job = world.accept(60)
    swaps: list[str] = []

    def third(name: str) -> bool:
        swaps.append(name)
        return name == "ledgers.swap" and swaps.count(name) == 2

    world.tap.arm(0, When.AFTER, lambda: ConnectionError("lost"), where=third)

    def lease() -> None:
        with pytest.raises(ConnectionError):
            world.send("one")

    world.clock.run(lease)
    assert world.tap.fired == 1
    world.settle()
    world.check()
    assert world.counts(job.id) == {"sent": 60}
    assert {attempt for _, attempt in world.cells(job.id)} == {1}


def test_a_slow_answer_that_asks_to_wait_ends_the_lease_and_uses_no_attempt() -> None:
    world = World(credential("one", 40))
    hang_for(world, "r1@example.com")
    world.providers["one"].script("r1@example.com", [Throttled(5)])
    job = world.accept(200)
    world.settle()
    assert world.counts(job.id) == {"sent": 200}
    assert {attempt for _, attempt in world.cells(job.id)} == {1}


def fussy() -> tuple[World, Job]:
    """Return a world in which the first call is slow, and refused as a whole."""
    world = World(credential("one", 400), provider_limit=16, provider=CollectiveProvider)
    provider = world.providers["one"]
    assert isinstance(provider, CollectiveProvider)
    provider.bad = {"r0@example.com"}
    hang_for(world, "r0@example.com", seconds=1.0)
    return world, world.accept(500)


def test_a_slow_call_that_is_refused_as_a_whole_is_divided_by_the_lease_that_made_it() -> None:
    world, job = fussy()
    world.clock.run(lambda: world.send("one"))
    assert world.counts(job.id) == {"sent": 499, "failed": 1}
    assert {attempt for _, attempt in world.cells(job.id)} == {1}
    world.check()


@pytest.mark.promise(4)
def test_after_a_stop_no_part_of_a_slow_call_is_called() -> None:
    world, job = fussy()
    began = world.clock.now()

    def stop() -> None:
        world.clock.sleep(0.4)
        assert world.control.stop(job.id, ACCOUNT) is not None

    world.clock.run(lambda: world.send("one"), stop)
    world.settle()
    assert max(at for at, _, _ in world.oracle.calls) < began + 0.9, "before the first answer"
    world.check()


def test_answers_on_a_wire_are_waited_for_side_by_side() -> None:
    world, wire = wired(40)
    hang_for(world, "r1@example.com")
    job = world.accept(30)
    sender = world.sender("one", wire=lambda: wire)
    spared: list[bool] = []
    began = world.clock.now()
    world.send("one", sender, spare=lambda: spared.append(True))
    world.run()
    assert world.counts(job.id) == {"sent": 30}
    assert spared == [True]
    assert max(at for at, _, _ in world.oracle.calls) - began < 2


@pytest.mark.promise(1)
def test_a_frozen_worker_merges_slow_answers_after_its_lease_was_taken_over() -> None:
    world = World(credential("one", 40))
    hang_for(world, "r1@example.com")
    job = world.accept(60)

    frozen: list[bool] = []

    def lease() -> None:
        controls = world.records.controls

        def late(*args: object, **named: object) -> object:
            found = controls(*args, **named)  # type: ignore[arg-type]
            if world.oracle.calls and not frozen:
                frozen.append(True)
                world.clock.advance(INVOCATION)
                world.sweep()
            return found

        world.records.controls = late  # type: ignore[method-assign, assignment]
        world.send("one")

    world.clock.run(lease)
    assert frozen
    world.settle()
    world.check()
    assert world.counts(job.id) == {"sent": 60}
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert ledger.status is LedgerStatus.DONE

"""A process dies at any call, before it has an effect or after; what it leaves is finished by others, nothing twice."""

import json
from contextlib import suppress

import pytest

from shared.contracts import pointer
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Rejected, Throttled
from shared.domain.jobs.states import OPEN, Cell, JobState
from shared.engine.intake.accept import AcceptedJob
from shared.engine.lane.start import PointerResult
from shared.ports import Replay
from tests.fakes.crashes import dying
from tests.fakes.faults import Crash, When
from tests.fakes.world import INVOCATION, LEASE_MARGIN, World, credential

RATE = 10
WINDOW = 9
MESSAGES = 12
SIDES = [When.BEFORE, When.AFTER]


def make() -> tuple[World, str]:
    """Return a world with a batch that meets a refusal, a throttle and a failover on its way."""
    world = World(credential("one", RATE), credential("two", RATE))
    for p in world.providers.values():
        p.script("r1@example.com", [Rejected("bad", permanent=True)])
        p.script("r2@example.com", [Throttled(2)])
        p.script("r3@example.com", [Rejected("down", permanent=False)])
    return world, world.accept(MESSAGES).id


def finish(world: World, job: str, *, leases: int = 1) -> None:
    """Let the others finish what a crash left, and check what the product promises."""
    world.reboot()
    world.settle()
    world.check()
    states = world.states(job)
    taken = world.oracle.times(job)
    assert not OPEN & set(states)
    assert states.count(Cell.UNKNOWN) <= leases * WINDOW
    assert world.job(job).state is JobState.LOGGED
    per_chunk = [len(x.cells) for x in world.ledgers.read_all(job)]
    places = [(chunk, i) for chunk, n in enumerate(per_chunk) for i in range(n)]
    for place, state in zip(places, states, strict=True):
        if state is Cell.SENT:
            assert taken.get(place) == 1
        elif state is not Cell.UNKNOWN:
            assert place not in taken


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", SIDES)
def test_a_crash_at_any_call_loses_nothing_and_sends_nothing_twice(when: When) -> None:
    for world in dying(lambda: make()[0], World.run, when, least=51):
        world.check()
        finish(world, *world.jobs)


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize("when", SIDES)
def test_two_crashes_in_a_row_are_no_worse(when: When) -> None:
    """The second one hits the recovery of the first."""
    fired = 0
    for nth in range(4, 30, 3):
        for again in range(0, 60, 7):
            world, job = make()
            world.tap.arm(nth, when)
            with pytest.raises(Crash):
                world.run()
            world.reboot()
            world.tap.arm(again, when)
            with suppress(Crash):
                world.settle()
            fired += world.tap.fired == 2
            world.tap.disarm()
            world.check()
            finish(world, job, leases=2)
    assert fired > 50


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", SIDES)
def test_a_crash_in_acceptance_leaves_all_or_nothing(when: When) -> None:
    for nth in range(5):
        world = World(credential("one"))
        request = world.request(3, idempotency_key="k", fingerprint="f")
        world.tap.arm(nth, when)
        with pytest.raises(Crash):
            world.acceptor.accept(request)
        world.sweep()
        answer = world.acceptor.accept(request)
        assert isinstance(answer, AcceptedJob | Replay)
        stored = nth == 4 or (nth == 3 and when is When.AFTER)
        assert isinstance(answer, Replay) == stored
        world.jobs.append(json.loads(answer.answer)["job_id"])
        world.settle()
        assert len(world.oracle.taken) == 3
        assert world.counts(world.jobs[0]) == {"sent": 3}


# Zombies


@pytest.mark.promise(1)
@pytest.mark.parametrize("frozen_at", ["pacer.reserve", "records.control", "records.put_detail", "ledgers.swap"])
def test_a_worker_that_wakes_after_a_takeover_begins_no_call(frozen_at: str) -> None:
    """The sandbox is frozen in a call and thawed long after its lease was taken over and its chunk served by others."""
    world = World(credential("one", RATE))
    job = world.accept(30).id
    calls_at_thaw: list[int] = []

    def freeze() -> BaseException:
        """Let the others do all the work meanwhile; then the call fails, as a frozen connection does."""
        world.clock.advance(INVOCATION + LEASE_MARGIN + 1)
        world.sweep()
        world.run()
        calls_at_thaw.append(len(world.oracle.calls))
        return Thawed()

    world.lanes["one"].lose()
    zombie = world.sender("one")
    seen = []

    def late_enough(name: str) -> bool:
        seen.append(name)
        return name == frozen_at and "provider.one" in seen

    world.tap.arm(0, When.BEFORE, freeze, where=late_enough)
    with pytest.raises(Thawed):
        zombie.work(job, 0, owner="zombie", deadline=world.clock.now() + INVOCATION)
    assert len(world.oracle.calls) == calls_at_thaw[0] >= 21
    finish(world, job)


class Thawed(BaseException):
    pass


@pytest.mark.promise(1)
def test_a_zombie_that_goes_on_as_if_nothing_had_happened_claims_nothing() -> None:
    world = World(credential("one", RATE))
    job = world.accept(30).id
    world.lanes["one"].lose()
    provider = world.providers["one"]
    at_thaw: list[int] = []

    def freeze(_targets: object) -> None:
        if len(world.oracle.calls) == 8:  # the last call of the first window
            provider.before = lambda _targets: None
            world.clock.advance(INVOCATION + LEASE_MARGIN + 1)
            world.sweep()
            world.run()
            at_thaw.append(len(world.oracle.calls))

    provider.before = freeze
    did = world.senders["one"].work(job, 0, owner="zombie", deadline=world.clock.now() + INVOCATION)
    assert did is PointerResult.SENT or did is PointerResult.NOTHING
    assert len(world.oracle.calls) == at_thaw[0] == 8 + 21
    assert world.states(job).count(Cell.SENT) == 29
    assert world.states(job).count(Cell.UNKNOWN) == 1
    finish(world, job)


def test_late_words_of_a_zombie_are_kept() -> None:
    """Its window was taken over as unknown; what it knows still counts, and its own detail replaces the guess."""
    world = World(credential("one", RATE))
    job = world.accept(2).id
    world.lanes["one"].lose()
    provider = world.providers["one"]

    def slow(_targets: object) -> None:
        if not world.oracle.calls:
            return
        provider.before = lambda _targets: None
        world.clock.advance(INVOCATION + LEASE_MARGIN + 1)
        world.sweep()
        assert world.states(job) == [Cell.UNKNOWN, Cell.UNKNOWN]

    provider.before = slow
    world.senders["one"].work(job, 0, owner="zombie", deadline=world.clock.now() + INVOCATION)
    assert world.states(job) == [Cell.SENT, Cell.UNKNOWN]
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    assert [a.outcome for a in line.attempts] == ["accepted"]


# Takeovers


def test_a_crash_after_the_detail_leaves_nothing_unknown() -> None:
    world = World(credential("one", RATE))
    job = world.accept(3).id
    world.tap.arm_at("records.put_detail", When.AFTER)
    with pytest.raises(Crash):
        world.run()
    finish(world, job)
    assert world.counts(job) == {"sent": 3}


def test_a_crash_before_the_detail_leaves_the_window_unknown_and_its_log_names_the_provider() -> None:
    world = World(credential("one", RATE))
    job = world.accept(12).id
    world.tap.arm_at("records.put_detail", When.BEFORE)
    with pytest.raises(Crash):
        world.run()
    finish(world, job)
    assert world.counts(job) == {"unknown": WINDOW, "sent": MESSAGES - WINDOW}
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    assert line.providers == {"one": True}
    assert [(a.outcome, a.code) for a in line.attempts] == [("unknown", "worker_lost")]
    assert line.error == "worker_lost"


@pytest.mark.promise(3)
def test_a_takeover_that_crashes_has_recorded_the_provider() -> None:
    world = World(credential("one", 10))
    job = world.accept(3)
    world.tap.arm_at("records.put_detail", When.BEFORE)
    with pytest.raises(Crash):
        world.run()
    world.clock.advance(INVOCATION + LEASE_MARGIN + 1)
    world.tap.arm_at("ledgers.swap", When.AFTER)
    with pytest.raises(Crash):
        world.sweep()
    world.reboot()
    assert world.states(job.id) == [Cell.UNKNOWN] * 3
    line = world.logs.line(world.job(job.id), 0, 0)
    assert line is not None
    assert line.providers == {"one": True}
    assert [(a.credential_id, a.code) for a in line.attempts] == [("one", "worker_lost")]


def test_the_next_pointer_takes_an_expired_lease_over() -> None:
    world = World(credential("one", RATE))
    job = world.accept(12).id
    world.tap.arm_at("records.put_detail", When.AFTER)
    with pytest.raises(Crash):
        world.run()
    world.lanes["one"].lose()
    world.clock.advance(INVOCATION + LEASE_MARGIN + 1)
    world.lanes["one"].send([pointer(job, 0)])
    assert world.send("one") is PointerResult.SENT
    ledger = world.ledgers.read(job, 0)
    assert ledger is not None
    assert (ledger.epoch, ledger.status) == (3, LedgerStatus.DONE)
    assert world.counts(job) == {"sent": 12}

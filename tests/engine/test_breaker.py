"""A provider that fails is left alone by all workers, its work goes on elsewhere, and it comes back by a few probes."""

import pytest

from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected, Throttled, Unknown
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.engine.lane.admission import CAREFUL
from shared.engine.lane.start import PointerResult
from shared.ports import Retriable
from tests.engine.failing import DEAD, DOWN, UNAUTHORIZED, UNREACHED, answers, breaker, calls, serve, starts_at
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.stores import FakeStores
from tests.fakes.world import World, credential

# A dead provider


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("rate", "answer", "latency"),
    [
        (150, DOWN, 0.05),
        (1000, DOWN, 0.0),
        (1000, UNREACHED, 0.001),
        (150, Unknown("read_timeout"), 10.0),
        (1000, Unknown("http_500"), 0.3),
    ],
)
def test_a_dead_provider_costs_a_handful_of_calls(rate: int, answer: Outcome, latency: float) -> None:
    world = World(credential("one", rate), credential("two", rate))
    job = world.accept(4000)
    world.providers["one"].answer, world.providers["one"].latency = answer, latency
    world.providers["two"].latency = 0.05
    began = world.clock.now()
    serve(world, "one", "two", seconds=90)
    opened = breaker(world)
    assert opened.since > 0
    before_probes = calls(world, "one", until=opened.since / 1000 + 8)
    assert CAREFUL < before_probes <= DEAD
    assert calls(world, "one") <= before_probes + 4  # probes after 10, 30 and 70 s, each of which fails at once
    assert opened.since / 1000 - began <= 2 * latency + 1
    states = world.states(job.id)
    unknown = states.count(Cell.UNKNOWN)
    assert unknown <= calls(world, "one") if isinstance(answer, Unknown) else unknown == 0
    assert states.count(Cell.SENT) == 4000 - unknown
    world.run()
    world.check()


@pytest.mark.slow
def test_one_that_dies_at_full_speed_fails_what_was_in_flight_and_a_handful_more() -> None:
    world = World(credential("one", 1000))
    world.accept(8000)
    for p in world.providers.values():
        p.latency = 0.05
    dies = world.clock.now() + 4
    answers(world, "one", lambda: DOWN if world.clock.now() > dies else None)
    serve(world, "one", seconds=9)
    in_flight = 1000 * 0.05
    assert calls(world, "one", since=dies) <= in_flight + DEAD
    assert calls(world, "one", since=dies + 0.1) == 0


def test_a_refused_account_opens_the_breaker_at_once() -> None:
    world = World()
    jobs = [world.accept(40), world.accept(40)]
    world.providers["one"].answer = UNAUTHORIZED
    world.run(seconds=5)
    assert calls(world, "one") == 1
    opened = breaker(world)
    assert (opened.state, opened.reason, opened.failures) == (BreakerState.OPEN, "unauthorized", 1)
    assert [world.counts(j.id) for j in jobs] == [{"sent": 40}] * 2
    world.check()


def test_what_had_not_begun_moves_on_without_an_attempt() -> None:
    world = World()
    job = starts_at(world, "one", 40)
    world.providers["one"].answer = DOWN
    world.run(seconds=5)
    cells = world.cells(job.id)
    assert sorted(cells) == sorted([(Cell.SENT, 2)] * 5 + [(Cell.SENT, 1)] * 35)
    assert world.job(job.id).by["one"][0] == 5
    world.check()


def test_a_worker_that_starts_when_the_breaker_is_open_makes_no_call() -> None:
    world = World()
    world.providers["one"].answer = DOWN
    starts_at(world, "one", 40)
    world.run(seconds=5)
    before = calls(world, "one")
    job = world.accept(1)
    world.ledgers.reschedule(job.id, 0, not_before=0, lane="one")
    assert world.sender("one", breaker_cache=world.process()).work(
        job.id, 0, owner="new", deadline=world.clock.now() + 60
    ) is (PointerResult.SENT)
    assert calls(world, "one") == before
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert (ledger.lane, ledger.cells[0] >> 4) == ("two", 0)


def test_a_lone_provider_is_waited_for_and_nothing_is_given_up() -> None:
    """Twenty minutes: longer than all the tries of a message, had they been made."""
    world = World(credential("one"))
    job = world.accept(300)
    dead_until = world.clock.now() + 1200
    answers(world, "one", lambda: DOWN if world.clock.now() < dead_until else None)
    world.settle(sweeps=60)
    assert world.counts(job.id) == {"sent": 300}
    assert calls(world, "one", until=dead_until) <= 5 + 9  # the five, and probes after 10, 30, 70, 150, 310, 610 s …
    assert max(t.at for t in world.oracle.taken) < dead_until + 400
    assert breaker(world).state is BreakerState.CLOSED
    world.check()


# What does not open it


@pytest.mark.parametrize(
    "answer",
    [
        Throttled(1),
        Rejected("invalid_recipient", permanent=True),
        Rejected("sender_not_verified", permanent=False, about_message=True),
        RuntimeError("bug"),
        None,
    ],
)
def test_what_is_not_the_providers_fault_opens_nothing(answer: Outcome | Exception | None) -> None:
    world = World(credential("one"))
    world.accept(30)
    for i in range(10):
        world.providers["one"].script(f"r{i}@example.com", [answer] if answer else [])
    world.run(seconds=20)
    assert breaker(world) == Breaker("one")


def test_four_failures_in_a_row_open_nothing() -> None:
    world = World(credential("one"))
    job = world.accept(30)
    for i in (0, 1, 2, 3, 5, 6, 7, 8):
        world.providers["one"].script(f"r{i}@example.com", [DOWN])
    world.run()
    assert breaker(world) == Breaker("one")
    assert world.counts(job.id) == {"sent": 30}


# Faults of the store, and crashes


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER, When.REPEATED])
@pytest.mark.parametrize("error", [Crash, Retriable])
@pytest.mark.parametrize("nth", range(4))
def test_a_death_or_a_hiccup_around_the_breaker_loses_nothing(nth: int, error: type[BaseException], when: When) -> None:
    """The writes: opened, probed, opened again, probed; the reads are between them."""
    world = World(credential("one", 10))
    job = world.accept(12)
    dead_until = world.clock.now() + 15
    answers(world, "one", lambda: DOWN if world.clock.now() < dead_until else None)
    world.tap.arm(nth, when, error, where=lambda name: name.startswith("breakers."))
    for _ in range(3):
        try:
            world.settle()
        except Crash:
            world.reboot()
    assert world.tap.fired == 1
    assert world.job(job.id).state is JobState.LOGGED
    states = world.states(job.id)
    assert states.count(Cell.SENT) + states.count(Cell.UNKNOWN) == 12
    assert states.count(Cell.UNKNOWN) <= (9 if error is Crash else 0)
    assert world.oracle.times(job.id).keys() >= {(0, i) for i, s in enumerate(states) if s is Cell.SENT}
    world.check()


def test_a_gate_whose_breaker_could_not_be_written_stays_shut_and_writes_it_later() -> None:
    world = World()
    world.providers["one"].answer = DOWN
    first, second = starts_at(world, "one", 40), starts_at(world, "one", 40)
    world.tap.arm_at("breakers.swap", error=Retriable)
    assert world.send("one") is PointerResult.SENT
    assert breaker(world) == Breaker("one")
    while world.lanes["one"].waiting:
        world.send("one")
    assert (breaker(world).state, breaker(world).failures) == (BreakerState.OPEN, 5)
    assert calls(world, "one") == 5
    world.run()
    assert [world.counts(j.id) for j in (first, second)] == [{"sent": 40}] * 2


def test_breakers_that_cannot_be_read_stand_in_nobodys_way() -> None:
    world = World()
    world.tap.arm_at("breakers.read", error=Retriable)
    job = world.accept(4)
    assert world.tap.fired == 1
    world.run()
    assert world.counts(job.id) == {"sent": 4}


def test_acceptance_takes_what_is_usable_and_all_if_nothing_is() -> None:
    world = World()
    for name in ("one", "two"):
        world.stores.breakers.swap(
            Breaker(name), Breaker(name, BreakerState.OPEN, "x", 1, 5, world.clock.ms + 60_000, 10_000, version=1)
        )
    lanes = {world.ledgers.read_all(world.accept(2).id)[0].lane for _ in range(20)}
    assert lanes == {"one", "two"}
    world.clock.sleep(5)
    stored = breaker(world, "two")
    world.stores.breakers.swap(stored, Breaker("two", version=2))
    assert {world.ledgers.read_all(world.accept(2).id)[0].lane for _ in range(20)} == {"two"}
    world.clock.sleep(60)
    assert {world.ledgers.read_all(world.accept(2).id)[0].lane for _ in range(20)} == {"one", "two"}


# What it costs


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "latency"), [(150, 0.05), (1000, 0.2)])
def test_a_healthy_lane_is_at_full_speed_after_a_few_round_trips(rate: int, latency: float) -> None:
    world = World(credential("one", rate))
    world.providers["one"].latency = latency
    jobs = [world.accept(2 * rate) for _ in range(2)]
    began = world.clock.now()
    serve(world, "one", seconds=12)
    assert [world.counts(job.id) for job in jobs] == [{"sent": 2 * rate}] * 2
    times = sorted(t for t, _, _ in world.oracle.calls)
    lost = times[-1] - began - 4 / 0.97
    assert lost <= 6 * latency + 0.3


@pytest.mark.slow
def test_a_healthy_lane_reads_and_writes_nothing_for_its_breaker() -> None:
    world = World(credential("one"), stores=FakeStores)
    world.accept(300)
    before = len(world.tap.calls)
    world.run()
    assert [c for c in world.tap.calls[before:] if c.startswith("breakers.")] == []


@pytest.mark.slow
def test_stores_on_dynamodb_do_the_same(moto_dynamo: object) -> None:
    from tests.fakes.tables import MotoStores  # noqa: PLC0415 - one test of this module needs it

    world = World(stores=lambda clock: MotoStores(moto_dynamo, clock))
    world.providers["one"].answer = DOWN
    jobs = [starts_at(world, "one", 20), starts_at(world, "one", 20)]
    world.run(seconds=5)
    assert breaker(world).state is BreakerState.OPEN
    assert calls(world, "one") == 5
    world.providers["one"].answer = None
    world.clock.sleep(15)
    jobs.append(starts_at(world, "one", 20))
    world.run(seconds=5)
    assert breaker(world).state is BreakerState.CLOSED
    world.settle()
    assert [world.counts(j.id) for j in jobs] == [{"sent": 20}] * 3
    assert {t.provider for t in world.oracle.taken} == {"one", "two"}
    world.check()


def test_the_time_is_the_workers_own() -> None:
    clock = FakeClock()
    world = World(clock=clock)
    assert world.breaker_cache.due_in(["one", "two"]) == 0
    world.stores.breakers.swap(
        Breaker("one"), Breaker("one", BreakerState.OPEN, "x", 1, 5, clock.ms + 7_000, 10_000, version=1)
    )
    clock.advance(3)
    assert world.breaker_cache.due_in(["one"]) == 4_000
    assert world.breaker_cache.due_in(["one", "two"]) == 0
    assert not world.breaker_cache.usable("one")
    clock.advance(4)
    assert world.breaker_cache.usable("one", ["two"])
    assert Accepted("x")


@pytest.mark.parametrize(("minutes", "seconds"), [(1, 4), (10, 30), (60, 180), (1000, 900)])
def test_what_waits_comes_back_after_a_part_of_the_outage(minutes: int, seconds: int) -> None:
    world = World(credential("one"))
    now = world.clock.ms
    left = Breaker("one", BreakerState.OPEN, "x", now - minutes * 60_000, 5, now + 4_000, 10_000, version=1)
    world.stores.breakers.swap(Breaker("one"), left)
    assert world.breaker_cache.due_in(["one"], 20) == seconds * 1000
    assert world.breaker_cache.due_in(["one"]) == 4_000

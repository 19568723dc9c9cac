"""A provider that takes less than its declared rate: few calls are refused, and most of what it takes is used."""

import random
from math import inf
from typing import Any

import pytest

from shared.domain.jobs.outcomes import Accepted, NotStarted, Throttled
from shared.domain.jobs.states import Cell
from shared.domain.lanes.pacing import Slots, pace
from shared.domain.lanes.refusals import NO_CALLS, RefusalTally
from shared.domain.lanes.switches import DOUBLING, NOT_LOWERED
from shared.engine.lane.slots import SlotClient
from shared.ports import Retriable
from tests.engine.lowered import Limited, by_chance, limited, serve, use
from tests.fakes.clock import FakeClock
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential


@pytest.mark.slow
@pytest.mark.promise(2)
def test_of_a_lower_limit_most_is_used_and_few_calls_are_refused() -> None:
    found = use(10, 5, seconds=400)
    assert 0 < found.refused <= 0.05
    assert found.used >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "limit"), [(100, 50), (20, 3), (100, 90), (150, 40)])
def test_most_of_any_limit_is_used(rate: float, limit: int) -> None:
    found = use(rate, limit, seconds=400)
    assert found.refused <= 0.05
    assert found.used >= min(0.85, 0.6 * rate / limit - 0.01)


@pytest.mark.parametrize(
    "life", [4, pytest.param(30, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.slow)]
)
def test_refusals_by_chance_do_not_lower_the_rate_however_young_the_workers(life: float) -> None:
    assert by_chance(0.03, rate=150, messages=6000, life=life) <= 1.3 * 6000 / 150


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.03, 0.07, 0.12])
@pytest.mark.parametrize("rate", [5, 20, 150])
def test_a_share_that_no_lower_rate_lessens_is_no_limit(share: float, rate: float) -> None:
    messages = round(rate * 120)
    assert by_chance(share, rate=rate, messages=messages, life=30) <= 1.75 * messages / rate


def test_the_first_refusal_is_the_last_call_until_the_hold_has_ended() -> None:
    world, provider = limited(20, 5, latency=0.0, wait=7.0)
    world.accept(200)
    begun = world.clock.now()
    pacers = serve(world, 6)
    assert len(provider.refused) == 1
    assert [sum(done) for done in zip(*(p.writes for p in pacers), strict=True)] == [1, 1]
    assert not [t for t, _, _ in world.oracle.calls if provider.refused[0] < t < provider.refused[0] + 7]
    assert provider.refused[0] - begun < 1


def test_a_chunk_that_another_credential_may_take_does_not_wait_for_a_long_hold() -> None:
    world = World(credential("one", 10), credential("two", 10), provider=Limited)
    provider = world.providers["one"]
    assert isinstance(provider, Limited)
    provider.limit, provider.wait = 0, 600.0
    job = world.accept(40)
    began = world.clock.now()
    world.run(seconds=60)
    assert world.counts(job.id) == {"sent": 40}
    assert world.clock.now() - began < 60
    assert len(provider.refused) == 1, "the other chunks left without a call"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Silent(FakePacer):
    """A pacer that fails while `down` is set."""

    down = False

    def reserve(self, *args: Any, **named: Any) -> Slots:
        if self.down:
            raise Retriable("no answer")
        return super().reserve(*args, **named)


def test_calls_are_counted_once_whatever_became_of_the_reservation_that_told_them(clock: FakeClock) -> None:
    pacer = Silent(clock)
    one, other = (SlotClient(pacer, "one", clock) for _ in range(2))
    p = pace(10, 1)

    def reserve(client: SlotClient) -> Slots:
        return client.reserve(1, p, ahead=0.0, until=inf, job="j" * 26)

    for outcome in [Accepted("x")] * 8 + [NotStarted()]:
        one.heed(p, [outcome])
    pacer.down = True
    with pytest.raises(Retriable):
        reserve(one)
    pacer.down = False
    assert reserve(one).tally == reserve(other).tally == reserve(one).tally == RefusalTally(8, 0)


def test_a_hold_or_its_end_begins_a_new_count(clock: FakeClock) -> None:
    pacer = FakePacer(clock)
    client = SlotClient(pacer, "one", clock)
    whole = pace(10, 1)
    client.heed(whole, [Accepted("x")])
    client.heed(whole, [Throttled(1.0)])
    lowered = client.switches.lowered
    assert lowered.rate < 10
    client.heed(whole, [Throttled(1.0)])
    assert client.switches.lowered == lowered, "it was on its way"
    clock.advance(1 + DOUBLING)
    slower = pace(10, 1, lowered=lowered, now=clock.now())
    client.heed(slower, [Accepted("x")])
    assert client.reserve(1, slower, ahead=0.0, until=inf, job="j" * 26).tally == RefusalTally(1, 0)
    assert client.switches.lowered == NOT_LOWERED
    assert client.reserve(1, whole, ahead=0.0, until=inf, job="j" * 26).tally == NO_CALLS


# Leases


@pytest.mark.promise(3)
@pytest.mark.parametrize(("share", "leases"), [(0.03, (1, 7)), (0.3, (8, 500))])
def test_a_refusal_now_and_then_ends_no_lease_and_many_do(share: float, leases: tuple[int, int]) -> None:
    world, provider = limited(150, 10**9, latency=0.05)
    rng = random.Random(5)  # noqa: S311 - a provider's whims
    provider.before = lambda _targets: setattr(provider, "answer", Throttled(1) if rng.random() < share else None)
    job = world.accept(500)

    def lease() -> None:
        while world.ledgers.list_queue(job.id):
            if not world.send("one"):
                world.clock.sleep(0.1)

    world.clock.run(lease)
    (ledger,) = world.ledgers.read_all(job.id)
    assert leases[0] <= ledger.epoch <= leases[1]
    assert world.states(job.id) == [Cell.SENT] * 500
    assert {attempt for _, attempt in world.cells(job.id)} == {1}, "a refusal uses no attempt"
    world.check()

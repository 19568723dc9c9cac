"""A call that is refused as a whole is divided at once, without an attempt used, until who is to blame is alone."""

from collections.abc import Collection
from math import ceil, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.jobs.job import Policy
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import NotTogether, Rejected, Throttled
from shared.domain.jobs.states import Cell
from shared.domain.lanes.switches import AS_DECLARED, Switches
from shared.engine.lane.start import PointerResult
from tests.fakes.faults import Crash
from tests.fakes.provider import CollectiveProvider
from tests.fakes.world import INVOCATION, World, credential
from tests.tiers import examples

RATE = 1000
SHARE = 40
"""Recipients in a call at that rate."""
ONCE = Policy(max_attempts=1)


def fussy(*names: str, rate: float = RATE) -> World:
    """Return a world whose providers refuse a whole call for one bad address."""
    lanes = [credential(name, rate) for name in names or ("one",)]
    return World(*lanes, provider_limit=1000, provider=CollectiveProvider)


def refuse(world: World, bad: Collection[int], lane: str = "one") -> CollectiveProvider:
    provider = world.providers[lane]
    assert isinstance(provider, CollectiveProvider)
    provider.bad = {f"r{i}@example.com" for i in bad}
    return provider


@pytest.mark.promise(6)
@settings(max_examples=examples(40))
@given(bad=st.frozensets(st.integers(0, 99), max_size=100), rate=st.sampled_from([100.0, 250.0, 1000.0]))
def test_valid_recipients_are_sent_once_whichever_are_bad(bad: frozenset[int], rate: float) -> None:
    world = fussy(rate=rate)
    refuse(world, bad)
    job = world.accept(100, policy=ONCE)
    world.run()
    assert world.oracle.times(job.id) == {(0, i): 1 for i in range(100) if i not in bad}
    assert world.cells(job.id) == [(Cell.FAILED if i in bad else Cell.SENT, 1) for i in range(100)]
    assert world.job(job.id).by["one"] == (100, 100 - len(bad), 0, len(bad))
    assert len(world.oracle.calls) < 2 * 100
    world.check()


@pytest.mark.promise(6)
def test_five_bad_of_five_hundred_cost_the_others_no_attempt_and_no_second() -> None:
    world = fussy()
    bad = (3, 77, 211, 350, 499)
    refuse(world, bad)
    job = world.accept(500, policy=ONCE)
    begun = world.clock.now()
    assert world.send("one") is PointerResult.SENT
    assert world.counts(job.id) == {"sent": 495, "failed": 5}
    assert world.clock.now() - begun < 2
    assert len(world.oracle.calls) <= ceil(500 / SHARE) + 5 * 2 * ceil(log2(SHARE))


def test_a_chunk_of_bad_ones_ends_in_a_bounded_number_of_calls() -> None:
    world = fussy()
    refuse(world, range(500))
    job = world.accept(500, policy=ONCE)
    world.run()
    assert world.counts(job.id) == {"failed": 500}
    assert len(world.oracle.calls) < 2 * 500
    assert world.oracle.taken == []


def test_a_divided_call_keeps_to_the_rate() -> None:
    world = fussy()
    refuse(world, range(0, 500, 7))
    world.accept(500)
    world.run()
    calls = [(at, n) for at, _, n in world.oracle.calls]
    for at, _ in calls:
        assert sum(n for t, n in calls if at <= t < at + 1) <= RATE


def test_no_detail_names_a_call_that_was_divided() -> None:
    world = fussy()
    refuse(world, {5})
    job = world.accept(SHARE, policy=ONCE)
    world.run()
    windows, _ = world.records.details(job.id, 0)
    assert [sorted((e.index, e.attempt, e.code) for e in w.entries) for w in windows] == [
        [(i, 1, "bad_address" if i == 5 else "") for i in range(SHARE)]
    ]


def test_the_refusal_of_one_alone_is_about_its_message_and_tries_others() -> None:
    """An adapter that says of a call of one that it was refused for others is wrong; nobody waits for ever for that."""
    world = World(credential("one"), credential("two"))
    for provider in world.providers.values():
        provider.answer = NotTogether("batch_refused")
    job = world.accept(1, policy=Policy(max_attempts=2))
    world.settle()
    assert world.counts(job.id) == {"failed": 1}
    assert len(world.oracle.calls) == 2


def test_a_recipient_that_cannot_share_a_call_gets_another_at_once() -> None:
    """As two equal addresses may not."""
    world = fussy()
    job = world.accept(SHARE, policy=ONCE)
    provider = world.providers["one"]
    for i in (7, 9):
        provider.script(f"r{i}@example.com", [NotTogether("repeated_address")])
    assert world.send("one") is PointerResult.SENT
    assert world.counts(job.id) == {"sent": SHARE}
    assert [n for _, _, n in world.oracle.calls] == [SHARE, 2]


# Leases that end before the last call is divided


@pytest.mark.promise(3)
@pytest.mark.parametrize("latency", [9.0, 30.0, INVOCATION])
def test_leases_too_short_to_divide_a_call_divide_it_together(latency: float) -> None:
    """Each goes on with smaller calls than the one before."""
    world = fussy()
    provider = refuse(world, range(SHARE))
    provider.latency = latency
    job = world.accept(SHARE, policy=ONCE)
    bounds: list[int] = []
    while world.ledgers.read_all(job.id)[0].status is not LedgerStatus.DONE and len(bounds) < 3 * SHARE:
        assert world.send("one") is PointerResult.SENT
        bounds.append(world.ledgers.read_all(job.id)[0].per_call)
        assert set(world.cells(job.id)) <= {(Cell.QUEUED, 0), (Cell.FAILED, 1)}
    assert world.counts(job.id) == {"failed": SHARE}
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 1 == bounds[-1]
    assert len(set(bounds)) >= 3
    assert len(world.oracle.calls) < 3 * SHARE


def test_a_call_half_divided_costs_no_attempt() -> None:
    world = fussy()
    provider = refuse(world, {0})
    provider.latency = INVOCATION
    job = world.accept(SHARE, policy=ONCE)
    world.send("one")
    ledger = world.ledgers.read_all(job.id)[0]
    assert world.cells(job.id) == [(Cell.QUEUED, 0)] * SHARE
    assert (ledger.per_call, ledger.by[:4]) == (SHARE // 2, (0, 0, 0, 0))
    provider.latency = 0.0
    world.run()
    assert world.counts(job.id) == {"sent": SHARE - 1, "failed": 1}


def test_another_provider_gets_calls_of_its_size() -> None:
    world = fussy("one", "two")
    job = world.accept(SHARE, policy=ONCE, route=("one", "two"))
    chunk = world.ledgers.read_all(job.id)[0]
    size = len(chunk.cells)
    other = "two" if chunk.lane == "one" else "one"
    provider = refuse(world, range(SHARE), chunk.lane)
    provider.latency = INVOCATION
    world.send(chunk.lane)
    assert world.ledgers.read_all(job.id)[0].per_call == size // 2
    provider.bad = ()
    provider.latency = 0.0
    provider.answer = Throttled(301)
    world.send(chunk.lane)
    chunk = world.ledgers.read_all(job.id)[0]
    assert (chunk.lane, chunk.per_call) == (other, 0)
    world.run()
    assert {n for _, name, n in world.oracle.calls if name == other} == {size}
    assert world.counts(job.id) == {"sent": SHARE}


def test_a_retry_begins_with_whole_calls() -> None:
    world = fussy()
    provider = refuse(world, {0})
    provider.latency = INVOCATION
    job = world.accept(SHARE, policy=ONCE)
    world.send("one")
    provider.latency = 0.0
    provider.bad = ()
    provider.answer = Rejected("down_for_now", permanent=False)
    world.settle()
    assert world.ledgers.read_all(job.id)[0].per_call == SHARE // 2
    provider.answer = None
    world.oracle.calls.clear()
    world.control.retry(job.id, job.account, frozenset({"failed"}))
    world.settle()
    assert [n for _, _, n in world.oracle.calls] == [SHARE]


# What befalls the worker meanwhile


def test_a_crash_amid_the_division_leaves_doubts_and_nothing_twice() -> None:
    world = fussy()
    refuse(world, {0})
    job = world.accept(SHARE, policy=ONCE)
    calls = []

    def dies(targets: object) -> None:
        calls.append(targets)
        if len(calls) == 4:
            raise Crash

    world.providers["one"].before = dies
    with pytest.raises(Crash):
        world.send("one")
    world.providers["one"].before = lambda _targets: None
    world.settle()
    assert set(world.states(job.id)) == {Cell.UNKNOWN}
    world.check()


def test_a_stop_amid_the_division_lets_the_claimed_window_go() -> None:
    world = fussy()
    refuse(world, {0})
    job = world.accept(500, policy=ONCE)
    stopped: list[object] = []

    def stop(_targets: object) -> None:
        if not stopped:
            stopped.append(world.control.stop(job.id, job.account))

    world.providers["one"].before = stop
    world.settle()
    assert world.counts(job.id) == {"queued": 300, "sent": 199, "failed": 1}


def test_a_pause_amid_the_division_gives_the_rest_back() -> None:
    world = fussy()
    provider = refuse(world, {0})
    job = world.accept(SHARE, policy=ONCE)
    provider.before = lambda _targets: world.stores.switch("one", Switches(paused=True))
    world.run()
    assert world.cells(job.id) == [(Cell.QUEUED, 0)] * SHARE
    provider.before = lambda _targets: None
    world.stores.switch("one", AS_DECLARED)
    world.settle()
    assert world.counts(job.id) == {"sent": SHARE - 1, "failed": 1}

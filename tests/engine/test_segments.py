"""Promise 2 for short messages: a provider counts segments, so a message takes a slot for each."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from shared.domain.content.content import Content, Mailbox
from shared.domain.content.sms import segments
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Throttled
from shared.domain.lanes.pacing import pace
from shared.engine.lane.start import PointerResult
from tests.engine.measuring import drain
from tests.fakes.world import World, credential

SMS = Content(Mailbox("+15005550006"), "", text="{{ text }}", merge=True)
LENGTHS = {1: 160, 2: 306, 3: 459, 5: 765, 11: 1600}
"""Segments → characters of GSM 7."""


def people(weights: Sequence[int]) -> list[Recipient]:
    """Return recipients whose messages have so many segments each."""
    return [
        Recipient(f"+1500555{i:04}", f"+1500555{i:04}", values={"text": "x" * LENGTHS[w]})
        for i, w in enumerate(weights)
    ]


def sent(world: World, weights: Sequence[int]) -> list[tuple[float, int]]:
    """Return when each message left, and its segments, in order."""
    assert len({x.address for x in world.oracle.taken}) == len(world.oracle.taken) == len(weights)
    return sorted((x.at, weights[int(x.address[8:])]) for x in world.oracle.taken)


def worst(times: Sequence[tuple[float, int]]) -> int:
    """Return the most segments in a closed second that holds more than one message."""
    out = 0
    for i, (start, _) in enumerate(times):
        within = [w for t, w in times[i:] if t - start <= 1 - 1e-9]
        if len(within) > 1:
            out = max(out, sum(within))
    return out


def average(times: Sequence[tuple[float, int]]) -> float:
    """Return the segments per second, but for the last message."""
    return sum(w for _, w in times[:-1]) / (times[-1][0] - times[0][0])


def test_lengths_are_what_they_say() -> None:
    assert {w: segments("x" * n).count for w, n in LENGTHS.items()} == {w: w for w in LENGTHS}


def mixed(n: int) -> list[int]:
    """Return the segments of a usual list: most have one, a few are long."""
    return random.Random(n).choices([1, 2, 3, 5, 11], [70, 15, 9, 5, 1], k=n)  # noqa: S311 - sizes


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize(("rate", "count", "goal"), [(1, 60, 0.9), (3, 90, 0.6), (10, 300, 0.6), (150, 1500, 0.85)])
def test_no_second_holds_more_segments_than_the_rate(rate: int, count: int, goal: float) -> None:
    """A message that is heavier than the rate has its second to itself."""
    world = World(credential("one", rate))
    weights = mixed(count)
    world.accept(people(weights), channel="sms", content=SMS)
    drain(world, skew=0.005)
    times = sent(world, weights)
    assert worst(times) <= rate
    assert average(times) >= goal * rate
    world.run()
    world.check()


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize(("rate", "weight", "goal"), [(1, 5, 0.93), (3, 2, 0.6), (10, 3, 0.7), (100, 2, 0.93)])
def test_messages_of_several_segments_never_come_to_a_halt(rate: int, weight: int, goal: float) -> None:
    world = World(credential("one", rate))
    weights = [weight] * min(20 * rate, 600)
    everybody, half = people(weights), len(weights) // 2
    jobs = [world.accept(some, channel="sms", content=SMS) for some in (everybody[:half], everybody[half:])]
    world.slow_down(0.001, 0.012)
    drain(world)
    times = sent(world, weights)
    assert worst(times) <= max(rate, weight)
    assert average(times) >= goal * rate, "two leases, of which one waits while the other sends"
    world.run()
    assert [world.counts(job.id) for job in jobs] == [{"sent": half}, {"sent": len(weights) - half}]


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("own", [1, 3])
def test_a_slower_jobs_long_messages_leave_room_for_what_others_send(own: float) -> None:
    world = World(credential("one", 10))
    slower = replace(world.accept(people([5] * 8), channel="sms", content=SMS), rate=own)
    world.stores.records.jobs[slower.id] = slower  # type: ignore[attr-defined]
    others = world.accept(people([1] * 200), channel="sms", content=SMS)
    drain(world)
    weight = {slower.id: 5, others.id: 1}
    assert worst(sorted((x.at, weight[x.ref.job]) for x in world.oracle.taken)) <= 10
    assert len(world.oracle.taken) == 208


@pytest.mark.promise(2)
def test_a_message_heavier_than_a_window_follows_a_pause_and_keeps_one() -> None:
    world = World(credential("one", 3))
    weights = [1, 5, 1]
    world.accept(people(weights), channel="sms", content=SMS)
    drain(world)
    (a, _), (b, heavy), (c, _) = sent(world, weights)
    assert heavy == 5
    assert b - a > 1
    assert c - b > 5 / 3


@pytest.mark.promise(2)
def test_a_message_of_two_segments_takes_two_slots_in_any_position() -> None:
    world = World(credential("one", 10))
    weights = [2 if i % 3 == 0 else 1 for i in range(60)]
    world.accept(people(weights), channel="sms", content=SMS)
    world.run()
    times = sent(world, weights)
    assert worst(times) <= 10
    assert all(b - a >= w / 9.7 - 1e-6 for (a, w), (b, _) in pairwise(times))


def test_slots_that_were_missed_are_reserved_again_for_all_segments() -> None:
    world = World(credential("one", 10))
    provider = world.providers["one"]
    weights = [3, 1, 5, 2, 1, 1, 3, 1, 11, 1] * 4
    calls = iter(range(10**6))

    def stall(_targets: object) -> None:
        if next(calls) % 7 == 3:
            world.clock.sleep(0.3)

    provider.before = stall
    provider.script("+15005550005", [Throttled(1)])
    job = world.accept(people(weights), channel="sms", content=SMS)
    drain(world)
    world.run()
    assert world.counts(job.id) == {"sent": len(weights)}


def test_a_lease_that_would_wait_too_long_for_its_slots_leaves_them_to_others() -> None:
    world = World(credential("one", 0.1))
    job = world.accept(people([11, 1]), channel="sms", content=SMS)
    world.pacer.reserve("one", 11, pace(0.1, 1), lead=0)
    began = world.clock.now()
    assert world.senders["one"].work(job.id, 0, owner="late", deadline=began + 40) is PointerResult.SENT
    assert (world.clock.now(), world.oracle.calls) == (began, [])
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert 100 < ledger.not_before / 1000 - began < 114
    world.run()
    assert len(world.oracle.taken) == 2

"""Outages in fake time: everything accounted for, nothing sent twice, and the load comes back afterwards."""

from collections.abc import Callable, Iterator

import pytest

from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell, JobState
from tests.fakes.provider import FakeProvider, ResolvingProvider, Script, Swallowed
from tests.fakes.world import World, credential

MINUTE = 60.0
HOUR = 3600.0
DOWN = Rejected("http_503", permanent=False)
FEW = 20
"""Failed calls before a dead provider is left alone."""
PROBED = 2 * 60 // 4 + 6
"""Probes in two hours: five minutes lie between two of them, less a fifth; the first come sooner."""
BACK = 10 * MINUTE
"""Seconds after its return within which a provider is sent what waited: the next probe, the next round, the work."""
PATIENT = 20 * MINUTE
"""The same for the few that were probes: they wait for a round of what was tried, or they would be every probe."""
CHAIN = 40
"""Invocations in a row by messages of their own, for each message that waits: one a round."""


def load(world: World, minutes: int, messages: int, route: tuple[str, ...]) -> Iterator[float]:
    """Accept a batch every minute and let the world run; yields the seconds since the beginning before each."""
    began = world.clock.now()
    for n in range(minutes):
        yield world.clock.now() - began
        world.accept(messages, route=route)
        end = began + (n + 1) * MINUTE
        world.run(seconds=end - world.clock.now())
        world.clock.sleep(end - world.clock.now())
        world.sweep()
        world.check()


def outage(
    world: World, minutes: int, down: Callable[[float], Script | None], *, route: tuple[str, ...] = ("one", "two")
) -> None:
    """Put a world under load while what `one` answers depends on the time."""
    began = world.clock.now()
    provider = world.providers["one"]
    provider.before = lambda _targets: setattr(provider, "answer", down(world.clock.now() - began))
    for _ in load(world, minutes, 20, route):
        pass
    world.settle(seconds=MINUTE, sweeps=400)


def share(world: World, name: str, since: float, until: float) -> float:
    """Return a provider's share of the messages taken in a while (Unix seconds)."""
    there = [t.provider for t in world.oracle.taken if since <= t.at < until]
    return there.count(name) / len(there)


def calls(world: World, name: str, since: float, until: float) -> int:
    """Return how many calls reached a provider in a while."""
    return sum(1 for at, who, _ in world.oracle.calls if who == name and since <= at < until)


def sent_once(world: World) -> None:
    """Check that every message was taken once."""
    for job in world.jobs:
        assert world.job(job).state is JobState.LOGGED
        assert set(world.oracle.times(job).values()) == {1}
        assert set(world.states(job)) == {Cell.SENT}


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_two_hours_without_one_of_two_providers() -> None:
    world = World(credential("one", 20), credential("two", 20))
    began = world.clock.now()
    first, last = began + 20 * MINUTE, began + 140 * MINUTE
    outage(world, 180, lambda t: DOWN if first <= began + t < last else None)
    sent_once(world)
    assert calls(world, "one", first, first + MINUTE) <= FEW
    assert calls(world, "one", first, last) <= FEW + 3 * 60  # and the probes
    assert share(world, "one", began, first) > 0.4
    assert share(world, "one", last + 10 * MINUTE, began + 180 * MINUTE) > 0.4


@pytest.mark.slow
@pytest.mark.promise(3)
def test_two_hours_without_the_only_provider() -> None:
    """Nothing is given up: what waits for a closed breaker uses no attempts."""
    world = World(credential("one", 20))
    began = world.clock.now()
    outage(world, 130, lambda t: DOWN if 5 * MINUTE <= t < 125 * MINUTE else None, route=("one",))
    sent_once(world)
    assert world.clock.now() - began < 4 * HOUR


@pytest.mark.slow
@pytest.mark.promise(3)
def test_two_hours_of_single_messages_without_the_only_provider(capsys: pytest.CaptureFixture[str]) -> None:
    """They are sent within minutes of its return, and meanwhile hardly anything calls it.

    A message alone gives one probe only, so that several leases must close the breaker. Each time that a message leaves
    the lane its function sends the next pointer: a chain that AWS cuts after 16 unless it is allowed.
    """
    world = World(credential("one", 20))
    began = world.clock.now()
    down, up = began + 5 * MINUTE, began + 125 * MINUTE
    provider = world.providers["one"]
    provider.before = lambda _targets: setattr(provider, "answer", DOWN if down <= world.clock.now() < up else None)
    for minute in range(127):
        world.accept(1, route=("one",))
        end = began + (minute + 1) * MINUTE
        world.run(seconds=end - world.clock.now())
        world.clock.sleep(max(0.0, end - world.clock.now()))
        if minute % 5 == 0:
            world.sweep()
    world.settle(seconds=MINUTE, sweeps=15)
    with capsys.disabled():
        told = f"{calls(world, 'one', down, up)} calls in two hours, chains of {world.longest_chain()} links at most"
        print("\n" + told)  # noqa: T201 - measured
    sent_once(world)
    world.check()
    assert calls(world, "one", down, up) <= FEW + PROBED
    waited = [t for t in world.oracle.taken if t.at >= up]
    assert len(waited) >= 115
    assert max(t.at for t in waited if t.ref.attempt == 1) <= up + BACK
    assert max(t.at for t in waited) <= up + PATIENT
    assert sum(t.at > up + BACK for t in waited) <= 6
    assert world.breaker_cache.usable("one")
    assert world.stores.breakers.read(["one"])["one"].closed
    assert world.longest_chain() <= CHAIN


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_a_provider_that_comes_and_goes() -> None:
    world = World(credential("one", 20), credential("two", 20))
    outage(world, 60, lambda t: DOWN if int(t / 45) % 2 else None)
    sent_once(world)


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize("kind", [FakeProvider, ResolvingProvider])
def test_a_provider_that_times_out_every_call(kind: type[FakeProvider]) -> None:
    world = World(credential("one", 20), credential("two", 20), provider=kind)
    began = world.clock.now()
    outage(world, 60, lambda t: Unknown("timeout") if t < 30 * MINUTE else None)
    states = [s for job in world.jobs for s in world.states(job)]
    doubts = states.count(Cell.UNKNOWN)
    assert 0 < doubts <= calls(world, "one", began, began + 30 * MINUTE)
    assert calls(world, "one", began, began + 30 * MINUTE) <= FEW + 3 * 30
    assert set(states) == {Cell.SENT, Cell.UNKNOWN}
    assert len(world.oracle.taken) == states.count(Cell.SENT)
    wait(world, 2 * HOUR)
    left = [s for job in world.jobs for s in world.states(job)].count(Cell.UNKNOWN)
    assert left == (0 if kind is ResolvingProvider else doubts)
    assert all(n == 1 for job in world.jobs for n in world.oracle.times(job).values())


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize("heard", [True, False])
def test_a_provider_that_takes_all_and_answers_nothing(heard: bool) -> None:  # noqa: FBT001 - by webhook or look-up
    world = World(credential("one", 20), credential("two", 20), provider=ResolvingProvider)
    began = world.clock.now()
    outage(world, 60, lambda t: Swallowed() if t < 30 * MINUTE else None)
    assert calls(world, "one", began, began + 30 * MINUTE) <= FEW + 3 * 30
    if heard:
        for t in world.oracle.taken:
            r = t.ref
            world.track(t.provider, world.word(r.job, r.index, "delivered", chunk=r.chunk, attempt=r.attempt))
        world.settle()
    else:
        wait(world, 2 * HOUR)
    states = {s for job in world.jobs for s in world.states(job)}
    assert states == {Cell.DELIVERED if heard else Cell.SENT}
    assert all(n == 1 for job in world.jobs for n in world.oracle.times(job).values())


def wait(world: World, seconds: float) -> None:
    """Let time pass, with the sweeper every minute."""
    end = world.clock.now() + seconds
    while world.clock.now() < end:
        world.clock.sleep(MINUTE)
        world.sweep()
        world.run(seconds=0)
    world.settle(seconds=MINUTE, sweeps=400)


@pytest.mark.promise(3)
@pytest.mark.parametrize("renewed", [False, True])
def test_a_message_alone_in_its_lane_has_a_try_left_after_a_quarter_of_an_hour(renewed: bool) -> None:  # noqa: FBT001 - each try by a new process
    world = World(credential("one", 10))
    job = world.accept(1)
    world.providers["one"].answer = DOWN
    sender = world.sender("one")
    began = world.clock.now()
    while world.job(job.id).state is not JobState.LOGGED and world.clock.now() - began < HOUR:
        if world.clock.now() - began >= 15 * MINUTE:
            world.providers["one"].answer = None
        if renewed:
            sender = world.sender("one", breaker_cache=world.process())
        world.send("one", sender)
        world.run(seconds=0)
        world.clock.advance(1)
    assert world.counts(job.id) == {"sent": 1}
    assert world.clock.now() - began < 15 * MINUTE + PATIENT

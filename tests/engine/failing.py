"""Providers that fail, and workers that serve their lanes."""

from collections.abc import Callable

from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Outcome, Rejected
from shared.domain.lanes.breaker import Breaker
from shared.engine.lane.send import Sender
from shared.ports import Retriable
from tests.fakes.world import World

DOWN = Rejected("http_503", permanent=False)
UNREACHED = Rejected("connection_refused", permanent=False)
UNAUTHORIZED = Rejected("unauthorized", permanent=False, provider_down=True)
LEASES = 2
DEAD = 20
"""Failed calls that a dead provider may cost before it is left alone."""


def breaker(world: World, name: str = "one") -> Breaker:
    return world.stores.breakers.read([name])[name]


def calls(world: World, name: str, since: float = 0.0, until: float = float("inf")) -> int:
    return sum(1 for t, provider, _ in world.oracle.calls if provider == name and since <= t < until)


def answers(world: World, name: str, answer: Callable[[], Outcome | None]) -> None:
    """Let a provider answer everybody by a function of the moment; None: accepted."""

    def say(_targets: object) -> None:
        provider.answer = answer()

    provider = world.providers[name]
    provider.before = say


def serve(world: World, *lanes: str, workers: int = 2, seconds: float = 60.0) -> None:
    """Let several workers with two leases each serve each of the lanes, side by side."""
    end = world.clock.now() + seconds

    def lease(lane: str, sender: Sender, n: int) -> None:
        world.clock.sleep(0.007 * n)
        while world.clock.now() < end:
            try:
                did = world.send(lane, sender)
            except Retriable:
                did = None
            if did is None:
                world.clock.sleep(0.05)

    work = []
    for lane in lanes:
        for w in range(workers):
            sender = world.sender(lane, breaker_cache=world.process())
            work += [lambda lane=lane, s=sender, n=LEASES * w + k: lease(lane, s, n) for k in range(LEASES)]
    world.clock.run(*work)


def starts_at(world: World, lane: str, who: int = 1) -> Job:
    """Accept a batch of one chunk that starts at a lane."""
    for _ in range(200):
        request = world.request(who)
        job = world.accept(who)
        if world.ledgers.read_all(job.id)[0].lane == lane:
            return job
        world.jobs.remove(job.id)
        world.control.stop(job.id, request.account)
    raise AssertionError("no job starts there")

"""How long messages of small jobs have waited for a worker, as the alarm `singles-late` reads it.

Only what a worker may take counts. A queue's own age counts also what is delayed, in flight or hidden after a fault.
"""

import pytest

from infra.monitoring.alarms import SINGLES_LATE_MS
from shared.domain.jobs.job import EXPRESS
from shared.domain.jobs.outcomes import Outcome, Rejected, Throttled
from shared.domain.lanes.switches import AS_DECLARED, Switches
from tests.engine.fairness import Lane
from tests.fakes.queues import first
from tests.fakes.world import ACCOUNT, World, credential

PAUSED = Switches(paused=True)
BEHIND = SINGLES_LATE_MS + 30_000


@pytest.fixture
def world() -> World:
    return World(credential("one", 10), credential("two", 10))


def waits(world: World, ms: int = BEHIND) -> dict[str, int]:
    """Let some time pass, and return what the sweeper sees then."""
    world.clock.advance(ms / 1000)
    return dict(world.sweep().express_wait_ms)


def test_the_oldest_due_message_of_each_lane_is_told(world: World) -> None:
    world.accept(1, route=("one",))
    world.clock.advance(30)
    world.accept(EXPRESS, route=("one",))
    world.accept(EXPRESS, route=("two",))
    assert waits(world) == {"one": BEHIND + 30_000, "two": BEHIND}
    world.run()
    assert waits(world) == {}


def test_large_jobs_and_messages_of_test_keys_are_not_told(world: World) -> None:
    world.accept(EXPRESS + 1, route=("one",))
    world.accept(1, route=("one",), test=True)
    assert waits(world) == {}


@pytest.mark.parametrize("switch", ["credential", "account"])
def test_what_is_paused_waits_anew_from_its_resume(world: World, switch: str) -> None:
    stores = world.stores
    world.accept(1, route=("one",))
    stores.pause(ACCOUNT) if switch == "account" else stores.switch("one", PAUSED)
    assert waits(world) == {}
    stores.unpause(ACCOUNT) if switch == "account" else stores.switch("one", AS_DECLARED)
    assert waits(world, 20_000) == {"one": 20_000}
    world.run()
    assert waits(world) == {}


def test_a_scheduled_message_waits_from_its_time_on(world: World) -> None:
    world.accept(1, route=("one",), not_before=world.clock.ms + BEHIND + 1000)
    assert waits(world) == {}
    world.clock.advance(1)
    world.plan()
    assert waits(world) == {"one": BEHIND}


def test_a_message_that_was_put_off_waits_from_when_it_is_due_again(world: World) -> None:
    world.providers["one"].answer = Throttled(600)
    job = world.accept(1, route=("one",))
    world.send("one")
    (ledger,) = world.ledgers.read_all(job.id)
    until_due = ledger.not_before - world.clock.ms
    assert until_due > BEHIND
    assert waits(world, until_due - 1) == {}
    assert waits(world, 20_001) == {"one": 20_000}


@pytest.mark.parametrize(
    "answer",
    [
        Throttled(600),
        Rejected("busy", permanent=False),
        Rejected("unauthorized", permanent=False, provider_down=True),
    ],
    ids=["told to wait", "refused for now", "breaker open"],
)
def test_a_provider_that_takes_nothing_is_no_alarm(world: World, answer: Outcome) -> None:
    world.providers["one"].answer = answer
    for _ in range(20):
        world.accept(1, route=("one",))
    seen = []
    for _ in range(60):
        world.run(seconds=60, endless=True)
        seen.append(max(waits(world, 0).values(), default=0))
    assert not world.oracle.taken
    assert max(seen) < SINGLES_LATE_MS


@pytest.mark.parametrize("first", [21, 40, 59])
def test_a_lost_pointer_is_sent_again_before_the_alarm_speaks(world: World, first: int) -> None:
    """At most two runs see its message beyond the limit, and the alarm wants three of five."""
    world.accept(1, route=("one",))
    world.lanes["one"].lose()
    world.lanes["one"].send(["another's"], express=True)  # a lane that is empty gets the pointer at once
    seen, over, seconds = 0, 0, first
    while not seen:
        world.clock.advance(seconds)
        swept, seconds = world.sweep(), 60
        over += swept.express_wait_ms["one"] > SINGLES_LATE_MS
        seen = swept.pointed
    assert over <= 2


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "runs"), [(4, 4), (1000, 0)])
def test_a_lane_that_is_too_slow_is_told_for_as_long_as_it_is_behind(rate: float, runs: int) -> None:
    lane = Lane(rate, latency=1.0, order=first)
    clock, seen = lane.world.clock, list[int]()

    def sweep() -> None:
        for _ in range(6):
            clock.sleep(60)
            seen.append(max(lane.world.sweep().express_wait_ms.values(), default=0))

    def post() -> None:
        for _ in range(100):
            lane.accept(ACCOUNT, 1)

    lane.run(370, beside=[sweep, *[post] * 10])
    assert len(lane.world.oracle.taken) == 1000
    assert sum(x > SINGLES_LATE_MS for x in seen) == runs
    assert seen[-1] == 0

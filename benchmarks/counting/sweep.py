"""The cost of the sweeper with much to do: counted over the stores in memory, each call of which takes 6 ms.

Calls are made one after the other here. On AWS eight looks run at once, so a walk takes no longer there unless it is
bound by its processor. Not counted: further pages of the index, one for some 4,000 entries.
"""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, named
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.domain.lanes.switches import EVERYTHING
from shared.domain.times import DAY_MS
from shared.engine.walks.jobs import YOUNG_MS
from tests.fakes.queues import FakeLane
from tests.fakes.records import FakeRecords
from tests.fakes.stores import FakeStores
from tests.fakes.world import World, credential

CALL_SECONDS = 0.006
RUN_SECONDS = 50.0
SCHEDULED = 15_000
OPEN = 100_000
SLOW = 1_000
TEN = 10


def measure() -> list[Row]:
    """Return what scheduled jobs add, how long many open jobs take, and how many pointers a slow lane gets."""
    return [
        Row(named(rows.SWEEP, f"calls that {SCHEDULED:,} scheduled jobs add"), _scheduled(), 100, "", counted=True),
        Row(named(rows.SWEEP, f"a round of {OPEN:,} open jobs of one message"), _open(), 120, "s", counted=True),
        Row(named(rows.SWEEP, f"a resume wakes {OPEN:,} such jobs"), _woken(), 120, "s", counted=True),
        Row(named(rows.SWEEP, "pointers sent again, a chunk and 6 hours"), _slow(), 7, "", counted=True),
    ]


def _world() -> World:
    made = World(credential("one", 10))
    made.lanes["one"].send(["another's"])  # the lane is never empty
    return made


def _multiply(world: World, job: Job, n: int) -> None:
    """Store a job n times over, with its ledger."""
    stores = world.stores
    if not (isinstance(stores, FakeStores) and isinstance(world.records, FakeRecords)):
        raise TypeError("not in memory")
    (ledger,) = world.ledgers.read_all(job.id)
    for i in range(n):
        name = f"{i:026d}"
        world.records.jobs[name] = replace(job, id=name)
        stores.ledgers.items[name, 0] = replace(ledger, job=name)


def _round(world: World) -> tuple[int, float]:
    """Sweep until a round is over; returns its calls, and the seconds that they took in sum."""
    before, seconds = len(world.tap.calls), 0.0
    world.tap.delay = lambda: world.clock.advance(CALL_SECONDS)
    while True:
        began = world.clock.now()
        complete = world.sweeper.sweep(began + RUN_SECONDS).complete
        seconds += world.clock.now() - began
        if complete:
            return len(world.tap.calls) - before, seconds


def _scheduled() -> float:
    idle, _ = _round(_world())
    world = _world()
    job = world.accept(1, not_before=world.clock.ms + 90 * DAY_MS)
    _multiply(world, job, SCHEDULED)
    world.clock.advance(YOUNG_MS / 1000)
    calls, _ = _round(world)
    return calls - idle


def _open() -> float:
    world = _world()
    _multiply(world, world.accept(1), OPEN)
    world.clock.advance(YOUNG_MS / 1000)
    _, seconds = _round(world)
    return seconds


class _Tens(FakeLane):
    """A lane to which ten messages are a call, as on SQS."""

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "", express: bool = False) -> None:
        for first in range(0, len(bodies), TEN):
            super().send(bodies[first : first + TEN], delay=delay, group=group, express=express)


def _woken() -> float:
    world = _world()
    _multiply(world, world.accept(1), OPEN - 1)
    world.tap.delay = lambda: world.clock.advance(CALL_SECONDS)
    lane = world.lanes["one"] = _Tens(world.clock, world.tap)
    began = world.clock.now()
    if world.wake(EVERYTHING) != OPEN or len(lane.sent) != OPEN:
        raise RuntimeError("not all woken")
    return world.clock.now() - began


def _slow() -> float:
    world = _world()
    _multiply(world, world.accept(1), SLOW)
    sent = 0
    for _ in range(6 * 60):
        world.clock.advance(60)
        sent += world.sweep().pointed
    waiting = sum(x.state is JobState.ENQUEUED for x in map(world.job, world.jobs))
    if not waiting:
        raise RuntimeError("nothing waited")
    return sent / (SLOW + 1)

"""Single messages through a lane's express workers, in fake time: how many a second, and how late the last of many is.

The workers are the real senders over stores in memory, as Lambda's event source runs them. A call of a store takes 3 to
8 ms, and a worker serves groups side by side. Their processor time is not counted: `python -m benchmarks.deployed
--single` measures it.
"""

from functools import cache, partial
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, counted, named
from tests.engine.fairness import LATENCY, Lane
from tests.engine.measuring import worst_second
from tests.fakes.queues import FakeLane, Message, first

ACCOUNT: Final = "acc_single"
QUICK: Final = 0.05
"""Seconds of a call of a quick provider. `LATENCY`: of the usual one."""
FREE: Final = 1000.0
"""Messages a second: a rate that does not bind."""
WAITING: Final = 15_000
"""Messages that wait for one worker, more than it sends in `SECONDS`."""
SECONDS: Final = 20.0
RATE: Final = 500.0
POSTED: Final = 10_000
POST_SECONDS: Final = 20.0
POSTERS: Final = 50
"""Clients that post side by side."""
END: Final = 60.0
"""Seconds from the first post, by which the last message is sent."""
LEAST: Final = {QUICK: 400.0, LATENCY: 300.0}
"""Seconds of a call → messages a second of one worker."""
LAST: Final = 25.0


class _Express(FakeLane):
    """A lane in which only small jobs wait, served in their order; a long queue costs no time."""

    def receive(self, *, express: bool | None = None) -> Message | None:
        return super().receive() if express else None


@cache
def per_worker(latency: float) -> float:
    """Return how many single messages a second one worker sends to a provider that answers after some seconds."""
    lane = _lane(FREE, latency, workers=1)
    lane.accept(ACCOUNT, 1, WAITING)
    return lane.run(SECONDS).per_second


@cache
def burst(latency: float) -> tuple[float, int]:
    """Post 10,000 single messages in 20 s to a credential of 500 a second with the default workers.

    Args:
        latency: seconds of the provider's call.

    Returns:
        The seconds from the first post to the last call, and the calls of the worst second.
    """
    lane = _lane(RATE, latency, workers=2)
    clock, begun = lane.world.clock, lane.world.clock.now()

    def post(number: int) -> None:
        for n in range(number, POSTED, POSTERS):
            clock.sleep(max(0.0, begun + n * POST_SECONDS / POSTED - clock.now()))
            lane.accept(ACCOUNT, 1)

    lane.run(END, beside=[partial(post, n) for n in range(POSTERS)])
    at = [x.at - begun for x in lane.world.oracle.taken]
    if len(at) != POSTED:
        raise RuntimeError(f"{POSTED} messages, {len(at)} sent")
    return max(at), worst_second([(x, 1) for x in sorted(at)])


def measure() -> list[Row]:
    """Return what one worker sends a second, and how long the default workers take for 10,000."""
    seconds, worst = burst(LATENCY)
    speeds = [
        counted(named(rows.SINGLES, f"provider at {_ms(x)}"), per_worker(x), least, "messages/s", more=True)
        for x, least in LEAST.items()
    ]
    return [
        *speeds,
        counted(named(rows.BURST, "the last call"), seconds, LAST, "s"),
        counted(named(rows.BURST, "calls of the worst second"), worst, RATE, ""),
    ]


def markdown() -> str:
    """Return the table of docs/performance.md."""
    heads = [f"provider at {_ms(x)}" for x in LEAST]
    lines = {
        "single messages a second of one worker": [f"{per_worker(x):.1f}" for x in LEAST],
        f"seconds to the call of the last of {POSTED:,} posted in {POST_SECONDS:.0f} s, at a credential of "
        f"{RATE:.0f} a second with two `workers`": [f"{burst(x)[0]:.0f}" for x in LEAST],
    }
    table = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    return "\n".join([*table, *(f"| {what} | " + " | ".join(some) + " |" for what, some in lines.items())])


def _lane(rate: float, latency: float, *, workers: int) -> Lane:
    made = Lane(rate, workers=workers, latency=latency, order=first)
    queue = made.world.lanes["one"] = _Express(made.world.clock, made.world.tap)
    queue.order = first
    return made


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"

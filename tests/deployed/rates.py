"""The rate of a lane by the simulator's arrival clock: several jobs, several workers, and senders killed if wished."""

import random
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.local import processes
from tests.deployed.drill import Running

JOBS: Final = 8
PATIENCE: Final = 6
"""A run may take so many times as long as its messages would at the full rate, and half a minute more: a busy machine
sends less than it may, never more."""
SPARE_SECONDS: Final = 30
LEASE_SECONDS: Final = 25
SHIFT_SECONDS: Final = 0.05
"""By how much a busy machine may delay a call between the sender's last look at the clock and its first byte."""
SWEEP_SECONDS: Final = 5
RUNS: Final = 3


@dataclass(frozen=True, slots=True)
class Run:
    """What a lane did.

    Attributes:
        worst: messages in the worst one-second window, as the simulator's arrival clock shows them.
        certain: those that arrived within one second for certain: a simulator that waits for its turn on a busy
            machine finds many arrivals at one moment, and knows by how much each may have been earlier.
        gross: the same for a second that is shorter by what a busy machine may delay a sender's calls.
        seconds: from the first arrival to the last.
        workers: most processes of the lane seen at once; `killed` of them in all.
    """

    lane: str
    rate: float
    messages: int
    accepted: int
    worst: int
    certain: int
    gross: int
    seconds: float
    workers: int
    killed: int

    @property
    def average(self) -> float:
        """Messages per second from the first arrival to the last."""
        return (self.accepted - 1) / self.seconds if self.seconds > 0 else 0.0

    def row(self) -> str:
        """Return a line of the table."""
        return (
            f"{self.lane:<14} rate {self.rate:>5g}/s  worst second {self.worst:>4}, {self.certain:>4} for certain  "
            f"average {self.average:>6.1f}/s  {self.accepted} of {self.messages} accepted, {self.workers} workers, "
            f"{self.killed} killed"
        )


def run(running: Running, lane: str, *, seconds: float, kills: int = 0, seed: int = 0) -> Run:
    """Send `seconds` of a lane's rate, as several jobs at once, and kill all its senders `kills` times meanwhile.

    With kills the run ends when their leases have run out and everything else is sent; the messages of the windows
    that were lost are then unknown, and a few are missing.
    """
    inside, api, control = running
    rate = inside.lane(lane).rate
    each = max(1, round(rate * seconds / JOBS))
    total = JOBS * each
    begun = time.time()
    for _ in range(JOBS):
        tag = uuid.uuid4().hex[:8]
        api.post([f"silent+{tag}.{i}@example.com" for i in range(each)], lane)
    rng = random.Random(seed)  # noqa: S311 - when to kill
    due = sorted(rng.uniform(0.1, 0.9) * total for _ in range(kills))
    most = killed = 0
    swept = begun
    stats: dict[str, Any] = {}

    def over() -> bool:
        nonlocal most, killed, stats, swept
        stats = control.stats(credential=lane, since=begun)
        most = max(most, len(inside.workers(lane)))
        if due and stats["accepted"] >= due[0]:
            due.pop(0)
            killed += inside.kill(lane)
        if killed and time.time() > swept + SWEEP_SECONDS:
            inside.sweep()
            swept = time.time()
        quiet = time.time() - stats["last_at"] if stats["last_at"] else 0
        return stats["accepted"] >= total or (killed > 0 and quiet > 2 * LEASE_SECONDS)

    processes.wait_for(over, PATIENCE * seconds + SPARE_SECONDS + kills * LEASE_SECONDS, pause=0.2)
    calls = control.calls(credential=lane, since=begun)
    return Run(
        lane=lane,
        rate=rate,
        messages=total,
        accepted=stats["accepted"],
        worst=stats["max_in_one_second"],
        certain=certainly_within(calls, 1.0),
        gross=certainly_within(calls, 1.0 - SHIFT_SECONDS),
        seconds=(stats["last_at"] or 0) - (stats["first_at"] or 0),
        workers=most,
        killed=killed,
    )


def judged(running: Running, lane: str, *, seconds: float, kills: int = 0, seed: int = 0) -> Run:
    """Return a run to judge: one that only a late call may have spoilt is made again, twice at most."""
    for n in range(RUNS):
        found = run(running, lane, seconds=seconds, kills=kills, seed=seed + n)
        if found.certain <= found.rate + 1 or found.gross > found.rate:
            break
    return found


def certainly_within(calls: Sequence[Mapping[str, Any]], seconds: float) -> int:
    """Return the most messages that certainly arrived within so many seconds.

    A call arrived between `at - slack` and `at`. Of those from one call on, the ones count that came after it however
    early they were, and before the time is up however late.
    """
    spans = sorted((call["at"] - call["slack"], call["at"], call["accepted"]) for call in calls)
    return max(
        (_within(spans, i, first + seconds) for i, (first, _, _) in enumerate(spans)),
        default=0,
    )


def _within(spans: Sequence[tuple[float, float, int]], start: int, end: float) -> int:
    count = 0
    for early, late, messages in spans[start:]:
        if early >= end:
            break
        count += messages if late < end else 0
    return count

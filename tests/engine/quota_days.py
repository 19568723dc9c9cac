"""Forty days of a lane with quotas, in fake time: two workers with wrong clocks that die, and work without end.

`python -m tests.engine.quota_days` prints the worst period of each quota and what was used of it.
"""

import random
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.jobs.states import Cell
from shared.domain.lanes.periods import label
from tests.engine.pace import Life
from tests.fakes.faults import Crash
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential

DAY: Final = 86_400.0
HOUR: Final = 3600.0
STEP: Final = 60.0
"""Seconds between two runs of the sweeper while messages are sent."""
REST: Final = 300.0
"""The same while nothing is: it would only take longer."""
SKEW: Final = 2.0
RATE: Final = 5.0
JOB: Final = 200
"""Messages of a job; there is always one that waits."""


@dataclass(frozen=True, slots=True)
class Days:
    """What some days showed.

    Attributes:
        worst: the most messages of any period.
        over: by how many the worst period exceeds what is its own; not above 0.
        sent: all messages taken.
        most: the most that the quota allows in that time.
        killed: workers that died.
        leases: leases begun.
    """

    worst: int
    over: int
    sent: int
    most: int
    killed: int
    leases: int

    @property
    def used(self) -> float:
        """The share of the quota that was used."""
        return self.sent / self.most


def simulated(quota: CredentialQuota, days: float, kills: int, seed: int = 0) -> Days:
    """Send through a lane with a quota for some days.

    Args:
        kills: in all.
    """
    rng = random.Random(seed)  # noqa: S311 - whims
    world = World(replace(credential("one", RATE), quotas=(quota,)))
    begun, killed = world.clock.now(), 0
    deaths = sorted(begun + rng.uniform(0, days * DAY) for _ in range(kills))
    lives = [_life(world, deaths, n) for n in range(2)]
    senders = [world.sender("one", clock=x, pacer=FakePacer.beside(world.pacer, x)) for x in lives]
    while world.clock.now() < begun + days * DAY:
        before = len(world.oracle.taken)
        waiting = sum(world.states(job).count(Cell.QUEUED) for job in world.jobs[-1:])
        if waiting < JOB:
            world.accept(JOB)
        for n in (0, 1):
            try:
                while world.send("one", senders[n]) is not None:
                    pass
            except Crash:
                killed += 1
                lives[n] = _life(world, deaths[killed:], n)
                senders[n] = world.sender("one", clock=lives[n], pacer=FakePacer.beside(world.pacer, lives[n]))
        while world.log() is not None:
            pass
        world.clock.advance(STEP if len(world.oracle.taken) > before else REST)
        world.sweep()
    taken = [t.at for t in world.oracle.taken]
    leases = world.tap.calls.count("ledgers.lease")
    return Days(_worst(taken, quota), _over(taken, quota), len(taken), _most(quota, taken), killed, leases)


def _life(world: World, deaths: list[float], n: int) -> Life:
    dies = next((at for at in deaths[n::2] if at > world.clock.now()), float("inf"))
    return Life(world.clock, SKEW if n else -SKEW, dies, [])


def _worst(taken: list[float], quota: CredentialQuota) -> int:
    """Return the most messages of any period, as a provider counts them."""
    if quota.per is not Per.SLIDING:
        return max(Counter(label(quota.per, quota.zone, at) for at in taken).values())
    return max(i + 1 - bisect_left(taken, at - DAY) for i, at in enumerate(taken))


def _over(taken: list[float], quota: CredentialQuota) -> int:
    """Return by how many messages the worst period exceeds its own most; days of a warm-up have different ones."""
    if quota.per is Per.SLIDING:
        return _worst(taken, quota) - quota.messages
    counted, own = Counter(label(quota.per, quota.zone, at) for at in taken), _sizes(quota, taken)
    return max(units - own[name] for name, units in counted.items())


def _sizes(quota: CredentialQuota, moments: Iterable[float]) -> dict[str, int]:
    """Return what a provider may take in each period of some moments, by its name."""
    zone = ZoneInfo(quota.zone)
    return {label(quota.per, quota.zone, at): quota.most(datetime.fromtimestamp(at, zone).date()) for at in moments}


def _most(quota: CredentialQuota, taken: list[float]) -> int:
    """Return the most messages that a quota allows from the first to the last that was taken."""
    begin, end = taken[0], taken[-1]
    if quota.per is Per.SLIDING:
        return int(quota.messages * (1 + (end - begin) / DAY))
    step = HOUR / 2
    moments = [*(begin + n * step for n in range(int((end - begin) / step) + 1)), end]
    return sum(_sizes(quota, moments).values())


CASES: Final = {
    "hour": (CredentialQuota(40, Per.HOUR, "Asia/Kathmandu"), 3.0, 12),
    "day": (CredentialQuota(900, Per.DAY, "America/Los_Angeles"), 40.0, 12),
    "warm-up": (
        CredentialQuota(1200, Per.DAY, "America/Los_Angeles", Warmup(date(2026, 9, 21), (50, 100, 200, 400, 800))),
        40.0,
        12,
    ),
    "24h": (CredentialQuota(900, Per.SLIDING), 40.0, 12),
    "month": (CredentialQuota(9000, Per.MONTH, "Europe/Paris"), 40.0, 400),
}


def main() -> None:
    """Print what each quota shows."""
    for name, (quota, days, kills) in CASES.items():
        found = simulated(quota, days, kills)
        sys.stdout.write(
            f"{name:6} {quota.messages:6,} worst {found.worst:6,} used {found.used:6.1%} "
            f"sent {found.sent:,} killed {found.killed} leases {found.leases}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()

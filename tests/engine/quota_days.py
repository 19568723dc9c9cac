"""Forty days of a lane with quotas, in fake time: two workers with wrong clocks that die, and work without end.

`make quota-days` prints the worst period of each quota and what was used of it, alone and in routes of two.
"""

import random
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final
from unittest.mock import patch
from zoneinfo import ZoneInfo

from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.jobs.states import Cell
from shared.domain.lanes.periods import label
from shared.engine.lane.group import GroupSender
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
    return overflown({"one": quota}, days, kills, seed)["one"]


def overflown(quotas: Mapping[str, CredentialQuota], days: float, kills: int, seed: int = 0) -> dict[str, Days]:
    """Send by a route for some days; what its first credential has no room for moves on to the next.

    Args:
        quotas: credential → its quota, in the order of the route.
        kills: in all.

    Returns:
        What each credential showed.
    """
    rng = random.Random(seed)  # noqa: S311 - whims
    with patch("secrets.randbits", rng.getrandbits):  # at which credential a job begins depends on its id
        return _overflown(quotas, days, kills, rng)


def _overflown(quotas: Mapping[str, CredentialQuota], days: float, kills: int, rng: random.Random) -> dict[str, Days]:
    world = World(*(replace(credential(name, RATE), quotas=(quota,)) for name, quota in quotas.items()))
    begun, killed = world.clock.now(), dict.fromkeys(quotas, 0)
    deaths = {name: sorted(begun + rng.uniform(0, days * DAY) for _ in range(kills)) for name in quotas}
    lives = {(name, n): _life(world, deaths[name], n) for name in quotas for n in range(2)}
    senders = {key: _sender(world, key[0], life) for key, life in lives.items()}
    while world.clock.now() < begun + days * DAY:
        before = len(world.oracle.taken)
        waiting = sum(world.states(job).count(Cell.QUEUED) for job in world.jobs[-1:])
        if waiting < JOB:
            world.accept(JOB)
        for name, n in [*lives]:
            try:
                while world.send(name, senders[name, n]) is not None:
                    pass
            except Crash:
                killed[name] += 1
                lives[name, n] = _life(world, deaths[name][killed[name] :], n)
                senders[name, n] = _sender(world, name, lives[name, n])
        while world.log() is not None:
            pass
        world.clock.advance(STEP if len(world.oracle.taken) > before else REST)
        world.sweep()
    leases = world.tap.calls.count("ledgers.lease")
    return {name: _days(world, name, quota, killed[name], leases) for name, quota in quotas.items()}


def _sender(world: World, name: str, life: Life) -> GroupSender:
    return world.sender(name, clock=life, pacer=FakePacer.beside(world.pacer, life))


def _days(world: World, name: str, quota: CredentialQuota, killed: int, leases: int) -> Days:
    taken = [t.at for t in world.oracle.taken if t.provider == name]
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


USED: Final = 0.98
"""The least share of a quota that is used where there is always work."""
ROUTES: Final = {
    "a warm-up, then 24h": ({"one": CASES["warm-up"][0], "two": CredentialQuota(300, Per.SLIDING)}, 40.0, 12),
    "an hour, then a day": (
        {
            "one": CredentialQuota(20, Per.HOUR, "Asia/Kathmandu"),
            "two": CredentialQuota(500, Per.DAY, "America/Los_Angeles"),
        },
        4.0,
        12,
    ),
}
"""Routes whose first credential has too little room for the work: the rest moves on to the second one."""


def main() -> int:
    """Print what each quota shows, alone and in routes; return 1 if one was exceeded, or was not used."""
    found = {name: simulated(*case) for name, case in CASES.items()}
    for name, case in ROUTES.items():
        found |= {f"{name}: {credential}": shown for credential, shown in overflown(*case).items()}
    for name, shown in found.items():
        sys.stdout.write(
            f"{name:<25} worst {shown.worst:6,} over {shown.over:3,} used {shown.used:6.1%} sent {shown.sent:,} "
            f"killed {shown.killed} leases {shown.leases}\n"
        )
    wrong = sum(shown.over > 0 or shown.used < USED for shown in found.values())
    least = min(shown.used for shown in found.values())
    sys.stdout.write(
        f"{wrong} of {len(found)} quotas were exceeded or not used; at least {least:.1%} of each was used\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

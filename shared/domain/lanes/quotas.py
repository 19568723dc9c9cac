"""A credential's quotas: the units that it may send in a period, counted where its slots are reserved.

A unit is a message, or a segment of an SMS. A reservation counts its units in each period that its calls may fall into,
by any worker's clock. So a worker whose clock is some seconds off cannot exceed the quota of either period. Units that
were counted and surely not called are taken off again. Source: docs/protocol.md, "Quotas"; docs/adr/0224.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from shared.contracts import CredentialQuota, Per
from shared.domain.lanes.periods import BUCKET, BUCKETS, bucket, ends, label, most
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass

GUARD: Final = 5.0
"""Seconds beside a period's end in which units count in both: clocks differ, and calls arrive late."""
SHARE: Final = 24
"""One in so many units of a sliding quota is free before a lane continues: else it would soon stop again."""
USED: Final = "used_"
"""Begins the names of counters."""
RING: Final = "ring_24h"
"""The name of the earlier counters of 24 hours: the number of the present one, the sum of those before, and each."""
_OVER: Final = 60.0
"""Seconds after which a period is over by any clock."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"

Stored = Mapping[str, int | str]
"""Name to counter, and the ring, as they are stored."""


@dataclass(frozen=True, slots=True)
class Unused:
    """Units that were counted and surely not called. `counters`: the names of those that counted them."""

    units: int = 0
    counters: tuple[str, ...] = ()


NONE_UNUSED: Final = Unused()


@dataclass(frozen=True, slots=True)
class Spend:
    """The units of a reservation.

    Attributes:
        least: the units of its first message: with fewer left the lane is full.
        unused: units of the same lease that no call has used; they are used first.
    """

    quotas: tuple[CredentialQuota, ...]
    units: int
    least: int = 1
    unused: Unused = NONE_UNUSED


@dataclass(frozen=True, slots=True)
class Headroom:
    """The units that a lane may still send.

    Attributes:
        left: units; None if no quota bounds it.
        until: Unix milliseconds until which it is full, or was; 0: it never was.
        step: how often in a row its provider has said so without saying until when; 0: its own quotas say it.
    """

    left: int | None = None
    until: Millis = 0
    step: int = 0


UNBOUNDED: Final = Headroom()


@dataclass(slots=True)
class Booking:
    """The changes of a reservation to the counters, and their conditions: nothing is changed unless all hold.

    Attributes:
        adds: units by counter; one that is not stored begins at 0.
        most: by counter, the most that it may hold before; it may be absent.
        exist: counters that must be stored; `absent`: those that must not be.
        same: what must be stored as it was read.
        sets: what is stored anew; `removes`: what is no longer needed.
    """

    adds: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    exist: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    same: dict[str, int | str] = field(default_factory=dict)
    sets: dict[str, int | str] = field(default_factory=dict)
    removes: list[str] = field(default_factory=list)

    @property
    def counters(self) -> tuple[str, ...]:
        """Return the names of the counters that hold its units."""
        return (*self.adds, *(x for x in self.sets if x != RING))

    def agrees(self, stored: Stored) -> bool:
        """Tell whether all conditions hold."""
        return (
            all(_number(stored, x) <= most for x, most in self.most.items())
            and all(x in stored for x in self.exist)
            and not any(x in stored for x in self.absent)
            and all(stored.get(x) == seen for x, seen in self.same.items())
        )

    def applied(self, stored: Stored) -> dict[str, int | str]:
        """Return the counters after it."""
        new = {x: _number(stored, x) + units for x, units in self.adds.items()}
        return {x: value for x, value in {**stored, **new, **self.sets}.items() if x not in self.removes}


@dataclass(frozen=True, slots=True)
class _Ring:
    """The counters of 24 hours that slide. `counts`: of those before the present one, `bucket`, the latest first."""

    bucket: int
    base: int
    counts: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{_based(self.bucket)};{_based(self.base)};{','.join(_based(x) if x else '' for x in self.counts)}"

    @classmethod
    def read(cls, text: str) -> "_Ring":
        """Read what `str` wrote."""
        at, base, counts = text.split(";")
        found = tuple(int(x, 36) if x else 0 for x in counts.split(",")) if counts else ()
        return cls(int(at, 36), int(base, 36), found)

    def turned(self, to: int, used: int) -> "_Ring":
        """Return the ring at a later counter. `used`: the units of the 24 hours that end with the present one."""
        passed = (max(0, used - self.base), *self.counts)
        counts = ((0,) * (to - self.bucket - 1) + passed)[:BUCKETS]
        while counts and not counts[-1]:
            counts = counts[:-1]
        return _Ring(to, sum(counts), counts)

    def freed(self, used: int, needed: int) -> int:
        """Return the number of the counter from which on `needed` units have left. `used`: as for `turned`."""
        counts = (max(0, used - self.base), *self.counts)
        left = 0
        for age in range(len(counts) - 1, -1, -1):
            left += counts[age]
            if left >= needed:
                return self.bucket - age + BUCKETS + 1
        return self.bucket + BUCKETS + 1


def book(spend: Spend, begin: Seconds, end: Seconds, stored: Stored | None) -> Booking | None:
    """Return what a reservation changes; None if what is stored has no room for it.

    Args:
        begin: Unix seconds at which its first call may begin.
        end: when the last may.
        stored: as it was last read; None: it never was.
    """
    out = Booking()
    moments = _moments(begin - GUARD, end + GUARD)
    for quota in spend.quotas:
        if quota.per is Per.SLIDING:
            fits = _book_sliding(out, quota, spend, moments, stored)
        else:
            named = {_counter(quota, at): most(quota, at) for at in moments}
            fits = all(_count(out, spend, name, named[name]) for name in sorted(named))
        if not fits:
            return None
    return out


def room(spend: Spend, begin: Seconds, end: Seconds, stored: Stored) -> Headroom:
    """Return the units that are left, as just read; `until` is set if they are too few for the first message.

    Args:
        begin: as for `book`.
        end: as for `book`.
    """
    left, until = None, 0.0
    moments = _moments(begin - GUARD, end + GUARD)
    for quota in spend.quotas:
        mine, over = (_left_sliding if quota.per is Per.SLIDING else _left)(quota, spend, moments, stored)
        left = mine if left is None else min(left, mine)
        if mine < spend.least:
            until = max(until, over + GUARD)
    return Headroom(left, math.ceil(until * 1000))


def stale(quotas: Iterable[CredentialQuota], stored: Iterable[str], now: Seconds) -> list[str]:
    """Return the counters of calendar periods that are over by any worker's clock."""
    oldest = {
        f"{USED}{q.per}_": min(_counter(q, at) for at in (now - _OVER, now + _OVER))
        for q in quotas
        if q.per is not Per.SLIDING
    }
    named = [(name, name[: name.rfind("_") + 1]) for name in stored]
    return [name for name, kind in named if kind in oldest and name < oldest[kind]]


def given_back(unused: Unused, stored: Stored) -> dict[str, int]:
    """Return the units to take off each counter that is still there.

    A counter of 24 hours that is no longer the latest keeps them: its sum is part of the later ones.
    """
    ring = _ring(stored)
    latest = _sliding(ring.bucket) if ring is not None else ""
    sliding = latest in unused.counters
    wanted = [x for x in unused.counters if not x.startswith(_sliding("")) or sliding]
    return {x: unused.units for x in wanted if _number(stored, x) >= unused.units}


def _moments(begin: Seconds, end: Seconds) -> list[Seconds]:
    """Return moments of a time, at least one in each period that it touches: all last longer than the step."""
    step = BUCKET / 2
    return [*(begin + n * step for n in range(math.ceil((end - begin) / step))), end]


def _counter(quota: CredentialQuota, at: Seconds) -> str:
    return f"{USED}{quota.per}_{label(quota.per, quota.zone, at)}"


def _sliding(number: int | str) -> str:
    return f"{USED}{Per.SLIDING}_{number}"


def _count(out: Booking, spend: Spend, name: str, ceiling: int) -> bool:
    """Add a reservation's units to a counter; False if even an empty one has no room for them."""
    units = _units(spend, name)
    out.adds[name], out.most[name] = units, ceiling - units
    return units <= ceiling


def _units(spend: Spend, name: str) -> int:
    return spend.units - (spend.unused.units if name in spend.unused.counters else 0)


def _left(quota: CredentialQuota, spend: Spend, moments: Sequence[Seconds], stored: Stored) -> tuple[int, Seconds]:
    """Return the units that are left of a quota, and when the period that is full ends."""
    by_name = {_counter(quota, at): at for at in moments}
    taken = {x: _number(stored, x) - spend.units + _units(spend, x) for x in by_name}
    left = {x: most(quota, at) - taken[x] for x, at in by_name.items()}
    least = min(left, key=lambda x: (left[x], -by_name[x]))
    return left[least], ends(quota.per, quota.zone, by_name[least])


# 24 hours that slide


def _ring(stored: Stored) -> _Ring | None:
    text = stored.get(RING)
    return _Ring.read(text) if isinstance(text, str) else None


def _book_sliding(
    out: Booking, quota: CredentialQuota, spend: Spend, moments: Sequence[Seconds], stored: Stored | None
) -> bool:
    """Add the units to the latest counters, each with its sum of 24 hours; begin new ones if their time has come.

    The sums of new ones are of what was read; so the write demands that nothing has been added since.
    """
    numbers = sorted({bucket(at) for at in moments})
    ring = _ring(stored) if stored is not None else _Ring(numbers[-1], 0)
    if ring is None:
        return _begin_ring(out, quota, spend, numbers)
    if ring.bucket >= numbers[-1]:
        return _add_to_latest(out, quota, spend, numbers, ring, stored)
    return _turn(out, quota, spend, numbers, ring, stored or {})


def _begin_ring(out: Booking, quota: CredentialQuota, spend: Spend, numbers: Sequence[int]) -> bool:
    """Begin the first counters of a quota; False if even empty ones have no room."""
    out.absent.append(RING)
    out.sets |= {_sliding(x): spend.units for x in numbers} | {RING: str(_Ring(numbers[-1], 0))}
    return spend.units <= quota.messages


def _add_to_latest(
    out: Booking, quota: CredentialQuota, spend: Spend, numbers: Sequence[int], ring: _Ring, stored: Stored | None
) -> bool:
    """Add the units to the latest counters, while no later one holds their sum; False if there is no room."""
    mine = [x for x in numbers if stored is None or _sliding(x) in stored]
    names = [_sliding(x) for x in sorted({*mine, ring.bucket})]
    out.exist += names
    out.absent.append(_sliding(ring.bucket + 1))
    return all(_count(out, spend, name, quota.messages) for name in names)


def _turn(
    out: Booking, quota: CredentialQuota, spend: Spend, numbers: Sequence[int], ring: _Ring, stored: Stored
) -> bool:
    """Begin new counters with the sums of what was read; False if there is no room."""
    before = _sliding(ring.bucket)
    used = _number(stored, before)
    sums = {x: ring.turned(x, used).base for x in numbers if x > ring.bucket}
    out.same[RING] = str(ring)
    if before in stored:
        out.same[before] = used
    else:
        out.absent.append(before)
    out.sets |= {_sliding(x): total + spend.units for x, total in sums.items()}
    out.sets[RING] = str(ring.turned(numbers[-1], used))
    old = [x for x in stored if x.startswith(_sliding(""))]
    if ring.bucket in numbers:
        out.adds[before] = spend.units
        old.remove(before)
    out.removes += old
    fullest = max([*sums.values(), *([used] if ring.bucket in numbers else [])])
    return fullest + spend.units <= quota.messages


def _left_sliding(
    quota: CredentialQuota, spend: Spend, moments: Sequence[Seconds], stored: Stored
) -> tuple[int, Seconds]:
    ring = _ring(stored)
    if ring is None:
        return quota.messages, 0.0
    numbers = sorted({bucket(at) for at in moments})
    used = _number(stored, _sliding(ring.bucket))
    if ring.bucket < numbers[-1]:
        left = quota.messages - _fullest(ring, numbers, used)
        ring = ring.turned(numbers[-1], used)
        used = ring.base
    else:
        least, left = _least_left(quota, spend, (*numbers, ring.bucket), stored)
        if least < ring.bucket:
            return left, (least + 1) * float(BUCKET)
    free = max(spend.least, quota.messages // SHARE)
    return left, ring.freed(used, min(used, used - quota.messages + free)) * float(BUCKET)


def _fullest(ring: _Ring, numbers: Sequence[int], used: int) -> int:
    """Return the largest sum of 24 hours, of those that end with some counters. `used`: the sum of the ring's own."""
    return max(used if x <= ring.bucket else ring.turned(x, used).base for x in numbers if x >= ring.bucket)


def _least_left(quota: CredentialQuota, spend: Spend, numbers: Sequence[int], stored: Stored) -> tuple[int, int]:
    """Return the number of the fullest counter that is stored, and the units that it has left."""
    names = {x: _sliding(x) for x in numbers if _sliding(x) in stored}
    lefts = {x: quota.messages - _number(stored, at) + spend.units - _units(spend, at) for x, at in names.items()}
    least = min(lefts, key=lambda x: (lefts[x], -x))
    return least, lefts[least]


def _number(stored: Stored, name: str) -> int:
    found = stored.get(name, 0)
    return found if isinstance(found, int) else 0


def _based(number: int) -> str:
    """Return a number, not negative, to the base of 36: the ring is part of an item of one write unit."""
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"

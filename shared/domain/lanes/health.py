"""The health of a provider, from the calls of one process: whether it is dead, and how fast to call an unreliable one.

Failures in a row show a dead provider, the share of failed calls shows a bad one. Among many calls, five failures in a
row happen by chance. Source: docs/protocol.md, "Breaker".
"""

from collections import deque
from typing import Final

from shared.domain.lanes.backoff import Chance
from shared.domain.times import Seconds

FIRST: Final = 5
"""Failed calls in a row that show a provider dead if none has succeeded for `IDLE`."""
BLIP: Final = 1
"""Failed calls in a row that show nothing: the next try comes soon."""
RUN: Final = 10
"""Failed calls in a row that show it dead at any time, unless so many are chance where as many calls fail as before."""
CHANCE: Final = 1e-9
"""The chance of a run that is no chance."""
IDLE: Final = 10.0
"""Seconds without a success after which the provider must show again that it is alive."""
SAMPLE: Final = 20
"""Calls that the pace is judged by, at least."""
HALF: Final = 0.5
"""Share of failed calls at which calls to a provider stop."""
MANY: Final = 40
"""Calls that this share is judged by, at least. Where a fifth fails, half of 20 do once in 385 times, half of 40
once in 46,000. Every new process judges, and so do all after the breaker has closed."""
QUARTER: Final = 0.25
"""Share of failed calls above which it is called more slowly: at half its rate just below `HALF`."""
THIRD: Final = 1 / 3
"""Share of failed calls up to which what failed is tried again soon."""
CALLS: Final = 500
SPAN: Final = 60.0
"""The calls that count: so many at the most, of the last minute."""


class Health:
    """The evidence from the calls of one process; not safe for threads. Calls are numbered in the order they began.

    A failed call shows that the provider is dead only if it began after the last successful one. Calls that hang end
    together, long after others were answered.
    """

    def __init__(self) -> None:
        self._calls: deque[tuple[float, bool]] = deque(maxlen=CALLS)
        """(Unix seconds of its end, whether it failed)"""
        self._failures = 0
        """How many of them failed."""
        self._row: list[int] = []
        """Numbers of the calls that failed and began after the last one that succeeded."""
        self._last = 0
        """Number of that one."""
        self._alive_at = 0.0
        self.alive = False
        """Whether a call has succeeded."""

    def succeeded(self, number: int, now: Seconds) -> None:
        """Count a call that showed the provider alive. `now`: Unix seconds."""
        self._count(now, failed=False)
        self.alive, self._alive_at = True, now
        self._last = max(self._last, number)
        self._row = [n for n in self._row if n > self._last]

    def failed(self, number: int, now: Seconds) -> None:
        """Count a call that failed. `now`: Unix seconds."""
        self._count(now, failed=True)
        if number > self._last:
            self._row.append(number)

    @property
    def failing(self) -> bool:
        """Whether a call has failed that began after the last one that succeeded."""
        return bool(self._row)

    def unproven(self, now: Seconds) -> bool:
        """Tell whether the provider must show that it is alive before it is sent much."""
        return len(self._row) >= FIRST or now - self._alive_at > IDLE

    def dead(self, now: Seconds, *, works: bool = False) -> int:
        """Return the number of failed calls if they show that the provider is not to be called; 0: they do not.

        `works`: whether other processes find it alive. Else the first calls of some new process all fail by chance.
        """
        row, share = len(self._row), self._share(now)
        if works or now - self._alive_at <= IDLE:
            dead = row >= RUN and self._share_before() ** row < CHANCE
        else:
            dead = row >= FIRST
        if dead:
            return row
        return self._failures if share >= HALF and len(self._calls) >= MANY else 0

    def ease(self, now: Seconds) -> float:
        """Return the share of its rate at which the provider is to be called: 1, or less if over a quarter fails."""
        share = self._share(now)
        if len(self._calls) < SAMPLE or share <= QUARTER:
            return 1.0
        return max(HALF, 1 - (share - QUARTER) * HALF / (HALF - QUARTER))

    def chance(self, now: Seconds) -> Chance:
        """Return the chance that what failed has soon."""
        share = self._share(now)
        if self.alive and now - self._alive_at <= SPAN and share <= THIRD:
            return Chance.GOOD
        fails = len(self._row) > BLIP or (share > THIRD and len(self._calls) >= SAMPLE)
        return Chance.POOR if fails else Chance.UNKNOWN

    def _count(self, now: Seconds, *, failed: bool) -> None:
        if len(self._calls) == CALLS:
            self._drop()
        self._calls.append((now, failed))
        self._failures += failed

    def _share(self, now: Seconds) -> float:
        while self._calls and self._calls[0][0] < now - SPAN:
            self._drop()
        return self._failures / len(self._calls) if self._calls else 0.0

    def _share_before(self) -> float:
        """Return the share of failed calls without those in a row; 0 of too few."""
        row = min(len(self._row), self._failures)
        calls = len(self._calls) - row
        return (self._failures - row) / calls if calls >= SAMPLE else 0.0

    def _drop(self) -> None:
        self._failures -= self._calls.popleft()[1]

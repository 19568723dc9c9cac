"""This process's copies of the credentials' breakers, and its moves on them.

Reads may be a moment old and never fail. A breaker that cannot be read counts as it was last read, or as closed.
Writes are compare-and-swaps. The loser of a race continues from what the winner wrote.
"""

import logging
import random
import threading
from collections.abc import Callable, Sequence
from typing import Final

from shared.domain.lanes import breaker as rules
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.domain.times import Millis
from shared.ports import Breakers, Clock, Retriable

KEPT: Final = 2.0
"""Seconds for which a breaker that was read is believed."""
PROBED: Final = 5_000
"""Milliseconds after which probes have mostly decided. Work that waits for them checks again then."""
LONGEST: Final = 900_000
"""Milliseconds; the longest wait for a provider whose breaker has been open for long."""
_LOG: Final = logging.getLogger(__name__)


class BreakerCache:
    """The breakers as one process sees them; safe for threads."""

    def __init__(self, *, breakers: Breakers, clock: Clock, rng: random.Random) -> None:
        self._breakers = breakers
        self._clock = clock
        self._rng = rng
        self._known: dict[str, tuple[float, Breaker]] = {}
        self._lock = threading.Lock()
        self._opened = 0

    # Reading

    def usable(self, credential: str, among: Sequence[str] = ()) -> bool:
        """Tell whether work may be sent to a credential: its breaker is closed, or is due for a probe.

        `among`: credentials that the caller probably asks about next. Unknown ones are read in the same call.
        """
        return self._look([credential, *among])[credential].usable(self._now())

    def open_to(self, route: Sequence[str]) -> Sequence[str]:
        """Return the usable credentials of a route, all of them if none is."""
        known = self._look(route)
        now = self._now()
        return [c for c in route if known[c].usable(now)] or route

    def due_in(self, route: Sequence[str], part: int = 0) -> int:
        """Return the milliseconds until the first credential of a route is likely to be usable, 0 if one is.

        Args:
            part: if a credential is not usable, wait at least 1/`part` of the time since its breaker opened.
        """
        now = self._now()
        return min((_wait(x, now, part) for x in self._look(route).values()), default=0)

    def learn(self, breaker: Breaker) -> Breaker:
        """Take in a breaker that was read elsewhere or written; returns the newest that is known."""
        with self._lock:
            _, known = self._known.get(breaker.credential, (0.0, breaker))
            newest = breaker if breaker.version >= known.version else known
            self._known[breaker.credential] = (self._clock.now(), newest)
        return newest

    def _look(self, credentials: Sequence[str]) -> dict[str, Breaker]:
        fresh = self._clock.now() - KEPT
        wanted = [c for c in dict.fromkeys(credentials) if self._known.get(c, (0.0, None))[0] < fresh]
        if wanted:
            try:
                for x in self._breakers.read(wanted).values():
                    self.learn(x)
            except Retriable:
                _LOG.warning("breakers not read", extra={"credentials": wanted})
        return {c: self._known[c][1] if c in self._known else Breaker(c) for c in credentials}

    # Moves

    def opened(self) -> int:
        """Return how often this process has opened a breaker, or opened one again, since it was last asked."""
        with self._lock:
            told, self._opened = self._opened, 0
        return told

    def open(self, credential: str, reason: str, failures: int, *, alive: bool = False) -> Breaker:
        """Open a closed breaker; return what is stored then.

        Args:
            failures: failed calls in a row.
            alive: whether a call has succeeded since the breaker was closed.

        Raises:
            Retriable: it may be open or not; opening it again is safe.
        """
        return self._move(
            credential,
            lambda x: rules.opened(
                x, reason=reason, failures=failures, alive=alive, now=self._now(), jitter=self._jitter()
            ),
        )

    def probe(self, credential: str, owner: str) -> Breaker:
        """Ask for the probes of a breaker that is due; returns what is stored then: see `Breaker.probed_by`."""
        return self._move(credential, lambda x: rules.probing(x, owner=owner, now=self._now()))

    def hand_on(self, credential: str, owner: str, successes: int) -> Breaker:
        """Let the next lease continue the probes; return what is stored then.

        Args:
            successes: probes that have succeeded so far.
        """
        return self._move(credential, lambda x: rules.handed_on(x, owner=owner, successes=successes, now=self._now()))

    def unanswered(self, credential: str, owner: str, reason: str) -> Breaker:
        """Open a breaker again since the provider did not answer its prober's question; returns what is stored then.

        Args:
            reason: why there was no answer.
        """
        return self._move(
            credential,
            lambda x: rules.unanswered(x, owner=owner, reason=reason, now=self._now(), jitter=self._jitter()),
        )

    def close(self, credential: str, owner: str) -> Breaker:
        """Close a breaker after its owner's probes succeeded; returns what is stored then."""
        return self._move(credential, lambda x: rules.closed(x, owner=owner, now=self._now()))

    def reopen(self, credential: str, owner: str, reason: str) -> Breaker:
        """Open a breaker again after a probe failed; return what is stored then."""
        return self._move(
            credential,
            lambda x: rules.reopened(x, owner=owner, reason=reason, now=self._now(), jitter=self._jitter()),
        )

    def _move(self, credential: str, rule: Callable[[Breaker], Breaker | None]) -> Breaker:
        _, current = self._known.get(credential, (0.0, Breaker(credential)))
        while True:
            new = rule(current)
            if new is None:
                return current
            found = self.learn(self._breakers.swap(current, new))
            if found == new:
                with self._lock:
                    self._opened += new.state is BreakerState.OPEN
                _LOG.warning(
                    "breaker",
                    extra={
                        "credential": credential,
                        "state": new.state,
                        "reason": new.reason,
                        "failures": new.failures,
                    },
                )
                return new
            current = found

    def _now(self) -> int:
        return int(self._clock.now() * 1000)

    def _jitter(self) -> float:
        return 2 * self._rng.random() - 1


def _wait(breaker: Breaker, now: Millis, part: int) -> int:
    if breaker.usable(now):
        return 0
    left = breaker.probe_at - now
    if breaker.state is BreakerState.HALF_OPEN:
        left = min(left, PROBED)
    return max(left, min((now - breaker.since) // part, LONGEST)) if part else left

"""The gate before a provider: every call of a worker passes it, whichever lease it belongs to.

It holds few calls in flight while nothing shows that the provider is alive, opens the shared breaker after some
failures in a row, and begins no call while that is open. So a dead provider costs a worker a handful of calls.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from shared.domain.breaker import ENOUGH, PROBES, THRESHOLD, Breaker, BreakerState, Verdict, verdict
from shared.domain.outcomes import Outcome
from shared.domain.pacing import Pace
from shared.engine.circuits import Circuits
from shared.ports import Clock, Retriable

CAREFUL: Final = 4
"""Calls in flight while none has succeeded since the start, or since the last failure. A worker of a dead provider
fails `THRESHOLD` + `CAREFUL` - 1 calls at the most."""
BOUND: Final = 50
"""Calls in flight after a success; it doubles with each success while more are needed, so that a provider that stops
answering at full speed is sent no more than twice what it was used to."""
IDLE: Final = 10.0
"""Seconds without a success after which the provider must show again that it is alive."""
POLL: Final = 0.010
"""Seconds between two looks for room."""
FULL: Final = 0
SHUT: Final = -1
"""What `enter` returns instead of a ticket: no call may begin at this moment, or none any more."""
_LOG: Final = logging.getLogger(__name__)


class _Move(Enum):
    OPEN = "open"
    CLOSE = "close"
    REOPEN = "reopen"


class Gate:
    """One credential's gate in one process; safe for threads."""

    def __init__(self, credential: str, circuits: Circuits, clock: Clock) -> None:
        self._credential = credential
        self._circuits = circuits
        self._clock = clock
        self._lock = threading.Lock()
        self._breaker = Breaker(credential)
        self._in_flight = 0
        self._ticket = 1
        """Counts the breaker's states: what a call of an earlier one says is not news."""
        self._bound = BOUND
        self._wanted = False
        """Whether more calls were wanted than the bound allows, since it was raised."""
        self._failures = 0
        self._reason = ""
        self._tripped = False
        self._alive_at = 0.0
        self._probes = 0
        self._successes = 0

    # Leases

    def see(self, breaker: Breaker | None) -> None:
        """Take in the shared breaker as a lease read it."""
        if breaker is not None:
            self._know(self._circuits.learn(breaker))

    def bars(self, owner: str) -> bool:
        """Tell whether a lease should leave: calls are not made now, and it is not the time for probes.

        What could not be written when the gate shut is written now.
        """
        if self._tripped:
            self._do(_Move.OPEN, "")
        return self.shut(owner) and not (self._due() and not self._tripped)

    def admit(self, owner: str) -> bool:
        """Tell whether a lease may begin calls; if the breaker is due, that takes getting its probes first.

        Raises:
            Retriable: the store did not answer; nothing was begun.
        """
        if self.shut(owner) and not self._tripped and self._due():
            self._know(self._circuits.probe(self._credential, owner))
        return not self.shut(owner)

    def narrow(self, pace: Pace) -> Pace:
        """Return the pace of a lease's next window: as it is, or a few calls of one recipient if they are probes."""
        return pace if self._breaker.closed else replace(pace, per_call=1, window=min(PROBES, pace.window))

    # Calls

    def enter(self, owner: str) -> int:
        """Begin a call: returns its ticket, or FULL or SHUT if it may not begin."""
        with self._lock:
            if self._shut(owner):
                return SHUT
            if self._full():
                self._wanted = self._in_flight >= self._bound
                return FULL
            self._in_flight += 1
            self._probes -= not self._breaker.closed
            return self._ticket

    def leave(self, ticket: int, owner: str, outcomes: Sequence[Outcome]) -> None:
        """End a call with its outcomes; none if it was not made. Opens or closes the shared breaker if that decides."""
        said, reason = verdict(outcomes)
        with self._lock:
            self._in_flight -= 1
            move = self._judge(said, reason) if ticket == self._ticket and said is not Verdict.NOTHING else None
        if move is not None:
            self._do(move, owner)

    def shut(self, owner: str) -> bool:
        """Tell whether a lease may begin no call."""
        with self._lock:
            return self._shut(owner)

    def wait(self, owner: str) -> None:
        """Wait until a call may begin, or none may any more."""
        while True:
            with self._lock:
                if self._shut(owner) or not self._full():
                    return
            self._clock.sleep(POLL)

    def _full(self) -> bool:
        if not self._breaker.closed:
            return self._in_flight >= 1  # a probe that fails is the last one
        if self._in_flight < CAREFUL:
            return False
        careful = self._failures or self._clock.now() - self._alive_at > IDLE
        return bool(careful) or self._in_flight >= self._bound

    def _shut(self, owner: str) -> bool:
        if self._tripped:
            return True
        return not self._breaker.closed and not (self._breaker.probed_by(owner) and self._probes > 0)

    def _due(self) -> bool:
        return self._breaker.usable(int(self._clock.now() * 1000))

    def _judge(self, said: Verdict, reason: str) -> _Move | None:
        """Count a call; returns the move that this one call decides."""
        probing = self._breaker.state is BreakerState.HALF_OPEN
        if said is Verdict.ALIVE:
            self._alive_at = self._clock.now()
            self._failures = 0
            if probing:
                self._successes += 1
                return _Move.CLOSE if self._successes == ENOUGH else None
            if self._wanted:
                self._bound *= 2
                self._wanted = False
            return None
        self._failures += 1
        self._reason = reason
        if probing:
            self._probes = 0
            return _Move.REOPEN if self._failures == 1 else None
        if self._tripped or (said is not Verdict.FATAL and self._failures < THRESHOLD):
            return None
        self._tripped = True
        return _Move.OPEN

    def _know(self, breaker: Breaker) -> None:
        with self._lock:
            if breaker.version <= self._breaker.version:
                return
            self._breaker = breaker
            self._ticket += 1
            self._bound = BOUND
            self._failures = self._successes = 0
            self._tripped = False
            self._alive_at = 0.0
            self._probes = breaker.probes

    def _do(self, move: _Move, owner: str) -> None:
        """Write a move. If that fails the gate stays as it is: shut, and whoever comes next tries again."""
        try:
            if move is _Move.OPEN:
                self._know(self._circuits.open(self._credential, self._reason, self._failures))
            elif move is _Move.CLOSE:
                self._know(self._circuits.close(self._credential, owner))
            else:
                self._know(self._circuits.reopen(self._credential, owner, self._reason))
        except Retriable:
            _LOG.warning("breaker not written", extra={"credential": self._credential, "move": move.value})

"""Slots for a lease's calls, asked for early enough to be used."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Final
from uuid import uuid4

from shared.domain.jobs.outcomes import Outcome, Throttled
from shared.domain.lanes.lease_hints import LeaseHint
from shared.domain.lanes.pacing import HORIZON, Pace, Slots
from shared.domain.lanes.switches import AS_DECLARED
from shared.ports import Clock, Pacer, Retriable

LEAD: Final = 0.040
"""Seconds that a reservation, and the read and claim after it, are first taken to need."""
MAX_LEAD: Final = 0.5
_LOG: Final = logging.getLogger(__name__)
PATIENCE: Final = 5.0
"""Seconds that a lease may take at the least from a window's last call to its next claim."""


def patience(rate: Pace, leases: int) -> float:
    """Return the seconds from a lease's last call to its next claim: for its writes, and the turn of all leases."""
    return max(PATIENCE, HORIZON + leases * rate.window * rate.spacing)


class LatencyEstimate:
    """How long something takes here: quick to grow, slow to shrink, so that slots are seldom missed.

    Threads may learn at once; the last word wins, which is as good as any.
    """

    def __init__(self) -> None:
        self.seconds = LEAD

    def learn(self, took: float) -> None:
        """Take in one more measurement, in seconds."""
        wanted = 1.2 * took + 0.002
        self.seconds = min(MAX_LEAD, max(wanted, 0.9 * self.seconds + 0.1 * wanted))


class SlotClient:
    """One credential's slots as one process asks for them; safe for threads.

    Attributes:
        switches: what holds the credential back, as the pacer last told.
    """

    def __init__(self, pacer: Pacer, credential: str, clock: Clock) -> None:
        self._pacer = pacer
        self._credential = credential
        self._clock = clock
        self._lead = LatencyEstimate()
        self._process = uuid4().hex[:6]
        self._numbers = count()
        self._free: list[str] = []
        self._lock = threading.Lock()
        self.switches = AS_DECLARED

    @contextmanager
    def place(self) -> Iterator[str]:
        """Give a lease a name while it lasts, as no other that is at work has it: few leases at once take few names."""
        try:
            name = self._free.pop()
        except IndexError:
            name = f"{self._process}{next(self._numbers)}"
        try:
            yield name
        finally:
            self._free.append(name)

    @property
    def held_until(self) -> float:
        """Unix seconds until which the provider has asked to wait, as far as is known."""
        return self.switches.lowered.until / 1000

    def heed(self, rate: Pace, outcomes: Sequence[Outcome], *, gently: bool = False) -> None:
        """Take in a call's outcomes. The first refused call of a pace lowers the rate for all workers.

        Calls that were under way at the same pace find it lowered already.

        Args:
            rate: the pace whose slots the call used.
            outcomes: one per recipient of the call.
            gently: whether the rate is lowered by little, because too few calls are known to tell a limit from trouble.
        """
        wait = max((o.retry_after for o in outcomes if isinstance(o, Throttled)), default=None)
        if wait is None:
            return
        with self._lock:
            if self.outdated(rate):
                return
            lowered = rate.refused(self._clock.now(), wait, gently=gently)
            self.switches = replace(self.switches, lowered=lowered)
        try:
            stored = self._pacer.lower(self._credential, lowered, rate.lowered)
        except Retriable:
            _LOG.warning("lowered rate not written", extra={"credential": self._credential})
            return  # this process keeps to it; another that is refused writes it
        with self._lock:
            if self.switches.lowered == lowered:
                self.switches = replace(self.switches, lowered=stored)

    def outdated(self, rate: Pace) -> bool:
        """Tell whether the provider has refused a call since slots were reserved at this pace: no more are to begin."""
        return self.switches.lowered.until > rate.lowered.until

    def reserve(
        self, wanted: int, rate: Pace, *, ahead: float, until: float, job: str, hint: LeaseHint | None = None
    ) -> Slots:
        """Reserve slots, the first no sooner than `ahead` seconds after the reservation's answer arrives.

        Args:
            wanted: how many slots.
            rate: the pace.
            ahead: seconds that the caller needs before it can use the first slot.
            until: Unix seconds after which the first slot would be of no use.
            job: the job's id.
            hint: the lease that the slots are for.

        Returns:
            None of them (`count` 0) if none was wanted, none can be had by `until` (Unix seconds), or the switches
            have been moved: these are known then.
        """
        asked = self._clock.now()
        if wanted == 0:
            return Slots(asked + ahead, rate.spacing, 0)
        lead = ahead + self._lead.seconds if rate.burns else 0.0
        slots = self._pacer.reserve(self._credential, wanted, rate, lead=lead, until=until, job=job, hint=hint)
        if slots.switches is not None:
            with self._lock:
                self.switches = slots.switches
        if slots.count and slots.first - asked < lead + 0.05:  # it did not wait for a turn
            self._lead.learn(self._clock.now() - asked)
        return slots

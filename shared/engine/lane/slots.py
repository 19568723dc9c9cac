"""Slots for a lease's calls, asked for early enough to be used."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Final
from uuid import uuid4

from shared.contracts import CredentialQuota, Per
from shared.domain.jobs.outcomes import NotStarted, Outcome, OverQuota, Throttled
from shared.domain.lanes.breaker import fails
from shared.domain.lanes.lease_hints import LeaseHint
from shared.domain.lanes.pacing import HORIZON, Pace, Slots
from shared.domain.lanes.periods import ends, most
from shared.domain.lanes.quotas import NONE_UNUSED, UNBOUNDED, Headroom, Spend, Unused
from shared.domain.lanes.refusals import NO_CALLS, RARE, RefusalTally
from shared.domain.lanes.switches import AS_DECLARED, NOT_LOWERED, Switches, ThrottledRate
from shared.domain.times import Seconds
from shared.ports import Clock, Pacer, Retriable

LEAD: Final = 0.040
"""Seconds that a reservation, and the read and claim after it, are first taken to need."""
MAX_LEAD: Final = 0.5
_LOG: Final = logging.getLogger(__name__)
PROBES: Final = (300.0, 600.0, 1200.0, 2400.0, 3600.0)
"""Seconds after which a lane is tried again whose provider calls its quota exceeded and does not say until when."""
FRESH: Final = 60.0
"""Seconds for which a process believes that a lane is full: units may be given back, and operators may raise a plan."""
SHORTEST: Final = 60.0
"""Seconds of the shortest wait that a provider means by a quota; a shorter one is that of its rate."""
SOON: Final = 600.0
"""Seconds after a lane was full in which another such answer is one of a row."""
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

    def __init__(self, pacer: Pacer, credential: str, clock: Clock, quotas: tuple[CredentialQuota, ...] = ()) -> None:
        self._quotas = quotas
        self._room = UNBOUNDED
        """The units that the lane may still send, as this process last read them."""
        self._noted = 0
        """Until when this process has noted the lane as full, Unix milliseconds."""
        self._told_at = 0.0
        """When that was, Unix seconds."""
        self._pacer = pacer
        self._credential = credential
        self._clock = clock
        self._lead = LatencyEstimate()
        self._process = uuid4().hex[:6]
        self._numbers = count()
        self._free: list[str] = []
        self._lock = threading.Lock()
        self._told = NO_CALLS
        """Calls of all workers, as the last reservation said."""
        self._telling = NO_CALLS
        """Calls of this process in a reservation under way."""
        self._ended = NO_CALLS
        """Calls of this process since."""
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

    @property
    def full_until(self) -> float:
        """Unix seconds until which the lane's quota is used up, as far as is known; 0 if it is not."""
        now, until = self._clock.now(), self._room.until / 1000
        return until if until > now and now - self._told_at < FRESH else 0.0

    @property
    def exceeded(self) -> bool:
        """Whether the provider calls its quota exceeded: no more calls are to begin, not even in slots at hand."""
        return self._room.step > 0 and self.full_until > 0

    @property
    def most(self) -> int | None:
        """Units of the next reservation at the most, as far as is known; None: no quota bounds them."""
        if not self._quotas:
            return None
        now = self._clock.now()
        left, ceiling = self._room.left, max(1, min(most(q, now) for q in self._quotas))
        fresh = left is not None and left > 0 and now - self._told_at < FRESH
        return min(left, ceiling) if fresh and left is not None else ceiling

    def note_full(self) -> None:
        """Have the lane stored as full, once: what waits is then not pointed to."""
        until = self._room.until
        if self._noted == until:
            return
        try:
            self._pacer.fill(self._credential, until, self._room.step)
        except Retriable:
            _LOG.warning("full lane not noted", extra={"credential": self._credential})
        else:
            self._noted = until

    def give_back(self, unused: Unused) -> None:
        """Take units off the lane's quotas that no call has used; if that fails, they stay counted."""
        if not unused.units or not unused.counters:
            return
        try:
            self._pacer.give_back(self._credential, unused)
        except Retriable:
            _LOG.warning("units not given back", extra={"credential": self._credential, "units": unused.units})

    def _exceeded(self, said: OverQuota) -> None:
        """Take in that the provider calls its quota exceeded, and have all workers know until when."""
        now = self._clock.now()
        with self._lock:
            if self.full_until:
                return
            told = said.retry_after >= SHORTEST
            step = 0 if told or said.per else 1
            if step and self._room.step and now - self._room.until / 1000 < SOON:
                step += self._room.step
            if told:
                until = now + said.retry_after
            elif said.per:
                until = ends(Per(said.per), "UTC", now)
            else:
                until = now + PROBES[min(step, len(PROBES)) - 1]
            step = step or 1
            self._room, self._told_at = Headroom(0, int(until * 1000), step), now
        _LOG.warning("provider's quota exceeded", extra={"credential": self._credential, "until": int(until)})
        self.note_full()

    def heed(self, rate: Pace, outcomes: Sequence[Outcome]) -> None:
        """Take in a call's outcomes. A refused call lowers the rate for all workers if that is more than chance.

        Calls that were under way at the same pace find it lowered already.

        Args:
            rate: the pace whose slots the call used.
            outcomes: one per recipient of the call.
        """
        if all(isinstance(o, NotStarted) for o in outcomes):
            return
        exceeded = next((o for o in outcomes if isinstance(o, OverQuota)), None)
        if exceeded is not None:
            self._exceeded(exceeded)
            return
        wait = max((o.retry_after for o in outcomes if isinstance(o, Throttled)), default=None)
        lowered = self._tally(rate, wait, failed=fails(outcomes))
        if lowered is not None:
            self._lower(rate, lowered)

    def _tally(self, rate: Pace, wait: Seconds | None, *, failed: bool) -> ThrottledRate | None:
        """Count a call; return what it leaves of the rate, None if it does not lower it.

        Args:
            rate: the pace whose slots the call used.
            wait: seconds that the provider asked to wait; None: it did not.
        """
        with self._lock:
            if self.outdated(rate):
                return None
            self._ended += RefusalTally(1, int(wait is not None), int(failed))
            if wait is None:
                return None
            lowered = rate.refused(self._clock.now(), wait, self._told + self._telling + self._ended)
            if lowered is not None:
                self._turn_to(replace(self.switches, lowered=lowered))
            return lowered

    def _lower(self, rate: Pace, lowered: ThrottledRate) -> None:
        """Have all workers know what is left of the rate; of two values the newer one counts."""
        try:
            stored = self._pacer.lower(self._credential, lowered, rate.lowered)
        except Retriable:
            _LOG.warning("lowered rate not written", extra={"credential": self._credential})
            return  # this process keeps to it; another that is refused writes it
        with self._lock:
            if self.switches.lowered == lowered:
                self._turn_to(replace(self.switches, lowered=stored))

    def outdated(self, rate: Pace) -> bool:
        """Tell whether the provider has refused a call since slots were reserved at this pace: no more are to begin."""
        return self.switches.lowered.until > rate.lowered.until

    def takes_none(self) -> bool:
        """Tell whether the provider has taken none of the calls of late, and refused some."""
        tally = self._of_late()
        return 0 < tally.calls == tally.refused

    def refuses_rarely(self) -> bool:
        """Tell whether the provider refuses some calls now and then, of many that are known here."""
        tally = self._of_late()
        return tally.known and tally.share <= RARE

    def works(self) -> bool:
        """Tell whether the provider takes most of what all workers send it, as far as is known here."""
        return self._of_late().works

    def _of_late(self) -> RefusalTally:
        with self._lock:
            return self._told + self._telling + self._ended

    def reserve(
        self,
        wanted: int,
        rate: Pace,
        *,
        ahead: float,
        until: Seconds,
        job: str,
        hint: LeaseHint | None = None,
        units: int = 0,
        least: int = 1,
        unused: Unused = NONE_UNUSED,
    ) -> Slots:
        """Reserve slots, the first no sooner than `ahead` seconds after the reservation's answer arrives.

        Args:
            wanted: how many slots.
            ahead: seconds that the caller needs before it can use the first slot.
            until: Unix seconds after which the first slot would be of no use.
            hint: the lease that the slots are for.
            units: of quotas that the calls in these slots take.
            least: those of the first message.
            unused: units of the same lease that no call has used.

        Returns:
            No slots (`count` 0) if none was wanted, or none can be had by `until` (Unix seconds). Also if the switches
            have been moved; these are known then. Also, with `room`, if that is too little for all units.
        """
        asked = self._clock.now()
        if wanted == 0:
            return Slots(asked + ahead, rate.spacing, 0)
        lead = ahead + self._lead.seconds if rate.burns else 0.0
        spend = Spend(self._quotas, units, min(least, units), unused)
        slots = self._tell(wanted, rate, lead=lead, until=until, job=job, hint=hint, spend=spend)
        with self._lock:
            if slots.room is not UNBOUNDED:
                self._room, self._told_at = slots.room, self._clock.now()
        if slots.count and slots.first - asked < lead + 0.05:  # it did not wait for a turn
            self._lead.learn(self._clock.now() - asked)
        return slots

    def _tell(
        self, wanted: int, rate: Pace, *, lead: float, until: Seconds, job: str, hint: LeaseHint | None, spend: Spend
    ) -> Slots:
        """Reserve slots; the same write counts the calls that have ended. If it fails, the next one counts them."""
        with self._lock:
            ended = self._ended if self._is_known(rate) else NO_CALLS
            self._telling, self._ended = self._telling + ended, self._ended - ended
        count, told, switches = 0, NO_CALLS, None
        try:
            slots = self._pacer.reserve(
                self._credential,
                wanted,
                rate,
                lead=lead,
                until=until,
                job=job,
                hint=hint,
                ended=ended,
                spend=spend,
            )
            count, told, switches = slots.count, slots.tally, slots.switches
            return slots
        finally:
            with self._lock:
                if self._is_known(rate):  # else what was known of its calls is gone
                    self._telling -= ended
                    if count:
                        self._told = told
                    else:
                        self._ended += ended
                    if count and rate.recovered(self._clock.now()):  # that write has removed what was lowered
                        switches = replace(self.switches, lowered=NOT_LOWERED)
                if switches is not None:
                    self._turn_to(switches)

    def _is_known(self, rate: Pace) -> bool:
        """Tell whether a pace is after the hold that is the last one known here."""
        return rate.lowered.until == self.switches.lowered.until

    def _turn_to(self, switches: Switches) -> None:
        """Go by other switches. After another hold, calls of before it are not counted."""
        if switches.lowered.until != self.switches.lowered.until:
            self._told = self._telling = self._ended = NO_CALLS
        self.switches = switches

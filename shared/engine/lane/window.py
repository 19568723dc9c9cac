"""The calls of a lease's windows: each at its slot, none twice (L2).

A lease claims its next window while slow answers of earlier ones are still to come. So the answer that takes long costs
its own slot, and not those of the others.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from shared.domain.jobs.outcomes import NotStarted, Outcome
from shared.domain.lanes.pacing import Pace, Slots
from shared.domain.times import Seconds
from shared.engine.lane.admission import FULL, SHUT, Admission
from shared.engine.lane.calls import LeaseCalls
from shared.engine.lane.lease import Lease, ProviderCall, WindowPlan, target
from shared.engine.lane.slots import SlotClient
from shared.engine.pool import Pending
from shared.ports import Clock

_Begun = tuple[ProviderCall, Pending[list[Outcome] | None]]
LOOK: Final = 0.010
"""Seconds between two looks for answers."""


class WindowCalls:
    """The calls of one lease's windows, one window after the other; only for the lease's thread.

    Args:
        lease: takes in the result of each recipient.
        slot_client: for more slots, where some were missed.
        call_timeout: seconds that one may take.
        keep: called again and again while answers are waited for, so that the lease lasts.
    """

    def __init__(
        self,
        lease: Lease,
        lease_calls: LeaseCalls,
        *,
        admission: Admission,
        slot_client: SlotClient,
        clock: Clock,
        call_timeout: Seconds,
        keep: Callable[[], None],
    ) -> None:
        self._lease = lease
        self._keep = keep
        self._lease_calls = lease_calls
        self._admission = admission
        self._slot_client = slot_client
        self._clock = clock
        self._call_timeout = call_timeout
        self._open: list[_Begun] = []
        """Calls without an answer that was taken in."""
        self._again: list[ProviderCall] = []
        """Calls to make once more, or in parts."""
        self._rate: Pace
        """Of the latest window."""
        self._deadline: Seconds = 0.0
        self._fault: Exception | None = None

    @property
    def unanswered(self) -> int:
        """Recipients whose answers are still to come."""
        return sum(len(parcel.indices) for parcel, _ in self._open)

    @property
    def ended(self) -> bool:
        """Whether no answer is to come, and no call is to be made once more."""
        return not self._open and not self._again

    @property
    def unfinished(self) -> bool:
        """Whether calls are to be made once more, or in parts."""
        return bool(self._again)

    def begin(self, parcels: Sequence[ProviderCall], slots: Slots, rate: Pace, *, deadline: Seconds) -> None:
        """Begin the call of each parcel at its slot, as `call`; what was not begun is left for `finish`."""
        self._rate, self._deadline = rate, deadline
        self._begin_each(parcels, slots)

    def take(self) -> None:
        """Record what calls came to that have ended, and keep the lease."""
        self._take()
        if self._open:
            self._keep()

    def call(self, parcels: Sequence[ProviderCall], slots: Slots, rate: Pace, *, deadline: Seconds) -> None:
        """Call the provider once for each parcel, each at its slot; while the breaker is not closed, all have ended.

        Args:
            parcels: the calls of a window that was claimed.
            deadline: Unix seconds by which all calls of the window must have ended.

        Raises:
            Exception: the first fault of a store. Calls that were not begun are to be queued again.
        """
        self.begin(parcels, slots, rate, deadline=deadline)
        self._make(all_end=not self._admission.closed)

    def wait(self, *, most: int) -> None:
        """Wait until at most so many recipients' answers are to come."""
        self._take()
        while self.unanswered > most:
            self._look(self._clock.now() + LOOK)

    def rest(self, until: Seconds, *, answered: bool = False) -> None:
        """Wait for a moment, and take in the answers that come; `answered`: less, once there are all."""
        self._take()
        while self._open and (now := self._clock.now()) < until:
            self._look(min(until, now + LOOK))
        if not answered:
            self._lease_calls.rest(until)

    def finish(self) -> None:
        """Make the calls that are left, unless the lease may make none, and wait for all.

        Raises:
            Exception: the first fault of a store. Calls that were not begun are to be queued again.
        """
        if not self._lease.may_call:
            self.wait(most=0)
            self._requeue()
        self._make(all_end=True)

    def drain(self) -> None:
        """Wait for all calls of a lease that a fault ends. Record their outcomes, and queue again what is left."""
        begun, self._open = self._open, []
        for parcel, call in begun:
            self._record(parcel, call.result())
        self._requeue()

    def _make(self, *, all_end: bool) -> None:
        while True:
            if all_end and not self._again:
                self.wait(most=0)
            if self._fault is not None:
                raise self._fault
            if not self._again:
                return
            slots = self._more_slots()
            if slots is None:
                self._requeue()
            else:
                self._begin_each((), slots)

    def _more_slots(self) -> Slots | None:
        """Reserve slots for calls that are to be made once more; None if they cannot be made now."""
        lease, owner, rate = self._lease, self._lease.ledger.owner, self._rate
        self._admission.wait(owner, self._look)
        lease.leave = self._admission.shut(owner)
        last = min(self._deadline - self._call_timeout, lease.last_begin)
        if lease.leave or self._clock.now() > last or self._is_refused(begun=True):
            return None
        wanted = wanted_for(self._again, rate)
        slots = self._slot_client.reserve(
            wanted.slots,
            rate,
            ahead=0.001,
            until=last,
            job=lease.job.id,
            units=wanted.units,
            least=wanted.least,
            unused=lease.unused,
        )
        if slots.switches is not None:
            lease.paused = slots.switches.paused
        if slots.count:
            lease.counted(slots, wanted.units)
        return slots if slots.count else None

    def _begin_each(self, parcels: Sequence[ProviderCall], slots: Slots) -> None:
        """Begin each call at its slot, first those to be made once more. Those that were not begun are left for later.

        The slot of a call that is late for it is burned, and so is one while admission is full. Once that is shut, or
        the provider has asked all to wait, no call begins. `empty` counts the slots of this reservation that hold
        nothing: a message that counts as several needs some before it. No call begins outside of the job's hours.
        """
        parcels, self._again = [*self._again, *parcels], []
        position = empty = 0
        begun, late = False, self._rate.late
        for n, parcel in enumerate(parcels):
            now = self._clock.now()
            while position < slots.count and slots.at(position) < now - late:
                position, empty = position + 1, empty + 1
            lull = max(0, parcel.lull(self._rate) - empty)
            if position + lull + parcel.slots > slots.count:
                self._again.append(parcel)
                continue
            position, empty = position + lull, empty + lull
            at = slots.at(position)
            position += parcel.slots
            self._lease_calls.rest(at)
            ticket = SHUT if self._is_refused(begun=begun) else self._admission.enter(self._lease.ledger.owner)
            if ticket == SHUT:
                self._again.extend(parcels[n:])
                break
            if ticket == FULL:
                self._again.append(parcel)
                continue
            self._lease.used(parcel.slots)
            try:
                latest = min(at + late, self._lease.last_begin)
                self._open.append((parcel, self._begin(parcel, ticket, latest)))
            except Exception as fault:  # noqa: BLE001 - raised when what is known of the calls before it is recorded
                self._fault = fault
                self._ended(ticket, self._rate, ())
                self._again.extend(parcels[n + 1 :])  # its own fate is not known
                break
            begun = True
        self._take()

    def _is_refused(self, *, begun: bool) -> bool:
        """Tell whether no more calls are to begin: the provider has asked all to wait, or takes none.

        `begun`: whether a call of this window has. Each lease makes one, to find out what the provider takes now.
        """
        tried = begun or self._lease.count.slots > 0
        client = self._slot_client
        return client.exceeded or client.outdated(self._rate) or (tried and client.takes_none())

    def _look(self, until: Seconds) -> None:
        self._keep()
        self._lease_calls.rest(until)
        self._take()

    def _take(self) -> None:
        """Record what calls came to that have ended."""
        begun, self._open = self._open, []
        for parcel, call in begun:
            if call.done():
                self._record(parcel, call.result())
            else:
                self._open.append((parcel, call))

    def _record(self, parcel: ProviderCall, outcomes: list[Outcome] | None) -> None:
        """Record what a call came to; one that was not made, or was refused as a whole, leaves calls to be made."""
        if outcomes is None or all(isinstance(x, NotStarted) for x in outcomes):
            self._lease.used(-parcel.slots)
        if outcomes is None:
            self._again.append(parcel)
        else:
            self._lease.count.add(outcomes, parcel.slots)
            self._again += self._lease.divide(parcel, outcomes, self._clock.now())

    def _requeue(self) -> None:
        waiting, self._again = self._again, []
        self._lease.requeue(waiting)

    def _begin(self, parcel: ProviderCall, ticket: int, latest: Seconds) -> Pending[list[Outcome] | None]:
        lease = self._lease
        return self._lease_calls.begin(
            parcel.content,
            [target(lease.ledger, lease.chunk, i) for i in parcel.indices],
            latest=latest,
            deadline=self._deadline,
            ended=partial(self._ended, ticket, self._rate),
        )

    def _ended(self, ticket: int, rate: Pace, said: Sequence[Outcome]) -> None:
        """Tell admission and the pacer what a call came to.

        A fault there says nothing against the call, whose outcomes stay known.
        """
        try:
            self._admission.leave(ticket, self._lease.ledger.owner, said, account=self._lease.job.account)
            self._slot_client.heed(rate, said)
        except Exception as fault:  # noqa: BLE001 - raised when what is known of the calls is recorded
            self._fault = self._fault or fault


def wanted_for(parcels: Sequence[ProviderCall], rate: Pace) -> WindowPlan:
    """Return what to reserve for calls that wait: for as many of them as fit a second, at least for the first."""
    slots = lull = count = 0
    for parcel in parcels:
        pause = max(lull, parcel.lull(rate))
        if slots and slots + parcel.slots + pause > rate.room:
            break
        slots, lull, count = slots + parcel.slots, pause, count + len(parcel.indices)
    return WindowPlan(count, slots + lull, lull, parcels[0].slots if parcels else 0)

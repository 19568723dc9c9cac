"""The calls of a claimed window: each at its slot, none twice, all ended when it ends (L2)."""

from collections.abc import Sequence
from functools import partial

from shared.domain.jobs.outcomes import Outcome
from shared.domain.lanes.pacing import Pace, Slots
from shared.domain.times import Seconds
from shared.engine.lane.admission import FULL, SHUT, Admission
from shared.engine.lane.calls import LeaseCalls
from shared.engine.lane.lease import Lease, ProviderCall
from shared.engine.lane.slots import SlotClient
from shared.engine.lane.targets import target
from shared.engine.pool import Pending
from shared.ports import Clock

_Begun = tuple[ProviderCall, Pending[list[Outcome] | None]]


class Window:
    """One claimed window of a lease.

    Args:
        lease: whose window it is; it learns what became of each recipient.
        lease_calls: makes the calls.
        rate: how fast.
        admission: before the provider.
        slot_client: for more slots, where some were missed.
        clock: time.
        deadline: Unix seconds by which all calls must have ended.
        call_timeout: seconds that one may take.

    Attributes:
        lag: seconds from a slot to the end of the last call, once they have ended.
    """

    def __init__(
        self,
        lease: Lease,
        lease_calls: LeaseCalls,
        rate: Pace,
        *,
        admission: Admission,
        slot_client: SlotClient,
        clock: Clock,
        deadline: Seconds,
        call_timeout: Seconds,
    ) -> None:
        self._lease = lease
        self._lease_calls = lease_calls
        self._rate = rate
        self._admission = admission
        self._slot_client = slot_client
        self._clock = clock
        self._deadline = deadline
        self._call_timeout = call_timeout
        self.lag = 0.0
        self._fault: Exception | None = None

    def call(self, parcels: Sequence[ProviderCall], slots: Slots) -> None:
        """Call the provider once for each parcel, each at its slot; all calls have ended.

        Raises:
            Exception: the first fault of a store; all calls have ended, and what was not begun is to be queued again.
        """
        lease, owner = self._lease, self._lease.ledger.owner
        waiting = list(parcels)
        while True:
            waiting = self._round(waiting, slots)
            if self._fault is not None:
                lease.requeue(waiting)
                raise self._fault
            if not waiting:
                return None
            self._admission.wait(owner)
            lease.leave = self._admission.shut(owner)
            last = self._deadline - self._call_timeout
            if lease.leave or self._clock.now() > last:
                return lease.requeue(waiting)
            if self._is_refused(begun=True):
                return lease.requeue(waiting)
            try:
                slots = self._slot_client.reserve(
                    slots_for(waiting, self._rate), self._rate, ahead=0.001, until=last, job=lease.job.id
                )
            except Exception:  # any fault, raised again
                lease.requeue(waiting)  # none was begun
                raise
            if slots.switches is not None:
                lease.paused = slots.switches.paused
            if slots.count == 0:
                return lease.requeue(waiting)

    def _round(self, parcels: Sequence[ProviderCall], slots: Slots) -> list[ProviderCall]:
        """Start each call at its slot and wait for all; returns those whose slots were missed, so burned.

        In place of a call that was refused as a whole it returns smaller ones.

        A slot is burned, too, if admission is full; once it is shut, or the provider has asked all to wait, no call
        begins. `empty` counts the slots of this reservation that hold nothing: a message that counts as several needs
        some before it.
        """
        begun: list[_Begun] = []
        missed: list[ProviderCall] = []
        position = empty = 0
        last, late = slots.first, self._rate.late
        for n, parcel in enumerate(parcels):
            now = self._clock.now()
            while position < slots.count and slots.at(position) < now - late:
                position, empty = position + 1, empty + 1
            lull = max(0, parcel.lull(self._rate) - empty)
            if position + lull + parcel.slots > slots.count:
                missed.append(parcel)
                continue
            position, empty = position + lull, empty + lull
            last = at = slots.at(position)
            position += parcel.slots
            self._lease_calls.rest(at)
            if self._is_refused(begun=bool(begun)):
                missed.extend(parcels[n:])
                break
            ticket = self._admission.enter(self._lease.ledger.owner)
            if ticket == SHUT:
                missed.extend(parcels[n:])
                break
            if ticket == FULL:
                missed.append(parcel)
                continue
            try:
                begun.append((parcel, self._begin(parcel, ticket, at + late)))
            except Exception as fault:  # noqa: BLE001 - raised when the calls before it have ended
                self._fault = fault
                self._ended(ticket, ())
                missed.extend(parcels[n + 1 :])  # its own fate is not known
                break
        missed += self._wait_for(begun)
        self.lag = max(self.lag, self._clock.now() - last)
        return missed

    def _is_refused(self, *, begun: bool) -> bool:
        """Tell whether no more calls are to begin: the provider has asked all to wait, or takes none.

        `begun`: whether a call of this window has. Each lease makes one, to find out what the provider takes now.
        """
        tried = begun or self._lease.count.slots > 0
        return self._slot_client.outdated(self._rate) or (tried and self._slot_client.takes_none())

    def _wait_for(self, begun: Sequence[_Begun]) -> list[ProviderCall]:
        """Record what calls came to; return those that were not made, and smaller ones for those that were divided."""
        left: list[ProviderCall] = []
        for parcel, call in begun:
            outcomes = call.result()
            if outcomes is None:
                left.append(parcel)
            else:
                self._lease.count.add(outcomes, parcel.slots)
                left += self._lease.divide(parcel, outcomes, self._clock.now())
        return left

    def _begin(self, parcel: ProviderCall, ticket: int, latest: float) -> Pending[list[Outcome] | None]:
        lease = self._lease
        return self._lease_calls.begin(
            parcel.content,
            [target(lease.ledger, lease.chunk, i) for i in parcel.indices],
            latest=latest,
            deadline=self._deadline,
            ended=partial(self._ended, ticket),
        )

    def _ended(self, ticket: int, said: Sequence[Outcome]) -> None:
        """Tell admission and the pacer what a call came to.

        A fault there says nothing against the call, whose outcomes stay known.
        """
        try:
            self._admission.leave(ticket, self._lease.ledger.owner, said, account=self._lease.job.account)
            self._slot_client.heed(self._rate, said)
        except Exception as fault:  # noqa: BLE001 - raised when all calls of the round have ended
            self._fault = self._fault or fault


def slots_for(parcels: Sequence[ProviderCall], rate: Pace) -> int:
    """Return the slots to reserve for calls that wait: for as many of them as fit a second, at least for the first."""
    slots = lull = 0
    for parcel in parcels:
        pause = max(lull, parcel.lull(rate))
        if slots and slots + parcel.slots + pause > rate.room:
            break
        slots, lull = slots + parcel.slots, pause
    return slots + lull

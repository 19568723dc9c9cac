"""Small jobs that are served together: one read, one reservation of slots, and calls side by side (L1.9).

Each job keeps its own lease, claim and release, so a group is nothing that the protocol does not say of each of them.
All that they have in common is read and reserved once, and their steps are made side by side. A job that is not plain
is served as if it had come by itself.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell
from shared.domain.lanes.lease_hints import LeaseHint, together
from shared.domain.lanes.pacing import HORIZON, Pace, Slots
from shared.domain.times import Seconds
from shared.engine.lane.calls import LeaseCalls
from shared.engine.lane.compose import Composition
from shared.engine.lane.lease import Lease, ProviderCall, Wanted
from shared.engine.lane.send import GLANCE, GLANCE_SLOTS, GRACE, MARGIN, Sender
from shared.engine.lane.start import PointerResult
from shared.engine.lane.window import LOOK, WindowCalls
from shared.engine.pool import Pending, Pool
from shared.ports import Control, Loaded

_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")
Result = PointerResult | Exception


@dataclass(slots=True)
class _Member:
    """A plain lease of a group. `place`: of its pointer; `first`: its first slot, of the group's."""

    place: int
    lease: Lease
    wanted: Wanted
    windows: WindowCalls
    first: int = 0
    parcels: Sequence[ProviderCall] = ()


@dataclass(slots=True)
class _Group:
    """A group at work.

    Attributes:
        pool: makes steps side by side; leaving it waits for all.
        name: of the note about its leases.
        deadline: Unix seconds when the process is frozen or killed.
        ends: the pointers whose end is left to the pool, by place.
    """

    pool: Pool
    lease_calls: LeaseCalls
    name: str
    deadline: Seconds
    held: list[Lease] = field(default_factory=list)
    """Leases whose calls have not ended: all are kept while one is waited for."""
    ends: dict[int, Pending[PointerResult]] = field(default_factory=dict)
    results: dict[int, Result] = field(default_factory=dict)

    def each(self, step: Callable[[int], T], places: Iterable[int]) -> dict[int, T]:
        """Make a step for each place, side by side; the fault of one is its result."""
        return self.done({place: self.pool.submit(step, place) for place in places})

    def done(self, begun: Mapping[int, Pending[T]]) -> dict[int, T]:
        """Wait for steps; the fault of one is its result."""
        done: dict[int, T] = {}
        for place, call in begun.items():
            try:
                done[place] = call.result()
            except Exception as fault:  # noqa: BLE001 - the pointer's result: it comes again, and others do not fail
                self.results[place] = fault
        return done

    def end(self, place: int, step: Callable[..., PointerResult], *args: object) -> None:
        """Leave the end of a pointer to the pool."""
        self.ends[place] = self.pool.submit(step, *args)


class GroupSender(Sender):
    """A sender that also serves pointers of small jobs together; `work_together` may run in several threads at once."""

    def work_together(
        self,
        pointers: Sequence[tuple[str, int]],
        *,
        owner: str,
        deadline: Seconds,
        spare: Callable[[], None] = lambda: None,
    ) -> list[Result]:
        """Serve pointers `(job, chunk)`; the fault of one is its own.

        Args:
            owner: unique to this group.
            deadline: Unix seconds when the process is frozen or killed.
            spare: called once nothing but slow answers is waited for, so that another group may begin beside this one.

        Returns:
            Of each pointer what `work` returns, or what it raises.
        """
        places = range(len(pointers))
        lease_calls = self._calls.lease(len(pointers))
        with self._pool(2 * len(pointers)) as pool, self._slot_client.place() as name:
            group = _Group(pool, lease_calls, name, deadline)

            def start(i: int) -> Ledger | PointerResult:
                return self._starter.start(*pointers[i], owner=f"{owner}-{i}", deadline=deadline)

            started = group.each(start, places)
            group.results |= {i: x for i, x in started.items() if isinstance(x, PointerResult)}
            leases = self._load_each(group, {i: x for i, x in started.items() if isinstance(x, Ledger)})
            with lease_calls:
                self._send_together(group, self._plain(group, leases), spare)
            group.results |= group.done(group.ends)
        return [group.results[i] for i in places]

    def _load_each(self, group: _Group, ledgers: dict[int, Ledger]) -> dict[int, Lease]:
        """Read what leases work on; those of jobs that no longer exist have a result."""
        places = [(x.job, x.chunk) for x in ledgers.values()]
        try:
            loaded = self._records.load_each(places, lane=self._credential.id) if places else []
        except Exception as fault:  # noqa: BLE001 - the result of each: all come again
            group.each(lambda i: self._put_back(ledgers[i]), ledgers)
            group.results |= dict.fromkeys(ledgers, fault)
            return {}
        found = dict(zip(ledgers, loaded, strict=True))
        leases = {i: self._lease(ledgers[i], x, self._composed(x)) for i, x in found.items()}
        group.results |= {i: PointerResult.NOTHING for i, x in leases.items() if x is None}
        return {i: x for i, x in leases.items() if x is not None}

    def _composed(self, loaded: Loaded | None) -> Composition | None:
        """Return a content compiled; it is not kept, as nothing else has it."""
        if loaded is None or loaded.content is None:
            return None
        return Composition(loaded.job, loaded.content, self._links)

    def _plain(self, group: _Group, leases: dict[int, Lease]) -> list[_Member]:
        """Return the leases whose messages all fit one window; the others are left to the pool, each by itself."""
        members: list[_Member] = []
        pace: Pace | None = None
        count = first = 0
        for i, lease in leases.items():
            own = self._pace(lease)
            wanted = self._wanted(lease, own)
            alike, most = pace is None or own == pace, self._within(own)
            if wanted is None or not alike or count + wanted.count > most.window or first + wanted.slots > most.room:
                group.end(i, self._serve, lease, group.deadline)
                continue
            pace = own
            windows = self._windows(lease, group.lease_calls, lambda: self._keep_each(group))
            members.append(_Member(i, lease, wanted, windows, first))
            count, first = count + wanted.count, first + wanted.slots
        return members

    def _wanted(self, lease: Lease, pace: Pace) -> Wanted | None:
        """Return what a plain lease takes of the slots; None if it is not plain, or its message cannot be made now."""
        if pace.period or not self._admission.closed or self._admission.narrow(pace) != pace or self._is_full(lease):
            return None
        try:
            wanted = lease.wanted(pace)
        except Exception:  # noqa: BLE001 - met again by the one who serves it by itself
            return None
        waiting = len(lease.ledger.having(Cell.QUEUED))
        return wanted if 0 < wanted.count == waiting and not self._ends(lease, wanted) else None

    # L2

    def _send_together(self, group: _Group, members: Sequence[_Member], spare: Callable[[], None]) -> None:
        """Reserve slots for all, claim each, and begin each call at its slot."""
        if not members:
            return
        rate = self._pace(members[0].lease)
        self._glance(max(GLANCE, GLANCE_SLOTS * rate.spacing), self._chance)
        slots = self._reserve_together(group, members, rate)
        if slots is None:
            return
        group.lease_calls.rest(slots.first - self._ahead(rate))
        began = self._clock.now()
        claimed = self._claim_each(group, members, slots, rate)
        self._prepare.learn(self._clock.now() - began)
        last = min(group.deadline - MARGIN, self._ended(slots, rate))
        calling = []
        for m in claimed:
            own = Slots(slots.at(m.first), slots.spacing, m.wanted.slots)
            if self._made(group, m, partial(m.windows.begin, m.parcels, own, rate, deadline=last)):
                calling.append(m)
        self._take_each(group, calling, spare)

    def _reserve_together(self, group: _Group, members: Sequence[_Member], rate: Pace) -> Slots | None:
        """Reserve the slots of all; None if there are none, and the end of each is left to the pool."""
        wanted = members[-1].first + members[-1].wanted.slots
        latest = group.deadline - MARGIN - self._call_timeout - wanted * rate.spacing
        until = min(latest, *(m.lease.end for m in members))
        hints = [LeaseHint(group.name, m.lease.job.id, m.lease.ledger.chunk, m.lease.ledger.epoch) for m in members]
        if self._clock.now() + HORIZON > until:
            for m in members:
                group.end(m.place, self._conclude, m.lease)
            return None
        try:
            slots = self._slot_client.reserve(
                wanted,
                rate,
                ahead=self._ahead(rate),
                until=until,
                job=hints[0].job,
                hint=together(hints),
                units=sum(m.wanted.units for m in members),
                least=members[0].wanted.least,
            )
        except Exception as fault:  # noqa: BLE001 - the result of each: all come again
            for m in members:
                self._end_by_fault(group, m, fault)
            return None
        if slots.count == wanted:
            for m in members:
                m.lease.counted(slots, m.wanted.units)
            return slots
        for m in members:
            if self._refused(m.lease, slots, rate):
                group.end(m.place, self._conclude, m.lease)
            else:  # at the rate that is set now
                group.end(m.place, self._serve, m.lease, group.deadline)
        return None

    def _claim_each(self, group: _Group, members: Sequence[_Member], slots: Slots, rate: Pace) -> list[_Member]:
        """Claim each that may be sent; the others end."""
        try:
            controls = self._check.read([m.lease for m in members])
        except Exception as fault:  # noqa: BLE001 - the result of each: all come again
            for m in members:
                self._end_by_fault(group, m, fault)
            return []
        ended = self._ended(slots, rate)

        def claim(m: _Member, control: Control) -> None:
            if not self._check.passes(m.lease, control):
                return
            m.lease.end = min(group.deadline, ended - self._call_timeout)
            indices = self._claim(m.lease, m.wanted.count, expired=ended - self._call_timeout)
            m.parcels = self._parcels(m.lease, indices, rate) if indices else ()

        begun = [(m, group.pool.submit(claim, m, control)) for m, control in zip(members, controls, strict=True)]
        claimed = []
        for m, call in begun:
            if not self._made(group, m, call.result):
                continue
            if m.parcels:
                claimed.append(m)
                group.held.append(m.lease)
            else:
                group.end(m.place, self._told, m)
        return claimed

    def _take_each(self, group: _Group, calling: Sequence[_Member], spare: Callable[[], None]) -> None:
        """Wait for the answers, and end each lease as soon as it has its own."""
        grace, spared = self._clock.now() + GRACE, False
        while calling:
            waiting = []
            for m in calling:
                if not self._made(group, m, m.windows.finish if m.windows.unfinished else m.windows.take):
                    continue
                if m.windows.ended:
                    self._admission.hand_on(m.lease.ledger.owner)
                    group.held.remove(m.lease)
                    group.end(m.place, self._told, m)
                else:
                    waiting.append(m)
            calling = waiting
            if calling and not spared and self._clock.now() >= grace:
                spared = True
                spare()
            if calling:
                group.lease_calls.rest(self._clock.now() + LOOK)

    def _keep_each(self, group: _Group) -> None:
        for lease in group.held:
            before = lease.end
            try:
                self._keep_lease(lease, group.deadline)
            except Exception:  # noqa: BLE001 - the next look tries again; one that runs out is found lost at its end
                _LOG.exception("lease not kept", extra={"job": lease.job.id})
                lease.end = before

    def _told(self, m: _Member) -> PointerResult:
        """End a lease whose calls have ended; after a fault, all that is known is written."""
        try:
            self._tell(m.lease)
        except Exception:  # any fault, raised again once what is known of the lease is written
            self._give_up(m.lease, m.windows)
            raise
        return self._conclude(m.lease)

    def _made(self, group: _Group, m: _Member, step: Callable[[], object]) -> bool:
        """Make a step of a member; False if a fault has ended it."""
        try:
            step()
        except Exception as fault:  # noqa: BLE001 - the pointer's result: it comes again, and others do not fail
            self._end_by_fault(group, m, fault)
            return False
        return True

    def _end_by_fault(self, group: _Group, m: _Member, fault: Exception) -> None:
        """End a member after a fault, which is its result."""

        def give_up() -> PointerResult:
            self._give_up(m.lease, m.windows)
            raise fault

        if m.lease in group.held:
            group.held.remove(m.lease)
        group.end(m.place, give_up)

"""Small jobs that are served together: one read, one reservation of slots, and calls side by side (L1.9).

Each job keeps its own lease, claim and release, so a group is nothing that the protocol does not say of each of them.
All that they have in common is read and reserved once, and their steps are made side by side. A job that is not plain
is served as if it had come by itself.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Final, NamedTuple, TypeVar

from shared.domain.ids import is_small
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import released
from shared.domain.jobs.states import ACTIVE, Cell
from shared.domain.lanes.lease_hints import LeaseHint, together
from shared.domain.lanes.pacing import HORIZON, Pace, Slots
from shared.domain.times import Seconds
from shared.engine.lane.calls import LeaseCalls
from shared.engine.lane.compose import Composition
from shared.engine.lane.lease import Lease, ProviderCall, WindowPlan
from shared.engine.lane.send import GRACE, MARGIN, Sender
from shared.engine.lane.start import PointerResult
from shared.engine.lane.window import LOOK, WindowCalls
from shared.engine.pool import Pending, Pool, SideBySide
from shared.frozen import dataclass
from shared.ports import Control, JobEnd, Loaded

_LOG: Final = logging.getLogger(__name__)
TOGETHER: Final = 0.05
"""Seconds that the first of some answers waits for others, so that their jobs end together."""
T = TypeVar("T")
Result = PointerResult | Exception


@dataclass(slots=True)
class _Member:
    """A plain lease of a group. `place`: of its pointer; `first`: its first slot, of the group's."""

    place: int
    lease: Lease
    wanted: WindowPlan
    windows: WindowCalls
    first: int = 0
    parcels: Sequence[ProviderCall] = ()


class _Small(NamedTuple):
    """The pointer to a small job: its chunk `(job, number)`, and the owner of its lease."""

    place: tuple[str, int]
    owner: str


@dataclass(slots=True)
class _Ending:
    """Members whose leases are about to end together. `until`: Unix seconds at which they do at the latest."""

    members: list[_Member] = field(default_factory=list)
    until: Seconds = 0.0

    def add(self, m: _Member, now: Seconds) -> None:
        if not self.members:
            self.until = now + TOGETHER
        self.members.append(m)

    def take(self) -> Sequence[_Member]:
        taken, self.members = self.members, []
        return taken


@dataclass(frozen=True, slots=True)
class _Share:
    """The result of one pointer, of those whose leases end together."""

    shared: Pending[dict[int, Result]]
    place: int

    def done(self) -> bool:
        return self.shared.done()

    def result(self) -> PointerResult:
        found = self.shared.result()[self.place]
        if isinstance(found, Exception):
            raise found
        return found


@dataclass(slots=True)
class _Group:
    """A group at work.

    Attributes:
        pool: threads for leases that are not plain, and for ends that may wait for calls.
        steps: makes steps side by side that wait for nothing but stores.
        name: of the note about its leases.
        deadline: Unix seconds when the process is frozen or killed.
        ends: the pointers whose end is left to the pool, by place.
    """

    pool: Pool
    steps: SideBySide
    lease_calls: LeaseCalls
    name: str
    deadline: Seconds
    held: list[Lease] = field(default_factory=list)
    """Leases whose calls have not ended: all are kept while one is waited for."""
    kept_at: Seconds = 0.0
    """When they were last looked at: each of ten that wait looks at all, again and again."""
    ends: dict[int, Pending[PointerResult]] = field(default_factory=dict)
    results: dict[int, Result] = field(default_factory=dict)

    def each(self, step: Callable[[int], T], places: Iterable[int]) -> dict[int, T]:
        """Make a step for each place, side by side; the fault of one is its result."""
        return self.done({place: self.steps.submit(step, place) for place in places})

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
        """Leave the end of a pointer to a step."""
        self.ends[place] = self.steps.submit(step, *args)

    def leave(self, place: int, step: Callable[..., PointerResult], *args: object) -> None:
        """Leave the rest of a pointer, which may take long, to a thread."""
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
        lease_calls = self._calls.lease(len(pointers), steps=True)
        with self._pool(2 * len(pointers)) as pool, self._slot_client.place() as name, lease_calls:
            group = _Group(pool, lease_calls.side_by_side(pool), lease_calls, name, deadline)

            def start(i: int) -> Ledger | PointerResult:
                return self._starter.start(*pointers[i], owner=f"{owner}-{i}", deadline=deadline)

            small = {i: _Small(pointers[i], f"{owner}-{i}") for i in places if is_small(pointers[i][0])}
            started = group.each(start, [i for i in places if i not in small])
            group.results |= {i: x for i, x in started.items() if isinstance(x, PointerResult)}
            leases = self._load_each(group, {i: x for i, x in started.items() if isinstance(x, Ledger)}, small)
            self._send_together(group, self._plain(group, leases), spare)
            group.results |= group.done(group.ends)
        return [group.results[i] for i in places]

    def _load_each(self, group: _Group, ledgers: dict[int, Ledger], small: "Mapping[int, _Small]") -> dict[int, Lease]:
        """Read what leases work on; those of jobs that no longer exist have a result.

        Args:
            ledgers: of leases that were taken.
            small: pointers to small jobs, whose leases are only foreseen.
        """
        places = {**{i: (x.job, x.chunk) for i, x in ledgers.items()}, **{i: x.place for i, x in small.items()}}
        try:
            loaded = self._records.load_each(list(places.values()), lane=self._credential.id) if places else []
        except Exception as fault:  # noqa: BLE001 - the result of each: all come again
            group.each(lambda i: self._put_back(ledgers[i]), ledgers)
            group.results |= dict.fromkeys(places, fault)
            return {}
        leases = {}
        for i, found in zip(places, loaded, strict=True):
            lease = self._foreseen(group, i, small[i], found) if i in small else self._loaded(ledgers[i], found)
            if lease is not None:
                leases[i] = lease
            elif i not in group.ends:
                group.results.setdefault(i, PointerResult.NOTHING)
        return leases

    def _loaded(self, ledger: Ledger, found: Loaded | None) -> Lease | None:
        return self._lease(ledger, found, self._composed(found))

    def _foreseen(self, group: _Group, place: int, small: "_Small", found: Loaded | None) -> Lease | None:
        """Return a small job's lease, which its first claim is going to take; None if there is none, or it is begun."""
        if found is None or found.ledger is None:
            return None
        ledger = self._starter.foresee(found.ledger, owner=small.owner, deadline=group.deadline)
        if isinstance(ledger, Ledger) and found.job.state in ACTIVE:
            lease = self._loaded(ledger, found)
            if lease is not None:
                lease.unbegun = found.ledger
            return lease
        if not isinstance(ledger, PointerResult):
            self._begin_apart(group, place, small)
        return None

    def _begin_apart(self, group: _Group, place: int, small: "_Small") -> None:
        """Leave the pointer to a small job to the pool, as if it had come by itself."""
        group.leave(place, partial(self.work, *small.place, owner=small.owner, deadline=group.deadline))

    def _apart(self, group: _Group, place: int, lease: Lease) -> None:
        """Leave a lease to the pool, by itself; one that was not begun begins anew, and its units come back."""
        if lease.unbegun is None:
            group.leave(place, self._serve, lease, group.deadline)
            return
        x, unused = lease.ledger, lease.unused

        def begin() -> PointerResult:
            self._slot_client.give_back(unused)
            return self.work(x.job, x.chunk, owner=x.owner, deadline=group.deadline)

        group.leave(place, begin)

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
                self._apart(group, i, lease)
                continue
            pace = own
            windows = self._windows(lease, group.lease_calls, lambda: self._keep_each(group))
            members.append(_Member(i, lease, wanted, windows, first))
            count, first = count + wanted.count, first + wanted.slots
        return members

    def _wanted(self, lease: Lease, pace: Pace) -> WindowPlan | None:
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
        self._glance(self._every(rate), self._chance)
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
                self._end_unclaimed(group, m)
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
        self._leave_without(group, members, slots, rate)
        return None

    def _leave_without(self, group: _Group, members: Sequence[_Member], slots: Slots, rate: Pace) -> None:
        """Leave members to the pool that got no slots. `slots`: they say why."""
        for m in members:
            if self._refused(m.lease, slots, rate):
                self._end_unclaimed(group, m)
            else:  # at the rate that is set now
                self._apart(group, m.place, m.lease)

    def _end_unclaimed(self, group: _Group, m: _Member) -> None:
        """End a lease that claims nothing; one that was not begun is left to whom decides for a single pointer."""
        if m.lease.unbegun is None:
            group.end(m.place, self._conclude, m.lease)
        else:
            self._apart(group, m.place, m.lease)

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
            indices = self._begin(m.lease, m.wanted.count, expired=ended - self._call_timeout)
            m.parcels = self._parcels(m.lease, indices, rate) if indices else ()

        begun = [(m, group.steps.submit(claim, m, control)) for m, control in zip(members, controls, strict=True)]
        claimed = []
        for m, call in begun:
            if not self._made(group, m, call.result):
                continue
            if m.parcels:
                claimed.append(m)
                group.held.append(m.lease)
            elif m.lease.unbegun is not None:
                self._apart(group, m.place, m.lease)
            else:
                group.end(m.place, self._told, m)
        return claimed

    def _take_each(self, group: _Group, calling: Sequence[_Member], spare: Callable[[], None]) -> None:
        """Wait for the answers, and end each lease soon after it has its own."""
        grace, spared = self._clock.now() + GRACE, False
        ending = _Ending()
        while calling:
            waiting = []
            for m in calling:
                if not self._made(group, m, m.windows.finish if m.windows.unfinished else m.windows.take):
                    continue
                if m.windows.ended:
                    self._admission.hand_on(m.lease.ledger.owner)
                    group.held.remove(m.lease)
                    if is_small(m.lease.job.id):
                        ending.add(m, self._clock.now())
                    else:
                        group.end(m.place, self._told, m)
                else:
                    waiting.append(m)
            calling = waiting
            if ending.members and (not calling or self._clock.now() >= ending.until):
                self._end_together(group, ending.take())
            if calling and not spared and self._clock.now() >= grace:
                spared = True
                spare()
            if calling:
                group.lease_calls.rest(self._clock.now() + LOOK)

    # L4, J2, J3

    def _end_together(self, group: _Group, members: Sequence[_Member]) -> None:
        """Leave the ends of small jobs to a step."""
        shared = group.steps.submit(self._told_together, members)
        group.ends |= {m.place: _Share(shared, m.place) for m in members}

    def _told_together(self, members: Sequence[_Member]) -> dict[int, Result]:
        """End leases, and with them those jobs that are then over and of which no webhook hears; return the results."""
        ends: dict[int, JobEnd] = {}
        for m in members:
            end = self._job_end(m.lease)
            if end is not None:
                ends[m.place] = end
        ended = self._end_jobs(list(ends.values()))
        results: dict[int, Result] = {}
        for m in members:
            if m.place in ends and m.lease.job.id in ended:
                self._call_counters.include(m.lease.count)
                self._slot_client.give_back(m.lease.unused)
                results[m.place] = PointerResult.SENT
            else:
                results[m.place] = self._told_alone(m)
        return results

    def _told_alone(self, m: _Member) -> Result:
        try:
            return self._told(m)
        except Exception as fault:  # noqa: BLE001 - the pointer's result: it comes again, and others do not fail
            return fault

    def _job_end(self, lease: Lease) -> JobEnd | None:
        """Return the end of a small job by its lease's end; None if messages are left, or if webhooks may hear.

        Raises nothing: what fails here fails again for the one that ends the lease by itself.
        """
        x = lease.ledger
        if lease.lost or lease.requeued or x.having(Cell.QUEUED) or lease.unheard_until < self._clock.now():
            return None
        try:
            self._suppress(lease)
            after = released(x, x.lane, lease.results, (), self._passing(lease))
        except Exception:  # noqa: BLE001 - met again, and raised, by the end of this lease
            return None
        if after.status is not LedgerStatus.DONE:
            return None
        if lease.noted:  # kept while it waited: its detail is stored already
            self._note(lease)
        new = len(lease.results) > lease.noted
        detail = lease.detail(self._credential.id, self._clock.now()) if new else None
        return JobEnd(lease.job, x, after, detail)

    def _end_jobs(self, ends: Sequence[JobEnd]) -> set[str]:
        """End jobs, those that share stats in one transaction; return the ids of those that ended."""
        groups: dict[tuple[str, str, str], list[JobEnd]] = {}
        for x in ends:
            groups.setdefault((x.job.account, x.job.day, x.job.channel), []).append(x)
        ended: set[str] = set()
        for some in groups.values():
            try:
                ended |= self._records.end_jobs(some, int(self._clock.now() * 1000))
            except Exception:  # noqa: BLE001 - each lease ends by itself, and raises what is its own
                _LOG.exception("not ended together", extra={"jobs": [x.job.id for x in some]})
        return ended

    def _keep_each(self, group: _Group) -> None:
        now = self._clock.now()
        if now < group.kept_at + LOOK:
            return
        group.kept_at = now
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
        group.leave(m.place, give_up)

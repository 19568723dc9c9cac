"""The sender: leases a chunk, and window by window claims recipients and calls the provider (L1 to L4).

One lease works in one thread; its provider calls go side by side (`calls`). It claims its next window while slow
answers are still to come, and has ended once they all have. The crash of a worker leaves at most a window claimed
without results, and a second's calls that wait for slow answers.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from shared.contracts import Credential
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.passes import PassContext
from shared.domain.jobs.states import ACTIVE, Cell
from shared.domain.lanes.backoff import Chance
from shared.domain.lanes.call_counters import CallCounters, Count
from shared.domain.lanes.lease_hints import LeaseHint
from shared.domain.lanes.pacing import HORIZON, OWN_WAIT, Pace, Slots, pace
from shared.domain.lanes.quotas import UNBOUNDED
from shared.domain.times import Seconds
from shared.engine.lane.access import LaneStores, ProviderAccess
from shared.engine.lane.admission import Admission
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.calls import Calls, LeaseCalls
from shared.engine.lane.checks import ClaimCheck, Rooms
from shared.engine.lane.compose import Composition
from shared.engine.lane.lease import Lease, ProviderCall, WindowPlan
from shared.engine.lane.recovery import Recovery, mailed
from shared.engine.lane.slots import PATIENCE, LatencyEstimate, SlotClient, patience
from shared.engine.lane.start import PointerResult, Starter
from shared.engine.lane.window import WindowCalls
from shared.engine.pool import Pool, ThreadPool
from shared.ports import Clock, Links, Loaded, Provider

GRACE: Final = 0.5
"""Seconds for which a lease waits for its last answers before another may begin beside it."""
GLANCE: Final = 1.0
"""Seconds between two looks for leases of workers that have died; in a slow lane those of `GLANCE_SLOTS` (ADR 205)."""
GLANCE_SLOTS: Final = 150
FEW_LEASES: Final = 8
"""Leases of a lane with two workers of each kind. The workers of one with more look less often, each for the others."""
RENEWAL: Final = 2.0
"""Seconds before its end at which a lease that waits for answers is prolonged."""
MARGIN: Final = 3.0
"""Seconds kept for the writes after the last call."""
LEASES: Final = 2
"""Leases that a worker holds at the most: the event source's batch size."""
OWN_LEASE: Final = OWN_WAIT + HORIZON
"""Seconds until which a lease of a job with a rate of its own may begin windows, plus the 2 s that slots are ahead."""
KEPT_CONTENTS: Final = 8
"""Contents kept in memory: a few jobs share a lane at a time, and a content can be megabytes."""
_LOG: Final = logging.getLogger(__name__)


class Sender:
    """Serves one credential's lane. One instance a function; `work` may run in several threads at once."""

    def __init__(
        self,
        *,
        stores: LaneStores,
        access: ProviderAccess,
        credential: Credential,
        recovery: Recovery,
        breaker_cache: BreakerCache,
        clock: Clock,
        lease_margin: Seconds,
        pool: Callable[[int], Pool] | None = None,
        links: Links | None = None,
        glance: Callable[[Seconds, Callable[[], Chance]], None] = lambda _every, _chance: None,
    ) -> None:
        self._records = stores.records
        self._ledgers = stores.ledgers
        self._provider = access.provider
        self._credential = credential
        self._leases = LEASES * (credential.workers + credential.express_workers)
        self._recovery = recovery
        self._slot_client = SlotClient(stores.pacer, credential.id, clock, credential.quotas)
        self._admission = Admission(
            credential.id,
            breaker_cache,
            clock,
            self._renewed,
            provider=lambda: self._provider,
            works=self._slot_client.works,
        )
        self._renew = access.renew
        self._clock = clock
        self._lease_margin = lease_margin
        self._call_timeout = access.call_timeout
        self._pool = pool or ThreadPool()
        self._calls = Calls(access.provider, clock, access.call_timeout, self._pool, access.wire, access.messages)
        self._prepare = LatencyEstimate()
        self._rooms = Rooms(stores, credential, self._slot_client, clock)
        self._starter = Starter(
            records=stores.records,
            ledgers=stores.ledgers,
            lanes=stores.lanes,
            credential=credential,
            recovery=recovery,
            clock=clock,
            leases=self._leases,
            lease_margin=lease_margin,
            waits=self._rooms.waits,
        )
        self._links = links
        self._glance = glance
        self._compositions: dict[str, Composition] = {}
        self._check = ClaimCheck(stores, self._admission, credential.id, clock)
        self._call_counters = CallCounters()

    def use(self, provider: Provider) -> None:
        """Call the same service under another key from now on, also in the leases that run."""
        self._provider = provider
        self._calls.use(provider)

    def _renewed(self) -> bool:
        provider = self._renew()
        if provider is not None:
            self.use(provider)
        return provider is not None

    def work(
        self,
        job_id: str,
        number: int,
        *,
        owner: str,
        deadline: Seconds,
        spare: Callable[[], None] = lambda: None,
    ) -> PointerResult:
        """Serve one pointer to the end of its chunk, or of the time.

        Args:
            owner: unique to this lease.
            deadline: Unix seconds when the process is frozen or killed.
            spare: called once nothing but slow answers is waited for, so that another lease may begin beside this one.

        Raises:
            Exception: any fault of a store. The results of calls are written all the same where that can be done; the
                pointer is to be delivered again.
        """
        ledger = self._starter.start(job_id, number, owner=owner, deadline=deadline)
        if isinstance(ledger, PointerResult):
            return ledger
        lease = self._load(ledger)
        if lease is None:
            return PointerResult.NOTHING  # the job's items have reached the end of their retention
        return self._serve(lease, deadline, spare)

    def _serve(self, lease: Lease, deadline: Seconds, spare: Callable[[], None] = lambda: None) -> PointerResult:
        """Serve a lease that was loaded; arguments, result and errors as of `work`."""
        lease_calls = self._calls.lease(self._threads())
        windows = self._windows(lease, lease_calls, lambda: self._keep_lease(lease, deadline))
        try:
            with lease_calls, self._slot_client.place() as place:
                lease.hint = LeaseHint(place, lease.job.id, lease.ledger.chunk, lease.ledger.epoch)
                self._work(lease, windows, deadline)
                self._finish(lease, windows, spare)
        except Exception:  # any fault, raised again once what is known of the lease is written
            self._give_up(lease, windows)
            raise
        return self._conclude(lease)

    def _windows(self, lease: Lease, lease_calls: LeaseCalls, keep: Callable[[], None]) -> WindowCalls:
        return WindowCalls(
            lease,
            lease_calls,
            admission=self._admission,
            slot_client=self._slot_client,
            clock=self._clock,
            call_timeout=self._call_timeout,
            keep=keep,
        )

    def _conclude(self, lease: Lease) -> PointerResult:
        """End a lease whose calls have ended."""
        self._call_counters.include(lease.count)
        self._slot_client.give_back(lease.unused)
        self._release(lease)
        if lease.lost:
            return PointerResult.NOTHING
        if lease.job.state not in ACTIVE:
            self._starter.rest(lease.job.id)
        return PointerResult.SENT

    def _give_up(self, lease: Lease, windows: WindowCalls) -> None:
        """End a lease after a fault, once its calls have ended."""
        windows.drain()
        self._call_counters.include(lease.count)
        self._slot_client.give_back(lease.unused)
        self._salvage(lease)

    def _load(self, ledger: Ledger) -> Lease | None:
        """Read what a lease works on; None if it no longer exists. If that fails nothing was begun; the lease ends."""
        job, number = ledger.job, ledger.chunk
        try:
            kept = self._compositions.get(job)
            loaded = self._records.load(job, number, content=kept is None, lane=self._credential.id)
            return self._lease(ledger, loaded, kept or self._keep(loaded))
        except Exception:  # any fault, raised again
            self._put_back(ledger)
            raise

    def _lease(self, ledger: Ledger, loaded: Loaded | None, composition: Composition | None) -> Lease | None:
        if loaded is None or composition is None:
            return None
        self._admission.see(loaded.breaker)
        lease = Lease(loaded.job, loaded.chunk, composition, ledger, relayed=not self._provider.has_feedback)
        lease.end = ledger.until / 1000 - self._lease_margin
        return lease

    def _put_back(self, ledger: Ledger) -> None:
        """End a lease that could not be loaded."""
        if ledger.having(Cell.QUEUED):  # so that no next pass is begun, which would take the job's route
            self._ledgers.send_cancel(ledger, (), (), self._recovery.passing(()))

    def _salvage(self, lease: Lease) -> None:
        """Write what is known of a lease that a fault ends: what was sent must not become unknown for a fault here.

        The pointer at hand comes again by itself, so that only another lane is sent one.
        """
        try:
            self._note(lease)
        except Exception:  # noqa: BLE001 - the messages that were sent matter more than their detail
            _LOG.warning("detail not written", extra={"job": lease.job.id, "chunk": lease.ledger.chunk})
        released = self._end(lease)
        if released is not None and released.lane != self._credential.id:
            self._recovery.point(lease.job, released)

    def said(self) -> Count:
        """Return what the provider said to the calls of leases that ended since this was last asked."""
        return self._call_counters.take()

    # L2

    def _work(self, lease: Lease, windows: WindowCalls, deadline: Seconds) -> None:
        """Work through windows until the lease should end, or was lost to a takeover."""
        last, began = deadline - MARGIN, self._clock.now()
        while True:
            full = self._pace(lease)
            self._glance(self._every(full), self._chance)
            windows.wait(most=full.room)
            if self._is_full(lease):
                return
            rate = self._within(self._admission.narrow(full))
            wanted = lease.wanted(rate)
            until = min(lease.end, self._latest_start(rate, wanted, began=began, last=last))
            if self._clock.now() + HORIZON > until or self._ends(lease, wanted):
                return  # take no slots that no call would use
            slots = self._reserve(lease, rate, wanted, until)
            if slots.count < wanted.slots:
                if self._refused(lease, slots, rate):
                    return
                continue
            lease.counted(slots, wanted.units)
            woken = self._record(lease, windows, slots.first - self._ahead(rate))
            if not self._may_claim(lease, full):
                return
            rate = self._admission.narrow(full)  # the breaker may have opened or closed since
            count = min(wanted.count, rate.window)
            ended = self._ended(slots, full)
            lease.end = min(deadline, ended - self._call_timeout)
            indices = self._claim(lease, count, expired=ended - self._call_timeout)
            if not indices:
                return
            self._prepare.learn(self._clock.now() - woken)
            self._call(lease, windows, indices, rate, slots, deadline=min(last, ended))
            if self._cut(lease, full):
                return

    def _may_claim(self, lease: Lease, full: Pace) -> bool:
        """Look, with slots at hand, whether the window may be claimed."""
        if self._cut(lease, full):
            return False
        [control] = self._check.read([lease])
        return self._check.passes(lease, control)

    def _finish(self, lease: Lease, windows: WindowCalls, spare: Callable[[], None]) -> None:
        """Wait for the answers that are still to come, and write what they say."""
        windows.rest(self._clock.now() + GRACE, answered=True)
        if windows.unanswered:
            self._note(lease)
            spare()
        windows.finish()
        self._tell(lease)

    def _tell(self, lease: Lease) -> None:
        """Write what answers say."""
        self._note(lease)
        self._suppress(lease)

    def _ended(self, slots: Slots, full: Pace) -> Seconds:
        """Return when all calls of a window have ended, Unix seconds."""
        return slots.at(slots.count) + self._call_timeout + patience(full, self._leases)

    def _keep_lease(self, lease: Lease, deadline: Seconds) -> None:
        """Have a lease that waits for slow answers last on: the claim of a window gives it no time for them (L2.6a)."""
        now = self._clock.now()
        end = min(deadline, now + PATIENCE)
        if now + RENEWAL < lease.end or end <= lease.end or lease.lost:
            return
        self._note(lease)
        lease.end = end
        self._claim(lease, 0, expired=0.0)

    def _latest_start(self, rate: Pace, wanted: WindowPlan, *, began: Seconds, last: Seconds) -> Seconds:
        """Return the latest start of a window that ends by `last`, for a lease that works since `began`."""
        slots = max(rate.window, min(wanted.slots, rate.room))
        latest = last - self._call_timeout - max(slots - 1, wanted.lull) * rate.spacing
        return min(latest, began + OWN_LEASE) if rate.period else latest  # most of it would be waiting for its turns

    def _cut(self, lease: Lease, rate: Pace) -> bool:
        refused = len(lease.requeued)
        return lease.cut_short or refused > rate.window or (refused > 0 and not self._slot_client.refuses_rarely())

    def _ends(self, lease: Lease, wanted: WindowPlan) -> bool:
        """Check whether a lease has nothing more to send, or must not."""
        return lease.lost or not wanted.count or lease.job.state not in ACTIVE or self._leaves(lease)

    def _reserve(self, lease: Lease, rate: Pace, wanted: WindowPlan, until: Seconds) -> Slots:
        """Reserve the slots of a window."""
        return self._slot_client.reserve(
            wanted.slots,
            rate,
            ahead=self._ahead(rate),
            until=until,
            job=lease.job.id,
            hint=lease.hint,
            units=wanted.units,
            least=wanted.least,
            unused=lease.unused,
        )

    def _is_full(self, lease: Lease) -> bool:
        """Check whether the lane's quota is used up, as far as is known: a lease then takes no slots."""
        lease.full_until = int(self._slot_client.full_until * 1000)
        return lease.full_until > 0

    def _within(self, rate: Pace) -> Pace:
        """Return the pace of a window that takes no more units than are left of the lane's quotas."""
        most = self._slot_client.most
        return rate if most is None else replace(rate, window=min(rate.window, most), room=min(rate.room, most))

    def _ahead(self, rate: Pace) -> Seconds:
        """Return how long before its first slot a window is claimed."""
        return self._prepare.seconds if rate.burns else 0.0

    def _record(self, lease: Lease, windows: WindowCalls, until: Seconds) -> Seconds:
        """Wait for a moment and write what answers say, as soon as all are there; returns when the claim began."""
        windows.rest(until, answered=True)
        answered = self._clock.now()
        self._tell(lease)
        windows.rest(until)
        return max(answered, until)

    def _claim(self, lease: Lease, most: int, *, expired: Seconds) -> Sequence[int]:
        """Merge the results at hand and claim up to `most` recipients; none if the lease was lost."""
        claimed = self._ledgers.claim(
            lease.ledger,
            lease.results,
            most,
            route=lease.job.route,
            suppressed=lease.suppressed,
            expired=lease.expired(expired),
            until=int((lease.end + self._lease_margin) * 1000),
        )
        if claimed is None:
            lease.lost = True
            return ()
        new, indices = claimed
        lease.merged(new)
        return indices

    def _begin(self, lease: Lease, most: int, *, expired: Seconds) -> Sequence[int] | None:
        """Take the lease of a small job by the claim of up to `most` recipients; None if others were faster."""
        read = lease.unbegun
        if read is None:
            return self._claim(lease, most, expired=expired)
        claimed, indices = rules.claim(
            lease.ledger,
            (),
            most,
            route=lease.job.route,
            at_lane=lease.ledger.lane,
            suppressed=lease.suppressed,
            expired=lease.expired(expired),
            until=int((lease.end + self._lease_margin) * 1000),
        )
        begun = self._records.begin(read, replace(claimed, version=read.version + 1), lease.job)
        if begun is None:
            return None
        lease.job, ledger = begun
        lease.unbegun = None
        lease.merged(ledger)
        return indices

    def _parcels(self, lease: Lease, indices: Sequence[int], rate: Pace) -> list[ProviderCall]:
        """Return the provider calls of a claimed window."""
        try:
            return lease.parcels(indices, rate, self._calls.per_call_of)
        except Exception:  # any fault, raised again
            lease.requeued.extend(indices)  # none was begun
            raise

    def _call(
        self, lease: Lease, windows: WindowCalls, indices: Sequence[int], rate: Pace, slots: Slots, *, deadline: Seconds
    ) -> None:
        """Make the provider calls of a claimed window."""
        parcels = self._parcels(lease, indices, rate)
        try:
            windows.call(parcels, slots, rate, deadline=deadline)
        finally:
            self._admission.hand_on(lease.ledger.owner)

    def _note(self, lease: Lease) -> None:
        """Put the detail of the results that are not merged yet: it comes before the compare-and-swap that does it."""
        if len(lease.results) > lease.noted:
            self._records.put_detail(lease.detail(self._credential.id, self._clock.now()))
            lease.noted = len(lease.results)

    def _leaves(self, lease: Lease) -> bool:
        lease.leave = self._admission.bars(lease.ledger.owner)
        return lease.leave

    def _refused(self, lease: Lease, slots: Slots, rate: Pace) -> bool:
        """Take in why there are no slots; False if they can be had at once, at the rate that is set now."""
        if slots.switches is not None:
            lease.paused = slots.switches.paused
            return lease.paused
        if slots.room is not UNBOUNDED and not slots.count:
            return self._is_full(lease)  # else less than that is left: a smaller window is asked for
        lease.held = self._slot_client.held_until > self._clock.now()
        wait = 0.0 if lease.held else lease.spread(rate)
        lease.throttled_until = max(lease.throttled_until, int((slots.first - HORIZON + wait) * 1000))
        return True  # a worker with more time left gets them

    def _chance(self) -> Chance:
        """Return the chance of another try soon; a process that is young goes by what others saw."""
        others = self._admission.closed and self._slot_client.works()
        return Chance.GOOD if others else self._admission.chance()

    def _suppress(self, lease: Lease) -> None:
        """Suppress recipients that told the provider to send no more. After a crash, the next call shows it again."""
        now = int(self._clock.now() * 1000)
        for index in lease.unwanted:
            if not lease.job.test:
                key = lease.chunk.recipients[index].key
                reason = ProviderEventKind.COMPLAINED.value
                self._records.suppress(lease.job.account, key, reason, now, job=lease.job.id, channel=lease.job.channel)
        lease.unwanted.clear()

    def _every(self, rate: Pace) -> Seconds:
        """Return how often a worker looks for dead ones: all of a lane look as often as those of a lane of few."""
        return max(GLANCE, GLANCE_SLOTS * rate.spacing) * max(1, self._leases / FEW_LEASES)

    def _pace(self, lease: Lease) -> Pace:
        """Return the pace of the lease's calls.

        Those of one recipient each keep the room that others' calls of many need: workers share the slots.
        """
        c, provider, composition = self._credential, self._provider, lease.composition
        most, per_call = provider.per_call, c.per_call if composition.together else 1
        if composition.shared is not None:
            most = self._calls.per_call_of(composition.content)
        known = self._slot_client.switches
        found = pace(
            c.rate,
            most,
            per_call,
            lease.job.rate,
            leases=self._leases,
            present=known.rate,
            lowered=known.lowered,
            now=self._clock.now(),
        )
        return found if lease.job.express else replace(found, yields=True)

    def _threads(self) -> int:
        """Return the most calls under way at any set rate: a window of one recipient each, and slow ones."""
        most = pace(self._credential.rate, 1)
        return most.window + most.room

    def _keep(self, loaded: Loaded | None) -> Composition | None:
        """Return the content that was read, compiled and kept for the other chunks of the job."""
        if loaded is None or loaded.content is None:
            return None
        if len(self._compositions) >= KEPT_CONTENTS:
            self._compositions.pop(next(iter(self._compositions)), None)
        made = self._compositions[loaded.job.id] = Composition(loaded.job, loaded.content, self._links)
        return made

    # L4

    def _release(self, lease: Lease) -> None:
        released = self._end(lease)
        if released is not None and not lease.paused and not self._rooms.stays(lease, released):
            self._recovery.point(lease.job, released)

    def _passing(self, lease: Lease) -> PassContext:
        return self._recovery.passing(
            lease.job.route,
            throttled_until=lease.throttled_until,
            leave=lease.leave,
            throttled=(lease.count.only_throttled and not lease.full_until) or (lease.held and not lease.count.slots),
            full=self._rooms.full(lease),
            per_call=lease.per_call,
            chance=Chance.POOR if lease.refused else self._chance(),
            mailed=mailed(lease.job, lease.ledger),
        )

    def _end(self, lease: Lease) -> Ledger | None:
        """End a lease with the last results; returns the ledger, None if the lease was lost."""
        passing = self._passing(lease)
        if not lease.requeued and not lease.ledger.having(Cell.QUEUED):
            return self._ledgers.send_done(lease.ledger, lease.results, passing)
        return self._ledgers.send_cancel(lease.ledger, lease.results, lease.requeued, passing)

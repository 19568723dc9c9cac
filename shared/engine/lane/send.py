"""The sender: leases a chunk, and window by window claims recipients and calls the provider (L1 to L4).

One lease works in one thread, at most one window of it in flight; its provider calls, side by side (`calls`), have all
ended before anything else is written. The crash of a worker leaves at most that window claimed without results.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.contracts import Credential
from shared.domain.jobs.feedback import WordKind
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import ACTIVE, Cell, Change, JobState
from shared.domain.lanes.lease_hints import LeaseHint
from shared.domain.lanes.pacing import HORIZON, OWN_WAIT, Pace, Slots, pace
from shared.domain.recipients.suppressions import Reach
from shared.domain.times import Seconds
from shared.engine.lane.access import LaneStores, ProviderAccess
from shared.engine.lane.admission import Admission
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.call_counters import CallCounters, Count
from shared.engine.lane.calls import Calls, LeaseCalls
from shared.engine.lane.compose import Composition
from shared.engine.lane.lease import Lease, Wanted
from shared.engine.lane.recovery import Recovery, mailed
from shared.engine.lane.slots import LatencyEstimate, SlotClient, patience
from shared.engine.lane.start import PointerResult, Starter
from shared.engine.lane.window import Window
from shared.engine.pool import Pool, ThreadPool
from shared.engine.suppression.left_out import DNS_AGAIN_MS, LeavingOut
from shared.ports import Clock, DnsUnanswered, Links, Loaded, Provider

MARGIN: Final = 3.0
"""Seconds kept for the writes after the last call."""
LATEST: Final = 0.3
"""Share of the latest window in what is known of how long answers take."""
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
    ) -> None:
        self._records = stores.records
        self._ledgers = stores.ledgers
        self._provider = access.provider
        self._credential = credential
        self._leases = LEASES * (credential.workers + credential.express_workers)
        self._recovery = recovery
        self._admission = Admission(credential.id, breaker_cache, clock, self._renewed, lambda: self._provider)
        self._renew = access.renew
        self._clock = clock
        self._lease_margin = lease_margin
        self._call_timeout = access.call_timeout
        self._calls = Calls(
            access.provider, clock, access.call_timeout, pool or ThreadPool(), access.wire, access.messages
        )
        self._slot_client = SlotClient(stores.pacer, credential.id, clock)
        self._prepare = LatencyEstimate()
        self._starter = Starter(
            records=stores.records,
            ledgers=stores.ledgers,
            lanes=stores.lanes,
            credential=credential,
            recovery=recovery,
            clock=clock,
            leases=self._leases,
            lease_margin=lease_margin,
        )
        self._lag = 0.0
        """Seconds that answers take at the end of a window, of late. Threads may write at once; the last word wins."""
        self._links = links
        self._compositions: dict[str, Composition] = {}
        self._leaving_out = LeavingOut(stores.records, stores.standings, clock)
        self._call_counters = CallCounters()

    def use(self, provider: Provider) -> None:
        """Call the same service under another key from now on, in the leases that run, too."""
        self._provider = provider
        self._calls.use(provider)

    def _renewed(self) -> bool:
        provider = self._renew()
        if provider is not None:
            self.use(provider)
        return provider is not None

    def work(self, job_id: str, number: int, *, owner: str, deadline: Seconds) -> PointerResult:
        """Serve one pointer to the end of its chunk, or of the time.

        Args:
            job_id: the job.
            number: the chunk.
            owner: unique to this lease.
            deadline: Unix seconds when the process is frozen or killed.

        Raises:
            Exception: any fault of a store. What is known of calls is written all the same where that can be; the
                pointer is to be delivered again.
        """
        ledger = self._starter.start(job_id, number, owner=owner, deadline=deadline)
        if isinstance(ledger, PointerResult):
            return ledger
        lease = self._load(ledger)
        if lease is None:
            return PointerResult.NOTHING  # the job's items have reached the end of their retention
        lease.end = ledger.until / 1000 - self._lease_margin
        try:
            with self._calls.lease(self._threads()) as lease_calls, self._slot_client.place() as place:
                lease.hint = LeaseHint(place, job_id, number, ledger.epoch)
                if not self._windows(lease, lease_calls, deadline):
                    return PointerResult.NOTHING
        except Exception:  # any fault, raised again once what is known of the lease is written
            self._salvage(lease)
            raise
        finally:
            self._call_counters.include(lease.count)
        self._release(lease)
        if lease.job.state not in ACTIVE:
            self._starter.rest(job_id)
        return PointerResult.SENT

    def _load(self, ledger: Ledger) -> Lease | None:
        """Read what a lease works on; None if it has gone. If that fails nothing was begun, and the lease is ended."""
        job, number = ledger.job, ledger.chunk
        try:
            kept = self._compositions.get(job)
            loaded = self._records.load(job, number, content=kept is None, lane=self._credential.id)
            composition = kept or self._keep(loaded)
        except Exception:  # any fault, raised again
            if ledger.having(Cell.QUEUED):  # so that no next pass is begun, which would take the job's route
                self._ledgers.send_cancel(ledger, (), (), self._recovery.passing(()))
            raise
        if loaded is None or composition is None:
            return None
        self._admission.see(loaded.breaker)
        return Lease(loaded.job, loaded.chunk, composition, ledger, relayed=not self._provider.has_feedback)

    def _salvage(self, lease: Lease) -> None:
        """Write what is known of a lease that a fault ends: what was sent must not become unknown for a fault here.

        The pointer at hand comes again by itself, so that only another lane is sent one.
        """
        try:
            self._note(lease)
        except Exception:  # noqa: BLE001 - what was sent counts for more than its detail
            _LOG.warning("detail not written", extra={"job": lease.job.id, "chunk": lease.ledger.chunk})
        released = self._end(lease)
        if released is not None and released.lane != self._credential.id:
            self._recovery.point(lease.job, released)

    def said(self) -> Count:
        """Return what the provider said to the calls of leases that ended since this was last asked."""
        return self._call_counters.take()

    # L2

    def _windows(self, lease: Lease, lease_calls: LeaseCalls, deadline: Seconds) -> bool:
        """Work through windows until the lease should end; False if it was lost to a takeover."""
        last, began = deadline - MARGIN, self._clock.now()
        while True:
            full = self._pace(lease).widened(self._lag, LEASES * self._credential.workers)
            rate = self._admission.narrow(full)
            wanted = lease.wanted(rate)
            until = min(lease.end, self._latest_start(rate, wanted, began=began, last=last))
            if self._clock.now() + HORIZON > until or self._ends(lease, wanted):
                return True  # no slots are taken that nobody would use
            slots = self._reserve(lease, rate, wanted, until)
            if slots.count < wanted.slots:
                if self._refused(lease, slots, rate):
                    return True
                continue
            woken = self._clock.now()
            if not self._may_claim(lease):
                return True
            rate = self._admission.narrow(full)  # the breaker may have opened or closed since
            lease.end = min(deadline, slots.at(slots.count) + self._call_timeout + patience(full, self._leases))
            indices = self._claim(lease, min(wanted.count, rate.window))
            if indices is None:
                return False
            self._prepare.learn(self._clock.now() - woken)
            self._call(lease, lease_calls, indices, rate, slots, deadline=min(last, lease.end))
            self._note(lease)
            self._suppress(lease)
            if lease.requeued or not indices:
                return True

    def _latest_start(self, rate: Pace, wanted: Wanted, *, began: Seconds, last: Seconds) -> Seconds:
        """Return the latest start of a window that ends by `last`, for a lease that works since `began`."""
        slots = max(rate.window, min(wanted.slots, rate.room))
        latest = last - self._call_timeout - max(slots - 1, wanted.lull) * rate.spacing
        return min(latest, began + OWN_LEASE) if rate.period else latest  # most of it would be waiting for its turns

    def _ends(self, lease: Lease, wanted: Wanted) -> bool:
        """Check whether a lease has nothing more to send, or must not."""
        return not wanted.count or lease.job.state not in ACTIVE or self._leaves(lease)

    def _reserve(self, lease: Lease, rate: Pace, wanted: Wanted, until: Seconds) -> Slots:
        """Reserve the slots of a window; if there are enough, sleep until just before the first one."""
        ahead = self._prepare.seconds if rate.burns else 0.0
        slots = self._slot_client.reserve(
            wanted.slots, rate, ahead=ahead, until=until, job=lease.job.id, hint=lease.hint
        )
        if slots.count >= wanted.slots:
            self._clock.sleep(slots.first - ahead - self._clock.now())
        return slots

    def _claim(self, lease: Lease, most: int) -> Sequence[int] | None:
        """Merge the last window's results and claim up to `most` recipients; None if the lease was lost."""
        claimed = self._ledgers.claim(
            lease.ledger,
            lease.results,
            most,
            route=lease.job.route,
            suppressed=lease.suppressed,
            expired=lease.expired(lease.end - self._call_timeout),
            until=int((lease.end + self._lease_margin) * 1000),
        )
        if claimed is None:
            return None
        new, indices = claimed
        lease.merged(new)
        return indices

    def _call(
        self,
        lease: Lease,
        lease_calls: LeaseCalls,
        indices: Sequence[int],
        rate: Pace,
        slots: Slots,
        *,
        deadline: Seconds,
    ) -> None:
        """Make the provider calls of a claimed window."""
        try:
            parcels = lease.parcels(indices, rate, self._calls.per_call_of)
        except Exception:  # any fault, raised again
            lease.requeued.extend(indices)  # none was begun
            raise
        window = Window(
            lease,
            lease_calls,
            rate,
            admission=self._admission,
            slot_client=self._slot_client,
            clock=self._clock,
            deadline=deadline,
            call_timeout=self._call_timeout,
        )
        try:
            window.call(parcels, slots)
        finally:
            self._admission.hand_on(lease.ledger.owner)
        self._lag += LATEST * (window.lag - self._lag)

    def _note(self, lease: Lease) -> None:
        """Put the last window's detail, once: it comes before the compare-and-swap that merges its results."""
        if lease.results and not lease.noted:
            self._records.put_detail(lease.detail(self._credential.id, self._clock.now()))
            lease.noted = True

    def _leaves(self, lease: Lease) -> bool:
        lease.leave = self._admission.bars(lease.ledger.owner)
        return lease.leave

    def _refused(self, lease: Lease, slots: Slots, rate: Pace) -> bool:
        """Take in why there are no slots; False if they can be had at once, at the rate that is set now."""
        if slots.switches is not None:
            lease.paused = slots.switches.paused
            return lease.paused
        lease.held = self._slot_client.held_until > self._clock.now()
        wait = 0.0 if lease.held else lease.spread(rate)
        lease.throttled_until = max(lease.throttled_until, int((slots.first - HORIZON + wait) * 1000))
        return True  # whoever has more time left gets them

    def _may_claim(self, lease: Lease) -> bool:
        """Read the job and the controls after the lease was taken; an ENQUEUED job becomes SENDING by that read."""
        held = lease.job
        control = self._records.control(held.id, held.account, test=held.test, lane=self._credential.id)
        job = control.job
        if job is None:
            return False
        lease.job = job
        lease.paused = control.paused
        if job.state not in ACTIVE or control.paused:
            return False
        if job.state is JobState.ENQUEUED:
            changed = self._records.change(job, Change.START, int(self._clock.now() * 1000))
            if changed.job is None or changed.job.state is not JobState.SENDING:
                return False
            lease.job = changed.job
        if not self._leave_out(lease, job, control.suppressed_at):
            return False
        self._admission.see(control.breaker)
        lease.leave = not self._admission.admit(lease.ledger.owner)
        return not lease.leave

    def _leave_out(self, lease: Lease, job: Job, latest: Mapping[Reach, int]) -> bool:
        """See who is not to be sent to by now; False if that is not known, and the lease puts its recipients off."""
        now = self._clock.now()
        if lease.looks(latest, now):
            content = lease.composition.content
            try:
                left_out = self._leaving_out.among(job, lease.chunk, lease.ledger, content, latest)
            except DnsUnanswered:
                lease.throttled_until = int(now * 1000) + DNS_AGAIN_MS
                return False
            lease.saw(left_out, latest, now)
        return True

    def _suppress(self, lease: Lease) -> None:
        """Suppress who told the provider to send no more. What is lost by a crash the next message to them brings."""
        now = int(self._clock.now() * 1000)
        for index in lease.unwanted:
            if not lease.job.test:
                key = lease.chunk.recipients[index].key
                reason = WordKind.COMPLAINED.value
                self._records.suppress(lease.job.account, key, reason, now, job=lease.job.id, channel=lease.job.channel)
        lease.unwanted.clear()

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
        """Return the most calls that a window may hold: of one recipient each, at whatever rate is set meanwhile."""
        return pace(self._credential.rate, 1).window

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
        if released is not None and not lease.paused:
            self._recovery.point(lease.job, released)

    def _end(self, lease: Lease) -> Ledger | None:
        """End a lease with the last results; returns the ledger, None if the lease was lost."""
        passing = self._recovery.passing(
            lease.job.route,
            throttled_until=lease.throttled_until,
            leave=lease.leave,
            throttled=lease.count.only_throttled or (lease.held and not lease.count.slots),
            per_call=lease.per_call,
            soon=self._admission.works() and not lease.refused,
            mailed=mailed(lease.job, lease.ledger),
        )
        if not lease.requeued and not lease.ledger.having(Cell.QUEUED):
            return self._ledgers.send_done(lease.ledger, lease.results, passing)
        return self._ledgers.send_cancel(lease.ledger, lease.results, lease.requeued, passing)

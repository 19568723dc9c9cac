"""The reads before each claim: the job, the switches, the breaker, and recipients that must get no more (L2)."""

from collections.abc import Mapping, Sequence

from shared.domain.hooks.endpoint import UNHEARD_S
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import ACTIVE, Change, JobState
from shared.domain.recipients.suppressions import Reach
from shared.engine.lane.access import LaneStores
from shared.engine.lane.admission import Admission
from shared.engine.lane.lease import Lease
from shared.engine.suppression.left_out import DNS_AGAIN_MS, LeavingOut
from shared.ports import Clock, Control, DnsUnanswered


class ClaimCheck:
    """Decides whether a lease of one lane may claim; safe for threads."""

    def __init__(self, stores: LaneStores, admission: Admission, lane: str, clock: Clock) -> None:
        self._records = stores.records
        self._leaving_out = LeavingOut(stores.records, stores.standings, clock)
        self._admission = admission
        self._lane = lane
        self._clock = clock

    def read(self, leases: Sequence[Lease]) -> list[Control]:
        """Read the jobs and the controls of leases after they were taken."""
        return self._records.controls([lease.job for lease in leases], lane=self._lane)

    def passes(self, lease: Lease, control: Control) -> bool:
        """Judge by what was read; an ENQUEUED job becomes SENDING by that read, or with its lease."""
        job = control.job
        if job is None:
            return False
        lease.job = job
        lease.paused = control.paused
        lease.unheard_until = 0.0 if control.heard else self._clock.now() + UNHEARD_S
        if job.state not in ACTIVE or control.paused:
            return False
        if job.state is JobState.ENQUEUED and lease.unbegun is None:
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
        """Read which recipients must get no more; False if that is not known, and the lease puts its recipients off."""
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

"""The checks of a lane: before each claim (L2), and while its quota is used up (Q.10, Q.11).

Before a claim these are the job, the switches, the breaker, whether its hours are open, and recipients that must get no
more. Source: docs/adr/0227.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from shared.contracts import Credential
from shared.domain.hooks.endpoint import UNHEARD_S
from shared.domain.hours.hours import ANYWHERE
from shared.domain.hours.openings import Opening, closing, opening
from shared.domain.hours.openings import quiet as outside
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.passes import FullLane
from shared.domain.jobs.states import ACTIVE, Change, JobState
from shared.domain.lanes.quotas import Spend
from shared.domain.recipients.suppressions import Reach
from shared.domain.times import DAY_MS, Millis, Seconds
from shared.engine.lane.access import LaneStores
from shared.engine.lane.admission import Admission
from shared.engine.lane.lease import Lease
from shared.engine.lane.slots import SlotClient
from shared.engine.suppression.left_out import DNS_AGAIN_MS, LeavingOut
from shared.ports import Clock, Control, DnsUnanswered

NEVER: Final[Millis] = 2**53
"""Later than any moment: what never closes."""
KNOWN: Final = 5.0
"""Seconds for which a process remembers what another credential has left."""
KEPT_JOBS: Final = 1000
"""Jobs kept in memory that wait for a quota."""


class ClaimCheck:
    """Decides whether a lease of one lane may claim; safe for threads."""

    def __init__(self, stores: LaneStores, admission: Admission, lane: str, clock: Clock) -> None:
        self._records = stores.records
        self._leaving_out = LeavingOut(stores.records, stores.standings, clock)
        self._admission = admission
        self._lane = lane
        self._clock = clock

    def read(self, leases: Sequence[Lease]) -> list[Control]:
        """Read the jobs and the controls of leases after they were taken.

        A job that its first claim is to begin is not read again: that write has its state as its condition.
        """
        unbegun = [lease.job.id for lease in leases if lease.unbegun is not None]
        return self._records.controls([lease.job for lease in leases], lane=self._lane, as_read=unbegun)

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
        if not self._is_open(lease, job, control) or not self._begun(lease, job):
            return False
        if not self._leave_out(lease, job, control.suppressed_at):
            return False
        self._admission.see(control.breaker)
        lease.leave = not self._admission.admit(lease.ledger.owner)
        return not lease.leave

    def _is_open(self, lease: Lease, job: Job, control: Control) -> bool:
        """Tell whether its hours let a chunk be sent now. Else the job waits for them, or only the chunk for its own.

        A job of which no chunk may be sent becomes READY, and is planned when the first may.
        """
        now = int(self._clock.now() * 1000)
        quiet = control.quiet
        at = wait_of(lease, job, quiet, now)
        if at <= now:
            return True
        first = opens(job, quiet, now)
        if first > now:
            lease.paused = True
            lease.job = self._records.change(job, Change.CLOSE, first).job or job
        else:
            lease.throttled_until = at
        return False

    def _begun(self, lease: Lease, job: Job) -> bool:
        """Tell whether a job is SENDING, by this read or now, or is to be with its lease."""
        if job.state is JobState.ENQUEUED and lease.unbegun is None:
            changed = self._records.change(job, Change.START, int(self._clock.now() * 1000))
            if changed.job is None or changed.job.state is not JobState.SENDING:
                return False
            lease.job = changed.job
        return True

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


def openings(job: Job, zone: str, quiet: Mapping[str, str]) -> tuple[Opening, ...]:
    """Return what must be open for a chunk of a job to be sent; empty: it may be at any time.

    Args:
        zone: as of `Chunk.zone`.
        quiet: the account's quiet hours, by channel. They are not for test keys, whose messages reach no person.
    """
    hours = job.hours.of(zone) if job.hours is not None else ()
    text = "" if job.urgent or job.test else quiet.get(job.channel, "")
    return (*hours, outside(text)) if text else hours


def opens(job: Job, quiet: Mapping[str, str], now: Millis) -> Millis:
    """Return when some chunk of a job may next be sent; `now` if one may. `quiet`: as of `openings`."""
    zones = job.hours.zones if job.hours is not None else ()
    if zones == ANYWHERE:
        return now
    first = min(_opening(openings(job, zone, quiet), now) for zone in zones or ("",))
    return min(first, now + DAY_MS) if quiet else first  # operators may change them meanwhile


def wait_of(lease: Lease, job: Job, quiet: Mapping[str, str], now: Millis) -> Millis:
    """Return when a lease's chunk may next be sent, `now` if it may; the lease then knows until when.

    `quiet`: as of `openings`.
    """
    if now < lease.closes and lease.quiet == quiet:
        return now
    of = openings(job, lease.chunk.zone, quiet)
    at = _opening(of, now)
    if at <= now:
        end = closing(of, now) if of else None
        lease.closes, lease.quiet = NEVER if end is None else end, quiet
    return at


def _opening(of: Sequence[Opening], now: Millis) -> Millis:
    return opening(of, now) if of else now


class Rooms:
    """Decides where messages wait while the quota of a lane is used up; safe for threads.

    While messages wait for the quota of the lane, its pointers are acknowledged without a lease, as those of a paused
    one. The sweeper sends them again when the quota has room. Source: docs/protocol.md, "Quotas".
    """

    def __init__(self, stores: LaneStores, credential: Credential, slot_client: SlotClient, clock: Clock) -> None:
        self._pacer = stores.pacer
        self._quotas = stores.quotas
        self._credential = credential
        self._slot_client = slot_client
        self._clock = clock
        self._known: dict[str, tuple[Seconds, Millis]] = {}
        self._waiting: dict[str, None] = {}

    def waits(self, job: str) -> bool:
        """Tell whether a job's pointer needs no lease: its messages wait for the quota."""
        if not self._slot_client.full_until:
            self._waiting.clear()
            return False
        return not self._credential.overflows or job in self._waiting

    def full(self, lease: Lease) -> FullLane | None:
        """Return what a lease that ends does with what is queued; None if the lane is not full."""
        if not lease.full_until:
            return None
        waits = not self._credential.overflows or len(lease.job.route) == 1
        return FullLane(lease.full_until, waits, self._until)

    def stays(self, lease: Lease, released: Ledger) -> bool:
        """Tell whether what is left of a lease waits for a quota: it needs no pointer before there is room."""
        if not lease.full_until:
            return False
        stays = released.lane == self._credential.id or self._until(released.lane) > 0
        if stays:
            self._slot_client.note_full()
            self._note(lease.job)
        return stays

    def _note(self, job: Job) -> None:
        if len(self._waiting) >= KEPT_JOBS:
            self._waiting.pop(next(iter(self._waiting)), None)
        self._waiting[job.id] = None

    def _until(self, credential: str) -> Millis:
        now = self._clock.now()
        at, until = self._known.get(credential, (0.0, 0))
        if now - at >= KNOWN:
            until = self._pacer.room(credential, Spend(self._quotas(credential), 1)).until
            self._known[credential] = now, until
        return until if until > now * 1000 else 0

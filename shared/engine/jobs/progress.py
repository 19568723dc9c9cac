"""A job's progress: its counts, its rate, the reason for which it waits, and the time of its last message."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal, Protocol

from shared.contracts import Settings
from shared.domain.jobs.job import Job, public_counts
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import ACTIVE, JobState
from shared.domain.lanes.estimates import Capacity, finished
from shared.domain.lanes.state import CredentialState
from shared.domain.lanes.switches import AS_DECLARED, Switches
from shared.domain.times import Millis, Seconds
from shared.engine.intake.schedules import waits
from shared.engine.reports.message_log import LiveCounts, MessageLog
from shared.frozen import dataclass
from shared.ports import Clock, Records

WaitingFor = Literal["scheduled", "hours", "paused", "credential", "breaker", "quota", "rate", "retry"]


class CredentialReader(Protocol):
    """Reads the present state of credentials."""

    def read(self, credentials: Sequence[str]) -> Mapping[str, CredentialState]:
        """Return the state of each credential, a moment old."""


@dataclass(frozen=True, slots=True)
class JobSurroundings:
    """The reasons outside a job that keep it from continuing.

    Attributes:
        paused: its account is paused, or everything, or every credential that still has some of its messages to send.
        left_alone: the breakers of its whole route are open.
        held: another campaign holds its credential.
        ahead: seconds of its credential's slots that are reserved already.
        present: what operators have set of its credentials.
        full_until: Unix milliseconds until which every lane is full that has some of its messages; 0: one has room.
        lanes: what its route sends within rates and quotas; empty if that is not known.
    """

    paused: bool = False
    left_alone: bool = False
    held: bool = False
    ahead: Seconds = 0.0
    present: Mapping[str, Switches] = field(default_factory=dict)
    full_until: Millis = 0
    lanes: Sequence[Capacity] = ()


FREE: Final = JobSurroundings()
"""Nothing is known that keeps a job."""


@dataclass(frozen=True, slots=True)
class Headway:
    """How far a job is.

    Attributes:
        live: its counts.
        rate: messages per second that its route allows; None while it allows none.
        eta: Unix milliseconds at which the last message goes out, not before; 0 while none can, or none is left.
        waiting_for: what it waits for.
        until: Unix milliseconds until which it waits, if that is known; else 0.
    """

    live: LiveCounts
    rate: float | None
    eta: Millis
    waiting_for: WaitingFor | None
    until: Millis = 0


def progress(
    job: Job, settings: Settings, now: Millis, live: LiveCounts | None = None, around: JobSurroundings = FREE
) -> Headway:
    """Return how far a job is.

    Args:
        settings: for the rates of its route.
        live: counts computed from the ledgers; those folded into the job otherwise.
    """
    found = live or _folded(job, now)
    rate = _rate(job, settings, around.present)
    waiting = _waiting(job, found.counts["queued"], now, around)
    eta = _eta(job, found.counts, rate, waiting, now, around)
    return Headway(found, rate, eta, waiting, _until(job, waiting, now, around))


class ProgressReader:
    """Reads how far jobs are."""

    def __init__(
        self,
        *,
        records: Records,
        logs: MessageLog,
        credentials: CredentialReader,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._records = records
        self._logs = logs
        self._credentials = credentials
        self._settings = settings
        self._clock = clock

    def read(self, job: Job, *, paused: bool) -> Headway:
        """Return how far a job is by its ledgers; a large one costs no more than a small one."""
        return self.read_all([job], paused=paused)[job.id]

    def read_all(
        self,
        jobs: Sequence[Job],
        *,
        paused: bool,
        each: Callable[[Callable[[Job], Any], Sequence[Job]], Iterable[Any]] = map,
    ) -> dict[str, Headway]:
        """Return the same of several jobs of one account, by id: their credentials are read once.

        Args:
            paused: whether their account or everything is paused.
            each: calls a function for every job, side by side or in turn, and returns the results in order.
        """
        now = int(self._clock.now() * 1000)
        wanted = dict.fromkeys(c for job in jobs if job.state in ACTIVE for c in job.route)
        states = self._credentials.read([*wanted]) if wanted else {}
        found = each(lambda job: (self._logs.counts(job), self._held(job)), jobs)
        out = {}
        for job, (live, held) in zip(jobs, found, strict=True):
            around = JobSurroundings(paused=paused, held=held)
            if job.state in ACTIVE:
                around = self._of_route(job, live, {c: states[c] for c in job.route}, now, paused=paused)
            out[job.id] = progress(job, self._settings, now, live, around)
        return out

    def _held(self, job: Job) -> bool:
        """Tell whether a job that could start waits for its credential, which another campaign holds."""
        if not job.exclusive or job.state is not JobState.READY:
            return False
        return self._records.reserved(job.route[0])[0] not in ("", job.campaign)

    def _of_route(
        self, job: Job, live: LiveCounts, found: Mapping[str, CredentialState], now: Millis, *, paused: bool
    ) -> JobSurroundings:
        """Return what keeps a job that is under way.

        Args:
            found: the states of its route.
        """
        waits = _lanes_left(job, live, found)
        return JobSurroundings(
            paused=paused or (bool(waits) and all(x.switches.paused for x in waits)),
            left_alone=not any(x.breaker.usable(now) for x in found.values()),
            ahead=min(x.ahead for x in found.values()),
            present={c: x.switches for c, x in found.items()},
            full_until=_full_until(waits, now),
            lanes=[self._capacity(c, x) for c, x in found.items() if not x.switches.paused],
        )

    def _capacity(self, credential: str, state: CredentialState) -> Capacity:
        declared = {c.id: c for c in self._settings.credentials}.get(credential)
        if declared is None:
            return Capacity(0.0)
        rate = state.switches.within(declared.rate)
        return Capacity(rate, declared.quotas, state.used, state.full_until / 1000)


def _lanes_left(job: Job, live: LiveCounts, found: Mapping[str, CredentialState]) -> list[CredentialState]:
    """Return the states of the credentials that still have some of a job's messages; all, if that is not known."""
    return [found[c] for c in (live.lanes if live.exact else job.route) if c in found]


def _full_until(lanes: Sequence[CredentialState], now: Millis) -> Millis:
    """Return until when all lanes are full; 0 if one has room."""
    first = min((x.full_until for x in lanes), default=0)
    return first if first > now else 0


def _folded(job: Job, now: Millis) -> LiveCounts:
    """Return the counts that are folded into a job."""
    by = {c: dict(zip(BY_KEYS, job.by[c], strict=True)) for c in job.route}
    return LiveCounts(public_counts(job.counts), by, now, exact=False)


def _eta(
    job: Job,
    counts: Mapping[str, int],
    rate: float | None,
    waiting: WaitingFor | None,
    now: Millis,
    around: JobSurroundings,
) -> Millis:
    """Return when a job's last message goes out; 0 if it does not send, or none are left."""
    left = counts["queued"] + counts["sending"]
    moving = (job.state in ACTIVE or waiting in {"scheduled", "hours"}) and waiting not in {"paused", "breaker"}
    if not left or not rate or not moving:
        return 0
    begin = int(max(now + 1000 * around.ahead, job.not_before))
    needs = round(1000 * left / rate)
    plain = job.hours.after(begin, needs) if job.hours is not None else begin + needs
    if not any(x.quotas or x.full_until * 1000 > begin for x in around.lanes):
        return plain
    return max(plain, int(1000 * finished(left, around.lanes, begin / 1000)))


def _until(job: Job, waiting: WaitingFor | None, now: Millis, around: JobSurroundings) -> Millis:
    """Return until when a job waits for its time, its hours or a quota; 0 if it waits for something else."""
    match waiting:
        case "scheduled":
            return job.not_before
        case "hours":
            return max(job.rests_until if job.closed else 0, job.opens(now))
        case "quota":
            return around.full_until
    return 0


def _rate(job: Job, settings: Settings, present: Mapping[str, Switches]) -> float | None:
    known = {c.id for c in settings.credentials}
    declared = {c: settings.credential(c).rate for c in job.route if c in known or job.test}
    switches = {c: present.get(c, AS_DECLARED) for c in declared}
    total = sum(switches[c].within(rate) for c, rate in declared.items() if not switches[c].paused)
    return min(total, job.rate or total) or None


def _is_closed(job: Job, now: Millis) -> bool:
    """Tell whether a job waits for its hours, or is about to."""
    return (job.closed and waits(job, now)) or (job.state in ACTIVE and job.opens(now) > now)


def _waiting(job: Job, queued: int, now: Millis, around: JobSurroundings) -> WaitingFor | None:
    is_ready, is_active = job.state is JobState.READY, job.state in ACTIVE
    is_behind = is_active and queued > 0
    reasons: tuple[tuple[WaitingFor, bool], ...] = (
        ("scheduled", waits(job, now) and not job.closed),
        ("retry", job.retry is not None),
        ("paused", around.paused and (is_ready or is_active)),
        ("hours", _is_closed(job, now)),
        ("credential", is_ready and around.held),
        ("breaker", is_behind and around.left_alone),
        ("quota", is_behind and around.full_until > now),
        ("rate", is_behind),
    )
    return next((reason for reason, holds in reasons if holds), None)

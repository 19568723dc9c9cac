"""Acceptance: a request becomes chunks, ledgers and a job, all or nothing. Source: docs/protocol.md, "Accept"."""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.contracts import Settings, pointer
from shared.domain.audit import Act, Event, audited
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content
from shared.domain.content.templates import RECIPIENT, Template
from shared.domain.hours.hours import OpenHours, begin_of
from shared.domain.ids import new_id, small_id
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.job import BATCH, DIGEST, EXPRESS, MAIL, NOTICE, Job, Policy, first_credential
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.jobs.states import COUNT_KEYS, JobState
from shared.domain.namespaces import namespace
from shared.domain.recipients.number_zones import NumberZones
from shared.domain.recipients.phones import country_of
from shared.domain.searching.marks import marks_of, marks_to
from shared.domain.spending.limits import Charge, Exceeded
from shared.domain.spending.prices import country_by_number
from shared.domain.times import DAY_MS, KEY_LIFE_MS, Millis, Seconds
from shared.engine.intake.declined import as_value, barred, overspent
from shared.engine.intake.schedules import Schedules
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.spender import Spender
from shared.frozen import dataclass
from shared.ports import Acceptances, Clock, Idempotency, Lanes, Mismatch, Records, Replay, Retriable

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A validated batch.

    Attributes:
        route: credentials, all open to the account.
        ordered: all begins at the first usable one, and the next is for failover; else chunks begin at each in turn.
        recipients: in list order, each normalised address once; `skip` holds the code of those not to be sent to.
        duplicates: how many were left out because an earlier recipient has their address.
        not_before: Unix milliseconds, 0 for now.
        idempotency_key: the client's, or empty.
        fingerprint: hash of the request, for the key.
        by: the actor; the job says who made it.
        kind: of the job; NOTICE: it is a run, so that its ledgers note what its notices were informed of. MAIL: each
            recipient has a chunk and a schedule of its own.
        tries: the campaign that it tries out, for the audit log; empty: the request has no entry.
        hours: when its messages may be sent; None: at any time.
        urgent: the account's quiet hours do not hold it up.
        labels: what its owner calls it.
        template: id of the stored template that its content is of; empty: of none. `template_version`: its
            version.
        due: of a MAIL, when each recipient's first attempt is due, Unix milliseconds; empty: at once.
    """

    account: str
    test: bool
    channel: str
    route: tuple[str, ...]
    content: Content
    recipients: tuple[Recipient, ...]
    duplicates: int
    policy: Policy
    name: str = ""
    not_before: int = 0
    idempotency_key: str = ""
    fingerprint: str = ""
    by: str = ""
    ordered: bool = False
    kind: str = BATCH
    tries: str = ""
    hours: OpenHours | None = None
    urgent: bool = False
    due: tuple[Millis, ...] = ()
    labels: Labels = NO_LABELS
    template: str = ""
    template_version: int = 0


@dataclass(frozen=True, slots=True)
class AcceptedJob:
    """The batch is stored; `answer`: the JSON of the 202's body."""

    job: Job
    answer: str


class Acceptor:
    """Turns requests into jobs."""

    def __init__(
        self,
        *,
        records: Records,
        lanes: Lanes,
        breaker_cache: BreakerCache,
        settings: Settings,
        clock: Clock,
        schedules: Schedules | None = None,
        acceptances: Acceptances | None = None,
        spender: Spender | None = None,
        unlists: Callable[[], bool] = lambda: False,
    ) -> None:
        """Make an acceptor.

        Args:
            breaker_cache: credentials that may be used.
            schedules: None leaves jobs that begin later to the sweeper, and their account's agenda empty.
            acceptances: audit notes of accepted batches; None: no API key's requests are accepted here.
            spender: counts what accounts spend; None: no account has limits.
            unlists: whether small jobs may be left out of the index of open jobs until they have waited.
        """
        self._records = records
        self._lanes = lanes
        self._breaker_cache = breaker_cache
        self._settings = settings
        self._clock = clock
        self._schedules = schedules
        self._acceptances = acceptances
        self._spender = spender
        self._unlists = unlists

    @as_value
    def accept(self, request: BatchRequest) -> AcceptedJob | Replay | Mismatch:
        """Store a batch and send its pointers.

        Concurrency: of two calls with the same idempotency key one wins, and both get its answer.

        Returns:
            The job, or the earlier answer; a refusal by a limit of the account as a value `Declined`.

        Raises:
            ValueError: there is no recipient to send to, or the route is empty.
            Retriable: nothing is accepted; the call may be repeated.
        """
        self._note(request)
        made = self.prepare(request)
        job, chunks, ledgers = made.job, made.chunks, made.ledgers
        answer = _answer(job, request.recipients)
        key = None
        if request.idempotency_key:
            due = max(job.created_at, job.not_before)
            key = Idempotency(request.account, request.idempotency_key, request.fingerprint, answer, due + KEY_LIFE_MS)
        full = self._schedules.admit(job) if self._schedules is not None else None
        if full is not None:
            raise overspent(full)
        charge = self.charge(request)
        if self._schedules is not None:
            self._schedules.announce(job)
        stored = self._records.accept(job, chunks, ledgers, request.content, key, event=_event(job, request))
        if isinstance(stored, Replay | Mismatch):
            self.give_back(charge)
            if self._schedules is not None:
                self._schedules.renounce(job)
            return stored
        self._announce(job, ledgers)
        return AcceptedJob(job, answer)

    def charge(self, request: BatchRequest) -> Charge | None:
        """Count what a request takes of its account's limits; `give_back` takes the result if it is not accepted.

        A fault after this leaves it counted: an account then sends less than it may, never more.

        Raises:
            Decline: a limit would be exceeded.
        """
        if self._spender is None or request.test:
            return None
        countries = None
        if channel_of(request.channel).numbers and self._spender.by_country(request.account, request.channel):
            countries = country_by_number(_by_number(request))
            refused = self._spender.barred(request.account, countries)
            if refused:
                raise barred(refused)
        taken = self._spender.take(request.account, request.channel, weight(request), request.by, countries)
        if isinstance(taken, Exceeded):
            raise overspent(taken)
        return taken

    def barred(self, account: str, numbers: Iterable[str]) -> set[str]:
        """Return those of some numbers (E.164) to whose countries an account does not send."""
        if self._spender is None or not self._spender.barred(account, [""]):
            return set()
        return {number for number in numbers if self._spender.barred(account, [country_of(number)])}

    def give_back(self, charge: Charge | None) -> None:
        """Take back what `charge` has counted."""
        if self._spender is not None:
            self._spender.give_back(charge)

    def _note(self, request: BatchRequest) -> None:
        """Note in the audit log whose batch this is; a test message has an entry of its own."""
        if self._acceptances is not None and request.by and not request.tries:
            whose = namespace(request.account, test=request.test)
            self._acceptances.note(whose, Act.BATCHES_ACCEPTED, request.by, request.by)

    def _announce(self, job: Job, ledgers: Sequence[Ledger]) -> None:
        """Send the pointers of a job that was accepted, or a hint if it waits for its time."""
        if job.state is JobState.ENQUEUED:
            try:
                send_pointers(self._lanes, job, ledgers)
            except Retriable:
                # The job is accepted: an error would make its client send it again. The sweeper sends the pointers.
                _LOG.warning("pointers not sent", extra={"job": job.id})
        elif self._schedules is not None:
            self._schedules.hint(job)

    def prepare(self, request: BatchRequest) -> PreparedJob:
        """Return the job that a request makes, under a new id; nothing is stored.

        Raises:
            ValueError: the route is empty, or a run of notices has several chunks. Or there is no recipient to send to,
                except for a digest, whose job records that.
        """
        parts = self._checked(request)
        now = int(self._clock.now() * 1000)
        request = _zoned(request, parts)
        begin = begin_of(request.hours, max(now, request.not_before))
        counted_later = len(parts) == 1 and begin <= now and _counted_later(request)
        small = counted_later and not self._settings.small_jobs_apart
        job_id = small_id(new_id(now), listed=not self._unlists()) if small else new_id(now)
        ttl = (begin + self._settings.kept_days * DAY_MS) // 1000
        chunks = [Chunk(job_id, i, part, ttl, zone) for i, (part, zone) in enumerate(parts)]
        usable = self._breaker_cache.open_to(request.route)
        begins = usable[:1] if request.ordered else usable
        ledgers = [self._ledger(c, request, first_credential(job_id, c.number, begins), ttl) for c in chunks]
        job = self._job(request, job_id, now, ttl, ledgers)
        job = self._found_by(job, request, itself=counted_later)
        if counted_later:
            ledgers = [replace(x, uncounted=x.folded) for x in ledgers]
        return PreparedJob(job, chunks, ledgers)

    def _found_by(self, job: Job, request: BatchRequest, *, itself: bool) -> Job:
        """Return a job with what searches find it by, if its account keeps pages. `itself`: it has its marks itself."""
        if self._spender is not None and not self._spender.searched(request.account):
            return replace(job, unsearched=True)
        return replace(job, marks=_marks(job, request)) if itself else job

    def _checked(self, request: BatchRequest) -> list[tuple[tuple[Recipient, ...], str]]:
        """Return the recipients of each chunk with their zone. Raises as `prepare`."""
        if not request.route or not _wanted(request):
            raise ValueError("a job needs a route and a recipient that is not skipped")
        parts = list(self._parts(request))
        if request.kind == NOTICE and len(parts) > 1:
            raise ValueError("a run of notices has a single chunk: its notices know their places there")
        return parts

    def _parts(self, request: BatchRequest) -> Iterator[tuple[tuple[Recipient, ...], str]]:
        """Yield the recipients of each chunk with their zone: with hours in their own zones, each chunk has one."""
        if request.hours is None or not request.hours.by_recipient:
            yield from ((part, "") for part in self._split(request))
            return
        zones, by_zone = NumberZones(), dict[str, list[Recipient]]()
        for one in request.recipients:
            by_zone.setdefault("" if one.skip else zones.of(one.key), []).append(one)
        for zone, mine in by_zone.items():
            yield from ((part, zone) for part in self._split(replace(request, recipients=tuple(mine))))

    def _split(self, request: BatchRequest) -> Sequence[tuple[Recipient, ...]]:
        if request.kind == MAIL:
            return [(one,) for one in request.recipients]
        slowest = min(self._settings.credential(c).rate for c in request.route)
        one = request.ordered or request.kind == NOTICE  # a run has a single chunk
        size = chunking.chunk_size(len(request.recipients), 1 if one else len(request.route), slowest)
        return chunking.split(request.recipients, size)

    def _ledger(self, chunk: Chunk, request: BatchRequest, lane: str, ttl: int) -> Ledger:
        made = rules.create(
            job=chunk.job,
            chunk=chunk.number,
            skipped=[i for i, r in enumerate(chunk.recipients) if r.skip],
            size=len(chunk.recipients),
            lane=lane,
            route=request.route,
            limit=request.policy.max_attempts,
            ttl=ttl,
        )
        if request.kind not in (NOTICE, MAIL):
            return made
        limits = [r.not_after for r in chunk.recipients if r.not_after]
        due = request.due[chunk.number] if request.due else 0
        return replace(made, told=bytes(len(made.cells)), not_after=min(limits, default=0), not_before=due)

    def _job(self, request: BatchRequest, job_id: str, now: Millis, ttl: int, ledgers: Sequence[Ledger]) -> Job:
        asked = max(now, request.not_before)
        begin = begin_of(request.hours, asked)
        scheduled = begin > now
        counts = [sum(column) for column in zip(*(rules.histogram(x.cells) for x in ledgers), strict=True)]
        return Job(
            id=job_id,
            account=request.account,
            kind=request.kind,
            channel=request.channel,
            test=request.test,
            route=request.route,
            providers=tuple(self._settings.credential(c).provider for c in request.route),
            total=len(request.recipients),
            chunks=len(ledgers),
            created_at=now,
            ttl=ttl,
            state=JobState.READY if scheduled else JobState.ENQUEUED,
            counts=dict(zip(COUNT_KEYS, counts, strict=True)),
            by={c: (0,) * len(BY_KEYS) for c in request.route},
            policy=request.policy,
            name=request.name,
            sender=request.content.sender.address,
            subject=request.content.subject[:100],
            duplicates=request.duplicates,
            not_before=begin if scheduled else 0,
            rests_until=begin if begin > asked else 0,
            hours=request.hours,
            urgent=request.urgent,
            labels=request.labels,
            template=request.template,
            template_version=request.template_version,
            planned_at=0 if scheduled else now,
            created_by=request.by,
        )


def _zoned(request: BatchRequest, parts: Iterable[tuple[object, str]]) -> BatchRequest:
    """Return a request whose hours know the zones of its chunks. `parts`: each chunk's recipients, and its zone."""
    hours = request.hours
    return replace(request, hours=hours.among(zone for _, zone in parts)) if hours is not None else request


def _counted_later(request: BatchRequest) -> bool:
    """Return whether a job that begins now is counted in the stats by its first fold."""
    return request.kind == BATCH and not request.test and len(request.recipients) <= EXPRESS


def _marks(job: Job, request: BatchRequest) -> bytes:
    """Return what searches find a small job by."""
    return marks_of(job.namespace, job.labels) + marks_to(job.namespace, (r.key for r in request.recipients))


def _wanted(request: BatchRequest) -> bool:
    """Return whether a job is to be made for its recipients: always for a digest, to record those that are skipped."""
    return any(request.kind == DIGEST or not r.skip for r in request.recipients)


def weight(request: BatchRequest) -> int:
    """Return the messages of a request that count: those to be sent with all their copies, of SMS the segments."""
    if channel_of(request.channel).numbers:
        return sum(_by_number(request).values())
    content = request.content
    people = 1 + len(content.beside) + len(content.cc) + len(content.bcc)
    return people * sum(1 for r in request.recipients if not r.skip)


def _by_number(request: BatchRequest) -> dict[str, int]:
    """Return the number of each recipient who is to be sent to → its messages, of SMS the segments."""
    by, content, found = channel_of(request.channel), request.content, Counter[str]()
    each = request.kind == BATCH and content.merge
    template = Template.parse(content.text, by.text_kind) if each else None
    same = 0 if request.kind == NOTICE or each else by.slots(content.text)
    for r in request.recipients:
        if template is not None and not r.skip:
            found[r.key] += by.slots(by.written(template.render({**r.values, RECIPIENT: r.address})))
        elif not r.skip:
            found[r.key] += same or by.slots(r.values.get("text", ""))
    return found


def _event(job: Job, request: BatchRequest) -> Event | None:
    """Return the entry of a test message; None for others: batches are traffic."""
    if not request.tries:
        return None
    return audited(job.namespace, job.created_at, request.tries, Act.CAMPAIGN_TESTED, request.by, {"job": job.id})


def _answer(job: Job, recipients: Sequence[Recipient]) -> str:
    body: Mapping[str, object] = {
        "batch_id": job.id,
        "job_id": job.id,
        "state": job.state.value,
        "recipients": job.total,
        "duplicates": job.duplicates,
        "skipped": sum(1 for r in recipients if r.skip),
    }
    return json.dumps(body, separators=(",", ":"))


def send_pointers(lanes: Lanes, job: Job, ledgers: Sequence[Ledger], *, delay: Seconds = 0) -> int:
    """Send one pointer per idle ledger to its lane and return how many. More pointers change nothing.

    Accounts share a lane's queue fairly, however many jobs each of them has there.

    Args:
        delay: seconds until the pointers are visible, at most 900.
    """
    by_lane: dict[str, list[str]] = {}
    for x in ledgers:
        if x.status is LedgerStatus.IDLE:
            by_lane.setdefault(x.lane, []).append(pointer(job.id, x.chunk))
    for lane, bodies in by_lane.items():
        lanes[lane].send(bodies, delay=delay, group=job.account, express=job.express)
    return sum(len(b) for b in by_lane.values())

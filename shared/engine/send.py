"""The sender: leases a chunk, and window by window claims recipients and calls the provider (L1 to L4).

One lease works in one thread, at most one window of it in flight; its provider calls, side by side (`calls`), have all
ended before anything else is written. The crash of a worker leaves at most that window claimed without results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final

from shared.contracts import Credential, pointer
from shared.domain.backoff import MAX_QUEUE_DELAY
from shared.domain.chunks import Chunk
from shared.domain.content import Content
from shared.domain.details import Detail
from shared.domain.jobs import Job, OnAmbiguous
from shared.domain.ledger import Ledger
from shared.domain.outcomes import SUPPRESSED, Accepted, Entry, Kind, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.domain.pacing import Pace, Slots, pace
from shared.domain.queue import Expired, NotDue
from shared.domain.states import ACTIVE, Cell, Change, JobState
from shared.engine.calls import Calls, Turn
from shared.engine.circuits import Circuits
from shared.engine.gate import FULL, SHUT, Gate
from shared.engine.pool import Crew, Pending, Pool
from shared.engine.recover import Recovery
from shared.engine.suppressed import Suppressed
from shared.engine.targets import target
from shared.ports import Clock, Lanes, LedgerStore, Loaded, Pacer, Provider, Records, Retriable, Sized, Wire

CALL_TIMEOUT: Final = 10.0
"""Seconds that a provider call may take; what is slower than that is `unknown`."""
MARGIN: Final = 3.0
"""Seconds kept for the writes after the last call."""
LEAD: Final = 0.040
"""Seconds that a reservation, and the read and claim after it, are first taken to need."""
MAX_LEAD: Final = 0.5
LEASES: Final = 2
"""Leases that a worker holds at the most: the event source's batch size."""
KEPT_CONTENTS: Final = 8
"""Contents kept in memory: a few jobs share a lane at a time, and a content can be megabytes."""


class _Lead:
    """How long something takes here: quick to grow, slow to shrink, so that slots are seldom missed.

    Threads may learn at once; the last word wins, which is as good as any.
    """

    def __init__(self) -> None:
        self.seconds = LEAD

    def learn(self, took: float) -> None:
        """Take in one more measurement, in seconds."""
        wanted = 1.2 * took + 0.002
        self.seconds = min(MAX_LEAD, max(wanted, 0.9 * self.seconds + 0.1 * wanted))


class Did(Enum):
    """What came of a pointer."""

    SENT = "sent"
    """The lease ended, whatever is left of the chunk."""
    POSTPONED = "postponed"
    NOTHING = "nothing"


@dataclass(slots=True)
class _Lease:
    """A lease in progress: what is known of the chunk and the window that is not merged yet."""

    job: Job
    chunk: Chunk
    content: Content
    ledger: Ledger
    results: list[Entry]
    requeued: list[int]
    throttled_until: int = 0
    paused: bool = False
    leave: bool = False
    """The provider is left alone now: what is queued moves on."""
    suppressed: frozenset[int] | None = None
    """Who was suppressed since acceptance, once it was looked at."""


class Sender:
    """Serves one credential's lane. One instance a function; `work` may run in several threads at once."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerStore,
        pacer: Pacer,
        lanes: Lanes,
        provider: Provider,
        credential: Credential,
        recovery: Recovery,
        circuits: Circuits,
        clock: Clock,
        lease_margin: float,
        call_timeout: float = CALL_TIMEOUT,
        pool: Callable[[int], Pool] | None = None,
        wire: Callable[[], Wire] | None = None,
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._pacer = pacer
        self._lanes = lanes
        self._provider = provider
        self._credential = credential
        self._recovery = recovery
        self._gate = Gate(credential.id, circuits, clock)
        self._clock = clock
        self._lease_margin = lease_margin
        self._call_timeout = call_timeout
        self._calls = Calls(provider, clock, call_timeout, pool or Crew(), wire)
        self._booking = _Lead()
        self._prepare = _Lead()
        self._contents: dict[str, Content] = {}
        self._suppressed = Suppressed(records, clock)

    def work(self, job_id: str, number: int, *, owner: str, deadline: float) -> Did:
        """Serve one pointer to the end of its chunk, or of the time.

        Args:
            job_id: the job.
            number: the chunk.
            owner: unique to this lease.
            deadline: Unix seconds when the process is frozen or killed.

        Raises:
            Retriable: nothing that was sent is lost; the pointer may be delivered again.
        """
        ledger = self._start(job_id, number, owner, deadline)
        if isinstance(ledger, Did):
            return ledger
        kept = self._contents.get(job_id)
        loaded = self._records.load(job_id, number, content=kept is None, lane=self._credential.id)
        content = kept or self._keep(job_id, loaded)
        if loaded is None or content is None:
            return Did.NOTHING  # the job's items have reached the end of their retention
        lease = _Lease(loaded.job, loaded.chunk, content, ledger, [], [])
        self._gate.see(loaded.breaker)
        try:
            with self._calls.lease(self._threads(lease)) as turn:
                if not self._windows(lease, turn, deadline):
                    return Did.NOTHING
        except Retriable:
            self._release(lease)  # what was sent is known here: it must not become unknown for a hiccup of the store
            raise
        self._release(lease)
        return Did.SENT

    # L1

    def _start(self, job: str, number: int, owner: str, deadline: float) -> Ledger | Did:
        for _ in range(2):
            now = self._clock.now()
            got = self._ledgers.send_start(
                job,
                number,
                lane=self._credential.id,
                owner=owner,
                now=int(now * 1000),
                until=int((deadline + self._lease_margin) * 1000),
            )
            if isinstance(got, Ledger):
                return got
            if got is None:
                return Did.NOTHING
            if isinstance(got, NotDue):
                delay = min(max(0.0, got.not_before / 1000 - now), MAX_QUEUE_DELAY)
                self._lanes[self._credential.id].send([pointer(job, number)], delay=delay, group=job)
                return Did.POSTPONED
            self._take_over(got)
        return Did.NOTHING

    def _take_over(self, expired: Expired) -> None:
        job = self._records.job(expired.ledger.job)
        if job is not None:
            self._recovery.take_over(job, expired.ledger)

    # L2

    def _windows(self, lease: _Lease, turn: Turn, deadline: float) -> bool:
        """Work through windows until the lease should end; False if it was lost to a takeover."""
        while True:
            left = len(lease.ledger.having(Cell.QUEUED))
            rate = self._gate.narrow(self._pace(lease))
            if not left or self._clock.now() + self._window_time(rate) > deadline:
                return True
            lease.leave = self._gate.bars(lease.ledger.owner)
            if lease.leave:
                return True
            k = min(left, rate.window)
            ahead = self._prepare.seconds if rate.burns else 0.0
            slots = self._reserve(k, rate, ahead=ahead)
            self._clock.sleep(slots.first - ahead - self._clock.now())
            woken = self._clock.now()
            if not self._may_claim(lease):
                return True
            rate = self._gate.narrow(rate)  # the breaker may have opened or closed since
            k = min(k, rate.window)
            claimed = self._ledgers.claim(
                lease.ledger, lease.results, k, route=lease.job.route, suppressed=lease.suppressed or ()
            )
            lease.results = []
            if claimed is None:
                return False
            self._note_suppressed(lease, claimed[0])
            lease.ledger, indices = claimed
            self._prepare.learn(self._clock.now() - woken)
            self._call_all(lease, indices, slots, rate, turn, deadline)
            self._put_detail(lease)
            if lease.requeued or not indices:
                return True

    def _reserve(self, k: int, rate: Pace, *, ahead: float) -> Slots:
        """Reserve k slots, the first no sooner than `ahead` seconds after the reservation's answer is here."""
        asked = self._clock.now()
        lead = ahead + self._booking.seconds if rate.burns else 0.0
        slots = self._pacer.reserve(self._credential.id, k, rate, lead=lead)
        if slots.first - asked < lead + 0.05:  # it did not wait for a turn
            self._booking.learn(self._clock.now() - asked)
        return slots

    def _may_claim(self, lease: _Lease) -> bool:
        """Read the job and the controls after the lease was taken; an ENQUEUED job becomes SENDING by that read."""
        control = self._records.control(lease.job.id, lease.job.account, lane=self._credential.id)
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
        if lease.suppressed is None:
            waiting = lease.ledger.having(Cell.QUEUED)
            lease.suppressed = self._suppressed.among(job, lease.chunk, waiting, control.suppressed_at)
        self._gate.see(control.breaker)
        lease.leave = not self._gate.admit(lease.ledger.owner)
        return not lease.leave

    def _note_suppressed(self, lease: _Lease, claimed: Ledger) -> None:
        """Have the window's detail say why the claim skipped recipients. A crash before that loses the reason alone."""
        for i in sorted(lease.suppressed or ()):
            before, attempt = lease.ledger.cell(i)
            if before is Cell.QUEUED and claimed.cell(i)[0] is Cell.SKIPPED:
                lease.results.append(Entry(i, attempt, Kind.INVALID, code=SUPPRESSED))

    def _pace(self, lease: _Lease) -> Pace:
        c, provider = self._credential, self._provider
        most = provider.per_call_of(lease.content) if isinstance(provider, Sized) else provider.per_call
        return pace(c.rate, most, c.per_call, lease.job.rate, leases=LEASES * c.workers)

    def _window_time(self, rate: Pace) -> float:
        """Seconds that a window may take: the wait for slots, the window itself, the last call, the writes."""
        return 2.0 + (rate.window - 1) * rate.spacing + self._call_timeout + MARGIN

    def _threads(self, lease: _Lease) -> int:
        rate = self._pace(lease)
        return max(1, -(-rate.window // rate.per_call))

    def _keep(self, job: str, loaded: Loaded | None) -> Content | None:
        """Return the content that was read, kept for the other chunks of the job."""
        if loaded is None or loaded.content is None:
            return None
        if len(self._contents) >= KEPT_CONTENTS:
            self._contents.pop(next(iter(self._contents)), None)
        self._contents[job] = loaded.content
        return loaded.content

    # Calls

    def _call_all(
        self, lease: _Lease, indices: Sequence[int], slots: Slots, rate: Pace, turn: Turn, deadline: float
    ) -> None:
        """Call the provider once for each claimed recipient, each call at its slot; all have ended."""
        waiting = [list(indices[i : i + rate.per_call]) for i in range(0, len(indices), rate.per_call)]
        while True:
            waiting = self._round(lease, waiting, slots, rate.late, turn, deadline)
            if not waiting:
                return
            self._gate.wait(lease.ledger.owner)
            lease.leave = self._gate.shut(lease.ledger.owner)
            if lease.leave or self._clock.now() > deadline - MARGIN - self._call_timeout:
                for group in waiting:
                    lease.requeued.extend(group)
                return
            count = min(sum(len(g) for g in waiting), rate.window)
            try:
                slots = self._reserve(count, rate, ahead=0.001)
            except Retriable:
                lease.requeued.extend(index for group in waiting for index in group)  # none was begun
                raise

    def _round(
        self,
        lease: _Lease,
        groups: Sequence[list[int]],
        slots: Slots,
        late: float,
        turn: Turn,
        deadline: float,
    ) -> list[list[int]]:
        """Start each call at its slot and wait for all; returns the groups whose slot was missed, so burned.

        A slot is burned, too, if the gate is full; once it is shut no call begins.
        """
        futures: list[tuple[list[int], Pending[list[Outcome] | None]]] = []
        missed: list[list[int]] = []
        position = 0
        for n, group in enumerate(groups):
            now = self._clock.now()
            while position < slots.count and slots.at(position) < now - late:
                position += 1
            if position + len(group) > slots.count:
                missed.append(group)
                continue
            at = slots.at(position)
            position += len(group)
            turn.rest(at)
            ticket = self._gate.enter(lease.ledger.owner)
            if ticket == SHUT:
                missed.extend(groups[n:])
                break
            if ticket == FULL:
                missed.append(group)
                continue
            begun = turn.begin(
                lease.content,
                [target(lease.ledger, lease.chunk, i) for i in group],
                latest=at + late,
                deadline=deadline - MARGIN,
                ended=partial(self._gate.leave, ticket, lease.ledger.owner),
            )
            futures.append((group, begun))
        for group, future in futures:
            outcomes = future.result()
            if outcomes is None:
                missed.append(group)
            else:
                for index, outcome in zip(group, outcomes, strict=True):
                    self._settle(lease, index, outcome)
        return missed

    # L3

    def _settle(self, lease: _Lease, index: int, outcome: Outcome) -> None:
        attempt = lease.ledger.cells[index] >> 4
        if isinstance(outcome, Accepted):
            kind = Kind.ACCEPTED if self._provider.has_feedback else Kind.RELAYED
            lease.results.append(Entry(index, attempt, kind, outcome.id))
        elif isinstance(outcome, Rejected):
            kind = Kind.REFUSED if outcome.permanent else Kind.NOT_SENT
            lease.results.append(Entry(index, attempt, kind, "", outcome.code))
        elif isinstance(outcome, Unknown):
            risk = lease.job.policy.on_ambiguous is OnAmbiguous.FAIL_OVER
            lease.results.append(Entry(index, attempt, Kind.RISKED if risk else Kind.UNKNOWN, "", outcome.reason))
        elif isinstance(outcome, Throttled):
            lease.requeued.append(index)
            until = int((self._clock.now() + outcome.retry_after) * 1000)
            lease.throttled_until = max(lease.throttled_until, until)
        elif isinstance(outcome, NotStarted):
            lease.requeued.append(index)

    def _put_detail(self, lease: _Lease) -> None:
        """Record the window. It comes before the compare-and-swap that merges its results."""
        if lease.results:
            self._records.put_detail(
                Detail(
                    job=lease.ledger.job,
                    chunk=lease.ledger.chunk,
                    epoch=lease.ledger.epoch,
                    seq=lease.ledger.seq,
                    at=int(self._clock.now() * 1000),
                    credential=self._credential.id,
                    entries=tuple(lease.results),
                    ttl=lease.ledger.ttl,
                )
            )

    # L4

    def _release(self, lease: _Lease) -> None:
        passing = self._recovery.passing(lease.job.route, throttled_until=lease.throttled_until, leave=lease.leave)
        if not lease.requeued and not lease.ledger.having(Cell.QUEUED):
            released = self._ledgers.send_done(lease.ledger, lease.results, passing)
        else:
            released = self._ledgers.send_cancel(lease.ledger, lease.results, lease.requeued, passing)
        if released is not None and not lease.paused:
            self._recovery.point(lease.job, released)

"""Jobs, chunks, contents and details in memory, and the transactions that tie ledgers and jobs together."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from shared.domain.audit import Event
from shared.domain.campaigns.bounce_guard import singles_of
from shared.domain.content.content import Content
from shared.domain.ids import is_small
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.job import Job, RetryRequest, add_figures, stats_of
from shared.domain.jobs.ledger import BY_KEYS, Ledger, LedgerStatus
from shared.domain.jobs.states import ACTIVE, COUNT_KEYS, TRANSITIONS, Change, JobState, ending, reopened
from shared.domain.lanes.breaker import Breaker
from shared.domain.namespaces import namespace, owner
from shared.domain.times import Millis
from shared.ports import Changed, Control, Idempotency, JobEnd, JobsRead, Loaded, Mismatch, Replay, Stored
from tests.fakes.breakers import FakeBreakers
from tests.fakes.faults import Tap
from tests.fakes.grouped import Grouped
from tests.fakes.journal import FakeJournal
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.open_index import FakeOpenIndex
from tests.fakes.search_pages import FakeSearchPages
from tests.fakes.transitions import allowed, written


class FakeRecords(FakeOpenIndex):
    """`ports.Records` in memory; thread-safe, atomic with the ledgers it is given.

    Attributes:
        stats: (account, day, channel, shard) → amounts.
        paused: accounts that an operator paused; an empty name pauses everything.
        heard: namespaces that have webhooks.
        quiet: account → its quiet hours by channel.
        journal: the events of all accounts.
    """

    def __init__(self, ledgers: FakeLedgers, tap: Tap | None = None, breakers: FakeBreakers | None = None) -> None:
        tap = tap or Tap()
        super().__init__(ledgers.lock, tap)
        self.chunks: dict[tuple[str, int], Chunk] = {}
        self.contents: dict[str, Content] = {}
        self.windows: Grouped[tuple[str, int, int, int], Detail] = Grouped(2)
        self.feedback: Grouped[tuple[str, int, str], FeedbackDetail] = Grouped(2)
        self.keys: dict[tuple[str, str], Idempotency] = {}
        self.stats: dict[tuple[str, str, str, int], Counter[str]] = {}
        self.paused: set[str] = set()
        self.heard: set[str] = set()
        self.quiet: dict[str, dict[str, str]] = {}
        self._makers: dict[tuple[str, str], str] = {}
        self._ledgers = ledgers
        ledgers.left_waiting = self.jobs.enlist
        self._breakers = breakers or FakeBreakers()
        self.journal = FakeJournal(tap)
        self.search_pages = FakeSearchPages(tap)

    # Acceptance

    def accept(
        self,
        job: Job,
        chunks: Sequence[Chunk],
        ledgers: Sequence[Ledger],
        content: Content,
        key: Idempotency | None,
        *,
        event: Event | None = None,
    ) -> Stored | Replay | Mismatch:
        if key is not None:
            made = self._atomic("replay", lambda: self.made_before(key, job.id, job.created_at))
            if made is not None:
                return made

        def parts() -> None:
            self.chunks |= {(job.id, c.number): c for c in chunks}
            self.contents[job.id] = content
            for x in ledgers:
                self._ledgers.store(x)
            self.search_pages.accepted(job, chunks, ledgers)

        def commit() -> Stored | Replay | Mismatch:
            if key is not None:
                made = self.made_before(key, job.id, job.created_at)
                if made is not None:
                    return made
            if job.id in self.jobs:
                return Stored()
            self.add_job(job, counted=not any(x.uncounted for x in ledgers))
            self.keep(key, job.id)
            if event is not None:
                self.journal.keep(event)
            return Stored()

        self._atomic("parts", parts)
        return self._atomic("accept", commit)

    def add_job(self, job: Job, *, counted: bool = True) -> None:
        """Store a new job. `counted`: its messages are in the stats at once."""
        self.jobs[job.id] = job
        if not counted:
            return
        first = [job.counts[k] for k in COUNT_KEYS]
        self._add_stats(job, [*first, *[0] * (len(BY_KEYS) * len(job.route))])

    def keep(self, key: Idempotency | None, owner: str) -> None:
        """Note who used a client's key."""
        if key is not None:
            self.keys[key.account, key.key] = key
            self._makers[key.account, key.key] = owner

    def made_before(self, key: Idempotency | None, owner: str, now: int) -> Replay | Mismatch | Stored | None:
        """Return what came of an earlier use of a key, if it still counts at `now` (Unix ms)."""
        old = self.keys.get((key.account, key.key)) if key else None
        if key is None or old is None or old.expires < now:
            return None
        if self._makers[key.account, key.key] == owner:
            return Stored()
        return Mismatch() if old.fingerprint != key.fingerprint else Replay(old.answer)

    # Reading

    def job(self, job: str) -> Job | None:
        return self._atomic("job", lambda: self.jobs.get(job))

    def read_jobs(self, names: Collection[str]) -> dict[str, Job]:
        return self._atomic("read_jobs", lambda: {x: self.jobs[x] for x in names if x in self.jobs})

    def read_with_ledgers(self, names: Collection[str]) -> JobsRead:
        def found() -> JobsRead:
            jobs = {x: self.jobs[x] for x in names if x in self.jobs}
            small = [x for x in jobs if is_small(x)]
            return JobsRead(jobs, {x: self._ledgers.items[x, 0] for x in small}, dict.fromkeys(small, 100))

        return self._atomic("read_with_ledgers", found)

    def control(self, job: str, account: str, *, test: bool = False, lane: str = "") -> Control:
        return self._atomic("control", lambda: self._control(job, account, lane, test=test))

    def controls(self, jobs: Sequence[Job], *, lane: str = "", as_read: Collection[str] = ()) -> list[Control]:
        def found() -> list[Control]:
            read = [self._control(x.id, x.account, lane, test=x.test) for x in jobs]
            return [replace(c, job=x) if x.id in as_read else c for c, x in zip(read, jobs, strict=True)]

        return self._atomic("control", found)

    def _control(self, job: str, account: str, lane: str, *, test: bool) -> Control:
        paused = bool(self.paused & {"", owner(account)})
        name = namespace(account, test=test)
        latest = dict(self.suppressed_at.get(name, {}))
        quiet = dict(self.quiet.get(owner(account), {}))
        return Control(self.jobs.get(job), paused, self._breaker(lane), latest, quiet, heard=name in self.heard)

    def _breaker(self, lane: str) -> Breaker | None:
        return self._breakers.of(lane) if lane else None

    def chunk(self, job: str, number: int) -> Chunk | None:
        return self._atomic("chunk", lambda: self.chunks.get((job, number)))

    def some_chunks(self, job: str, numbers: Collection[int]) -> dict[int, Chunk]:
        return self._atomic("some_chunks", lambda: {n: self.chunks[job, n] for n in numbers if (job, n) in self.chunks})

    def content(self, job: str) -> Content | None:
        return self._atomic("content", lambda: self.contents.get(job))

    def load(self, job: str, number: int, *, content: bool, lane: str = "") -> Loaded | None:
        return self._atomic("load", lambda: self._loaded(job, number, lane, content=content))

    def load_each(self, places: Sequence[tuple[str, int]], *, lane: str = "") -> list[Loaded | None]:
        return self._atomic("load_each", lambda: [self._loaded(job, n, lane, content=True) for job, n in places])

    def _loaded(self, job: str, number: int, lane: str, *, content: bool) -> Loaded | None:
        if job not in self.jobs or (job, number) not in self.chunks:
            return None
        stored = self.contents.get(job) if content else None
        ledger = self._ledgers.items.get((job, 0)) if is_small(job) else None
        return Loaded(self.jobs[job], self.chunks[job, number], stored, self._breaker(lane), ledger)

    def load_some(self, places: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], tuple[Job, Chunk]]:
        def found() -> dict[tuple[str, int], tuple[Job, Chunk]]:
            there = [x for x in dict.fromkeys(places) if x[0] in self.jobs and x in self.chunks]
            return {x: (self.jobs[x[0]], self.chunks[x]) for x in there}

        return self._atomic("load_some", found)

    def keep_chunk(self, job: str, number: int, until: int) -> None:
        def put() -> None:
            place = (job, number)
            if place in self.chunks:
                self.chunks[place] = replace(self.chunks[place], ttl=until)
            if place in self._ledgers.items:
                self._ledgers.store(replace(self._ledgers.items[place], ttl=until))

        self._atomic("keep_chunk", put)

    def keep_job(self, job: Job, until: int) -> None:
        def put() -> None:
            if job.id in self.jobs:
                stored = self.jobs[job.id]
                self.jobs[job.id] = replace(stored, ttl=until, version=stored.version + 1)
                self.search_pages.keep(stored, until)

        self._atomic("keep_job", put)

    def note_pointed(self, job: str, at: int) -> None:
        def put() -> None:
            if job in self.jobs:
                self.jobs[job] = replace(self.jobs[job], pointed_at=at, version=self.jobs[job].version + 1)

        self._atomic("note_pointed", put)

    # Details

    def put_detail(self, detail: Detail) -> None:
        def put() -> None:
            self.windows[(detail.job, detail.chunk, detail.epoch, detail.seq)] = detail

        self._atomic("put_detail", put)

    def complete_detail(self, known: Detail | None, detail: Detail) -> bool:
        def put() -> bool:
            place = (detail.job, detail.chunk, detail.epoch, detail.seq)
            if self.windows.get(place) != known:
                return False
            self.windows[place] = detail
            return True

        return self._atomic("complete_detail", put)

    def detail(self, job: str, chunk: int, epoch: int, seq: int) -> Detail | None:
        return self._atomic("detail", lambda: self.windows.get((job, chunk, epoch, seq)))

    def put_feedback(self, detail: FeedbackDetail) -> None:
        def put() -> None:
            self.feedback.setdefault((detail.job, detail.chunk, detail.key), detail)

        self._atomic("put_feedback", put)

    def details(self, job: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        def found() -> tuple[list[Detail], list[FeedbackDetail]]:
            windows = [self.windows[k] for k in self.windows.of(job, chunk)]
            return windows, [self.feedback[k] for k in self.feedback.of(job, chunk)]

        return self._atomic("details", found)

    # Transitions

    def change(
        self,
        job: Job,
        change: Change,
        now: int,
        *,
        reason: str = "",
        strict: bool = False,
        event: Event | None = None,
        charge: str = "",
    ) -> Changed:
        def make() -> Changed:
            stored = self.jobs.get(job.id)
            target = TRANSITIONS[change][1]
            if (
                stored is None
                or not allowed(stored, job, change, now, reason)
                or (strict and stored.version != job.version)
            ):
                return Changed(won=False, job=stored)
            held_by = self.holders.change(stored, change)
            if held_by:
                return Changed(won=False, job=stored, held_by=held_by)
            more = written(job, change, now, reason, event.actor if event and event.actor else stored.resumed_by)
            held = charge or stored.charge if change is not Change.LOG else ""
            new = replace(stored, state=target, version=stored.version + 1, charge=held, **more)
            self.jobs[job.id] = new
            if event is not None:
                self.journal.keep(event)
            if change is Change.LOG:
                self._finished(new, job.counts["unknown"])
            return Changed(won=True, job=new)

        return self._atomic(f"change.{change.value}", make)

    def override_guard(self, job: str, event: Event | None = None) -> None:
        def put() -> None:
            if job in self.jobs:
                self.jobs[job] = replace(self.jobs[job], guard_off=True, version=self.jobs[job].version + 1)
                if event is not None:
                    self.journal.keep(event)

        self._atomic("override_guard", put)

    def reschedule(self, job: Job, moved: Job, *, event: Event) -> Changed:
        def make() -> Changed:
            stored = self.jobs.get(job.id)
            if stored is None or stored.state is not JobState.READY:
                return Changed(won=False, job=stored)
            if (stored.not_before, stored.planned_at) != (job.not_before, job.planned_at):
                return Changed(won=False, job=stored)
            self.jobs[job.id] = replace(
                stored,
                not_before=moved.not_before,
                rests_until=moved.rests_until,
                resumed_by=event.actor,
                version=stored.version + 1,
            )
            self.journal.keep(event)
            return Changed(won=True, job=self.jobs[job.id])

        return self._atomic("reschedule", make)

    def set_retry(self, job: Job, request: RetryRequest | None, *, event: Event | None = None) -> Changed:
        def make() -> Changed:
            stored = self.jobs.get(job.id)
            if stored is None or stored.state is not JobState.LOGGED or stored.retry != job.retry:
                mine = stored is not None and stored.state is JobState.LOGGED and stored.retry == request
                return Changed(won=mine, job=stored)
            by = event.actor if event and request else stored.resumed_by
            self.jobs[job.id] = replace(stored, retry=request, resumed_by=by, version=stored.version + 1)
            if event is not None:
                self.journal.keep(event)
            return Changed(won=True, job=self.jobs[job.id])

        return self._atomic("set_retry", make)

    def fold(self, ledger: Ledger, job: Job, *, finish: int | None = None) -> tuple[Ledger, Job | None] | None:
        if rules.fold(ledger) is None:
            return None

        def make() -> tuple[Ledger, Job | None] | None:
            self.search_pages.folded([job] if ledger.uncounted else [])
            return self._fold(ledger, job, finish)

        return self._atomic("fold", make)

    def _fold(self, ledger: Ledger, job: Job, finish: int | None) -> tuple[Ledger, Job | None] | None:
        folded = rules.fold(ledger)
        stored = self._ledgers.items.get((ledger.job, ledger.chunk))
        current = self.jobs.get(job.id)
        if folded is None or stored is None or stored.version != ledger.version or current is None:
            return None
        new, delta = folded
        sources, target = ending(exclusive=current.exclusive)
        if finish is not None and (current.version != job.version or current.state not in sources):
            return None
        counts, by = add_figures(current.counts, current.by, current.route, delta)
        after = replace(current, counts=counts, by=by, version=current.version + 1)
        if finish is not None:
            at = finish if target is JobState.LOGGED else after.finished_at
            after = replace(after, state=target, finished_at=at)
        self.jobs[job.id] = after
        if after.state is JobState.LOGGED and current.state is not JobState.LOGGED:
            self._finished(after, after.counts["unknown"])
        self._ledgers.store(new)
        self._add_stats(job, rules.for_stats(ledger, delta))
        return new, after if finish is not None else None

    def fold_jobs(
        self, ledgers: Sequence[tuple[Ledger, Job]], finish: Millis
    ) -> Mapping[str, tuple[Ledger, Job | None]]:
        def make() -> Mapping[str, tuple[Ledger, Job | None]]:
            self.search_pages.folded(job for x, job in ledgers if x.uncounted)
            done = {job.id: self._fold(x, job, finish if _ends(x, job) else None) for x, job in ledgers}
            return {name: made for name, made in done.items() if made is not None}

        return self._atomic("fold_jobs", make)

    def begin(self, read: Ledger, claimed: Ledger, job: Job) -> tuple[Job, Ledger] | None:
        def make() -> tuple[Job, Ledger] | None:
            stored, current = self._ledgers.items.get((read.job, read.chunk)), self.jobs.get(job.id)
            if stored is None or current is None:
                return None
            if stored.held_by(claimed.owner, claimed.epoch) and stored.seq == claimed.seq:
                return current, stored
            if stored.version != read.version or current.state not in ACTIVE:
                return None
            self.jobs[job.id] = replace(current, state=JobState.SENDING, version=current.version + 1)
            self._ledgers.store(claimed)
            return self.jobs[job.id], claimed

        return self._atomic("begin", make)

    def end_jobs(self, ends: Sequence[JobEnd], finish: Millis) -> set[str]:
        def make() -> set[str]:
            self.search_pages.folded(x.job for x in ends if x.held.uncounted)
            return {x.job.id for x in ends if self._end(x, finish)}

        return self._atomic("end_jobs", make)

    def _end(self, x: JobEnd, finish: Millis) -> bool:
        stored, current = self._ledgers.items.get((x.held.job, x.held.chunk)), self.jobs.get(x.job.id)
        if stored is None or current is None or stored.version != x.held.version:
            return False
        ends = x.job.state is not JobState.LOGGED
        if ends and (current.version != x.job.version or current.state not in ACTIVE):
            return False
        if x.detail is not None:
            self.windows[x.detail.job, x.detail.chunk, x.detail.epoch, x.detail.seq] = x.detail
        if x.words is not None:
            self.feedback.setdefault((x.words.job, x.words.chunk, x.words.key), x.words)
        released = replace(x.released, version=stored.version)
        self._ledgers.items[x.held.job, x.held.chunk] = released  # no stream shows what the fold takes with it
        return self._fold(released, current, finish if ends else None) is not None

    def fold_all(self, ledgers: Sequence[Ledger], job: Job) -> Mapping[int, Ledger | None]:
        changes = [(x, *folded) for x in ledgers if (folded := rules.fold(x)) is not None]

        def make() -> Mapping[int, Ledger | None]:
            current = self.jobs.get(job.id)
            if current is None:
                return dict.fromkeys(x.chunk for x in ledgers)
            stored = {old.chunk: self._ledgers.items.get((old.job, old.chunk)) for old, _, _ in changes}
            moved = {
                old.chunk: now
                for old, _, _ in changes
                if (now := stored[old.chunk]) is None or now.version != old.version
            }
            if moved:
                return moved
            if any(x.uncounted for x in ledgers):
                self.search_pages.folded([job])
            delta = tuple(map(sum, zip(*(d for _, _, d in changes), strict=True)))
            counts, by = add_figures(current.counts, current.by, current.route, delta)
            self.jobs[job.id] = replace(current, counts=counts, by=by, version=current.version + 1)
            for _, new, _ in changes:
                self._ledgers.store(new)
            for old, _, own in changes:
                self._add_stats(job, rules.for_stats(old, own))
            return {}

        return self._atomic("fold_all", make) if changes else {}

    def requeue(self, old: Ledger, new: Ledger, job: Job) -> bool:
        def make() -> bool:
            stored, current = self._ledgers.items.get((old.job, old.chunk)), self.jobs.get(old.job)
            if stored is None or stored.version != old.version or current is None:
                return False
            if current.state is not JobState.LOGGED or current.retry != job.retry:
                return False
            self._ledgers.store(new)
            return True

        return self._atomic("requeue", make)

    def reopen(self, old: Ledger, new: Ledger, job: Job) -> bool:
        def make() -> bool:
            stored = self._ledgers.items.get((old.job, old.chunk))
            current = self.jobs.get(job.id)
            if stored is None or current is None or (stored.version, current.version) != (old.version, job.version):
                return False
            state = current.state if current.retry else reopened(current.state)
            self.jobs[job.id] = replace(current, state=state, version=current.version + 1)
            self._ledgers.store(new)
            return True

        return self._atomic("reopen", make)

    def _add_stats(self, job: Job, delta: Sequence[int]) -> None:
        if job.test or not any(delta):
            return
        amounts = self.stats.setdefault((job.account, job.day, job.channel, job.shard), Counter())
        for name, amount in (stats_of(delta) | singles_of(job, delta)).items():
            amounts[name] += amount
        for r, provider in enumerate(job.providers):
            for j, name in enumerate(BY_KEYS):
                amounts[f"p.{provider}.{name}"] += delta[len(COUNT_KEYS) + r * len(BY_KEYS) + j]


def _ends(ledger: Ledger, job: Job) -> bool:
    return ledger.status is LedgerStatus.DONE and job.state is not JobState.LOGGED

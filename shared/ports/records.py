"""Jobs as the engine reads them, and the transactions that tie ledgers and jobs together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final, Protocol

from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports.accounts.suppressing import SuppressionRecords

if TYPE_CHECKING:
    from shared.domain.audit import Event
    from shared.domain.content.content import Content
    from shared.domain.jobs.chunks import Chunk
    from shared.domain.jobs.details import Detail, FeedbackDetail
    from shared.domain.jobs.job import Job, RetryRequest
    from shared.domain.jobs.ledger import Ledger
    from shared.domain.jobs.states import Change
    from shared.domain.lanes.breaker import Breaker
    from shared.domain.recipients.suppressions import Reach


ENDS: Final = 33
"""Jobs whose only ledgers one transaction folds, at most: each takes two of the 100 actions."""
FOLDS: Final = 50
"""Ledgers that one transaction folds, at most: DynamoDB takes 100 actions. A longer one meets more other writes."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A client's key, unique per account; None in its place: the client gave none.

    `fingerprint`: the body's hash; `answer`: the 2xx to replay.
    """

    account: str
    key: str
    fingerprint: str
    answer: str
    expires: int


@dataclass(frozen=True, slots=True)
class Stored:
    """The job is stored; this call did it."""


@dataclass(frozen=True, slots=True)
class Replay:
    """An earlier call with the same key and body did it; `answer` is what it answered."""

    answer: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The key was used with another body."""


@dataclass(frozen=True, slots=True)
class Control:
    """The facts that a worker checks before a claim.

    Attributes:
        job: as it is stored.
        paused: by an operator, for the account or everything.
        breaker: of the lane that was asked for, a moment old.
        suppressed_at: when an address of the namespace was last suppressed, and unsubscribed (Unix ms); absent: never.
        quiet: channel → the account's quiet hours, as `openings.quiet` reads them.
        heard: whether the job's account has webhooks.
    """

    job: Job | None
    paused: bool
    breaker: Breaker | None = None
    suppressed_at: Mapping[Reach, int] = field(default_factory=dict)
    quiet: Mapping[str, str] = field(default_factory=dict)
    heard: bool = True


@dataclass(frozen=True, slots=True)
class Loaded:
    """The data that a worker needs to serve a chunk.

    Attributes:
        job: as it is stored.
        chunk: its recipients.
        content: None if it was not asked for, or was removed.
        breaker: of the lane that was asked for, a moment old.
        ledger: a small job's, as read with it; None for others.
    """

    job: Job
    chunk: Chunk
    content: Content | None
    breaker: Breaker | None = None
    ledger: Ledger | None = None


@dataclass(frozen=True, slots=True)
class JobsRead:
    """Jobs that one read has brought, by their ids.

    Attributes:
        ledgers: of the small ones, which are in the same items.
        room: bytes by which the item of a small one may grow without more write units, if it has no words yet.
    """

    jobs: Mapping[str, Job]
    ledgers: Mapping[str, Ledger]
    room: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JobEnd:
    """The end of a small job by the release of its lease, or later events about its messages.

    Attributes:
        job: as read, SENDING or LOGGED.
        held: its ledger as stored.
        released: as the release, or what was said, leaves it: DONE.
        detail: of the results that the release writes; None: there are none that are not stored.
        words: of the provider, to be stored with it; None: there are none.
        room: as of `JobsRead`. Words that need more are stored before, by themselves.
    """

    job: Job
    held: Ledger
    released: Ledger
    detail: Detail | None
    words: FeedbackDetail | None = None
    room: int = 0


@dataclass(frozen=True, slots=True)
class OpenJob:
    """An entry of the index of open jobs.

    `running`: not READY. Times are Unix milliseconds. `credential`: the one that the job reserves, or empty.
    """

    job: str
    running: bool
    not_before: int
    created_at: int
    campaign: str = ""
    credential: str = ""

    @property
    def key(self) -> str:
        """Where the entry is in its slot: keys grow with age."""
        return f"{self.created_at:015d}#{self.job}"


@dataclass(frozen=True, slots=True)
class Changed:
    """Whether the transition was made, and the job as it is stored now; None if there is none.

    `held_by`: the other campaign that holds the credential, if only that prevented a plan.
    """

    won: bool
    job: Job | None
    held_by: str = ""


class Records(SuppressionRecords, Protocol):
    """Jobs, chunks, contents and details, and the transactions that tie ledgers and jobs together."""

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
        """Store chunks, ledgers and content, then job and idempotency record in one transaction."""

    def job(self, job: str) -> Job | None:
        """Return a job, consistent."""

    def read_with_ledgers(self, names: Collection[str]) -> JobsRead:
        """Return those of the jobs that there are, with small ones' ledgers, consistent, a hundred in one read."""

    def read_jobs(self, names: Collection[str]) -> dict[str, Job]:
        """Return those of the jobs that there are by their names, consistent, a hundred in one read."""

    def control(self, job: str, account: str, *, test: bool = False, lane: str = "") -> Control:
        """Return the job, and whether its account or everything is paused, in one consistent read.

        Args:
            test: whether suppressions of the account's test keys count.
            lane: the credential whose breaker is read with it; empty for none.
        """

    def controls(self, jobs: Sequence[Job], *, lane: str = "", as_read: Collection[str] = ()) -> list[Control]:
        """Return what `control` does of several jobs, in their order, at most 20 in one read.

        Args:
            as_read: ids of jobs that are not read again: the write that follows has their state as its condition.
        """

    def load(self, job: str, number: int, *, content: bool, lane: str = "") -> Loaded | None:
        """Return what a lease needs, in one consistent read. None: the job or the chunk no longer exists.

        A large content of a small job takes another read.

        Args:
            content: whether the content is read; False if the caller has it.
            lane: the credential whose breaker is read with it; empty for none.
        """

    def load_each(self, places: Sequence[tuple[str, int]], *, lane: str = "") -> list[Loaded | None]:
        """Return what `load` does of several chunks `(job, number)`, with content, at most 20 in one read."""

    def load_some(self, places: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], tuple[Job, Chunk]]:
        """Return those chunks `(job, number)` that there are, each with its job, consistent, a hundred items a read."""

    def chunk(self, job: str, number: int) -> Chunk | None:
        """Return a chunk; None when it was removed."""

    def some_chunks(self, job: str, numbers: Collection[int]) -> dict[int, Chunk]:
        """Return those of a job's chunks that there are by their numbers, consistent, a hundred in one read."""

    def content(self, job: str) -> Content | None:
        """Return a job's content."""

    def put_detail(self, detail: Detail) -> None:
        """Store a window detail."""

    def complete_detail(self, known: Detail | None, detail: Detail) -> bool:
        """Store a window detail in place of `known`, as read; False if the claimant has stored another since."""

    def detail(self, job: str, chunk: int, epoch: int, seq: int) -> Detail | None:
        """Return a window detail, read consistently."""

    def put_feedback(self, detail: FeedbackDetail) -> None:
        """Store the words of one batch of events about one chunk; of repeats the first one stays."""

    def details(self, job: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        """Return all details of a chunk: windows by epoch and seq, then feedback."""

    def change(
        self,
        job: Job,
        change: Change,
        now: Millis,
        *,
        reason: str = "",
        strict: bool = False,
        event: Event | None = None,
        charge: str = "",
    ) -> Changed:
        """Make one transition of the table, if the job's state allows it.

        Args:
            now: Unix milliseconds, recorded where the transition has a time; PLAN needs `due_at` to have come. For
                GIVE_WAY it is the time of the job's next try, before which it is not planned.
                LOG reads the `unknown` of `job.counts`: if a job has some, its providers are asked. If the job holds
                something of its account's limits, LOG gives back what its `queued` and `skipped` messages took.
            reason: of a stop; one by the bounce guard needs that its owner has not overridden it.
            strict: only if the job's version is still that of `job`.
            charge: of a RESUME, what the job holds of its account's limits from now on.

        RESUME needs the retry on its way to be that of `job`, and ends it; it notes the event's actor on the job. Of a
        job that reserves its credential, PLAN takes the reservation in the same transaction, unless another campaign
        holds it, and LOG gives it back. After GIVE_WAY the job holds it until `give_back`.
        """

    def override_guard(self, job: str, event: Event | None = None) -> None:
        """Exempt a job from the bounce guard; nothing happens if the job no longer exists. `event`: noted with it."""

    def reschedule(self, job: Job, moved: Job, *, event: Event) -> Changed:
        """Give a READY job another time, with an event, if it was neither given another nor planned since it was read.

        Args:
            moved: the job with the new `not_before` and `rests_until`; 0 removes them.
        """

    def set_retry(self, job: Job, request: RetryRequest | None, *, event: Event | None = None) -> Changed:
        """Record an owner's retry, or how far it is, or (None) withdraw it; with an event, in one transaction.

        Only if the job is LOGGED and the retry on its way still is that of `job`. With one a job is in the index of
        open jobs, as running.

        Args:
            request: the retry; None withdraws it.
        """

    def fold(self, ledger: Ledger, job: Job, *, finish: int | None = None) -> tuple[Ledger, Job | None] | None:
        """Add a ledger's new figures to its job and the day's stats (J2), once. None: the ledger has changed.

        The job is returned only if the call ends it. It becomes SENT if it reserves its credential, else SENT and
        LOGGED at once.

        Args:
            job: as read; it ends only if its version is still that one.
            finish: Unix milliseconds to end the job at, in the same transaction; for a job of one chunk whose ledger is
                DONE.
        """

    def fold_jobs(
        self, ledgers: Sequence[tuple[Ledger, Job]], finish: Millis
    ) -> Mapping[str, tuple[Ledger, Job | None]]:
        """Fold the only ledgers of several jobs, once, in one transaction; one that is DONE ends an active job (J3.5).

        Args:
            ledgers: up to ENDS of them, by their versions, with their jobs. These reserve nothing, and those that end
                also go by their versions. They are of one account, day and channel, all of test keys or none.
            finish: when they end, Unix milliseconds.

        Returns:
            Job's id → what `fold` returns. Those that have moved on are left out, and nothing of them was written.
        """

    def begin(self, read: Ledger, claimed: Ledger, job: Job) -> tuple[Job, Ledger] | None:
        """Write the lease and the first claim of a small job's ledger, and its job SENDING, in one write (L1, L2).

        Args:
            read: the ledger, IDLE, by its version.
            claimed: as the claim leaves it, at the next version.

        Returns:
            Both as they are then. None: the ledger has moved on, or the job is not active.
        """

    def end_jobs(self, ends: Sequence[JobEnd], finish: Millis) -> set[str]:
        """Write and fold ledgers of small jobs of which webhooks do not hear, with their details, in one transaction.

        Args:
            ends: up to ENDS of them, by their ledgers' versions. They are of one account, day and channel. A job that
                is not LOGGED ends by it, by its version.
            finish: when they end, Unix milliseconds.

        Returns:
            The ids of those that were written. Of the others nothing was: they have moved on.
        """

    def fold_all(self, ledgers: Sequence[Ledger], job: Job) -> Mapping[int, Ledger | None]:
        """Add the new figures of several of a job's ledgers to it and the day's stats (J2), once, in one transaction.

        Args:
            ledgers: up to FOLDS of them, by their versions; one without new figures stays as it is.
            job: whose route and age count, not its version.

        Returns:
            Empty if all were folded; else nothing was, and of those that have moved on each as it is now, by chunk.
            None: it was removed, as all were if the job was.
        """

    def requeue(self, old: Ledger, new: Ledger, job: Job) -> bool:
        """Write a ledger whose cells its owner sends again, if its job is LOGGED, in one transaction (J4).

        Returns:
            False if the ledger has moved on, the job runs, or its retry on its way is not that of `job`.
        """

    def reopen(self, old: Ledger, new: Ledger, job: Job) -> bool:
        """Write a ledger in which a finished message waits again, and its job with it, in one transaction (F).

        A LOGGED job becomes READY, a SENT one SENDING. Another keeps its state, and its version changes all the same,
        so that a finaliser that has read the ledger before starts over. The version of a LOGGED job with a retry on its
        way changes likewise: the retry's end makes it READY.

        Args:
            old: the ledger as read, by its version.
            job: as read, by its version.

        Returns:
            False if one of the two has moved on.
        """

    def doubts(self, now: Millis) -> Iterable[str]:
        """Walk the LOGGED jobs with messages of unknown fate whose next question to a provider is due by now (Unix ms).

        A job is among them from LOG on, first after `doubt.LOOKS[0]`.
        """

    def look_again(self, job: str, at: int | None) -> None:
        """Ask about a LOGGED job's doubts again at `at` (Unix ms); None: never. In another state it stays as it is."""

    def notice_runs(self, now: Millis) -> Iterable[str]:
        """Walk the LOGGED runs of notices whose check is due by now (Unix ms), first a minute after LOG."""

    def mail_jobs(self, now: Millis) -> Iterable[str]:
        """Walk the LOGGED jobs of mails whose check is due by now (Unix ms), first a minute after LOG."""

    def look_at_run_again(self, job: str, at: int | None) -> None:
        """Check a LOGGED run of notices, or job of a mail, again at `at` (Unix ms); None: never."""

    def unarchived(self, now: Millis, limit: int) -> Iterable[tuple[str, int]]:
        """Walk the LOGGED jobs whose archiving is due by now, and since when (Unix ms); of test keys there are none.

        A job is among them from LOG on, or, if it ends in doubt, from the last look on. `limit`: of each shard.
        """

    def archive_again(self, job: str, at: int, later: int | None) -> None:
        """Change when a job is archived.

        A job in another state, or due at another time, stays as it is: it has been reopened since.

        Args:
            at: the time it was found due at, Unix milliseconds.
            later: the new time, Unix milliseconds; None for never.
        """

    def open_jobs(self, slots: Iterable[str], *, after: str = "") -> Iterable[OpenJob]:
        """Walk the index of open jobs, oldest first within each slot; in each from behind an entry's key."""

    def unlisted(self, minute: int, part: str) -> Iterable[str]:
        """Walk the small jobs of a minute that have not ended and were not put into the index of open jobs.

        Args:
            minute: in which they were made, since 1970.
            part: the last random character of their ids.
        """

    def enlist(self, job: str) -> None:
        """Put a small job that has not ended into the index of open jobs, if it is not there."""

    def open_at_once(self, slots: Iterable[str]) -> Sequence[OpenJob] | None:
        """Return the open jobs of some slots by one read, in no order; None if that is not enough."""

    def keep_chunk(self, job: str, number: int, until: int) -> None:
        """Keep a chunk and its ledger longer. Nothing happens if they no longer exist.

        Args:
            until: Unix seconds.
        """

    def keep_job(self, job: Job, until: int) -> None:
        """Keep a job's content, and then the job, until a later time (Unix seconds), after all of its chunks."""

    def note_pointed(self, job: str, at: int) -> None:
        """Note on a job that its chunks that were never leased have been pointed to again (Unix ms)."""

    def open_on(self, credential: str, *, running: bool) -> Iterable[OpenJob]:
        """Walk the open jobs that reserve a credential, oldest first; one that has only now changed may be missing."""

    def reserved(self, credential: str) -> tuple[str, list[str]]:
        """Return the campaign whose jobs hold a credential, and their ids, consistent; both are empty if none do."""

    def turns(self, credential: str) -> Sequence[str]:
        """Return the accounts whose campaigns took turns on a credential, the last one last, consistent."""

    def set_turns(self, credential: str, accounts: Sequence[str]) -> None:
        """Store what `turns` returns."""

    def give_back(self, job: Job) -> bool:
        """Take a job from those that hold its credential. False: it was written since it was read."""

    def clear(self, credential: str) -> None:
        """Remove deleted jobs from those that hold a credential: their retention was over before their end."""

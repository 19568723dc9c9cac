"""What the engine needs of the world, as Protocols; each has a fake and a real implementation, one contract suite.

Every method succeeds, raises `Retriable` (try again later: throttling, a transaction conflict that did not clear, a
lost connection) or returns None when another worker was faster.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeVar, runtime_checkable

from shared.contracts import Word
from shared.domain.breaker import Breaker
from shared.domain.chunks import Chunk, Recipient
from shared.domain.content import Content
from shared.domain.details import Detail, FeedbackDetail
from shared.domain.jobs import Job, RetryRequest
from shared.domain.ledger import Ledger
from shared.domain.outcomes import Entry, Finding, Outcome
from shared.domain.pacing import Pace, Slots
from shared.domain.passes import Passing
from shared.domain.queue import Expired, NotDue
from shared.domain.smtp import Mail, Relay, Reply
from shared.domain.states import Cell, Change

T = TypeVar("T")


class Retriable(Exception):
    """The call did not happen or its effect is not known; repeating it is safe."""


class BadSignature(Exception):
    """A webhook that its provider did not sign, or not lately."""


class BadEvents(Exception):
    """A webhook whose signature holds but whose body is not what the provider documents."""


class Clock(Protocol):
    """Time. `now`: Unix seconds."""

    def now(self) -> float:
        """Return Unix seconds."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; returns at once for zero or less."""
        ...


class Queue(Protocol):
    """A queue of messages."""

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "") -> None:
        """Send messages, delayed by up to 900 s. `group`: fair share among groups."""
        ...

    def is_empty(self) -> bool:
        """Tell whether nothing waits or is in flight (approximately: a hint)."""
        ...


class Lanes(Protocol):
    """The lane queues by credential."""

    def __getitem__(self, credential: str) -> Queue:
        """Return a lane's queue."""
        ...


class Pacer(Protocol):
    """Time slots of one credential."""

    def reserve(self, credential: str, k: int, pace: Pace, *, lead: float) -> Slots:
        """Reserve k slots and return them; waits while the credential is reserved more than 2 s ahead.

        Args:
            credential: whose slots.
            k: how many, at most `pace.window`.
            pace: the rate in force.
            lead: seconds that the caller needs before it can use the first slot.
        """
        ...


class Breakers(Protocol):
    """The circuit breakers of credentials, shared by all processes."""

    def read(self, credentials: Sequence[str]) -> dict[str, Breaker]:
        """Return the breaker of each credential, closed if it was never opened; in one call, a moment old."""
        ...

    def swap(self, old: Breaker, new: Breaker) -> Breaker:
        """Write `new` if the stored version is that of `old`; returns what is stored then, `new` or another's."""
        ...


class LedgerStore(Protocol):
    """The queue primitives over ledgers; each is atomic. Named as in a mail queue; see `shared.domain.queue`."""

    def enqueue(self, ledgers: Sequence[Ledger]) -> None:
        """Store new ledgers."""
        ...

    def list_queue(self, job: str) -> list[Ledger]:
        """Return the job's ledgers that are IDLE, consistent, by number."""
        ...

    def find_inflight(self, job: str) -> list[Ledger]:
        """Return the job's ledgers that are BUSY, consistent, by number."""
        ...

    def read_all(self, job: str) -> list[Ledger]:
        """Return all of the job's ledgers, consistent, by number."""
        ...

    def read_some(self, job: str, first: int, count: int) -> list[Ledger]:
        """Return up to `count` of the job's ledgers from number `first` on, consistent, by number."""
        ...

    def read(self, job: str, chunk: int) -> Ledger | None:
        """Return one ledger, consistent."""
        ...

    def send_start(
        self, job: str, chunk: int, *, lane: str, owner: str, now: int, until: int
    ) -> Ledger | NotDue | Expired | None:
        """Lease a chunk (L1)."""
        ...

    def claim(
        self,
        held: Ledger,
        results: Sequence[Entry],
        k: int,
        *,
        route: Sequence[str],
        suppressed: Collection[int] = (),
    ) -> tuple[Ledger, list[int]] | None:
        """Merge the last window's results and claim the next k recipients (L2); None if the lease is not ours.

        `suppressed`: indices that are skipped if they wait.
        """
        ...

    def send_done(self, held: Ledger, results: Sequence[Entry], passing: Passing) -> Ledger | None:
        """End a lease whose results settle all that is left (L4)."""
        ...

    def send_cancel(
        self, held: Ledger, results: Sequence[Entry], requeued: Sequence[int], passing: Passing
    ) -> Ledger | None:
        """End a lease with work left: time, stop, pause or throttling (L4)."""
        ...

    def take_over(self, expired: Ledger, proof: Mapping[int, Entry], passing: Passing) -> Ledger | None:
        """End a lease that ran out (L5); None if another was faster."""
        ...

    def join(
        self, job: str, chunk: int, words: Sequence[tuple[int, int, Cell]], *, route: Sequence[str], credential: str
    ) -> Ledger | None:
        """Join feedback (F); the ledger as it is afterwards, None if there is none."""
        ...

    def disprove(self, job: str, chunk: int, attempts: Iterable[tuple[int, int]]) -> Ledger | None:
        """Give up doubtful attempts `(index, attempt)` that were proven absent and may not be made again (Resolve)."""
        ...

    def reopen(self, job: str, chunk: int, states: Iterable[Cell], max_attempts: int) -> Ledger | None:
        """Queue cells again for the owner's retry (J4)."""
        ...

    def drop(self, job: str, chunk: int, indices: Iterable[int]) -> Ledger | None:
        """Skip recipients that still wait."""
        ...

    def reschedule(self, job: str, chunk: int, *, not_before: int, lane: str) -> Ledger | None:
        """Move an idle chunk to another time or lane."""
        ...


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A client's key: `key` is unique per account; `fingerprint` is the body's hash; `answer` the 2xx to replay."""

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
    """What a worker checks before a claim.

    Attributes:
        job: as it is stored.
        paused: by an operator, for the account or everything.
        breaker: of the lane that was asked for, a moment old.
        suppressed_at: when an address of the account was last suppressed (Unix ms), 0 for never.
    """

    job: Job | None
    paused: bool
    breaker: Breaker | None = None
    suppressed_at: int = 0


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a worker needs to serve a chunk.

    Attributes:
        job: as it is stored.
        chunk: its recipients.
        content: None if it was not asked for, or has gone.
        breaker: of the lane that was asked for, a moment old.
    """

    job: Job
    chunk: Chunk
    content: Content | None
    breaker: Breaker | None = None


@dataclass(frozen=True, slots=True)
class Recent:
    """Suppressions since a moment. `digests`: SHA-256 of the keys, hex; `reached`: Unix ms to go on from, or None."""

    digests: Sequence[str]
    reached: int | None


@dataclass(frozen=True, slots=True)
class OpenJob:
    """An entry of the index of open jobs. `running`: not READY; times in Unix milliseconds."""

    job: str
    running: bool
    not_before: int
    created_at: int
    campaign: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """Whether the transition was made, and the job as it is stored now; None if there is none."""

    won: bool
    job: Job | None


class Records(Protocol):
    """Jobs, chunks, contents and details, and the transactions that tie ledgers and jobs together."""

    def accept(
        self, job: Job, chunks: Sequence[Chunk], ledgers: Sequence[Ledger], content: Content, key: Idempotency | None
    ) -> Stored | Replay | Mismatch:
        """Store chunks, ledgers and content, then job and idempotency record in one transaction."""
        ...

    def job(self, job: str) -> Job | None:
        """Return a job, consistent."""
        ...

    def control(self, job: str, account: str, *, lane: str = "") -> Control:
        """Return the job and whether its account or everything is paused, in one consistent read.

        `lane`: whose breaker is read with it.
        """
        ...

    def load(self, job: str, number: int, *, content: bool, lane: str = "") -> Loaded | None:
        """Return what a lease needs, in one consistent read; None when job or chunk have gone.

        `content`: false if the caller has it already. `lane`: whose breaker is read with it.
        """
        ...

    def chunk(self, job: str, number: int) -> Chunk | None:
        """Return a chunk; None when it has gone."""
        ...

    def content(self, job: str) -> Content | None:
        """Return a job's content."""
        ...

    def put_detail(self, detail: Detail, *, if_absent: bool = False) -> None:
        """Store a window detail. `if_absent`: never replace the claimant's own."""
        ...

    def detail(self, job: str, chunk: int, epoch: int, seq: int) -> Detail | None:
        """Return a window detail, consistent."""
        ...

    def put_feedback(self, detail: FeedbackDetail) -> None:
        """Store the words of one batch of events about one chunk; of repeats the first one stays."""
        ...

    def details(self, job: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
        """Return all details of a chunk: windows by epoch and seq, then feedback."""
        ...

    def change(self, job: Job, change: Change, now: int, *, reason: str = "", strict: bool = False) -> Changed:
        """Make one transition of the table, if the job's state allows it.

        Args:
            job: as read.
            change: the transition.
            now: Unix milliseconds, recorded where the transition has a time; PLAN needs `not_before` to have come.
            reason: of a stop.
            strict: only if the job's version is still that of `job`.

        RESUME needs the retry on its way to be that of `job`, and ends it.
        """
        ...

    def set_retry(self, job: Job, request: RetryRequest | None) -> Changed:
        """Record an owner's retry, or how far it is, or (None) withdraw it.

        Only if the job is LOGGED and the retry on its way still is that of `job`. With one a job is in the index of
        open jobs, as running.
        """
        ...

    def fold(self, ledger: Ledger, job: Job, *, finish: int | None = None) -> tuple[Ledger, Job | None] | None:
        """Add a ledger's new figures to its job and the day's stats (J2), once; None if the ledger moved on.

        `finish` (Unix ms): end the job in the same transaction, if its version is that of `job`: for a job of one
        chunk whose ledger is DONE. It becomes SENT if it reserves its credential, else SENT and LOGGED at once. The
        job is returned only then.
        """
        ...

    def requeue(self, old: Ledger, new: Ledger, job: Job) -> bool:
        """Write a ledger whose cells its owner sends again, if its job is LOGGED, in one transaction (J4).

        Returns:
            False if the ledger has moved on, the job runs, or its retry on its way is not that of `job`.
        """
        ...

    def reopen(self, old: Ledger, new: Ledger, job: Job) -> bool:
        """Write a ledger in which a finished message waits again, and its job with it, in one transaction (F).

        A LOGGED job becomes READY, a SENT one SENDING; another keeps its state, and its version moves on all the same,
        so that a finaliser that has read the ledger before starts over. So does a LOGGED one with a retry on its way,
        whose end makes it READY.

        Args:
            old: the ledger as read, by its version.
            new: what to write.
            job: as read, by its version.

        Returns:
            False if one of the two has moved on.
        """
        ...

    def doubts(self, now: int) -> Iterable[str]:
        """Walk the LOGGED jobs with messages of unknown fate about which a provider is to be asked by now (Unix ms).

        A job is among them from LOG on, first after `doubt.LOOKS[0]`.
        """
        ...

    def look_again(self, job: str, at: int | None) -> None:
        """Ask about a LOGGED job's doubts again at `at` (Unix ms), or no more; in another state it stays as it is."""
        ...

    def open_jobs(self, slots: Iterable[str]) -> Iterable[OpenJob]:
        """Walk the index of open jobs, oldest first within each slot."""
        ...

    def suppress(self, account: str, key: str, reason: str, now: int) -> None:
        """Add an address to the account's suppressions; an existing entry stays."""
        ...

    def suppressed(self, account: str, addresses: Collection[str]) -> set[str]:
        """Return those of the addresses, given as normalised keys, that are suppressed, consistent."""
        ...

    def suppressed_since(self, account: str, since: int) -> Recent:
        """Return what was suppressed from `since` (Unix ms) on, oldest first, as far as one go reads; consistent."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """One recipient of a provider call. `ref`: of the attempt, as text; `key`: for the provider's idempotency."""

    ref: str
    recipient: Recipient
    key: str = ""


class Provider(Protocol):
    """One provider: its wire format, error table, webhook verification and event table."""

    name: str
    per_call: int
    """The most recipients in one call."""
    has_feedback: bool
    """False: `sent` is final and counts as success."""

    def send(self, content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
        """Call the provider exactly once, never again, and return one outcome per target, in order.

        Args:
            content: what to send.
            targets: at most `per_call`; none sees another.
            deadline: Unix seconds by which the answer must have come; too late to connect gives NotStarted.
        """
        ...


@runtime_checkable
class Sized(Protocol):
    """A provider whose calls take fewer recipients with some contents."""

    def per_call_of(self, content: Content) -> int:
        """Return the most recipients in one call with this content, at most `per_call`."""
        ...


@runtime_checkable
class Resolver(Protocol):
    """A provider that can tell what became of an attempt whose fate is not known."""

    resolves_within: float
    """Seconds after the attempt for which it can tell."""
    resends: bool
    """To ask is to make the very same call again: it may be only now that the message is taken."""

    def resolve(self, content: Content, target: Target, *, at: float, deadline: float) -> Finding:
        """Find out what became of one attempt: by a look-up, or by the very same call under its idempotency key.

        Never raises for what a provider answers, and never makes a provider take a message a second time.

        Args:
            content: what was sent.
            target: the recipient; `ref` and `key` are those of the attempt.
            at: Unix seconds when the attempt was made.
            deadline: Unix seconds by which the answer must have come.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What a webhook says. `events`: how many it carries, with those that are not ours or change nothing."""

    events: int
    words: list[Word]


class WebhookReader(Protocol):
    """The receiving half of a provider."""

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: float) -> None:
        """Check the signature over the raw body; raises BadSignature, or Retriable. Header names are lower-case."""
        ...

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:
        """Return the body's words, normalised; events without our ref are left out. Raises BadEvents."""
        ...


@runtime_checkable
class Fetching(Protocol):
    """A webhook reader that fetches what its provider points to: a certificate, a confirmation."""

    def fetch_by(self, http: "Http", clock: Clock) -> None:
        """Take the transport. Until then nothing is fetched, and nothing that needs it is believed."""
        ...


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NotSent(Exception):
    """The request surely did not reach the provider: refused, DNS, TLS or connect time-out, no time left."""


class NoTime(NotSent):
    """There was no time left to begin."""


class AnswerLost(Exception):
    """The request may have reached the provider: read time-out, reset after it was written, a broken answer."""


class Http(Protocol):
    """A transport that makes each request exactly once."""

    def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | tuple[bytes, ...], deadline: float
    ) -> Response:
        """Make one request and return the answer, whatever its status; raises NotSent or AnswerLost.

        `body`: whole, or in parts, so that hundreds of requests in flight share one copy of a long part.
        `deadline`: Unix seconds; checked just before connecting, and the whole exchange ends by then.
        """
        ...


class Interrupted(NotSent):
    """The server was lost in the midst of a transaction, before the message's end was written."""


class Unfit(NotSent):
    """The server cannot take this very message: it lacks an extension, or allows less; nothing was written of it."""


class Smtp(Protocol):
    """A transport that makes each SMTP transaction exactly once."""

    def submit(self, relay: Relay, mail: Mail, *, deadline: float) -> Reply:
        """Make one transaction and return the reply that decided it; raises NotSent or AnswerLost.

        AnswerLost only if something of the end of the message was written: without it no server takes a message.
        `deadline`: Unix seconds; checked just before connecting, and the whole exchange ends by then.
        """
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a provider call; see `Http.request`."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | tuple[bytes, ...]
    deadline: float


Steps = Generator[Request, Response, T]
"""A call that lets another make its one request: the answer, or what `Http.request` raises, comes back to it."""


@runtime_checkable
class Stepwise(Protocol):
    """A provider whose calls are one HTTP request each."""

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: float) -> Steps[list[Outcome]]:
        """Call as `Provider.send` does; nothing has happened before the request is asked for."""
        ...


class Wire(Protocol):
    """Makes many requests at a time, for one thread and by it: answers are read while it waits here."""

    def begin(self, request: Request, done: Callable[[Response | AnswerLost], None]) -> bool:
        """Write a request on a connection that is open; False, and nothing has happened, if there is none to trust.

        `done` gets the answer, once, during a later wait; it must not raise. Raises what `Http.request` does if
        nothing was written.
        """
        ...

    def rest(self, until: float) -> None:
        """Wait for a moment, Unix seconds."""
        ...

    def join(self) -> None:
        """Wait for all answers."""
        ...

    def __enter__(self) -> Self:
        """Return the wire."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for all answers."""
        ...


Sleep = Callable[[float], None]

"""Message logs and live counts, put together from chunk (who), ledger cell (state) and details (when, through whom)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from shared.contracts import FEEDBACK_TIMEOUT
from shared.domain.characters.invisible import seen
from shared.domain.content.personal import labels_of
from shared.domain.ids import message_id
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.job import Job, public_counts
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.retries import repeatable
from shared.domain.jobs.states import COUNT_KEYS, Cell, MessageState, Status, message_state, status
from shared.domain.lists.row_numbers import number_at
from shared.domain.times import Millis
from shared.engine.reports.attempts import (
    Attempt,
    AttemptFate,
    attempts_of,
    detail_of,
    doubtful,
    error_of,
    skipped_early,
)
from shared.frozen import dataclass
from shared.ports import Clock, Limit, Records

LIVE_CHUNKS: Final = 100
"""Jobs of up to this many chunks have their counts computed from the ledgers; larger ones show the folded counts."""
_REPEATABLE: Final = (Cell.DROPPED, Cell.UNKNOWN)


@dataclass(frozen=True, slots=True)
class LogLine:
    """The state of one message.

    Attributes:
        providers: one key per provider of the route, true = tried.
        may_duplicate: there was another attempt after one that may have arrived.
        unacknowledged: accepted by a provider that has sent no result for too long.
        error_detail: the provider's text to `error`; empty if it gave none, or the error is ours.
        labels: what its owner calls it.
        row: its row's number in the uploaded file; 0: there is none, or it is not known.
    """

    message: str
    recipient: str
    state: MessageState
    status: Status
    providers: dict[str, bool]
    attempts: tuple[Attempt, ...]
    updated_at_ms: int
    error: str | None
    may_duplicate: bool = False
    unacknowledged: bool = False
    error_detail: str = ""
    labels: Labels = NO_LABELS
    row: int = 0

    @property
    def reference(self) -> str:
        """Its batch's name in the owner's own system; empty: none."""
        return self.labels.reference

    @property
    def tags(self) -> Sequence[str]:
        """The owner's words for it."""
        return self.labels.tags

    @property
    def metadata(self) -> Mapping[str, str]:
        """The owner's own data: the batch's, and the recipient's in place of those of the same names."""
        return self.labels.metadata

    @property
    def sent_at_ms(self) -> Millis:
        """When a provider took it, the last time; 0: none has."""
        return max((a.at_ms for a in self.attempts if AttemptFate.ACCEPTED in a.fates), default=0)

    @property
    def delivered_at_ms(self) -> Millis:
        """When it was delivered first, by a provider's report, and not before its attempt; 0: none says so."""
        words = ((a, w) for a in self.attempts for w in a.words if not w.secondary)
        return min((a.heard(w) for a, w in words if w.word == ProviderEventKind.DELIVERED), default=0)


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """Counts that add up to the job's total.

    Attributes:
        by: credential → its numbers.
        as_of: Unix milliseconds.
        exact: computed from the ledgers.
        unacknowledged: how many of `sent` have waited for feedback too long; None if not exact.
        lanes: in which of them something is still to be sent; none if not exact.
        repeatable: how many failed, or are of unknown fate, and a retry may send again; None if not exact.
    """

    counts: dict[str, int]
    by: dict[str, dict[str, int]]
    as_of: int
    exact: bool
    unacknowledged: int | None = None
    lanes: frozenset[str] = frozenset()
    repeatable: int | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are wanted; None and empty want all.

    Attributes:
        states: of the message.
        statuses: of the message.
        recipient: a normalised key.
        credential: one of its attempts was by this one.
        fate: that attempt has this result, or any attempt if no credential is named.
        skip: the code for which its list never sends to the recipient.
        lacks: a variable of which the recipient's value is missing, or shows nothing.
    """

    states: frozenset[MessageState] = field(default_factory=frozenset)
    statuses: frozenset[Status] = field(default_factory=frozenset)
    recipient: str = ""
    credential: str = ""
    fate: AttemptFate | None = None
    skip: str = ""
    lacks: str = ""

    def wants(self, cell: Cell) -> bool:
        """Tell whether a cell's state allows for its line to be wanted."""
        return (not self.states or message_state(cell) in self.states) and (
            not self.statuses or status(cell) in self.statuses
        )

    @property
    def narrow(self) -> bool:
        """True if not every line is wanted."""
        return bool(self.states or self.statuses or self.of_recipient or self.of_attempts)

    @property
    def of_recipient(self) -> bool:
        """True if a line depends on what the list says of its recipient."""
        return bool(self.recipient or self.skip or self.lacks)

    @property
    def of_attempts(self) -> bool:
        """True if a line depends on its attempts, which are in details: a chunk with candidates costs their read."""
        return bool(self.credential or self.fate)

    def of(self, one: Recipient) -> bool:
        """Tell whether a recipient's line can be wanted."""
        named = self.recipient in ("", one.key) and self.skip in ("", one.skip)
        return named and not (self.lacks and seen(one.values.get(self.lacks, "")))

    def admits(self, attempt: Attempt) -> bool:
        """Tell whether a message is wanted for this attempt."""
        return self.credential in ("", attempt.credential_id) and (self.fate is None or self.fate in attempt.fates)


Details = tuple[Sequence[Detail], Sequence[FeedbackDetail]]
"""Of a chunk: windows, and what providers said later."""
Position = tuple[int, int]
"""(chunk, index) of the next line to look at."""
PAGE_CHUNKS: Final = 20
"""Chunks that one filtered page reads at the most; a page may be short and still carry a cursor."""


class MessageLog:
    """Reads the results of a job's messages."""

    def __init__(
        self, *, records: Records, ledgers: LedgerQueue, clock: Clock, feedback_timeout: int = FEEDBACK_TIMEOUT
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._clock = clock
        self._feedback_timeout = feedback_timeout

    def counts(self, job: Job) -> LiveCounts:
        """Return the job's counts, exact for jobs of up to LIVE_CHUNKS chunks.

        The sum is the total at every instant: each ledger's histogram replaces what it had folded.
        """
        now = int(self._clock.now() * 1000)
        ledgers = self._ledgers.read_all(job.id) if job.chunks <= LIVE_CHUNKS else []
        if len(ledgers) != job.chunks:
            return LiveCounts(public_counts(job.counts), _named(job.by), now, exact=False)
        totals = [sum(column) for column in zip(*map(rules.figures, ledgers), strict=True)]
        late = (x for x in ledgers if _unacknowledged(x, now, self._feedback_timeout))
        return LiveCounts(
            public_counts(dict(zip(COUNT_KEYS, totals, strict=False))),
            _named(_by_credential(job, totals)),
            now,
            exact=True,
            unacknowledged=sum(len(x.having(Cell.SENT)) for x in late),
            lanes=frozenset(x.lane for x in ledgers if x.unfinished),
            repeatable=sum(len(repeatable(x, _REPEATABLE)) for x in ledgers),
        )

    def lines(
        self, job: Job, wanted: Filter, *, start: Position = (0, 0), limit: Limit = 100, end: int | None = None
    ) -> tuple[list[LogLine], Position | None]:
        """Return lines in the order of the list, and the place of the next page.

        Args:
            start: the place to begin at, as (chunk, index).
            end: the chunk to end before; None: the end of the list.
        """
        out: list[LogLine] = []
        chunk_number, index = start
        looked = 0
        last = _chunks(job, wanted, end)
        while chunk_number < last:
            if looked == PAGE_CHUNKS and wanted.narrow:
                return out, (chunk_number, index)
            looked += 1
            ledger = self._ledgers.read(job.id, chunk_number)
            chunk = self._records.chunk(job.id, chunk_number)
            if ledger is None or chunk is None:
                return out, None
            picked, told = _pick(chunk, ledger, wanted, index), None
            if wanted.of_attempts:
                picked, told = self._tried(job, ledger, wanted, [*picked])
            hits = [i for _, i in zip(range(limit - len(out)), picked, strict=False)]
            if hits:
                out += self._some(job, chunk, ledger, hits, told)
            if len(out) == limit:
                return out, _after(job, chunk, hits[-1])
            chunk_number, index = chunk_number + 1, 0
        return out, None

    def line(self, job: Job, chunk_number: int, index: int) -> LogLine | None:
        """Return one message's line. None: there is no such message."""
        ledger = self._ledgers.read(job.id, chunk_number)
        chunk = self._records.chunk(job.id, chunk_number) if ledger is not None else None
        if ledger is None or chunk is None or index >= len(chunk.recipients):
            return None
        return self._some(job, chunk, ledger, [index])[0]

    def only(self, job: Job, chunk: Chunk, ledger: Ledger) -> LogLine:
        """Return the line of a chunk's only message.

        Args:
            chunk: of one recipient, as read.
        """
        (line,) = self._some(job, chunk, ledger, [0])
        return line

    def whole(self, job: Job, chunk_number: int) -> list[tuple[Recipient, LogLine]] | None:
        """Return every recipient of a chunk with its line, in list order; None if the chunk no longer exists."""
        ledger = self._ledgers.read(job.id, chunk_number)
        chunk = self._records.chunk(job.id, chunk_number) if ledger is not None else None
        if ledger is None or chunk is None:
            return None
        lines = self._some(job, chunk, ledger, range(len(chunk.recipients)))
        return list(zip(chunk.recipients, lines, strict=True))

    def _tried(
        self, job: Job, ledger: Ledger, wanted: Filter, indices: Sequence[int]
    ) -> tuple[Iterator[int], Details | None]:
        """Return those of some messages that are wanted for one of their attempts, and the details that say so.

        An attempt under way is not in the details. Messages that the ledger already excludes cost no read.
        """
        if not _may_have(job, ledger, wanted, indices):
            return iter(()), None
        details = self._records.details(job.id, ledger.chunk)
        attempts = attempts_of(*details, frozenset(indices))
        here = wanted.fate is None and wanted.credential == ledger.lane

        def is_wanted(i: int) -> bool:
            under_way = here and ledger.cell(i)[0] is Cell.CLAIMED
            return under_way or any(wanted.admits(a) for a in attempts.get(i, {}).values())

        return filter(is_wanted, indices), details

    def _some(
        self, job: Job, chunk: Chunk, ledger: Ledger, indices: Sequence[int], told: Details | None = None
    ) -> list[LogLine]:
        """Return the lines of some messages of a chunk. `told`: its details, if they were read."""
        begun = any(ledger.cells[i] for i in indices)  # of the others there is nothing to be read
        windows, words = told or (self._records.details(job.id, chunk.number) if begun else ([], []))
        attempts = attempts_of(windows, words, frozenset(indices))
        skips = {e.index: e.code for w in windows for e in w.entries if skipped_early(e)}
        now = int(self._clock.now() * 1000)
        late = _unacknowledged(ledger, now, self._feedback_timeout)
        return [
            _line(
                job,
                ledger,
                i,
                chunk.recipients[i],
                attempts.get(i, {}),
                skip=skips.get(i, ""),
                late=late,
                row=number_at(chunk.rows, i),
            )
            for i in indices
        ]


def _after(job: Job, chunk: Chunk, index: int) -> Position | None:
    """Return the place after a recipient's; None at the end of the list."""
    more = index + 1 < len(chunk.recipients)
    position = (chunk.number, index + 1) if more else (chunk.number + 1, 0)
    return position if position[0] < job.chunks else None


def _chunks(job: Job, wanted: Filter, end: int | None) -> int:
    """Return how many chunks can have wanted lines: none if the credential is not of the job's route.

    Args:
        end: as of `MessageLog.lines`.
    """
    if wanted.credential not in ("", *job.route):
        return 0
    return job.chunks if end is None else min(end, job.chunks)


def _pick(chunk: Chunk, ledger: Ledger, wanted: Filter, start: int) -> Iterator[int]:
    for i in range(start, len(chunk.recipients)):
        if wanted.wants(ledger.cell(i)[0]) and wanted.of(chunk.recipients[i]):
            yield i


def _may_have(job: Job, ledger: Ledger, wanted: Filter, indices: Sequence[int]) -> bool:
    """Tell whether some messages of a chunk can have such an attempt, as far as its ledger shows."""
    if not any(ledger.cells[i] for i in indices):
        return False
    if not wanted.credential:
        return True
    tried = {c for c, numbers in _by_credential(job, rules.figures(ledger)).items() if numbers[0]}
    return wanted.credential in tried


def _by_credential(job: Job, totals: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the part of a job's figures that concerns each credential of its route."""
    width, first = len(rules.BY_KEYS), len(COUNT_KEYS)
    return {c: tuple(totals[first + i * width : first + (i + 1) * width]) for i, c in enumerate(job.route)}


def _unacknowledged(ledger: Ledger, now: Millis, feedback_timeout: int) -> bool:
    """Tell whether a chunk's SENT messages have waited too long for their provider's feedback.

    They wait from the moment when the chunk was last worked on, so that a line and the counts always agree.
    """
    return ledger.status is not LedgerStatus.BUSY and now - ledger.released_at > feedback_timeout * 1000


def _line(
    job: Job,
    ledger: Ledger,
    index: int,
    recipient: Recipient,
    by_number: dict[int, Attempt],
    *,
    skip: str,
    late: bool,
    row: int = 0,
) -> LogLine:
    """Put a line together. `skip`: why a claim skipped it, or empty; `late`: the chunk's feedback is overdue."""
    state, number = ledger.cell(index)
    attempts = tuple(by_number[k] for k in sorted(by_number))
    error = error_of(job, ledger, index, attempts, recipient.skip or skip)
    return LogLine(
        message=message_id(ledger.chunk, index),
        recipient=recipient.address,
        state=message_state(state),
        status=status(state),
        providers=_providers(job, {a.credential_id for a in attempts}),
        attempts=attempts,
        updated_at_ms=_updated(job, attempts),
        error=error,
        may_duplicate=any(n not in by_number or doubtful(by_number[n]) for n in range(1, number)),
        unacknowledged=late and state is Cell.SENT,
        error_detail=detail_of(attempts, recipient.address) if error else "",
        labels=labels_of(job, recipient.values),
        row=row,
    )


def _updated(job: Job, attempts: Iterable[Attempt]) -> Millis:
    """Return when a message last changed, as far as its attempts and the words about them say."""
    return max([job.created_at, *(at for a in attempts for at in (a.at_ms, *(w.at * 1000 for w in a.words)))])


def _providers(job: Job, tried: set[str]) -> dict[str, bool]:
    """Return the providers of a job's route, and whether each was tried. `tried`: credentials."""
    providers: dict[str, bool] = {}
    for credential, provider in zip(job.route, job.providers, strict=True):
        providers[provider] = providers.get(provider, False) or credential in tried
    return providers


def _named(by: Mapping[str, tuple[int, ...]]) -> dict[str, dict[str, int]]:
    return {c: dict(zip(rules.BY_KEYS, values, strict=True)) for c, values in by.items()}

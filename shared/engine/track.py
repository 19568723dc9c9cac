"""Tracking: providers' words reach the cells by rank, in any order and any number of times (F)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.contracts import Word
from shared.domain.details import FeedbackDetail, FeedbackEntry
from shared.domain.feedback import SOFT, SUPPRESSES, WordKind, state_of
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.ledger import Ledger
from shared.domain.states import Cell
from shared.ports import Clock, LedgerStore, Records

LATER: Final = 15.0
"""Seconds after which a soft word about a call still under way is looked at again."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """What came of a batch of words.

    Attributes:
        joined: words about messages that are known here.
        foreign: words without a job, chunk or route of ours: counted and dropped.
        later: words to be looked at again after LATER seconds.
    """

    joined: int
    foreign: int
    later: tuple[Word, ...]


class Tracker:
    """Joins feedback into ledgers."""

    def __init__(self, *, records: Records, ledgers: LedgerStore, clock: Clock) -> None:
        self._records = records
        self._ledgers = ledgers
        self._clock = clock

    def track(self, credential: str, words: Sequence[Word]) -> Tracked:
        """Join the words of one credential: one compare-and-swap and one detail per chunk, whatever their number."""
        chunks: dict[tuple[str, int], list[tuple[Ref, WordKind, Word]]] = {}
        foreign = 0
        for word in words:
            ref = Ref.parse(word.ref)
            if ref is None or word.word not in _KINDS:
                foreign += 1
            else:
                chunks.setdefault((ref.job, ref.chunk), []).append((ref, WordKind(word.word), word))
        jobs: dict[str, Job | None] = {}
        joined = 0
        later: list[Word] = []
        for (job_id, number), about in chunks.items():
            if job_id not in jobs:
                jobs[job_id] = self._records.job(job_id)
            job = jobs[job_id]
            if job is None or credential not in job.route or number >= job.chunks:
                foreign += len(about)
                continue
            counted, waiting = self._chunk(job, number, credential, about)
            joined += counted
            foreign += len(about) - counted - len(waiting)
            later += waiting
        return Tracked(joined, foreign, tuple(later))

    def _chunk(
        self, job: Job, number: int, credential: str, about: Sequence[tuple[Ref, WordKind, Word]]
    ) -> tuple[int, list[Word]]:
        """Join what was said about one chunk; returns how many words were ours, and those that wait."""
        ledger = self._ledgers.read(job.id, number)
        if ledger is not None:
            about = [a for a in about if a[0].index < len(ledger.cells)]
        later: list[Word] = []
        now: list[tuple[Ref, WordKind, Word]] = []
        for ref, kind, word in about:
            if ledger is not None and kind in SOFT and ledger.cell(ref.index) == (Cell.CLAIMED, ref.attempt):
                later.append(word)
            else:
                now.append((ref, kind, word))
        if not now:
            return 0, later
        # The detail comes first: it holds the id that an attempt of unknown fate lacks, and a repeat, after the words
        # were joined, could no longer tell that it does.
        entries = tuple(
            FeedbackEntry(
                r.index,
                r.attempt,
                k.value,
                w.at,
                "" if ledger is not None and _names_id(ledger, r) else w.id,
                w.code,
                w.detail,
                w.secondary,
            )
            for r, k, w in now
        )
        ttl = ledger.ttl if ledger is not None else job.ttl
        self._records.put_feedback(FeedbackDetail(job.id, number, credential, entries, ttl))
        states = [(r.index, r.attempt, st) for r, k, w in now if not w.secondary and (st := state_of(k)) is not None]
        if ledger is not None and states:
            self._ledgers.join(job.id, number, states, route=job.route, credential=credential)
        self._suppress(job, number, now)
        return len(now), later

    def _suppress(self, job: Job, number: int, words: Sequence[tuple[Ref, WordKind, Word]]) -> None:
        hard = [(r.index, k) for r, k, w in words if k in SUPPRESSES and not w.secondary]
        if not hard or job.test:
            return
        chunk = self._records.chunk(job.id, number)
        if chunk is None:
            return
        now = int(self._clock.now() * 1000)
        for index, kind in dict(hard).items():
            if index >= len(chunk.recipients):
                continue  # only the ledger, which may have gone before its chunk, tells foreign refs
            self._records.suppress(job.account, chunk.recipients[index].key, kind.value, now)


def _names_id(ledger: Ledger, ref: Ref) -> bool:
    """Tell whether the provider's id of an attempt is on record, so that a word need not repeat it (60 bytes each).

    A cell is SENT by its window's detail or by an earlier word about the same attempt, and both carry the id.
    """
    state, attempt = ledger.cell(ref.index)
    return attempt == ref.attempt and state in _IDENTIFIED


_IDENTIFIED: Final = frozenset({Cell.SENT, Cell.RELAYED})
_KINDS: Final = frozenset(k.value for k in WordKind)

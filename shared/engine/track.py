"""Tracking: providers' words reach the cells by rank, in any order and any number of times (F)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.contracts import Word
from shared.domain import ledger as rules
from shared.domain import passes
from shared.domain.details import Detail, FeedbackDetail, FeedbackEntry
from shared.domain.feedback import SOFT, SUPPRESSES, WordKind, state_of
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.ledger import Ledger, LedgerStatus
from shared.domain.states import MAX_ATTEMPTS, RANK, Cell, reopened
from shared.engine.recover import Recovery
from shared.ports import Clock, LedgerStore, Records, Retriable

LATER: Final = 15.0
"""Seconds after which a soft word about a call still under way is looked at again."""
RACES: Final = 20
"""How often a reopening starts over when others write meanwhile."""
Said = tuple[Ref, WordKind, Word]


@dataclass(frozen=True, slots=True)
class Tracked:
    """What came of a batch of words.

    Attributes:
        joined: words about messages that are known here.
        foreign: words without a job, chunk or route of ours: counted and dropped.
        later: words to be looked at again after LATER seconds.
        final: those of the joined after which, as a rule, no other follows.
    """

    joined: int
    foreign: int
    later: tuple[Word, ...]
    final: int = 0


class Tracker:
    """Joins feedback into ledgers."""

    def __init__(self, *, records: Records, ledgers: LedgerStore, recovery: Recovery, clock: Clock) -> None:
        self._records = records
        self._ledgers = ledgers
        self._recovery = recovery
        self._clock = clock

    def track(self, credential: str, words: Sequence[Word]) -> Tracked:
        """Join the words of one credential: one compare-and-swap and one detail per chunk, whatever their number."""
        chunks: dict[tuple[str, int], list[Said]] = {}
        foreign = 0
        for word in words:
            ref = Ref.parse(word.ref)
            kind = _KINDS.get(word.word)
            if ref is None or kind is None:
                foreign += 1
            else:
                chunks.setdefault((ref.job, ref.chunk), []).append((ref, kind, word))
        jobs: dict[str, Job | None] = {}
        joined = final = 0
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
            final += sum(kind in _FINAL for _, kind, word in about if not word.secondary) if counted else 0
            foreign += len(about) - counted - len(waiting)
            later += waiting
        return Tracked(joined, foreign, tuple(later), final)

    def _chunk(self, job: Job, number: int, credential: str, about: Sequence[Said]) -> tuple[int, list[Word]]:
        """Join what was said about one chunk; returns how many words were ours, and those that wait."""
        ledger = self._ledgers.read(job.id, number)
        if ledger is not None:
            about = [a for a in about if a[0].index < len(ledger.cells)]
        later: list[Word] = []
        now: list[Said] = []
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
        if ledger is not None:
            self._join(job, ledger, credential, [said for said in now if not said[2].secondary])
        self._suppress(job, number, now)
        return len(now), later

    def _join(self, job: Job, ledger: Ledger, credential: str, words: Sequence[Said]) -> None:
        """Join words into the ledger: by one compare-and-swap, or with the job where a message is to be tried again."""
        states = [(r.index, r.attempt, state) for r, k, _ in words if (state := state_of(k)) is not None]
        absent = {(r.index, r.attempt) for r, k, _ in words if k is WordKind.ABSENT}
        for _ in range(RACES):
            again = self._again(job, ledger, words)
            joined = ledger
            if again:
                retries = [(i, a, Cell.RETRY) for i, a in sorted(again - absent)]
                joined = rules.join_words(ledger, [*retries, *states], route=job.route, credential=credential) or ledger
                joined = rules.disprove(joined, again & absent, Cell.RETRY) or joined
            if not any(joined.cell(i) == (Cell.RETRY, a) for i, a in again):
                if states:
                    self._ledgers.join(job.id, ledger.chunk, states, route=job.route, credential=credential)
                if absent:
                    self._ledgers.disprove(job.id, ledger.chunk, absent)
                return
            new = passes.reopen(joined, self._recovery.passing(job.route))
            if self._records.reopen(ledger, new, job):
                if ledger.status is LedgerStatus.DONE:
                    self._recovery.point(replace(job, state=reopened(job.state)), new)
                if absent - again:
                    self._ledgers.disprove(job.id, ledger.chunk, absent - again)
                return
            current, stored = self._records.job(job.id), self._ledgers.read(job.id, ledger.chunk)
            if current is None or stored is None:
                return
            job, ledger = current, stored
        raise Retriable("others write all the time")

    def _again(self, job: Job, ledger: Ledger, words: Sequence[Said]) -> set[tuple[int, int]]:
        """Return (recipient, attempt) of what goes to a provider that has not tried it: by policy, and if one is left.

        The details are read after the ledger, so that they name everybody who tried what it holds.
        """
        asked = [said for said in words if _may_retry(job, ledger, said)]
        if not asked:
            return set()
        windows, feedback = self._records.details(job.id, ledger.chunk)
        known = passes.pasts(ledger, windows, feedback)
        begun = _begun(windows) if any(k is WordKind.DEFERRED for _, k, _ in asked) else {}
        return {
            (ref.index, ref.attempt)
            for ref, kind, word in asked
            if kind is WordKind.ABSENT
            or (
                known.get(ref.index, passes.NO_PAST).named < set(job.route)
                and (
                    kind is not WordKind.DEFERRED
                    or word.at - begun.get((ref.index, ref.attempt), word.at) >= job.policy.deferred_after
                )
            )
        }

    def _suppress(self, job: Job, number: int, words: Sequence[Said]) -> None:
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


def _may_retry(job: Job, ledger: Ledger, said: Said) -> bool:
    """Tell whether a message may be tried again after a word about its last attempt: by policy, or as it was absent."""
    ref, kind, _ = said
    if kind is not WordKind.ABSENT and kind.value not in job.policy.retry_on:
        return False
    state, attempt = ledger.cell(ref.index)
    if job.stopped or not ref.attempt == attempt < min(ledger.limit, MAX_ATTEMPTS):
        return False
    return state is Cell.UNKNOWN if kind is WordKind.ABSENT else RANK[state] < RANK[Cell.RETRY]


def _begun(windows: Sequence[Detail]) -> dict[tuple[int, int], int]:
    """Return (recipient, attempt) → Unix seconds when its window was over."""
    return {(e.index, e.attempt): w.at // 1000 for w in windows for e in w.entries}


_FINAL: Final = frozenset({WordKind.DELIVERED, WordKind.BOUNCED, *SOFT})
_IDENTIFIED: Final = frozenset({Cell.SENT, Cell.RELAYED})
_KINDS: Final = {k.value: k for k in WordKind}

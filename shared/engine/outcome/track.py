"""Tracking: feedback events (`ProviderEvent`) reach the cells by rank, in any order and any number of times (F).

Events about many chunks are joined side by side, each chunk by itself. A chunk that fails, or for which time is too
short, leaves only its own events unjoined.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from math import inf
from typing import Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref, is_small
from shared.domain.jobs import ledger as rules
from shared.domain.jobs import passes
from shared.domain.jobs.details import FeedbackDetail, FeedbackEntry
from shared.domain.jobs.feedback import CHANNEL_WISHES, SUPPRESSES, WISHES, ProviderEventKind, state_of
from shared.domain.jobs.job import DIGEST, Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import STOPPED, UNSUBSCRIBED
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import JobState, reopened
from shared.domain.recipients.suppressions import BY_CHANNEL, AnyReach, DigestsOf, Reach
from shared.domain.times import Seconds
from shared.engine.lane.recovery import Recovery
from shared.engine.outcome.words import (
    FINAL,
    KINDS,
    Said,
    State,
    Try,
    begun_at,
    by_time,
    is_overdue,
    is_retried,
    is_wish,
    joined_with,
    may_retry,
    names_id,
)
from shared.engine.pool import Pool
from shared.frozen import dataclass
from shared.ports import ENDS, Clock, JobEnd, Listeners, Records, Retriable

GOOD: Final = frozenset({ProviderEventKind.ACCEPTED, ProviderEventKind.DELIVERED})
"""Words after which nothing is suppressed, stopped or sent again."""
LATER: Final = 15.0
"""Seconds after which a soft word about a call still under way is checked again."""
RACES: Final = 20
"""How often a reopening starts over when others write meanwhile."""
THREADS: Final = 8
"""Chunks at once. Each word is two writes one after the other: 12 ms of waiting, and 6 ms of a 512 MB function's share
of a processor. More threads would only wait for that share."""
MOMENT_MS: Final = 5_000
"""Suppressions of so many milliseconds have one moment, so that the mark that announces them is written once. Readers
of the log look two minutes back."""

Place = tuple[str, int]
"""A chunk: job and number."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tracked:
    """The result of a batch of words.

    Attributes:
        joined: words about messages that are known here.
        foreign: words without a job, chunk or route of ours: counted and dropped.
        later: words to be checked again after LATER seconds.
        final: those of the joined after which, as a rule, no other follows.
        left: words that were not joined, as their chunk failed or time was up.
        fault: the first fault, if there was one.
    """

    joined: int
    foreign: int
    later: tuple[ProviderEvent, ...]
    final: int = 0
    left: tuple[ProviderEvent, ...] = ()
    fault: Exception | None = None


@dataclass(frozen=True, slots=True)
class _Folding:
    """Words about a small job that are to be joined and folded by one write.

    Attributes:
        ledger: as read.
        joined: with the words.
        states: what they say.
        words: as the provider sent them.
        detail: the words as they are stored.
        room: as of `JobsRead`.
    """

    job: Job
    ledger: Ledger
    joined: Ledger
    states: Sequence[State]
    words: Sequence[ProviderEvent]
    detail: FeedbackDetail
    room: int


@dataclass(slots=True)
class _Sum:
    """What one thread has done."""

    joined: int = 0
    foreign: int = 0
    final: int = 0
    later: list[ProviderEvent] = field(default_factory=list)
    left: list[ProviderEvent] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    folding: list[_Folding] = field(default_factory=list)

    def include(self, other: "_Sum") -> None:
        """Add what another thread has done."""
        self.joined += other.joined
        self.foreign += other.foreign
        self.final += other.final
        self.later += other.later
        self.left += other.left
        self.faults += other.faults
        self.folding += other.folding


@dataclass(frozen=True, slots=True)
class _Known:
    """Jobs and ledgers that were read together."""

    jobs: Mapping[str, Job]
    ledgers: Mapping[Place, Ledger]
    room: Mapping[str, int]


class Tracker:
    """Joins feedback into ledgers.

    Args:
        pool: what its threads come from.
        listeners: which namespaces have webhooks; None: all may have some.
    """

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        recovery: Recovery,
        clock: Clock,
        pool: Callable[[int], Pool],
        listeners: Listeners | None = None,
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._recovery = recovery
        self._clock = clock
        self._pool = pool
        self._listeners = listeners
        self._moment = 0

    def track(self, credential: str, words: Sequence[ProviderEvent]) -> Tracked:
        """Join the words of one credential.

        Raises:
            Exception: the first fault of a chunk, once all others have been joined.
        """
        tracked = self.join_all(credential, words)
        if tracked.fault is not None:
            raise tracked.fault
        return tracked

    def join_all(self, credential: str, words: Sequence[ProviderEvent], *, deadline: Seconds = inf) -> Tracked:
        """Join any number of words of one credential: one compare-and-swap and one detail per chunk.

        Jobs and ledgers are read a hundred at a time. Then each chunk's words are joined separately.

        Args:
            credential: whose words they are; of equal ones one counts.
            words: about any chunks, in any order.
            deadline: Unix seconds from which on no chunk is begun.
        """
        chunks: dict[Place, list[Said]] = {}
        total = _Sum()
        for word in dict.fromkeys(words):
            ref = Ref.parse(word.ref)
            kind = KINDS.get(word.word)
            if ref is None or kind is None:
                total.foreign += 1
            else:
                chunks.setdefault((ref.job, ref.chunk), []).append((ref, kind, word))
        try:
            known = self._read(chunks)
        except Retriable as fault:
            left = tuple(word for about in chunks.values() for _, _, word in about)
            return Tracked(0, total.foreign, (), left=left, fault=fault)
        waiting = deque(chunks.items())
        with self._pool(THREADS) as pool:
            threads = [
                pool.submit(self._serve, credential, waiting, known, deadline)
                for _ in range(min(THREADS, len(waiting)))
            ]
            for thread in threads:
                total.include(thread.result())
        self._fold_together(credential, total)
        first = total.faults[0] if total.faults else None
        return Tracked(total.joined, total.foreign, tuple(total.later), total.final, tuple(total.left), first)

    def _read(self, chunks: Mapping[Place, object]) -> _Known | None:
        """Read all jobs and ledgers; None if one of them cannot be read, so that each chunk is to read its own."""
        try:
            read = self._records.read_with_ledgers({job for job, _ in chunks})
            apart = [place for place in chunks if place[0] in read.jobs and place[0] not in read.ledgers]
            found = [*read.ledgers.values(), *(self._ledgers.read_these(apart) if apart else ())]
        except Retriable:
            raise
        except Exception:  # noqa: BLE001 - any item that cannot be read is met again, with only its own chunk
            _LOG.exception("jobs or ledgers that cannot be read: one by one")
            return None
        return _Known(read.jobs, {(x.job, x.chunk): x for x in found}, read.room)

    def _serve(
        self, credential: str, waiting: deque[tuple[Place, list[Said]]], known: _Known | None, deadline: Seconds
    ) -> _Sum:
        """Join chunk after chunk, as one of several threads, until none waits."""
        done = _Sum()
        while True:
            try:
                place, about = waiting.popleft()
            except IndexError:
                return done
            if self._clock.now() > deadline:
                done.left += [word for _, _, word in about]
                continue
            try:
                self._one(credential, place, about, known, done)
            except Exception as fault:  # noqa: BLE001 - its words are left, the other chunks have their turn
                _LOG.exception("not joined", extra={"job": place[0], "chunk": place[1]})
                done.faults.append(fault)
                done.left += [word for _, _, word in about]

    def _one(self, credential: str, place: Place, about: Sequence[Said], known: _Known | None, done: _Sum) -> None:
        """Join what was said about one chunk."""
        job_id, number = place
        job = known.jobs.get(job_id) if known is not None else self._records.job(job_id)
        if job is None or credential not in job.route or number >= job.chunks:
            done.foreign += len(about)
            return
        ledger = known.ledgers.get(place) if known is not None else self._ledgers.read(job_id, number)
        room = known.room.get(job_id, 0) if known is not None else 0
        counted, waiting = self._chunk(job, number, ledger, credential, about, done.folding, room)
        done.joined += counted
        done.final += sum(kind in FINAL for _, kind, word in about if not word.secondary) if counted else 0
        done.foreign += len(about) - counted - len(waiting)
        done.later += waiting

    def _chunk(
        self,
        job: Job,
        number: int,
        ledger: Ledger | None,
        credential: str,
        about: Sequence[Said],
        folding: list[_Folding],
        room: int,
    ) -> tuple[int, list[ProviderEvent]]:
        """Join what was said about one chunk; returns how many words were ours, and those that wait.

        Words that can be folded at once are put into `folding`, with `room` in the job's item.

        `ledger` may be some seconds old. The words are older still, so this joins what the ledger lacked when it was
        read. Every write to it is compared.
        """
        now, later = by_time(ledger, about)
        if not now:
            return 0, later
        # Before the rest: a message that a provider drops for it is tried again, and must find who has unsubscribed.
        self._heed(job, number, now)
        self._stop(job, number, now)
        about = [said for said in now if said[1] not in WISHES]
        if about:
            at_once = self._record(job, number, ledger, credential, about, room)
            folding += [at_once] if at_once is not None else []
        return len(now), later

    def _record(
        self, job: Job, number: int, ledger: Ledger | None, credential: str, about: Sequence[Said], room: int
    ) -> _Folding | None:
        """Store words about attempts, and join them; returns those that are to be stored and folded at once."""
        # The detail comes first: it holds the id that an attempt of unknown fate lacks, and a repeat, after the words
        # were joined, could no longer tell that it does.
        entries = tuple(
            FeedbackEntry(
                r.index,
                r.attempt,
                k.value,
                w.at,
                "" if ledger is not None and names_id(ledger, r) else w.id,
                w.code,
                w.detail,
                w.secondary,
            )
            for r, k, w in about
        )
        ttl = ledger.ttl if ledger is not None else job.ttl
        detail = FeedbackDetail(job.id, number, credential, entries, ttl)
        words = [said for said in about if not said[2].secondary]
        at_once = self._folding(job, ledger, words, detail, room) if ledger is not None else None
        if at_once is not None:
            return at_once
        self._records.put_feedback(detail)
        if ledger is not None:
            self._join(job, ledger, credential, words)
        self._suppress(job, number, about)
        return None

    def _folding(
        self, job: Job, ledger: Ledger, words: Sequence[Said], detail: FeedbackDetail, room: int
    ) -> _Folding | None:
        """Return good news about a small job that has ended, of which no webhook hears: nothing else follows it."""
        if not self._is_over(job):
            return None
        if any(kind not in GOOD for _, kind, _ in words):
            return None
        states = [(r.index, r.attempt, state) for r, k, _ in words if (state := state_of(k)) is not None]
        joined = rules.join_words(ledger, states, route=job.route, credential=detail.credential)
        if joined is None or joined.status is not LedgerStatus.DONE:
            return None
        return _Folding(job, ledger, joined, states, [word for _, _, word in words], detail, room)

    def _is_over(self, job: Job) -> bool:
        """Tell whether a job is a small one that has ended, and of which no webhook hears."""
        return is_small(job.id) and job.state is JobState.LOGGED and not job.retry and self._is_quiet(job)

    def _is_quiet(self, job: Job) -> bool:
        return self._listeners is not None and not self._listeners.has(job.namespace)

    def _fold_together(self, credential: str, total: _Sum) -> None:
        """Join and fold words about small jobs, those that share stats in one transaction; others are only joined."""
        groups: dict[tuple[str, str, str], list[_Folding]] = {}
        for x in total.folding:
            groups.setdefault((x.job.account, x.job.day, x.job.channel), []).append(x)
        for group in groups.values():
            for start in range(0, len(group), ENDS):
                some = group[start : start + ENDS]
                folded = self._fold_each(some)
                for x in some:
                    if x.job.id not in folded:
                        self._join_again(credential, x, total)

    def _fold_each(self, some: Sequence[_Folding]) -> set[str]:
        ends = [JobEnd(x.job, x.ledger, x.joined, None, x.detail, x.room) for x in some]
        try:
            return self._records.end_jobs(ends, int(self._clock.now() * 1000))
        except Exception:  # noqa: BLE001 - each is joined by itself, and raises what is its own
            _LOG.exception("not folded together", extra={"jobs": [x.job.id for x in some]})
            return set()

    def _join_again(self, credential: str, x: _Folding, total: _Sum) -> None:
        """Join words whose ledger has moved on; the stream has them folded."""
        try:
            self._records.put_feedback(x.detail)
            self._store(x.job, x.ledger, credential, x.states, ())
        except Exception as fault:  # noqa: BLE001 - its words are left, the others have their turn
            _LOG.exception("not joined", extra={"job": x.job.id, "chunk": x.ledger.chunk})
            total.faults.append(fault)
            total.left += x.words
            total.joined -= len(x.words)

    def _join(self, job: Job, ledger: Ledger, credential: str, words: Sequence[Said]) -> None:
        """Join words into the ledger: by one compare-and-swap, or with the job where a message is to be tried again."""
        states = [(r.index, r.attempt, state) for r, k, _ in words if (state := state_of(k)) is not None]
        absent = {(r.index, r.attempt) for r, k, _ in words if k is ProviderEventKind.ABSENT}
        for _ in range(RACES):
            again = self._again(job, ledger, words)
            joined = joined_with(ledger, states, again, absent, job.route, credential)
            if not is_retried(joined, again):
                self._store(job, ledger, credential, states, absent)
                return
            if self._reopen(job, ledger, joined, absent - again):
                return
            current, stored = self._records.job(job.id), self._ledgers.read(job.id, ledger.chunk)
            if current is None or stored is None:
                return
            job, ledger = current, stored
        raise Retriable("others write all the time")

    def _store(
        self, job: Job, ledger: Ledger, credential: str, states: Sequence[State], absent: Collection[Try]
    ) -> None:
        """Join words after which no message is tried again."""
        if states:
            self._ledgers.join(job.id, ledger.chunk, states, route=job.route, credential=credential, known=ledger)
        if absent:
            self._ledgers.disprove(job.id, ledger.chunk, absent)

    def _reopen(self, job: Job, ledger: Ledger, joined: Ledger, disproved: Collection[Try]) -> bool:
        """Write words after which messages are tried again, together with the job; False if others wrote meanwhile.

        Args:
            joined: the ledger with the words.
            disproved: attempts that never arrived and that are not made again.
        """
        new = passes.reopen(joined, self._recovery.passing(job.route))
        if not self._records.reopen(ledger, new, job):
            return False
        if ledger.status is LedgerStatus.DONE:
            self._recovery.point(replace(job, state=reopened(job.state)), new)
        if disproved:
            self._ledgers.disprove(job.id, ledger.chunk, disproved)
        return True

    def _again(self, job: Job, ledger: Ledger, words: Sequence[Said]) -> set[Try]:
        """Return (recipient, attempt) of what moves to a provider that has not tried it: by policy, and if one is left.

        The details are read after the ledger, so that they name every credential that tried its messages.
        """
        asked = [said for said in words if may_retry(job, ledger, said)]
        if not asked:
            return set()
        windows, feedback = self._records.details(job.id, ledger.chunk)
        known = passes.pasts(ledger, windows, feedback)
        begun = begun_at(windows) if any(k is ProviderEventKind.DEFERRED for _, k, _ in asked) else {}
        route = set(job.route)
        untried = {ref.index for ref, _, _ in asked if known.get(ref.index, passes.NO_PAST).named < route}

        def goes_on(ref: Ref, kind: ProviderEventKind, word: ProviderEvent) -> bool:
            if kind is ProviderEventKind.DEFERRED and not is_overdue(job, ref, word, begun):
                return False
            return kind is ProviderEventKind.ABSENT or ref.index in untried

        return {(said[0].index, said[0].attempt) for said in asked if goes_on(*said)}

    def _suppress(self, job: Job, number: int, words: Sequence[Said]) -> None:
        hard = {r.index: k for r, k, w in words if k in SUPPRESSES and not w.secondary}
        for index, key in self._keys(job, number, hard).items():
            self._records.suppress(
                job.account, key, hard[index].value, self._now_and_then(), job=job.id, channel=job.channel
            )

    def _heed(self, job: Job, number: int, words: Sequence[Said]) -> None:
        """Unsubscribe recipients who left at the provider, or undo that: the latest of the given words counts.

        An older word that comes by itself, after a newer one, unsubscribes as well, which is the side to err on. A
        recipient who comes back at the provider takes back only what was said there.
        """
        about = [
            (w.at, k is ProviderEventKind.RESUBSCRIBED, r.index)
            for r, k, w in words
            if not w.secondary and is_wish(k, w)
        ]
        latest = {index: back for _, back, index in sorted(about)}
        keys = self._keys(job, number, latest)
        left = self._left(job) if keys else Reach.CAMPAIGNS
        for index, key in keys.items():
            if latest[index]:
                self._records.allow(job.account, key, reach=left, reason=UNSUBSCRIBED)
            else:
                moment = self._now_and_then()
                self._records.suppress(
                    job.account, key, UNSUBSCRIBED, moment, reach=left, job=job.id, channel=job.channel
                )

    def _left(self, job: Job) -> AnyReach:
        """Return the list for recipients who unsubscribe from a job's messages: of a digest that of its policy."""
        content = self._records.content(job.id) if job.kind == DIGEST else None
        return DigestsOf(content.digest.policy) if content is not None and content.digest else Reach.CAMPAIGNS

    def _stop(self, job: Job, number: int, words: Sequence[Said]) -> None:
        """Stop this channel for recipients who wish so, or start it again: the latest of the given words counts."""
        reach = BY_CHANNEL.get(job.channel)
        if reach is None:
            return
        said = sorted((w.at, k is ProviderEventKind.STARTED, r.index) for r, k, w in words if k in CHANNEL_WISHES)
        latest = {index: back for _, back, index in said}
        for index, key in self._keys(job, number, latest).items():
            if latest[index]:
                self._records.allow(job.account, key, reach=reach, reason=STOPPED)
            else:
                moment = self._now_and_then()
                self._records.suppress(job.account, key, STOPPED, moment, reach=reach, job=job.id, channel=job.channel)

    def _keys(self, job: Job, number: int, indices: Collection[int]) -> dict[int, str]:
        """Return the normalised addresses of some recipients of a chunk; none for a test."""
        chunk = self._records.chunk(job.id, number) if indices and not job.test else None
        if chunk is None:
            return {}
        # only the ledger, which may have gone before its chunk, tells foreign refs
        return {i: chunk.recipients[i].key for i in indices if i < len(chunk.recipients)}

    def _now_and_then(self) -> int:
        """Return a moment that is not much older than now (Unix ms): each new one costs a write."""
        now = int(self._clock.now() * 1000)
        if now - self._moment > MOMENT_MS:
            self._moment = now
        return self._moment

"""Resolving doubts: asks the provider about attempts whose fate is not known (Resolve).

It runs in the credential's lane, which has its secret and its pace. Each finding is a `ProviderEvent` like any other,
which the tracker joins: accepted, or proven absent. Messages come first in that lane. So questions take a tenth of the
slots, and each invocation asks some, then leaves the rest to a later one.
"""

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.contracts import Credential, ProviderEvent, question
from shared.domain.ids import Ref
from shared.domain.jobs.details import Detail
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Absent, Accepted, Finding, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.lanes.backoff import MAX_QUEUE_DELAY
from shared.domain.lanes.pacing import Slots, pace
from shared.domain.lanes.switches import AS_DECLARED
from shared.domain.times import Seconds
from shared.engine.lane.access import CALL_TIMEOUT, LaneStores
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.checks import openings
from shared.engine.lane.compose import CannotCompose, Composition
from shared.engine.lane.lease import target
from shared.engine.lane.send import MARGIN
from shared.engine.outcome.track import Tracker
from shared.engine.pool import Pool, ThreadPool
from shared.engine.suppression.suppressed import Suppressed, heeds
from shared.frozen import dataclass
from shared.ports import Clock, Links, Loaded, Provider, Resolver

GROUP: Final = 10
"""Questions that are asked side by side. Findings that are not recorded when the process dies are asked for again."""
SHARE: Final = 0.1
"""The most of a credential's slots that the questions of all workers take."""
DOUBTS: Final = "doubts"
"""The name of the clock that keeps them to it."""
SOON: Final = 1.0
"""Seconds that questions wait for their slots: the invocation holds a place that messages want."""
LATER: Final = 240.0
"""Seconds within which those whose turn it is not come again, each at a time of its own."""
PATIENCE: Final = 0.9
"""The share of a question's time after which an answer that tells nothing means that the provider does not answer."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """How many attempts were asked about, and what was found; the rest the provider cannot tell, or not yet."""

    asked: int = 0
    accepted: int = 0
    absent: int = 0


@dataclass(frozen=True, slots=True)
class _Doubts:
    """A chunk with attempts of unknown fate. `made`: when this credential made them, Unix seconds, by recipient."""

    loaded: Loaded
    ledger: Ledger
    made: Mapping[int, float]
    composition: Composition


_Answer = Finding | Exception | None
"""The result of a question; None: there was nothing to ask, or it may not be asked."""


class Resolution:
    """Asks one credential's provider."""

    def __init__(
        self,
        *,
        stores: LaneStores,
        tracker: Tracker,
        provider: Provider,
        credential: Credential,
        breaker_cache: BreakerCache,
        clock: Clock,
        call_timeout: Seconds = CALL_TIMEOUT,
        links: Links | None = None,
        pool: Callable[[int], Pool] | None = None,
    ) -> None:
        self._links = links
        self._records = stores.records
        self._ledgers = stores.ledgers
        self._pacer = stores.pacer
        self._lanes = stores.lanes
        self._tracker = tracker
        self._provider = provider
        self._credential = credential
        self._breaker_cache = breaker_cache
        self._clock = clock
        self._call_timeout = call_timeout
        self._pool = pool or ThreadPool()
        self._suppressed = Suppressed(stores.records, clock)

    def resolve(self, job_id: str, number: int, *, deadline: Seconds, after: int = -1) -> Resolved:
        """Ask about some attempts of a chunk that are UNKNOWN and were made through this credential.

        If some are left, another message of the lane asks about them, when it is the turn of questions again.

        Two lookups at once change nothing: a lookup reads, and a call under its key is the same call. Some providers
        accept a message when they are asked about it. These are not asked about messages that may not be sent now. Such
        messages are of a stopped or paused job, or outside of its hours, or to a recipient who was suppressed or has
        unsubscribed since. A
        provider that is paused, or whose breaker is open, is not asked until the next look.

        Args:
            deadline: Unix seconds by which it ends.
            after: the place of the last recipient who was asked about; -1: none was.

        Raises:
            Exception: any fault of a store or an adapter, once all other answers are recorded.
        """
        provider = self._provider
        if not isinstance(provider, Resolver) or not self._breaker_cache.usable(self._credential.id):
            return Resolved()
        doubts = self._doubts(job_id, number, after)
        if doubts is None:
            return Resolved()
        earliest = self._clock.now() - provider.resolves_within
        waiting = [i for i in sorted(doubts.made) if doubts.made[i] >= earliest]
        slots = self._slots(waiting[:GROUP], deadline - self._call_timeout - MARGIN)
        if slots is None:
            return Resolved()
        group = waiting[: slots.count]
        if not group:
            self._hand_over(doubts, after, slots.first - self._clock.now() + self._draw(doubts) * LATER)
            return Resolved()
        answers, silent = self._ask(provider, doubts, group, slots, deadline)
        resolved = self._tell(doubts, dict(zip(group, answers, strict=True)))
        if len(group) < len(waiting) and not silent:
            self._hand_over(doubts, group[-1], len(group) * slots.spacing / SHARE)
        return resolved

    def _doubts(self, job_id: str, number: int, after: int) -> _Doubts | None:
        """Read a chunk's attempts of unknown fate, of the recipients after a place; None if there are none."""
        ledger = self._ledgers.read(job_id, number)
        unknown = [i for i in ledger.having(Cell.UNKNOWN) if i > after] if ledger is not None else []
        loaded = self._records.load(job_id, number, content=True) if unknown else None
        if ledger is None or loaded is None or loaded.content is None:
            return None
        windows, _ = self._records.details(job_id, number)
        made = _made(windows, ledger, unknown, self._credential.id)
        return _Doubts(loaded, ledger, made, Composition(loaded.job, loaded.content, self._links))

    def _draw(self, doubts: _Doubts) -> float:
        """Return a number from 0 to 1, each time another and for each chunk."""
        return zlib.crc32(f"{doubts.ledger.job}-{doubts.ledger.chunk}-{self._clock.now()}".encode()) / 2**32

    def _hand_over(self, doubts: _Doubts, after: int, wait: Seconds) -> None:
        """Have another invocation ask about the recipients after a place, some seconds later."""
        job = doubts.loaded.job
        body = question(job.id, doubts.ledger.chunk, after)
        delay = min(max(1.0, wait), MAX_QUEUE_DELAY)
        self._lanes[self._credential.id].send([body], delay=delay, group=job.account, express=job.express)

    def _ask(
        self, provider: Resolver, doubts: _Doubts, group: Sequence[int], slots: Slots, deadline: Seconds
    ) -> tuple[list[_Answer], bool]:
        """Ask about recipients side by side, each at its slot.

        Args:
            deadline: Unix seconds by which all ends.

        Returns:
            The answers, and whether one took so long to say nothing that the provider does not answer.
        """
        calls, silent = [], False
        with self._pool(len(group)) as pool:
            for n, index in enumerate(group):
                self._clock.sleep(slots.at(n) - self._clock.now())
                began = self._clock.now()
                calls.append((began, pool.submit(self._answer, provider, doubts, index, deadline)))
        for began, call in calls:
            took = self._clock.now() - began
            silent |= isinstance(call.result(), Unknown) and took >= PATIENCE * self._call_timeout
        return [call.result() for _, call in calls], silent

    def _tell(self, doubts: _Doubts, answers: Mapping[int, _Answer]) -> Resolved:
        """Have the tracker join what was found; raises the first fault afterwards. `answers`: by recipient."""
        found = {index: x for index, x in answers.items() if isinstance(x, Finding)}
        words = [word for index, finding in found.items() if (word := _word(doubts, index, finding)) is not None]
        if words:
            self._tracker.track(self._credential.id, words)
        for answer in answers.values():
            if isinstance(answer, Exception):
                raise answer
        absent = sum(word.word == ProviderEventKind.ABSENT for word in words)
        return Resolved(len(found), len(words) - absent, absent)

    def _answer(self, provider: Resolver, doubts: _Doubts, index: int, deadline: Seconds) -> _Answer:
        """Do what `_about` does, and return its fault, so that the others' answers are recorded all the same."""
        try:
            return self._about(provider, doubts, index, deadline)
        except Exception as fault:  # noqa: BLE001 - raised when the others are recorded
            return fault

    def _about(self, provider: Resolver, doubts: _Doubts, index: int, deadline: Seconds) -> Finding | None:
        """Ask about one recipient; None if there is nothing to ask, or it may not be asked.

        Args:
            index: the place of the recipient.
            deadline: Unix seconds by which all ends.
        """
        loaded = doubts.loaded
        sent = doubts.composition.of(loaded.chunk.recipients[index]).content
        if isinstance(sent, CannotCompose):
            return None  # no call was ever made, and none can be
        if provider.resends and not self._may_send(loaded, index):
            return None
        until = min(self._clock.now() + self._call_timeout, deadline - MARGIN)
        at = doubts.made[index]
        return provider.resolve(sent, target(doubts.ledger, loaded.chunk, index), at=at, deadline=until)

    def _may_send(self, loaded: Loaded, index: int) -> bool:
        """Check whether a message may be sent by being asked about: as any message may, at this moment.

        The very same call would reach a copy that was suppressed since.
        """
        job = loaded.job
        control = self._records.control(job.id, job.account, test=job.test)
        if control.job is None or control.job.stopped or control.paused:
            return False
        now = int(self._clock.now() * 1000)
        if 0 < loaded.chunk.recipients[index].not_after < now:
            return False
        if not all(x.is_open(now) for x in openings(job, loaded.chunk.zone, control.quiet)):
            return False
        heeded = heeds(loaded.job, loaded.content)
        latest, content = control.suppressed_at, loaded.content
        left_out = self._suppressed.among(loaded.job, loaded.chunk, [index], latest, heeded, content)
        return not (left_out.codes or left_out.copies)

    def _slots(self, group: Sequence[int], last: Seconds) -> Slots | None:
        """Reserve a slot for each of some questions; None if there are none, or the credential is paused.

        The job's own rate is for its messages. Questions have one of theirs, as a job with a lower rate has.

        Args:
            last: Unix seconds after which it is too late for a question.

        Returns:
            None of them (`count` 0) if it is not the turn of questions; `first` says when it is.
        """
        c, known = self._credential, AS_DECLARED
        while group and not known.paused:
            now = self._clock.now()
            most, present, lowered = self._provider.per_call, known.rate, known.lowered
            rate = pace(c.rate, most, c.per_call, present=present, lowered=lowered, now=now)
            count = min(len(group), rate.window)
            turns = replace(rate, window=count, period=count * rate.spacing / SHARE, fastest=rate.slots)
            slots = self._pacer.reserve(c.id, count, turns, lead=0.0, until=min(last, now + SOON), job=DOUBTS)
            if slots.switches is None:
                return slots
            known = slots.switches
        return None


def _word(doubts: _Doubts, index: int, finding: Finding) -> ProviderEvent | None:
    """Return a finding as a word about an attempt; None if it is no answer.

    Args:
        index: the place of the recipient.
    """
    ledger = doubts.ledger
    ref, at = str(Ref(ledger.job, ledger.chunk, index, ledger.cells[index] >> 4)), int(doubts.made[index])
    match finding:
        case Accepted():
            return ProviderEvent(ref, ProviderEventKind.ACCEPTED.value, at, finding.id)
        case Absent():
            return ProviderEvent(ref, ProviderEventKind.ABSENT.value, at)
    return None


def _made(windows: Sequence[Detail], ledger: Ledger, doubts: Collection[int], credential: str) -> dict[int, float]:
    """Return by doubtful recipient when its present attempt was made, in Unix seconds, if it was this credential's."""
    return {
        e.index: w.at / 1000
        for w in windows
        for e in w.entries
        if w.credential == credential and e.index in doubts and e.attempt == ledger.cells[e.index] >> 4
    }

"""Resolving doubts: the provider is asked what became of attempts whose fate is not known (Resolve).

It runs in the credential's lane, which has its secret and its pace. What it finds is a word like any other: accepted,
or proven absent, which the tracker joins.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.contracts import Credential, Word
from shared.domain.ids import Ref
from shared.domain.jobs.details import Detail
from shared.domain.jobs.feedback import WordKind
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Absent, Accepted, Finding, Unknown
from shared.domain.jobs.states import Cell
from shared.domain.lanes.pacing import pace
from shared.domain.lanes.switches import AS_DECLARED
from shared.domain.times import Seconds
from shared.engine.lane.access import CALL_TIMEOUT
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.compose import CannotCompose, Composition
from shared.engine.lane.send import MARGIN
from shared.engine.lane.targets import target
from shared.engine.outcome.track import Tracker
from shared.engine.suppression.suppressed import Suppressed, heeds
from shared.ports import Clock, Control, LedgerStore, Links, Loaded, Pacer, Provider, Records, Resolver

GROUP: Final = 10
"""Words that are told at once: each group is a write, and what is not told when the process dies is asked for again."""
WAIT: Final = 2.0
"""Seconds after which a word is told though its group is not full."""
PATIENCE: Final = 0.9
"""The share of a question's time after which an answer that tells nothing means that the provider does not answer."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """How many attempts were asked about, and what was found; the rest the provider cannot tell, or not yet."""

    asked: int = 0
    accepted: int = 0
    absent: int = 0


class Resolution:
    """Asks one credential's provider."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerStore,
        tracker: Tracker,
        pacer: Pacer,
        provider: Provider,
        credential: Credential,
        breaker_cache: BreakerCache,
        clock: Clock,
        call_timeout: Seconds = CALL_TIMEOUT,
        links: Links | None = None,
    ) -> None:
        self._links = links
        self._records = records
        self._ledgers = ledgers
        self._tracker = tracker
        self._pacer = pacer
        self._provider = provider
        self._credential = credential
        self._breaker_cache = breaker_cache
        self._clock = clock
        self._call_timeout = call_timeout
        self._suppressed = Suppressed(records, clock)

    def resolve(self, job_id: str, number: int, *, deadline: Seconds) -> Resolved:
        """Ask about each attempt of a chunk that is UNKNOWN and was made through this credential.

        Two lookups at once change nothing: a lookup reads, and a call under its key is the same call. A provider that
        accepts the message on being asked is not asked about messages that may not be sent now: those of a stopped or
        paused job, or to a recipient who was suppressed or has unsubscribed since. A provider that is paused, or whose
        breaker is open, is not asked until the next look.

        Args:
            job_id: the job's id.
            number: the chunk.
            deadline: Unix seconds by which it ends.
        """
        provider, name = self._provider, self._credential.id
        if not isinstance(provider, Resolver) or not self._breaker_cache.usable(name):
            return Resolved()
        ledger = self._ledgers.read(job_id, number)
        doubts = ledger.having(Cell.UNKNOWN) if ledger is not None else []
        loaded = self._records.load(job_id, number, content=True) if doubts else None
        if ledger is None or loaded is None:
            return Resolved()
        windows, _ = self._records.details(job_id, number)
        made = _made(windows, ledger, doubts, name)
        told = _Told(self._tracker, name, self._clock)
        asked = 0
        try:
            for index, finding in self._ask(provider, ledger, loaded, made, deadline):
                asked += 1
                word = _word(Ref(job_id, number, index, ledger.cells[index] >> 4), int(made[index]), finding)
                if word is not None:
                    told.add(word)
        except Exception:  # any fault, raised again
            told.flush()  # a fault of a store: what was found must not be asked for again
            raise
        told.flush()
        return Resolved(asked, told.accepted, told.absent)

    def _ask(
        self, provider: Resolver, ledger: Ledger, loaded: Loaded, made: Mapping[int, float], deadline: Seconds
    ) -> Iterator[tuple[int, Finding]]:
        """Ask about recipients whose attempts were made at these times; end when there is no more time, or a stop."""
        job, chunk, content = loaded.job, loaded.chunk, loaded.content
        if content is None:
            return
        composition = Composition(job, content, self._links)
        last = deadline - self._call_timeout - MARGIN
        for index, at in made.items():
            now = self._clock.now()
            if now > last:
                return
            if now - at > provider.resolves_within:
                continue
            sent = composition.of(chunk.recipients[index]).content
            if isinstance(sent, CannotCompose):
                continue  # no call was ever made, and none can be
            control = self._leave_to_ask(job, last, resends=provider.resends)
            if control is None:
                return
            if provider.resends and not self._may_send(loaded, index, control):
                continue
            began = self._clock.now()
            until = min(began + self._call_timeout, deadline - MARGIN)
            finding = provider.resolve(sent, target(ledger, chunk, index), at=at, deadline=until)
            yield index, finding
            if self._is_silent(finding, began):
                return  # the next look is another chance

    def _may_send(self, loaded: Loaded, index: int, control: Control) -> bool:
        """Check whether a message has not expired meanwhile, and none of those who get it is suppressed.

        The very same call would reach a copy that was suppressed since.
        """
        if 0 < loaded.chunk.recipients[index].not_after < self._clock.now() * 1000:
            return False  # the wait for a slot was too long
        heeded = heeds(loaded.job, loaded.content)
        latest, content = control.suppressed_at, loaded.content
        left_out = self._suppressed.among(loaded.job, loaded.chunk, [index], latest, heeded, content)
        return not (left_out.codes or left_out.copies)

    def _is_silent(self, finding: Finding, began: Seconds) -> bool:
        """Check whether a provider, asked at `began`, took so long to say nothing that it does not answer."""
        return isinstance(finding, Unknown) and self._clock.now() - began >= PATIENCE * self._call_timeout

    def _leave_to_ask(self, job: Job, last: float, *, resends: bool) -> Control | None:
        """Wait for a slot; None if no question may be asked, which is looked up where asking is sending (`resends`).

        `last`: Unix seconds after which it is too late for one.
        """
        if not self._wait(last):
            return None
        control = self._records.control(job.id, job.account, test=job.test) if resends else Control(job, paused=False)
        return None if control.job is None or (resends and control.job.stopped) or control.paused else control

    def _wait(self, last: float) -> bool:
        """Wait for one slot of the credential; False if that is paused, or there is none by `last`, Unix seconds.

        The job's own rate is for its messages. A question takes one slot as all of the credential's are, however slow
        the job: others' messages wait for it.
        """
        c, switches = self._credential, AS_DECLARED
        while not switches.paused:
            rate = pace(
                c.rate,
                self._provider.per_call,
                c.per_call,
                present=switches.rate,
                lowered=switches.lowered,
                now=self._clock.now(),
            )
            slots = self._pacer.reserve(c.id, 1, rate, lead=0.0, until=last)
            if slots.switches is None:
                if slots.count == 0 or slots.first > last:
                    return False
                self._clock.sleep(slots.first - self._clock.now())
                return True
            switches = slots.switches
        return False


class _Told:
    """What was found, told to the tracker in small groups as it comes.

    Attributes:
        accepted: words that say so, told or not.
        absent: likewise.
    """

    def __init__(self, tracker: Tracker, credential: str, clock: Clock) -> None:
        self.accepted = self.absent = 0
        self._tracker = tracker
        self._credential = credential
        self._clock = clock
        self._waiting: list[Word] = []
        self._since = 0.0

    def add(self, word: Word) -> None:
        """Take in a word, and tell what waits if that is enough, or has waited for long."""
        absent = word.word == WordKind.ABSENT
        self.absent, self.accepted = self.absent + absent, self.accepted + (not absent)
        now = self._clock.now()
        self._since = self._since if self._waiting else now
        self._waiting.append(word)
        if len(self._waiting) >= GROUP or now - self._since >= WAIT:
            self.flush()

    def flush(self) -> None:
        """Tell what waits."""
        if self._waiting:
            self._tracker.track(self._credential, self._waiting)
            self._waiting = []


def _word(ref: Ref, at: int, finding: Finding) -> Word | None:
    """Return a finding as a word about an attempt that was made at a time (Unix seconds); None if it tells nothing."""
    match finding:
        case Accepted():
            return Word(str(ref), WordKind.ACCEPTED.value, at, finding.id)
        case Absent():
            return Word(str(ref), WordKind.ABSENT.value, at)
    return None


def _made(windows: Sequence[Detail], ledger: Ledger, doubts: Collection[int], credential: str) -> dict[int, float]:
    """Return by doubtful recipient when its present attempt was made, in Unix seconds, if it was this credential's."""
    return {
        e.index: w.at / 1000
        for w in windows
        for e in w.entries
        if w.credential == credential and e.index in doubts and e.attempt == ledger.cells[e.index] >> 4
    }

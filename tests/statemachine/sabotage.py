"""Named ways to break the engine, each leaving out one rule of the protocol; the machine must find every one."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from shared.contracts import ProviderEvent
from shared.domain.jobs import feedback, passes, queue, states
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.details import LOST
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Absent, Entry, Finding, Kind, Unknown
from shared.domain.jobs.states import Cell, Change, JobState
from shared.domain.lanes import breaker
from shared.domain.lanes.breaker import Breaker
from shared.engine.jobs import control
from shared.engine.jobs.plan import Planner
from shared.engine.lane import checks, send
from shared.engine.lane.admission import Admission
from shared.engine.outcome import resolve
from shared.engine.suppression.suppressed import Suppressed, Unwelcome
from shared.engine.walks.jobs import OpenJobs
from shared.ports import Changed
from tests.fakes.holders import Holders
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.records import FakeRecords


@contextmanager
def takeover_sends_again() -> Iterator[None]:
    """A takeover queues what was claimed, instead of making it unknown."""

    def again(ledger: Ledger, *, route: Sequence[str]) -> Ledger:
        cells = bytes(b & 0xF0 | Cell.QUEUED if b & 15 == Cell.CLAIMED else b for b in ledger.cells)
        return replace(ledger, cells=cells)

    with patch.object(rules, "give_up", again), patch.object(passes, "give_up", again):
        yield


@contextmanager
def no_version() -> Iterator[None]:
    """A ledger is written whatever its version is."""

    def swap(self: FakeLedgers, old: Ledger, new: Ledger) -> Ledger:
        def store() -> Ledger:
            self.store(new)
            return new

        return self._tap("ledgers.swap", store)

    with patch.object(FakeLedgers, "_swap", swap):
        yield


@contextmanager
def no_epoch() -> Iterator[None]:
    """A lease is whoever's, as long as there is one."""
    with patch.object(Ledger, "held_by", lambda self, _owner, _epoch: self.status is LedgerStatus.BUSY):
        yield


@contextmanager
def fold_without_condition() -> Iterator[None]:
    """A fold adds what its reader saw, even if the ledger moved on."""
    one, several = FakeRecords.fold, FakeRecords.fold_all

    def seen(self: FakeRecords, ledger: Ledger) -> Ledger:
        stored = self._ledgers.items.get((ledger.job, ledger.chunk))
        return replace(ledger, version=stored.version if stored else 0)

    def fold(self: FakeRecords, ledger: Ledger, job: Job, **more: Any) -> Any:
        return one(self, seen(self, ledger), job, **more)

    def fold_all(self: FakeRecords, ledgers: Sequence[Ledger], job: Job) -> Any:
        return several(self, [seen(self, x) for x in ledgers], job)

    with patch.object(FakeRecords, "fold", fold), patch.object(FakeRecords, "fold_all", fold_all):
        yield


@contextmanager
def retry_takes_unknown() -> Iterator[None]:
    """A retry of failed messages takes those of unknown fate along."""
    with patch.dict(control.INCLUDES, {"failed": (Cell.DROPPED, Cell.UNKNOWN)}):
        yield


@contextmanager
def not_stopped() -> Iterator[None]:
    """A worker asks whether the job is not stopped, not whether it runs."""
    runs = frozenset(JobState) - {JobState.STOPPED}
    with patch.object(send, "ACTIVE", runs), patch.object(checks, "ACTIVE", runs):
        yield


@contextmanager
def stop_unseen() -> Iterator[None]:
    """A worker reads the job once, when its lease begins."""

    def may(self: Any, lease: Any, control: Any) -> bool:
        return True

    with patch.object(checks.ClaimCheck, "passes", may):
        yield


@contextmanager
def own_claim_unknown() -> Iterator[None]:
    """A claim that a client below repeats counts as somebody else's."""
    made = FakeLedgers._swap

    def swap(self: FakeLedgers, old: Ledger, new: Ledger) -> Ledger | None:
        found = made(self, old, new)
        if found is not None and found is not new and found.owner and (found.owner, found.seq) == (new.owner, new.seq):
            return replace(found, owner="somebody else")
        return found

    with patch.object(FakeLedgers, "_swap", swap):
        yield


@contextmanager
def words_without_attempt() -> Iterator[None]:
    """A provider's word counts for whatever attempt the message is at."""

    def join(cell: Cell, at: int, state: Cell, attempt: int) -> Cell:
        return feedback.join(cell, at, state, at)

    with patch.object(rules, "join", join):
        yield


@contextmanager
def waiting_ranks_low() -> Iterator[None]:
    """A late "accepted" is believed of an attempt that was given up."""
    with patch.dict(states.RANK, {Cell.QUEUED: 0, Cell.RETRY: 0, Cell.DROPPED: 0}):
        yield


@contextmanager
def stop_ends_at_once() -> Iterator[None]:
    """A stopped job is LOGGED while workers still hold leases."""
    made: Callable[..., Changed] = FakeRecords.change

    def stop(self: FakeRecords, job: Job, change: Change, now: int, **more: Any) -> Changed:
        changed = made(self, job, change, now, **more)
        if change is Change.STOP and changed.won and changed.job is not None:
            return made(self, changed.job, Change.LOG, now)
        return changed

    with patch.object(FakeRecords, "change", stop):
        yield


@contextmanager
def no_lost_pointers() -> Iterator[None]:
    """The sweeper never sends a pointer again."""
    with patch.object(OpenJobs, "_lost", lambda *_args: []):
        yield


@contextmanager
def proof_of_any_attempt() -> Iterator[None]:
    """A takeover believes the expired lease's detail without looking whose window it is."""
    made = queue.LedgerQueue.take_over

    def take_over(self: Any, expired: Ledger, proof: Mapping[int, Any], passing: Any) -> Ledger | None:
        claimed: Iterable[int] = expired.having(Cell.CLAIMED)
        lost = (i for i in claimed if i not in proof or proof[i].code == LOST)
        guess = {i: Entry(i, expired.cells[i] >> 4, Kind.NOT_SENT) for i in lost}
        return made(self, expired, {**proof, **guess}, passing)

    with patch.object(queue.LedgerQueue, "take_over", take_over):
        yield


@contextmanager
def suppressed_unseen() -> Iterator[None]:
    """Who was suppressed after acceptance is sent to."""
    with patch.object(Suppressed, "among", lambda *_args: Unwelcome({})):
        yield


@contextmanager
def breaker_unseen() -> Iterator[None]:
    """A worker asks no breaker."""
    with patch.object(Admission, "_shut", lambda *_args: False), patch.object(Admission, "bars", lambda *_args: False):
        yield


@contextmanager
def probes_by_lease() -> Iterator[None]:
    """A lease's probes begin at nothing, whatever the leases before it found."""
    made = breaker.probing

    def probing(x: Breaker, *, owner: str, now: int) -> Breaker | None:
        new = made(x, owner=owner, now=now)
        return replace(new, successes=0) if new is not None else None

    with patch.object(breaker, "probing", probing):
        yield


@contextmanager
def doubt_is_absence() -> Iterator[None]:
    """A look-up that cannot tell counts as proof that the provider never took the attempt."""
    word = resolve._word

    def bold(doubts: Any, index: int, finding: Finding) -> ProviderEvent | None:
        return word(doubts, index, Absent() if isinstance(finding, Unknown) else finding)

    with patch.object(resolve, "_word", bold):
        yield


@contextmanager
def reservation_unchecked() -> Iterator[None]:
    """A plan takes the credential, whoever holds it."""

    def take(self: Holders, job: Job) -> str:
        self.items[job.route[0]] = (job.campaign, self.running(job.route[0]) | {job.id})
        return ""

    with patch.object(Holders, "take", take):
        yield


@contextmanager
def released_when_sent() -> Iterator[None]:
    """A job gives its credential back when all is sent, not when it is LOGGED."""
    made = Holders.change

    def change(self: Holders, job: Job, to: Change) -> str:
        if job.exclusive and to is Change.FINISH:
            self.give_back(job)
        return made(self, job, to)

    with patch.object(Holders, "change", change):
        yield


@contextmanager
def never_released() -> Iterator[None]:
    """A job keeps its credential for ever."""
    with patch.object(Holders, "give_back", lambda *_args: None):
        yield


@contextmanager
def youngest_first() -> Iterator[None]:
    """Of those that wait, whoever is named starts."""

    def react(self: Planner, job_id: str) -> list[Job]:
        job = self._records.job(job_id)
        changed = self._start(job, self._now()) if job is not None else None
        return [changed.job] if changed is not None and changed.won and changed.job is not None else []

    with patch.object(Planner, "react", react):
        yield


OF_CAMPAIGNS: Final = {
    f.__name__: f for f in (reservation_unchecked, released_when_sent, never_released, youngest_first)
}
"""What the adversary finds where campaigns share a credential."""

SABOTAGES: Final = {
    f.__name__: f
    for f in (
        takeover_sends_again,
        no_version,
        no_epoch,
        fold_without_condition,
        retry_takes_unknown,
        not_stopped,
        stop_unseen,
        own_claim_unknown,
        words_without_attempt,
        waiting_ranks_low,
        stop_ends_at_once,
        no_lost_pointers,
        proof_of_any_attempt,
        suppressed_unseen,
        breaker_unseen,
        probes_by_lease,
        doubt_is_absence,
    )
}

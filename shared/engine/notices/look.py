"""Looks at finished runs: words that the stream lost, receipts that are no longer awaited, doubts to ask about.

A finished run is checked again until every one of its messages has its last state. Source:
docs/protocol.md, "Runs of notices".
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from shared.domain.jobs import runs as cells
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.look_ups import LOOKS, next_look
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell, JobState
from shared.domain.times import DAY_MS
from shared.engine.notices.words import NoticeWords
from shared.engine.walks.doubts import Asking
from shared.frozen import dataclass
from shared.ports import Clock, Notices, Records

LAST_MS: Final = 2 * DAY_MS
"""A run whose items expire so soon is closed: without them its notices would never end."""
SOON_MS: Final = 60_000
LATE_MS: Final = 3_600_000
"""The next look comes after a sixteenth of the run's age, in these bounds."""


@dataclass(frozen=True, slots=True)
class NoticeRuns:
    """The walk of finished runs.

    Attributes:
        records: the runs' jobs.
        ledgers: their cells.
        notices: their notices, for when they expire.
        words: tells the words.
        asking: has providers asked about doubts.
        clock: the time.
        feedback_timeout: seconds after which a message has no receipt.
    """

    records: Records
    ledgers: LedgerQueue
    notices: Notices
    words: NoticeWords
    asking: Asking
    clock: Clock
    feedback_timeout: int

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the runs at which to look by now."""
        for name in self.records.notice_runs(self._now()):
            yield name, partial(self.look, name)

    def look(self, name: str) -> None:
        """Look at one run, and note when to look again: never, once all of its words were applied."""
        job = self.records.job(name)
        ledger = self.ledgers.read(name, 0) if job is not None and job.state is JobState.LOGGED else None
        if job is None or ledger is None:
            return
        now = self._now()
        self._ask(job, ledger, now)
        current: Ledger | None = ledger
        late = self._late(job, ledger, now)
        if late:
            current = self.ledgers.close(name, 0, late)
        if current is not None:
            self.words.tell(current)
            # A look-up may have reopened a message since the job was read: then the run is not over either.
            self.records.look_at_run_again(name, None if cells.settled(current) else self._next(job, now))

    def _ask(self, job: Job, ledger: Ledger, now: int) -> None:
        """Have providers asked about doubts, at the times at which they are of every job."""
        elapsed, before = (now - job.finished_at) / 1000, (self._last(job, now) - job.finished_at) / 1000
        if ledger.having(Cell.UNKNOWN) and any(before < look <= elapsed for look in LOOKS):
            self.asking.about(job, ledger)

    def _late(self, job: Job, ledger: Ledger, now: int) -> list[int]:
        """Return the messages that are closed now: their notice has expired, or they have waited for long enough.

        No message waits longer than its job is kept.
        """
        waiting = ledger.having(Cell.SENT, Cell.UNKNOWN)
        age = now - ledger.released_at
        if not waiting or age < cells.SAFE_MS:
            return []
        if age >= self.feedback_timeout * 1000 or job.ttl * 1000 - now < LAST_MS:
            return waiting
        owners = self.words.owners(ledger, waiting)
        found = self.notices.read(list(owners.values()))
        gone = {i for i in waiting if owners.get(i, "") not in found}
        return [i for i in waiting if i in gone or found[owners[i]].expires_at <= now]

    def _next(self, job: Job, now: int) -> int:
        """Return when to look again (Unix ms): also when a provider is to be asked next."""
        elapsed = now - job.finished_at
        step = min(LATE_MS, max(SOON_MS, elapsed // 16))
        ask = next_look(elapsed / 1000)
        return now + step if ask is None else min(now + step, job.finished_at + round(ask * 1000))

    def _last(self, job: Job, now: int) -> int:
        """Return a time before which the run was last checked."""
        elapsed = now - job.finished_at
        return now - min(LATE_MS, max(SOON_MS, elapsed // 16)) if elapsed > LOOKS[0] * 1000 else job.finished_at

    def _now(self) -> int:
        return int(self.clock.now() * 1000)

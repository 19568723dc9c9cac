"""Turns on credentials: the planner checks a waiting campaign again when the one before it may give way.

Only the planner lets a campaign give way (`giving_way`). This module calls for its check in three cases:
- a moment after an account's pause, when leases of its campaign have ended
- when all that is left of a campaign waits for other tries, or its leases end after it gave way
- when the rest of a campaign that gave way is due

The sweeper, which comes each minute, finds what this misses.

Source: docs/protocol.md, "J1 Turn" and "J1 Give way"; docs/adr/0207.
"""

from collections.abc import Callable, Iterable
from typing import Final

from shared.contracts import due
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import ACTIVE, JobState
from shared.domain.times import Millis
from shared.engine.jobs.giving_way import HANDOVER_MS, may_wait
from shared.ports import Clock, OpenJob, Queue, Records

LOOKS_S: Final = (3.0, 20.0)
"""Seconds after a pause: most leases have ended by the first look, those of slow providers by the second."""
LEAST_S: Final = 3.0
"""Seconds between two looks at a credential: other leases of the campaign end meanwhile."""
READS: Final = 100
"""Ledgers that looks at a credential read in a second, at the most: each may read all of a campaign."""
LONGEST_S: Final = 900.0
"""Seconds that a message waits in a queue, at the most."""


class CampaignQueue:
    """Has the planner look at what waits for a credential; what it remembers is of this process."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        credentials: Callable[[], Iterable[str]],
        queue: Queue,
        clock: Clock,
    ) -> None:
        """`queue`: that of what is due."""
        self._records = records
        self._ledgers = ledgers
        self._credentials = credentials
        self._queue = queue
        self._clock = clock
        self._next_look: dict[str, Millis] = {}

    def look_again(self) -> int:
        """Have the oldest campaign that waits for each credential looked at in a moment; returns how many there are."""
        found = [x for credential in self._credentials() if (x := self._first(credential)) is not None]
        for first in found:
            for seconds in LOOKS_S:
                self._queue.send([due(first.job)], delay=seconds)
        return len(found)

    def released(self, job: Job, ledgers: Iterable[Ledger]) -> bool:
        """Have the campaign that waits behind a job checked, if that job may now give way; returns whether.

        The check comes a moment later, so that it also covers what is released until then.

        Args:
            ledgers: those of its chunks that have changed.
        """
        now = self._now()
        gave_way = _just_gave_way(job, now)
        waits = job.state in ACTIVE and all(may_wait(x, now) for x in ledgers)
        if not job.exclusive or not (gave_way or waits):
            return False
        credential = job.route[0]
        if now < self._next_look.get(credential, 0):
            return False
        first = self._first(credential)
        if first is None or not (gave_way or self._may_be_over(job, now)):
            return False
        seconds = min(max(LEAST_S, job.chunks / READS), LONGEST_S)
        self._next_look[credential] = now + round(1000 * seconds)
        self._queue.send([due(first.job)], delay=seconds)
        return True

    def come_back(self, job: str, at: Millis) -> None:
        """Have a job that gave way, or waits for its hours, looked at when it is due.

        A message that comes at once makes a schedule for what is due later than a message can wait.
        """
        seconds = (at - self._now()) / 1000
        if seconds > 0:
            self._queue.send([due(job)], delay=seconds if seconds <= LONGEST_S else 0)

    def _may_be_over(self, job: Job, now: Millis) -> bool:
        """Tell whether the first tries of a job may be over: its last chunk, which begins last, is read."""
        return all(may_wait(x, now) for x in self._ledgers.read_some(job.id, job.chunks - 1, 1))

    def _first(self, credential: str) -> OpenJob | None:
        now = self._now()
        waiting = (x for x in self._records.open_on(credential, running=False) if x.not_before <= now)
        return next(waiting, None)

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _just_gave_way(job: Job, now: Millis) -> bool:
    """Tell whether leases of a job may have kept it from giving its credential back."""
    return job.state is JobState.READY and 0 <= now - job.rests_until < HANDOVER_MS

"""Finds leases of workers that have died, by the hints that leases leave.

The sweeper looks every quarter of a minute, and the workers of a fast lane at their own every few seconds. A look costs
two reads for each credential and one for each lease that may have ended, for any number of jobs. The sweeper's walk
finds the same leases and more; this is only sooner. Source: docs/protocol.md, "Sweep", rule E.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from shared import contracts
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import ACTIVE
from shared.domain.lanes.backoff import Chance
from shared.domain.lanes.lease_hints import MOST, LeaseHint
from shared.domain.times import Millis, Seconds
from shared.engine.intake.accept import send_pointers
from shared.engine.lane.recovery import Recovery
from shared.ports import Clock, Hints, Lanes, Queue, Records

LOOKS: Final = (15.0, 30.0, 45.0)
"""Seconds after the sweeper's start when leases are checked again; it starts every minute."""
KEPT: Final = 600.0
"""Seconds that a hint stays after its lease has ended: its worker's next lease overwrites it, unless the worker has
died."""
IN_HAND: Final = 8
"""Chunks of a job that may wait because a dead worker had received their pointers, which SQS hides for 12 minutes. If
more wait, most have theirs in the queue, and the lane continues with those."""
NOT_AGAIN_MS: Final = 3_600_000
"""So long after such pointers were sent again no more are sent for the same job: see `pointing.LOST_AFTER_MS`."""
CROWDED: Final = MOST - 4
"""Hints of a credential beyond which those of ended leases are removed at the next look: a new worker's need room."""
_LOG: Final = logging.getLogger(__name__)


class ExpiredLeases:
    """Takes over leases that ran out."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        recovery: Recovery,
        hints: Hints,
        credentials: Callable[[], Sequence[str]],
        clock: Clock,
        lanes: Lanes,
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._recovery = recovery
        self._hints = hints
        self._credentials = credentials
        self._clock = clock
        self._lanes = lanes
        self._over: dict[tuple[str, LeaseHint], float] = {}
        """Hints whose lease has ended, and since when that is known here: these need no more reads."""
        self._until: dict[tuple[str, LeaseHint], Millis] = {}
        """Hints whose lease lasts until then at least."""
        self._glanced = clock.now()
        self._glancing = threading.Lock()

    def begin(self, queue: Queue) -> int:
        """Look now, and have a queue bring the later looks of this minute; returns how many leases were taken over."""
        for delay in LOOKS:
            queue.send([contracts.LOOK], delay=delay)
        return self.look()

    def glance(self, every: Seconds, chance: Callable[[], Chance]) -> None:
        """Look if this process has not for so long, as a worker does between its windows; a fault is another's to find.

        Threads may call it at once: one looks, the others continue.

        Args:
            every: seconds.
            chance: as this process knows the lane's provider; asked if it looks.
        """
        if self._clock.now() - self._glanced < every or not self._glancing.acquire(blocking=False):
            return
        try:
            self._glanced = self._clock.now()
            self.look(chance())
        except Exception:  # noqa: BLE001 - the sweeper also looks
            _LOG.exception("leases not looked at")
        finally:
            self._glancing.release()

    def look(self, chance: Chance = Chance.UNKNOWN) -> int:
        """Take over every lease at hand that ran out; returns how many.

        Raises:
            Exception: the first fault; all other leases have been checked.
        """
        over, self._over = self._over, {}
        lasting, self._until = self._until, {}
        taken: dict[tuple[str, str], set[int]] = {}
        faults: list[Exception] = []
        found = self._hints.read(self._credentials())
        hints = _crowds(found)
        for credential, hint in found:
            since = over.get((credential, hint))
            try:
                if since is not None:
                    self._keep_or_forget(credential, hint, since, crowded=hints[credential] > CROWDED)
                elif (until := lasting.get((credential, hint), 0)) >= self._clock.now() * 1000:
                    self._until[credential, hint] = until
                elif self._end(credential, hint, chance):
                    taken.setdefault((hint.job, credential), set()).add(hint.chunk)
                    self._hints.forget(credential, hint)  # its worker has gone
            except Exception as fault:  # noqa: BLE001 - raised at the end
                _LOG.exception("lease not looked at", extra={"job": hint.job, "chunk": hint.chunk})
                faults.append(fault)
        for (job, lane), chunks in taken.items():
            try:
                self._point_again(job, lane, chunks)
            except Exception as fault:  # noqa: BLE001 - raised at the end
                _LOG.exception("pointers not sent again", extra={"job": job})
                faults.append(fault)
        if faults:
            raise faults[0]
        return sum(map(len, taken.values()))

    def _point_again(self, job_id: str, lane: str, taken: Collection[int]) -> None:
        """Send the pointers that a dead worker may have received without beginning their leases.

        Args:
            job_id: of which leases were taken over.
            taken: their chunks, which have new pointers.
        """
        job, now = self._records.job(job_id), int(self._clock.now() * 1000)
        if job is None or not _may_point(job, now, len(taken)):
            return
        waiting = [
            x
            for x in self._ledgers.list_queue(job.id)
            if x.lane == lane and x.not_before <= now and x.chunk not in taken
        ]
        if 0 < len(waiting) <= IN_HAND:
            send_pointers(self._lanes, job, waiting)
            self._records.note_pointed(job.id, now)

    def _keep_or_forget(self, credential: str, hint: LeaseHint, since: float, *, crowded: bool) -> None:
        """Forget the hint of a lease that has ended, if the credential has many of them or it ended long ago.

        Args:
            since: when it was seen that the lease has ended, in Unix seconds.
            crowded: whether the credential has many hints that take room from others.
        """
        if (crowded and _takes_room(hint)) or self._clock.now() - since >= KEPT:
            self._hints.forget(credential, hint)
        else:
            self._over[credential, hint] = since

    def _end(self, credential: str, hint: LeaseHint, chance: Chance) -> bool:
        """Take a lease over if it ran out; notes if it has ended."""
        now = self._clock.now()
        ledger = self._ledgers.read(hint.job, hint.chunk)
        if ledger is None or ledger.status is not LedgerStatus.BUSY or ledger.epoch != hint.epoch:
            self._over[credential, hint] = now
            return False
        if not ledger.ran_out(int(now * 1000)):
            self._until[credential, hint] = ledger.until
            return False
        job = self._records.job(hint.job)
        return job is not None and self._recovery.take_over(job, ledger, chance) is not None


def _crowds(found: Iterable[tuple[str, LeaseHint]]) -> Counter[str]:
    """Return how many hints of each credential take room from others."""
    return Counter(credential for credential, hint in found if _takes_room(hint))


def _takes_room(hint: LeaseHint) -> bool:
    """Tell whether a hint may be beside the slots: those about groups, and those by themselves, are not."""
    return not (hint.group or hint.alone)


def _may_point(job: Job, now: Millis, taken: int) -> bool:
    """Tell whether pointers of a job may have been lost, and were not sent again just now. `now`: Unix ms."""
    again = job.pointed_at >= job.planned_at and now - job.pointed_at < NOT_AGAIN_MS
    return job.state in ACTIVE and job.chunks != taken and not again

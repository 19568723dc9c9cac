"""Taking over what a crash left, and the delays of passes, used by worker, finaliser and sweeper alike (L4, L5)."""

import random
from collections.abc import Sequence

from shared.contracts import pointer
from shared.domain import backoff, passes
from shared.domain.details import Detail
from shared.domain.jobs import Job
from shared.domain.ledger import Ledger, LedgerStatus
from shared.domain.outcomes import Entry, Kind
from shared.domain.passes import Passing, Past
from shared.domain.states import ACTIVE, Cell
from shared.ports import Clock, Lanes, LedgerStore, Records


class Recovery:
    """Ends leases that ran out and sends lost pointers again."""

    def __init__(
        self, *, records: Records, ledgers: LedgerStore, lanes: Lanes, clock: Clock, rng: random.Random
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._lanes = lanes
        self._clock = clock
        self._rng = rng

    def passing(self, route: Sequence[str], *, throttled_until: int = 0) -> Passing:
        """Return what a release needs to know now."""
        return Passing(
            route=route,
            now=int(self._clock.now() * 1000),
            delay=lambda n: round(backoff.round_delay(n, self._rng) * 1000),
            throttled_until=throttled_until,
            pasts=self._pasts,
        )

    def _pasts(self, ledger: Ledger) -> dict[int, Past]:
        return passes.pasts(ledger, *self._records.details(ledger.job, ledger.chunk))

    def take_over(self, job: Job, expired: Ledger) -> Ledger | None:
        """End a lease that ran out (L5); None if it has not, or another was faster.

        The detail of the lease's last window is proof of what happened; without it the claimed recipients become
        `unknown`, and a detail that says so is written if the claimant's own does not come.
        """
        proof = self._records.detail(expired.job, expired.chunk, expired.epoch, expired.seq)
        entries = {e.index: e for e in proof.entries} if proof else {}
        new = self._ledgers.take_over(expired, entries, self.passing(job.route))
        if new is None:
            return None
        claimed = expired.having(Cell.CLAIMED)
        if claimed and proof is None:
            self._records.put_detail(
                Detail(
                    job=expired.job,
                    chunk=expired.chunk,
                    epoch=expired.epoch,
                    seq=expired.seq,
                    at=expired.until,
                    credential=expired.lane,
                    entries=tuple(Entry(i, expired.cells[i] >> 4, Kind.UNKNOWN, code="worker_lost") for i in claimed),
                    ttl=expired.ttl,
                ),
                if_absent=True,
            )
        self.point(job, new)
        return new

    def point(self, job: Job, ledger: Ledger) -> bool:
        """Send an idle ledger's pointer, delayed until it is due, if its job is active."""
        if ledger.status is not LedgerStatus.IDLE or job.state not in ACTIVE:
            return False
        delay = max(0.0, ledger.not_before / 1000 - self._clock.now())
        self._lanes[ledger.lane].send(
            [pointer(ledger.job, ledger.chunk)], delay=min(delay, backoff.MAX_QUEUE_DELAY), group=ledger.job
        )
        return True

"""Taking over what a crash left, and the delays of passes, used by worker, finaliser and sweeper alike (L4, L5)."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid4

from shared.contracts import pointer
from shared.domain.jobs import passes
from shared.domain.jobs.details import LOST, Detail
from shared.domain.jobs.job import DIGEST, MAIL, Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.passes import AttemptHistory, FullLane, PassContext
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import ACTIVE, Cell
from shared.domain.lanes import backoff
from shared.domain.lanes.backoff import Chance
from shared.domain.mails.retry import retry_delay
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.suppression.suppressed import heeds
from shared.ports import Clock, Lanes, Records

PATIENCE: Final = 20
"""A chunk that waits for a provider comes back after 1/PATIENCE of the time since the breaker opened. It never comes
before the next question or probe. So it is sent soon after the provider's return, and an outage costs few rounds."""
MOVING_MS: Final = 60_000
"""Milliseconds of the lease of a chunk that is only moved."""
SPREAD_MS: Final = 2000
"""Milliseconds over which the chunks that wait for one breaker come back: the first of them probes."""


def mailed(job: Job, ledger: Ledger) -> int:
    """Return the attempts that a mail has had at the destination of a ledger; 0 for any other job."""
    return ledger.cells[0] >> 4 if job.kind == MAIL else 0


class Recovery:
    """Ends leases that ran out and sends lost pointers again."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        lanes: Lanes,
        breaker_cache: BreakerCache,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._lanes = lanes
        self._breaker_cache = breaker_cache
        self._clock = clock
        self._rng = rng

    def passing(
        self,
        route: Sequence[str],
        *,
        throttled_until: int = 0,
        leave: bool = False,
        throttled: bool = False,
        full: FullLane | None = None,
        per_call: int = 0,
        chance: Chance = Chance.UNKNOWN,
        mailed: int = 0,
    ) -> PassContext:
        """Return what a release needs to know now.

        Args:
            throttled_until: the provider asked to wait until then, Unix milliseconds.
            leave: the lane's breaker is open.
            throttled: the lane's provider took nothing and asked to wait.
            full: what to do since the lane's quota is used up; None: it is not.
            chance: that of the next try; it is poor where `throttled`.
            per_call: the bound of its next calls, if there is a new one.
            mailed: attempts that a mail has had at its destination; 0: none, or it is no mail.
        """
        return PassContext(
            route=route,
            now=int(self._clock.now() * 1000),
            usable=lambda credential: credential in self._lanes and self._breaker_cache.usable(credential, route),
            delay=lambda n: self._delay(n, route, Chance.POOR if throttled else chance, leave=leave, mailed=mailed),
            throttled_until=throttled_until,
            leave=leave,
            throttled=throttled,
            full=full,
            per_call=per_call,
            pasts=self._pasts,
        )

    def _delay(self, n: int, route: Sequence[str], chance: Chance, *, leave: bool, mailed: int) -> int:
        """Return the milliseconds before a round: never less than until a breaker of the route is to be probed.

        A chunk that leaves a lane has not tried its provider, so it waits only for the probes. In a long outage the
        rounds become as rare as those of messages that were tried: there must be an end to them.

        Args:
            n: number of the round.
            leave: the lane is left because of its breaker.
            mailed: as for `passing`.
        """
        due = self._breaker_cache.due_in(route, PATIENCE if leave else 0)
        if leave and due:
            return due + round(self._rng.uniform(0, SPREAD_MS))
        if mailed:
            return max(due, retry_delay(-(-mailed // len(route))))
        return max(due, round(backoff.round_delay(n, self._rng, chance) * 1000))

    def _pasts(self, ledger: Ledger) -> dict[int, AttemptHistory]:
        return passes.pasts(ledger, *self._records.details(ledger.job, ledger.chunk))

    def take_over(self, job: Job, expired: Ledger, chance: Chance = Chance.UNKNOWN) -> Ledger | None:
        """End a lease that ran out (L5); None if it has not, or another was faster.

        The detail of the lease's last window is proof of what happened. Claimed recipients that are not in it become
        `unknown`. A detail that says so is written first. If it followed, a second crash in between would leave
        messages of which the log names no attempt. The claimant's own detail, however late, replaces it.
        """
        if not expired.ran_out(int(self._clock.now() * 1000)):
            return None
        while True:
            proof = self._records.detail(expired.job, expired.chunk, expired.epoch, expired.seq)
            whole = self._completed(job, expired, proof)
            if whole == proof or (whole is not None and self._records.complete_detail(proof, whole)):
                break
        entries = {e.index: e for e in whole.entries} if whole else {}
        passing = self.passing(job.route, chance=chance, mailed=mailed(job, expired))
        new = self._ledgers.take_over(expired, entries, passing)
        if new is None:
            return None
        self.point(job, new)
        return new

    def leave(self, job: Job, idle: Ledger) -> bool:
        """Move what waits in the lane of a credential that is declared no more; False if another has it.

        It is leased as by a worker of that lane, and released as from one whose breaker is open. So it moves to the
        next credential of the route. Messages that no credential may get are given up.
        """
        now = int(self._clock.now() * 1000)
        held = self._ledgers.send_start(
            idle.job, idle.chunk, lane=idle.lane, owner=uuid4().hex, now=now, until=now + MOVING_MS
        )
        if not isinstance(held, Ledger):
            return False
        current = self._records.job(job.id)  # a stop in between keeps what waits
        leave = current is not None and current.state in ACTIVE
        passing = self.passing(job.route, leave=leave, mailed=mailed(job, held))
        if passing.leave:
            passing = replace(passing, gone=lambda credential: credential not in self._lanes)
        new = self._ledgers.send_cancel(held, (), (), passing)
        if new is None:
            return False
        self.point(job, new)
        return True

    def _completed(self, job: Job, expired: Ledger, proof: Detail | None) -> Detail | None:
        """Return the last window's detail, in which lost calls are unknown; None if it would be empty.

        Its time is then the end of the lease: no call that is lost was under way for longer.
        """
        said = proof.entries if proof else tuple(self._left_out(job, expired))
        known = {e.index for e in said}
        claimed = (i for i in expired.having(Cell.CLAIMED) if i not in known)
        lost = [Entry(i, expired.cells[i] >> 4, Kind.UNKNOWN, code=LOST) for i in claimed]
        if not lost and (proof or not said):
            return proof
        return Detail(
            job=expired.job,
            chunk=expired.chunk,
            epoch=expired.epoch,
            seq=expired.seq,
            at=expired.until,
            credential=expired.lane,
            entries=(*said, *lost),
            ttl=expired.ttl,
        )

    def _left_out(self, job: Job, expired: Ledger) -> Iterator[Entry]:
        """Yield why a window without a detail skipped recipients at its claim, as its own detail would have said.

        A recipient that has been allowed again since stays without a reason.
        """
        silent = self._unexplained(expired)
        heeded = heeds(job, self._records.content(job.id) if silent and job.kind == DIGEST else None)
        found = self._records.suppressed(job.namespace, set(silent.values()), heeded) if silent else {}
        for i, key in silent.items():
            if key in found:
                yield Entry(i, expired.cells[i] >> 4, Kind.INVALID, code=found[key].code)

    def _unexplained(self, expired: Ledger) -> dict[int, str]:
        """Return the address, by recipient, of those skipped for a reason that neither chunk nor details give."""
        skipped = expired.having(Cell.SKIPPED)
        chunk = self._records.chunk(expired.job, expired.chunk) if skipped else None
        silent = {i: chunk.recipients[i].key for i in skipped if not chunk.recipients[i].skip} if chunk else {}
        if silent:
            windows, _ = self._records.details(expired.job, expired.chunk)
            for entry in (e for w in windows for e in w.entries if e.kind is Kind.INVALID):
                silent.pop(entry.index, None)
        return silent

    def point(self, job: Job, ledger: Ledger) -> bool:
        """Send an idle ledger's pointer, delayed until it is due, if its job is active."""
        if ledger.status is not LedgerStatus.IDLE or job.state not in ACTIVE:
            return False
        delay = max(0.0, ledger.not_before / 1000 - self._clock.now())
        self._lanes[ledger.lane].send(
            [pointer(ledger.job, ledger.chunk)],
            delay=min(delay, backoff.MAX_QUEUE_DELAY),
            group=job.account,
            express=job.express,
        )
        return True

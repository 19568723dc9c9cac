"""The queue primitives over ledgers, once for every store.

A store brings seven methods (`_read`, `_read_these`, `_list`, `_list_some`, `_put`, `_swap`, `_lease`). The primitives
are here, with their recomputation after a lost race and the recognition of a store's own write. So the fake and the
real store cannot drift apart.

Source: docs/protocol.md, "Writes" and "The queue primitives".
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from shared.domain.jobs import ledger as rules
from shared.domain.jobs import passes, runs
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.outcomes import Entry
from shared.domain.jobs.passes import PassContext
from shared.domain.jobs.states import Cell
from shared.domain.times import Millis
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class NotDue:
    """The chunk waits until `not_before` (Unix milliseconds)."""

    not_before: Millis


@dataclass(frozen=True, slots=True)
class Expired:
    """The chunk is leased, and the lease has run out: take it over first."""

    ledger: Ledger


def claimed_since(held: Ledger, found: Ledger) -> list[int]:
    """Return whom the lease's last claim took: earlier ones whose answers are to come were claimed before."""
    return [i for i in found.having(Cell.CLAIMED) if found.cells[i] != held.cells[i]]


def released(
    current: Ledger, lane: str, results: Sequence[Entry], requeued: Sequence[int], passing: PassContext
) -> Ledger:
    """Return what the release of a lease makes of its ledger (L4). `lane`: the one that held it."""
    merged = rules.merge(current, results, holder=True, route=passing.route, at_lane=lane, requeued=requeued)
    return passes.release(rules.give_up(merged, route=passing.route), passing)


class LedgerQueue(ABC):
    """Ledgers as a mail queue: every primitive succeeds, raises a retriable error, or says that another was faster."""

    @abstractmethod
    def _read(self, job: str, chunk: int) -> Ledger | None:
        """Read one ledger, consistently."""

    @abstractmethod
    def _read_these(self, places: Collection[tuple[str, int]]) -> list[Ledger]:
        """Read ledgers of any jobs, consistently, in no order."""

    @abstractmethod
    def _list(self, job: str) -> list[Ledger]:
        """Read a job's ledgers, consistently, by number."""

    @abstractmethod
    def _list_some(self, job: str, first: int, count: int) -> list[Ledger]:
        """Read up to `count` of a job's ledgers from a number on, consistently, by number."""

    @abstractmethod
    def _put(self, ledgers: Sequence[Ledger]) -> None:
        """Store new ledgers."""

    @abstractmethod
    def _swap(self, old: Ledger, new: Ledger) -> Ledger | None:
        """Write `new` if the stored version is that of `old`.

        Returns:
            `new` if it was written, the stored ledger if not, None if there is none.
        """

    @abstractmethod
    def _lease(
        self, job: str, chunk: int, lane: str, owner: str, now: Millis, until: Millis
    ) -> tuple[bool, Ledger | None]:
        """Write `rules.acquire` under its own condition, without a read before it.

        Returns:
            (True, the leased ledger), or (False, the ledger as stored or None).
        """

    # reading

    def read(self, job: str, chunk: int) -> Ledger | None:
        """Return one ledger, consistent."""
        return self._read(job, chunk)

    def read_these(self, places: Collection[tuple[str, int]]) -> list[Ledger]:
        """Return the ledgers of chunks `(job, number)` that there are, consistent, a hundred in one read, unordered."""
        return self._read_these(places)

    def read_all(self, job: str) -> list[Ledger]:
        """Return all of the job's ledgers, consistent, by number."""
        return self._list(job)

    def read_some(self, job: str, first: int, count: int) -> list[Ledger]:
        """Return some of the job's ledgers by number, read consistently.

        Args:
            first: the number of the first chunk.
            count: the most ledgers to return.
        """
        return self._list_some(job, first, count)

    def list_queue(self, job: str) -> list[Ledger]:
        """Return the job's ledgers that are IDLE, consistent, by number."""
        return [x for x in self._list(job) if x.status is LedgerStatus.IDLE]

    def find_inflight(self, job: str) -> list[Ledger]:
        """Return the job's ledgers that are BUSY, consistent, by number."""
        return [x for x in self._list(job) if x.status is LedgerStatus.BUSY]

    # writing

    def enqueue(self, ledgers: Sequence[Ledger]) -> None:
        """Store new ledgers."""
        self._put(ledgers)

    def send_start(
        self, job: str, chunk: int, *, lane: str, owner: str, now: Millis, until: Millis
    ) -> Ledger | NotDue | Expired | None:
        """Lease a chunk (L1). None: another lane has it, a live lease holds it, it is done, or it no longer exists.

        Args:
            owner: unique to this lease.
            until: Unix milliseconds at which the lease runs out.
        """
        won, found = self._lease(job, chunk, lane, owner, now, until)
        if won or found is None:
            return found
        if found.status is LedgerStatus.BUSY:
            if found.owner == owner and found.seq == 0:
                return found  # our own write, whose answer was lost
            return Expired(found) if found.ran_out(now) else None
        if found.status is LedgerStatus.IDLE and found.lane == lane and found.not_before > now:
            return NotDue(found.not_before)
        return None

    def claim(
        self,
        held: Ledger,
        results: Sequence[Entry],
        k: int,
        *,
        route: Sequence[str],
        suppressed: Collection[int] = (),
        expired: Collection[int] = (),
        until: Millis = 0,
    ) -> tuple[Ledger, list[int]] | None:
        """Merge the last window's results and claim the next recipients (L2). None: the lease is lost.

        After a lost lease the results are merged like late feedback.

        Args:
            k: the most recipients to claim.
            route: the job's credentials, in their order.
            suppressed: indices of recipients that are skipped if they wait.
            expired: indices of recipients that become EXPIRED if they wait.
            until: Unix milliseconds at which the lease runs out from now on; 0 leaves it.
        """
        current = held
        while True:
            if not current.held_by(held.owner, held.epoch):
                self._late(current, held, results, route)
                return None
            new, claimed = rules.claim(
                current,
                results,
                k,
                route=route,
                at_lane=held.lane,
                suppressed=suppressed,
                expired=expired,
                until=until,
            )
            found = self._swap(current, new)
            if found is new:
                return new, claimed
            if found is None:
                return None
            if found.held_by(held.owner, held.epoch) and found.seq == held.seq + 1:
                return found, claimed_since(held, found)  # our own write, whose answer was lost
            current = found

    def release(
        self, held: Ledger, results: Sequence[Entry], requeued: Sequence[int], passing: PassContext
    ) -> Ledger | None:
        """End the lease with the last results (L4): to DONE, or to IDLE for the next pass, time or worker."""
        current = held
        while True:
            if not current.held_by(held.owner, held.epoch):
                if current.status is not LedgerStatus.BUSY and current.epoch == held.epoch:
                    return current  # our own release, whose answer was lost: only the holder ends an epoch in place
                self._late(current, held, results, passing.route)
                return None
            # A claim whose answer was lost, so that no call of it was ever begun.
            unbegun = claimed_since(held, current) if current.seq == held.seq + 1 else []
            new = released(current, held.lane, results, [*requeued, *unbegun], passing)
            found = self._swap(current, new)
            if found is new or found is None:
                return found
            current = found

    def send_done(self, held: Ledger, results: Sequence[Entry], passing: PassContext) -> Ledger | None:
        """End a lease whose window settles all that is left (L4)."""
        return self.release(held, results, (), passing)

    def send_cancel(
        self, held: Ledger, results: Sequence[Entry], requeued: Sequence[int], passing: PassContext
    ) -> Ledger | None:
        """End a lease with work left: time, stop, pause, or a provider that asks to wait (L4)."""
        return self.release(held, results, requeued, passing)

    def take_over(self, expired: Ledger, proof: Mapping[int, Entry], passing: PassContext) -> Ledger | None:
        """End a lease that ran out (L5). None: it has ended or changed meanwhile.

        Args:
            proof: the recorded outcomes of the lease's last window, by index.
        """
        current: Ledger | None = expired
        while current is not None and current.epoch == expired.epoch and current.seq == expired.seq:
            new = passes.take_over(current, proof, passing)
            if new is None:
                return None
            found = self._swap(current, new)
            if found is new:
                return new
            current = found
        return None

    def join(
        self,
        job: str,
        chunk: int,
        words: Sequence[tuple[int, int, Cell]],
        *,
        route: Sequence[str],
        credential: str,
        known: Ledger | None = None,
    ) -> Ledger | None:
        """Join feedback (F); return the ledger as it is afterwards, None if there is none.

        Args:
            route: the job's credentials, in their order.
            known: the ledger as read after the events came in, so that it is not read again; None reads it.
        """

        def joined(x: Ledger) -> Ledger | None:
            return rules.join_words(x, words, route=route, credential=credential)

        return self._change(job, chunk, joined, known)

    def disprove(
        self, job: str, chunk: int, attempts: Iterable[tuple[int, int]], state: Cell = Cell.DROPPED
    ) -> Ledger | None:
        """Give up doubtful attempts that were proven absent and may not be made again, or are cancelled (Resolve, N.4).

        Args:
            state: DROPPED, or UNKNOWN_CLOSED of those that are cancelled.
        """
        wanted = tuple(attempts)
        return self._change(job, chunk, lambda x: rules.disprove(x, wanted, state))

    def drop(self, job: str, chunk: int, indices: Iterable[int], state: Cell = Cell.SKIPPED) -> Ledger | None:
        """Take recipients that still wait out of the job (N.2, N.3); return the ledger then, None if there is none."""
        wanted = tuple(indices)
        return self._change(job, chunk, lambda x: runs.drop(x, wanted, state))

    def close(self, job: str, chunk: int, indices: Iterable[int]) -> Ledger | None:
        """Give up waiting for a receipt, or for proof (N.4)."""
        wanted = tuple(indices)
        return self._change(job, chunk, lambda x: runs.close(x, wanted))

    def tell(self, job: str, chunk: int, states: Mapping[int, Cell], known: Ledger | None = None) -> Ledger | None:
        """Note the states that the recipients' owner was informed of (N.5).

        Args:
            states: by place of the recipient within the chunk.
            known: the ledger as just read, so that it is not read again; None reads it.
        """
        return self._change(job, chunk, lambda x: runs.tell(x, states), known)

    def reschedule(
        self, job: str, chunk: int, *, not_before: Millis, lane: str, at: Millis | None = None
    ) -> Ledger | None:
        """Move an idle chunk to another time or lane; return it as it is afterwards.

        Args:
            not_before: Unix milliseconds before which no lease starts.
            lane: the credential whose lane takes it.
            at: the time from which it is moved, Unix milliseconds; at another it stays. None: from any.
        """

        def move(x: Ledger) -> Ledger | None:
            if at is not None and x.not_before != at:
                return None
            if x.status is not LedgerStatus.IDLE or (x.not_before, x.lane) == (not_before, lane):
                return None
            return replace(x, not_before=not_before, lane=lane, version=x.version + 1)

        return self._change(job, chunk, move)

    def _change(
        self, job: str, chunk: int, change: Callable[[Ledger], Ledger | None], known: Ledger | None = None
    ) -> Ledger | None:
        current = known or self._read(job, chunk)
        while current is not None:
            new = change(current)
            if new is None:
                return current
            found = self._swap(current, new)
            if found is new:
                return new
            current = found
        return None

    def _late(self, current: Ledger, held: Ledger, results: Sequence[Entry], route: Sequence[str]) -> None:
        """Merge the results of a lease that was taken over: events about attempts that only this lease made.

        Recipients to be queued again stay UNKNOWN, as the takeover left them. Perhaps this is not a takeover but our
        own release, whose answer was lost (docs/adr/0004). Then their attempt's number may have been used again.
        """
        found: Ledger | None = current
        while found is not None:
            merged = rules.merge(found, results, holder=False, route=route, at_lane=held.lane)
            if merged.cells == found.cells:
                return
            done = merged.status is LedgerStatus.IDLE and not merged.unfinished
            new = replace(merged, version=found.version + 1, status=LedgerStatus.DONE if done else merged.status)
            stored = self._swap(found, new)
            if stored is new:
                return
            found = stored

"""Seals audit logs day by day, and finds out whether a sealed log is as it was. Source: ADR 237.

Logs are sealed one by one. No entry waits for another. Of two processes that make a seal, one stores it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

from shared.domain.auditing.seals import (
    MOST,
    AuditFault,
    AuditSeal,
    LoggedEntry,
    Tampering,
    chained,
    compared,
    due_end,
    seal_of,
)
from shared.domain.times import DAY_MS, Millis, Seconds
from shared.frozen import dataclass
from shared.ports import Clock, Retriable, Seals

EXPIRY_MS: Final[Millis] = 2 * DAY_MS
"""Entries that expire so soon are no longer compared: DynamoDB deletes them some time after their end."""


SealCopy = Callable[[AuditSeal, Sequence[LoggedEntry]], None]
"""Keeps a copy of a seal with its entries; a repeat is safe."""


class Sealer:
    """The sweeper's walk that seals what is over.

    A process that has seen a day sealed asks no store again until the next one is due.

    Args:
        days: for how long entries are kept.
        copy: keeps a copy of each sealed day elsewhere; None: there is no other place.
    """

    def __init__(self, seals: Seals, clock: Clock, days: int, copy: SealCopy | None = None) -> None:
        self._seals = seals
        self._clock = clock
        self._days = days
        self._copy = copy
        self._done: Millis = 0
        self._round: Millis = 0
        self._sealed: set[str] = set()

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield each log with the action that seals it, while one is due."""
        end = due_end(int(self._clock.now() * 1000))
        if self._done >= end:
            return
        self._done = self._seals.done()
        if self._done >= end or not self._seals.ready():
            return
        if self._round != end:
            self._round, self._sealed = end, set()
        every = [log for log in self._seals.logs() if log not in self._sealed]
        for log in every:
            yield log, partial(self._look, log, end)
        if not every:
            self._seals.note(end)
            self._done = end

    def _look(self, log: str, end: Millis) -> None:
        """Seal a log, which no later run of this process looks at again. Once none is left, all are noted as sealed."""
        self.seal(log, end)
        self._sealed.add(log)

    def seal(self, log: str, end: Millis) -> int:
        """Seal a log until a moment; return how many seals that took.

        Raises:
            Retriable: another process seals it as well.
        """
        last, made = self._seals.last(log), 0
        while last is None or last.end < end:
            entries = list(islice(self._seals.entries(log, last.end if last else 0, end), MOST + 1))
            if not entries and last is None:
                break  # nothing was ever logged
            entries, until = _part(entries, end)
            found = seal_of(log, last, until, entries, self._days)
            if self._copy is not None:  # first: what is sealed is not looked at again
                self._copy(found, entries)
            if not self._seals.add(found):
                raise Retriable("seals: another process seals this log")
            last, made = found, made + 1
        return made


def _part(entries: list[LoggedEntry], end: Millis) -> tuple[list[LoggedEntry], Millis]:
    """Return as many entries as one seal takes, and its end; entries of one millisecond stay together."""
    if len(entries) <= MOST:
        return entries, end
    until = entries[MOST].sealed.at
    some = [x for x in entries if x.sealed.at < until]
    if not some:
        raise ValueError(f"more than {MOST} entries of one millisecond")
    return some, until


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a verification.

    Attributes:
        entries: that were compared.
        sealed: Unix milliseconds until which the log is sealed; 0: it has no seal.
        digest: of the newest seal; empty: there is none.
        finding: the first fault; None: the log is as it was.
        whole: False: the time was over before the end.
    """

    entries: int
    seals: int
    sealed: Millis
    digest: str
    finding: AuditFault | None
    whole: bool = True


class Verifier:
    """Compares audit logs with their seals."""

    def __init__(self, seals: Seals, clock: Clock) -> None:
        self._seals = seals
        self._clock = clock

    def verify(self, log: str, *, until: Seconds) -> Verified:
        """Compare a log with its seals, oldest first, up to the first fault.

        Args:
            until: Unix seconds after which no further seal is compared.
        """
        now = int(self._clock.now() * 1000)
        last: AuditSeal | None = None
        entries = seals = 0
        for seal in self._seals.of(log):
            if self._clock.now() > until:
                return Verified(entries, seals, _end(last), _digest(last), None, whole=False)
            finding = chained(seal, last) or self._differs(seal, now)
            if finding is not None:
                return Verified(entries, seals, _end(last), _digest(last), finding)
            entries, seals, last = entries + seal.count, seals + 1, seal
        return Verified(entries, seals, _end(last), _digest(last), self._late(last))

    def _differs(self, seal: AuditSeal, now: Millis) -> AuditFault | None:
        since = now - seal.days * DAY_MS + EXPIRY_MS
        if seal.end < since:
            return None
        return compared(seal, self._seals.entries(seal.log, seal.start, seal.end), since)

    def _late(self, last: AuditSeal | None) -> AuditFault | None:
        """Return that the newest seals are gone: a log that has one gets one for each day."""
        due = due_end(int(self._clock.now() * 1000)) - DAY_MS
        return AuditFault(Tampering.SEAL_MISSING, last.end) if last is not None and last.end < due else None


def _end(seal: AuditSeal | None) -> Millis:
    return seal.end if seal else 0


def _digest(seal: AuditSeal | None) -> str:
    return seal.digest if seal else ""

"""Seals of audit logs: what a log held when a day was over, in a chain of days. Source: ADR 237.

A seal has the place and the content of each entry of its days as hashes, and the digest of the seal before it. So a
later look finds each entry that was removed, changed or inserted since, and names the first. From its first entry on, a
log has a seal for each day: else an entry could be slipped into a quiet day.
"""

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from shared.domain.audit import HOUR_MS
from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

GRACE_MS: Final[Millis] = 2 * HOUR_MS
"""After a day its log is sealed so much later: an entry is written within seconds of its time, an hour's within it."""
MOST: Final = 4_000
"""Entries of one seal: its item has at most 400 KB. A day with more has several."""
_PRINT: Final = struct.Struct(">Q8s16s")
"""Of an entry: its time in Unix milliseconds, hash of its place, hash of its content."""


@dataclass(frozen=True, slots=True)
class SealedEntry:
    """The hashes of an entry in a seal. `at`: its time, Unix milliseconds."""

    at: Millis
    place: bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class LoggedEntry:
    """An entry as its log has it.

    Attributes:
        place: its sort key, which begins with its time.
        said: its attributes, without those of its place and its time to live.
    """

    place: str
    said: Mapping[str, Any]

    @property
    def sealed(self) -> SealedEntry:
        """Its hashes."""
        content = json.dumps([self.place, self.said], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return SealedEntry(int(self.place[:15]), _hashed(self.place)[:8], _hashed(content)[:16])


@dataclass(frozen=True, slots=True)
class AuditSeal:
    """A seal. Times are Unix milliseconds.

    Attributes:
        log: whose log it is, as entries name it.
        start: of what it covers; `end`: exclusive.
        number: from 1, without gaps.
        before: digest of the seal before it; empty: it is the first.
        days: for how long its entries are kept.
        entries: what it keeps, packed, in the order of the log.
    """

    log: str
    number: int
    start: Millis
    end: Millis
    before: str
    days: int
    entries: bytes

    @property
    def count(self) -> int:
        """The number of its entries."""
        return len(self.entries) // _PRINT.size

    @property
    def kept(self) -> list[SealedEntry]:
        """The hashes of each entry."""
        return [SealedEntry(*x) for x in _PRINT.iter_unpack(self.entries)]

    @property
    def digest(self) -> str:
        """SHA-256 of the whole seal, hex: the next seal has it."""
        fields = [self.log, self.number, self.start, self.end, self.before, self.days]
        return _hashed(json.dumps([*fields, hashlib.sha256(self.entries).hexdigest()])).hex()


def seal_of(log: str, last: AuditSeal | None, end: Millis, entries: Sequence[LoggedEntry], days: int) -> AuditSeal:
    """Return the next seal of a log.

    Args:
        last: the one before it; None: there is none yet.
        entries: all from its end on until this one's.
        days: for how long they are kept.
    """
    packed = b"".join(_PRINT.pack(x.at, x.place, x.content) for x in (entry.sealed for entry in entries))
    number, start, before = (last.number + 1, last.end, last.digest) if last else (1, 0, "")
    return AuditSeal(log, number, start, end, before, days, packed)


def due_end(now: Millis) -> Millis:
    """Return the end of the last day whose seal is due: midnight, UTC."""
    return (now - GRACE_MS) // DAY_MS * DAY_MS


class Tampering(StrEnum):
    """A kind of fault of a log."""

    REMOVED = "removed"
    CHANGED = "changed"
    INSERTED = "inserted"
    SEAL_MISSING = "seal_missing"
    SEAL_CHANGED = "seal_changed"


@dataclass(frozen=True, slots=True)
class AuditFault:
    """A fault.

    Attributes:
        at: time of the entry, or the end of the seal, Unix milliseconds.
        place: the entry's place in the log; empty: it is not there.
    """

    fault: Tampering
    at: Millis
    place: str = ""


def chained(seal: AuditSeal, last: AuditSeal | None) -> AuditFault | None:
    """Return what is wrong with a seal after another one; None: nothing."""
    if seal.number != (last.number + 1 if last else 1):
        return AuditFault(Tampering.SEAL_MISSING, seal.start)
    if seal.before != (last.digest if last else "") or seal.start != (last.end if last else 0):
        return AuditFault(Tampering.SEAL_CHANGED, seal.end)
    return None


def compared(seal: AuditSeal, found: Iterable[LoggedEntry], since: Millis) -> AuditFault | None:
    """Return the first difference between a seal and its days as they are now; None: there is none.

    Args:
        found: the log's entries from the seal's start until its end, in order.
        since: older entries are left out: their time to live has passed.
    """
    kept = {x.place: x for x in seal.kept if x.at >= since}
    faults: list[AuditFault] = []
    for entry in found:
        now = entry.sealed
        if now.at < since:
            continue
        was = kept.pop(now.place, None)
        if was is None:
            faults.append(AuditFault(Tampering.INSERTED, now.at, entry.place))
        elif was.content != now.content:
            faults.append(AuditFault(Tampering.CHANGED, now.at, entry.place))
    faults += [AuditFault(Tampering.REMOVED, x.at) for x in kept.values()]
    return min(faults, key=lambda x: (x.at, x.place), default=None)


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

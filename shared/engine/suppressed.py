"""Who was suppressed after a job was accepted: looked at again when a lease begins (L2).

Acceptance has looked before. What came since stands in a log by time, of which a process reads only what is new to it:
one query a chunk, and none while nothing was suppressed in the account since acceptance. What it finds is looked up by
key, so that an address that was allowed again is sent to.
"""

from dataclasses import dataclass, field
from typing import Final

from shared.domain.addresses import address_hash
from shared.domain.chunks import Chunk
from shared.domain.jobs import Job
from shared.ports import Clock, Records

SLACK_MS: Final = 120_000
"""Acceptance looks up to half a minute before it dates its job, clocks differ, and a transaction that is tried again
shows its entry late: whatever was suppressed in so much time before is read once more."""
KEPT_JOBS: Final = 8
MOST: Final = 20_000
"""Addresses kept in memory per job, about 2 MB; if there are more, each chunk's are looked up by their keys."""


@dataclass(slots=True)
class _Known:
    """What was suppressed since a job was accepted: the first 64 bits of each hash. `mark`: read up to there (ms)."""

    mark: int
    hashes: set[int] = field(default_factory=set)
    too_many: bool = False


class Suppressed:
    """What one process knows of suppressions; safe for threads: they may read the same twice, and miss nothing."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._known: dict[str, _Known] = {}

    def among(self, job: Job, chunk: Chunk, waiting: list[int], latest: int) -> frozenset[int]:
        """Return which of a chunk's waiting recipients are suppressed by now.

        Args:
            job: as accepted.
            chunk: its chunk.
            waiting: indices of recipients.
            latest: when an address of the account was last suppressed (Unix ms), 0 for never.
        """
        if not waiting or latest < job.created_at - SLACK_MS:
            return frozenset()
        keys = {chunk.recipients[i].key for i in waiting}
        known = self._catch_up(job)
        if known is not None:
            keys = {k for k in keys if _short(address_hash(k)) in known}
        found = self._records.suppressed(job.account, keys) if keys else set()
        return frozenset(i for i in waiting if chunk.recipients[i].key in found)

    def _catch_up(self, job: Job) -> set[int] | None:
        """Read what is new and return what was suppressed since the job was accepted; None if that is not known."""
        known = self._known.get(job.id)
        if known is None:
            if len(self._known) >= KEPT_JOBS:
                self._known.pop(next(iter(self._known)), None)
            known = self._known.setdefault(job.id, _Known(job.created_at - SLACK_MS))
        if known.too_many:
            return None
        now = int(self._clock.now() * 1000)
        recent = self._records.suppressed_since(job.account, known.mark)
        known.hashes.update(map(_short, recent.digests))
        known.mark = max(known.mark, now - SLACK_MS if recent.reached is None else recent.reached)
        if len(known.hashes) > MOST:
            known.too_many = True
            known.hashes = set()
            return None
        return known.hashes if recent.reached is None else None


def _short(digest: str) -> int:
    return int(digest[:16], 16)

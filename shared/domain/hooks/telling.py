"""Which of a chunk's changes were handed on to endpoints."""

from dataclasses import dataclass

from shared.domain.times import Millis


@dataclass(frozen=True, slots=True)
class TellingState:
    """What was handed on of a chunk, for each pace one byte a cell: the cell's byte as it was then.

    Attributes:
        job: the job's id.
        chunk: the chunk's number.
        now: for endpoints that take single events; empty: nothing yet.
        later: for endpoints that take batches; empty: nothing yet.
        at: when it was written last, Unix milliseconds.
        ttl: Unix seconds when it may go: as its ledger's.
        version: counts the writes; 0: never written.
    """

    job: str
    chunk: int
    now: bytes = b""
    later: bytes = b""
    at: Millis = 0
    ttl: int = 0
    version: int = 0

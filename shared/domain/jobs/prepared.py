"""A job before it is stored."""

from collections.abc import Sequence

from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """A job that is not stored yet, with its chunks and ledgers."""

    job: Job
    chunks: Sequence[Chunk]
    ledgers: Sequence[Ledger]

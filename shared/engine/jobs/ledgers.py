"""Reading the ledgers of many jobs."""

from collections.abc import Iterable

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue


def only_ledgers(ledgers: LedgerQueue, jobs: Iterable[Job]) -> dict[str, Ledger]:
    """Return by job the ledgers of those jobs that have one chunk, read together."""
    small = [(job.id, 0) for job in jobs if job.chunks == 1]
    return {x.job: x for x in ledgers.read_these(small)} if small else {}

"""Keeping what waits: DynamoDB deletes a job's items at a time fixed at acceptance, even if the job is not over.

Source: docs/adr/0057.
"""

from collections.abc import Sequence
from typing import Final

from shared.domain.audit import SYSTEM, Event
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import TRANSITIONS, Change, JobState
from shared.domain.times import DAY_MS, Millis
from shared.engine.outcome.bounce_guard import STOPPED
from shared.frozen import dataclass
from shared.ports import Records

LEAST_MS: Final = 10 * DAY_MS
"""A job that has less time left and is not over is kept longer: feedback about its last message still has to come."""
FURTHER_MS: Final = 30 * DAY_MS
"""For so long from then on."""
LONGEST_MS: Final = 365 * DAY_MS
"""A job that has waited for so long, from its acceptance or the time that it was to begin at, is ended."""
AGED_MS: Final = 20 * DAY_MS
"""No job that was accepted less than so long ago can have less than LEAST_MS left: all are kept for 30 days."""


@dataclass(frozen=True, slots=True)
class RetentionExtender:
    """Prolongs jobs that are not over, and ends those that have waited for too long."""

    records: Records

    def until(self, job: Job, now: Millis) -> int:
        """Return until when a job is to be kept, in Unix seconds; 0: it has time enough. `now`: Unix milliseconds."""
        over = job.state is JobState.LOGGED and job.retry is None
        return 0 if over or job.ttl * 1000 - now >= LEAST_MS else (now + FURTHER_MS) // 1000

    def keep(self, ledgers: Sequence[Ledger], until: int) -> None:
        """Keep chunks with their ledgers; those that are kept already cost nothing."""
        for x in ledgers:
            if x.ttl < until:
                self.records.keep_chunk(x.job, x.chunk, until)

    def end(self, job: Job, now: Millis) -> bool:
        """Stop a job that has waited for too long, with an event for its owner; tell whether this call did."""
        if now < max(job.created_at, job.not_before) + LONGEST_MS or job.state not in TRANSITIONS[Change.STOP][0]:
            return False
        told: dict[str, str | int] = {"reason": StopReason.EXPIRED.value, "campaign": job.campaign}
        event = Event(job.namespace, now, job.id, STOPPED, SYSTEM, told)
        return self.records.change(job, Change.STOP, now, reason=StopReason.EXPIRED.value, event=event).won

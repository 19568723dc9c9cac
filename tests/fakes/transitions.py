"""What the stores' conditions come to, for the stores in memory."""

from shared.adapters.dynamo import indices
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.states import TRANSITIONS, Change, JobState


def allowed(stored: Job, read: Job, change: Change, now: int, reason: str) -> bool:
    """Tell whether what is stored allows a change."""
    return (
        stored.state in TRANSITIONS[change][0]
        and (change is not Change.PLAN or stored.not_before <= now)
        and (change is not Change.RESUME or stored.retry == read.retry)
        and (reason != StopReason.BOUNCE_GUARD or not stored.guard_off)
    )


def slot_of(job: Job) -> str:
    """Return the partition of the index `open` that a job is in."""
    running = job.state is not JobState.READY
    return indices.open_slot(job.route[0] if job.exclusive else None, job.shard, running=running)

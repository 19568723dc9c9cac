"""What the stores' conditions come to, for the stores in memory."""

from typing import Any

from shared.adapters.dynamo import indices
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.states import TRANSITIONS, Change, JobState


def allowed(stored: Job, read: Job, change: Change, now: int, reason: str) -> bool:
    """Tell whether what is stored allows a change."""
    return (
        stored.state in TRANSITIONS[change][0]
        and (change is not Change.PLAN or stored.due_at <= now)
        and (change is not Change.RESUME or stored.retry == read.retry)
        and (reason != StopReason.BOUNCE_GUARD or not stored.guard_off)
    )


def written(job: Job, change: Change, now: int, reason: str, by: str) -> dict[str, Any]:
    """Return what a change writes beside the state.

    Args:
        job: as it was read.
        change: the transition.
        now: Unix milliseconds.
        reason: of a stop.
        by: who resumes.
    """
    match change:
        case Change.PLAN:
            opened = {"not_before": 0} if job.closed else {}
            return {"planned_at": now, "stopped": False, "rests_until": 0, **opened}
        case Change.LOG:
            return {"finished_at": now}
        case Change.RESUME:
            begin = max(now, job.not_before)
            opens = job.opens(begin)
            waits = {"rests_until": opens, "not_before": opens} if opens > begin else {}
            return {"retry": None, "resumed_by": by, **waits}
        case Change.STOP:
            return {"stopped": True, "stopped_at": now, "stop_reason": reason, "rests_until": 0}
        case Change.GIVE_WAY:
            return {"rests_until": now}
        case Change.CLOSE:
            return {"rests_until": now, "not_before": now}
    return {}


def slot_of(job: Job) -> str:
    """Return the partition of the index `open` that a job is in."""
    running = job.state is not JobState.READY
    return indices.open_slot(job.route[0] if job.exclusive else None, job.shard, running=running)

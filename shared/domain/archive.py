"""The archive: the result of each message of a job, kept as a file for years. Source: docs/adr/0049."""

from datetime import UTC, datetime
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.times import DAY_MS

PREFIX: Final = "archive/"
"""The prefix of archived files' names."""


def export_id(job_id: str) -> str:
    """Return the id of the export by which a job is archived; a client's own export of the job has another."""
    return f"archive-{job_id}"


def file(job: Job) -> str:
    """Return the name of a job's file, by the UTC day of its acceptance: `archive/account/2026/11/21/job.csv`."""
    day = datetime.fromtimestamp(job.created_at / 1000, UTC)
    return f"{PREFIX}{job.account}/{day:%Y/%m/%d}/{job.id}.csv"


def due(job: Job, since: int, wait: int) -> int:
    """Return when a job is to be archived (Unix ms): after late feedback, and while all of its rows are still there.

    Args:
        job: its rows are removed a day after the latest moment that this returns, or later.
        since: when it ended (Unix ms).
        wait: milliseconds that providers have to report the fate of messages.
    """
    return max(since, min(since + wait, job.ttl * 1000 - DAY_MS))

"""Jobs for the tests of hooks."""

from typing import Any

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import COUNT_KEYS, JobState


def job(**changes: Any) -> Job:
    """Return a job of three messages."""
    fields: dict[str, Any] = {
        "id": "01khooks000000000000000000",
        "account": "acme",
        "kind": "batch",
        "channel": "email",
        "test": False,
        "route": ("one", "two"),
        "providers": ("sendgrid", "mailgun"),
        "total": 3,
        "chunks": 1,
        "created_at": 1_790_000_000_000,
        "ttl": 1_792_592_000,
        "state": JobState.LOGGED,
        "counts": dict.fromkeys(COUNT_KEYS, 0) | {"delivered": 2, "bounced": 1},
        "by": {c: (0,) * len(BY_KEYS) for c in ("one", "two")},
    }
    return Job(**{**fields, **changes})

"""The bounce guard: what is sent to a bad list is stopped before its sender's name suffers. Source: docs/campaigns.md.

Amazon SES reviews an account from 5 % hard bounces on and may pause it from 10 % on; few bounces say nothing of a list.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from shared.domain.jobs.job import BATCH, Job
from shared.domain.jobs.states import COUNT_KEYS

ALLOWED: Final = 10
"""Hard bounces of a campaign or batch that stop nothing, however few its messages are."""
# change: when the bounce guard stops a campaign
ONE_IN: Final = 10
"""More than one in so many of the messages with a final result must have bounced."""


def watches(job: Job) -> bool:
    """Tell whether the guard may stop a job: a campaign's or a batch, unless its owner has overridden the guard."""
    return (bool(job.campaign) or job.kind == BATCH) and not job.guard_off


def together(jobs: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of the counts of a campaign's jobs, each by COUNT_KEYS."""
    out = dict.fromkeys(COUNT_KEYS, 0)
    for counts in jobs:
        for key in COUNT_KEYS:
            out[key] += counts[key]
    return out


def settled(counts: Mapping[str, int]) -> int:
    """Return how many messages have a final result. `counts`: by COUNT_KEYS."""
    return counts["delivered"] + counts["failed"] + counts["bounced"] + counts["relayed"]


def trips(counts: Mapping[str, int]) -> bool:
    """Tell whether more than ALLOWED messages bounced, and more than one in ONE_IN of those with a final result.

    `counts`: of a batch, or of all of a campaign's jobs together.
    """
    return counts["bounced"] > ALLOWED and counts["bounced"] * ONE_IN > settled(counts)

"""The bounce guard: a campaign with a bad list is stopped before its sender's name suffers. Source: docs/campaigns.md.

Amazon SES reviews an account from 5 % hard bounces on and may pause it from 10 % on; few bounces say nothing of a list.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from shared.domain.jobs.states import COUNT_KEYS

ALLOWED: Final = 10
"""Hard bounces of a campaign that stop nothing, however few its messages are."""
# change: when the bounce guard stops a campaign
ONE_IN: Final = 10
"""More than one in so many of the messages with a final result must have bounced."""


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

    `counts`: of all of a campaign's jobs together.
    """
    return counts["bounced"] > ALLOWED and counts["bounced"] * ONE_IN > settled(counts)

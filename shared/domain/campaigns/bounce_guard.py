"""The bounce guard: what is sent to a bad list is stopped before its sender's name suffers. Source: docs/campaigns.md.

Amazon SES reviews an account from 5 % hard bounces on and may pause it from 10 % on; few bounces say nothing of a list.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shared.domain.jobs.job import BATCH, Job
from shared.domain.jobs.states import COUNT_KEYS
from shared.domain.times import Millis
from shared.frozen import dataclass

ALLOWED: Final = 10
"""Hard bounces of a campaign or batch that stop nothing, however few its messages are."""
# change: when the bounce guard stops a campaign
ONE_IN: Final = 10
"""More than one in so many of the messages with a final result must have bounced."""


def watches(job: Job) -> bool:
    """Tell whether the guard may stop a job: a campaign's or a batch, unless its owner has overridden the guard."""
    return (bool(job.campaign) or job.kind == BATCH) and not job.guard_off


def is_single(job: Job) -> bool:
    """Tell whether a job is a batch that is too small for the guard: its account's day counts."""
    return job.kind == BATCH and job.total <= ALLOWED and not job.test


SINGLES: Final = ("singles.bounced", "singles.settled")
"""The names of two figures in the day's stats: those of single messages that bounced, and that have a final result."""


def singles_of(job: Job, delta: Sequence[int]) -> dict[str, int]:
    """Return what a fold's figures add to SINGLES; zeros are left out. `delta`: by COUNT_KEYS, and more."""
    if not is_single(job):
        return {}
    counts = dict(zip(COUNT_KEYS, delta, strict=False))
    found = dict(zip(SINGLES, (counts["bounced"], settled(counts)), strict=True))
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class BouncingDay:
    """Single messages of an account's day that bounce too much.

    Attributes:
        account: whose they are; a team's keys have their own.
        day: on which they were accepted (UTC), as in `2026-11-20`.
        bounced: how many bounced for good.
        settled: how many have a final result.
        at: Unix milliseconds.
    """

    account: str
    day: str
    channel: str
    bounced: int
    settled: int
    at: Millis

    @property
    def trips(self) -> bool:
        """Whether they are beyond the bounds of the guard."""
        return _beyond(self.bounced, self.settled)


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
    return _beyond(counts["bounced"], settled(counts))


def _beyond(bounced: int, final: int) -> bool:
    return bounced > ALLOWED and bounced * ONE_IN > final

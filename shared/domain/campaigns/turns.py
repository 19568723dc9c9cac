"""Accounts take turns on a credential that several of them share for campaigns. Source: docs/protocol.md, "J1 Turn"."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from shared.domain.jobs.job import Job
from shared.domain.times import Millis

# change: how long a campaign keeps a credential that another account waits for
TURN_MS: Final = 15 * 60_000
"""Time for which a campaign holds a credential, at the least, before another account's campaign takes it."""
REMEMBERED: Final = 100
"""Accounts of which a credential remembers when it was their turn; those before them count as if it never was."""


class WaitingJob(NamedTuple):
    """A job that waits for a credential. Its order is its age."""

    created_at: Millis
    job: str
    campaign: str
    account: str


def is_over(holding: Iterable[Job], account: str, now: Millis) -> bool:
    """Tell whether the turn of the jobs that hold a credential is over, for an account that asks for it."""
    jobs = list(holding)
    first = min((job.planned_at for job in jobs), default=now)
    return now - first >= TURN_MS and all(job.account != account for job in jobs)


def in_turn(waiting: Iterable[WaitingJob], turns: Sequence[str]) -> list[WaitingJob]:
    """Sort jobs: the account first whose turn is longest ago, or never was; of one account, the oldest job.

    Args:
        turns: the accounts that had a turn, the last one last.
    """
    oldest: dict[str, WaitingJob] = {}
    by_age = sorted(waiting)
    for x in by_age:
        oldest.setdefault(x.account, x)
    place: Mapping[str, int] = {account: i for i, account in enumerate(turns)}
    return sorted(by_age, key=lambda x: (place.get(x.account, -1), oldest[x.account]))


def after(turns: Sequence[str], account: str) -> tuple[str, ...]:
    """Return the accounts that had a turn, once one has had another."""
    return (*(x for x in turns if x != account), account)[-REMEMBERED:]

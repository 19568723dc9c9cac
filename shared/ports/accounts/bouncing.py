"""How much an account's single messages bounce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from shared.domain.campaigns.bounce_guard import BouncingDay
    from shared.domain.jobs.job import Job
    from shared.domain.times import Millis


class BouncingDays(Protocol):
    """The figures of days' single messages, and the notes of days on which they bounced too much."""

    def of(self, job: Job, now: Millis) -> BouncingDay:
        """Return the figures of the day, account and channel that a job was accepted for; a moment old."""

    def note(self, day: BouncingDay) -> bool:
        """Tell the account and operators, once for each day, account and channel. Returns whether this call did."""

"""Schedules that start jobs at their time, and the list of the jobs that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shared.contracts import DueKind
from shared.domain.times import Millis
from shared.ports.common import After, Limit

if TYPE_CHECKING:
    from shared.domain.jobs.job import Job


class Scheduler(Protocol):
    """Says when a job's time has come: once, about then, perhaps never. A hint; `not_before` of the job decides."""

    def set(self, job: str, at: int) -> None:
        """Have a message about a job sent at a time, Unix seconds; one that was set before is replaced.

        Raises:
            Retriable: possibly nothing was set; the job starts all the same.
        """

    def set_once(self, name: str, at: int, body: str) -> None:
        """Have a message sent at a time; if something of that name was set before, nothing changes.

        Args:
            at: Unix seconds.

        Raises:
            Retriable: possibly nothing was set.
        """

    def cancel(self, job: str) -> None:
        """Take back what was set for a job; nothing happens if nothing is set.

        Raises:
            Retriable: it may still be there; it changes nothing when it comes.
        """


class DueMinutes(Protocol):
    """Has functions woken in the minutes in which something is due. A hint: what is stored decides."""

    def announce(self, kind: DueKind, at: Millis) -> bool:
        """Have the function of a kind woken for a moment, after what is due then was stored.

        Returns:
            False: it may not be woken then, and the sweeper's next run wakes it.
        """


class Agenda(Protocol):
    """An account's jobs by the time that they wait for. A place in it says nothing: the job itself tells."""

    def note(self, account: str, job: str, at: Millis, *, test: bool = False) -> None:
        """Record that a job waits for a time. Repeating it is safe. The entry expires after that time.

        Args:
            test: whether a test key made the job; it is then listed among those of test keys as well.
        """

    def drop(self, account: str, job: str, at: Millis, *, test: bool = False) -> None:
        """Let a noted job count no longer: it was not stored, or was stopped. It keeps its place; `note` undoes this.

        Nothing happens if it is not noted.
        """

    def take(self, account: str, now: Millis, *, test: bool = False) -> int:
        """Count a job that is about to wait; return 0, or how many wait if they are `limits.MAX_SCHEDULES`.

        The count also has jobs that were not stored, and some whose time has come. Where it is the most, those that
        wait are counted anew, once in `limits.RECOUNT_MS`.

        Args:
            test: whether a test key makes it; those have a count of their own.
        """

    def page(
        self, account: str, *, tests_only: bool = False, since: Millis, after: After, limit: Limit
    ) -> tuple[list[Job], str]:
        """Return the account's jobs with a time later than `since` (Unix ms), soonest first.

        Args:
            tests_only: only those of test keys.

        Returns:
            The jobs that still exist, in any state, and the place to continue from, empty at the end.
        """

"""The queue of mails: eleven steps, each atomic, between which a process may die.

A step takes a destination as it was read. It returns None if the destination has moved on since: another worker has
it, or its schedule has changed. Any step raises `Retriable` if the store fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from shared.domain.mails.queue import (
        InflightMail,
        MailSchedule,
        NewDestination,
        PendingCleanup,
        QueuedMail,
        ReadMail,
    )


class MailDraft(Protocol):
    """A mail that is not queued yet."""

    def write(self, block: bytes) -> None:
        """Append to the content."""

    def commit(self, sender: str, destinations: Sequence[NewDestination]) -> Sequence[QueuedMail]:
        """Queue the mail for all its destinations, or for none; what is returned survives a power cut.

        Args:
            sender: envelope sender, empty for a notification.
            destinations: at least one.
        """


class MailQueue(Protocol):
    """Mails by destination. At most one worker has a destination in flight."""

    def list_queue(self) -> Iterable[QueuedMail]:
        """Walk what waits, in the order of its schedule: a hint."""

    def find_inflight(self) -> Iterable[InflightMail]:
        """Walk what is in flight, also what dead workers left there: a hint."""

    def find_pending_cleanup(self) -> Iterable[PendingCleanup]:
        """Walk what is to be cleaned up: a hint."""

    def enqueue(self) -> AbstractContextManager[MailDraft]:
        """Begin a mail. If the context ends without `commit`, nothing is queued and its content is removed."""

    def read_inflight(self, mail: InflightMail) -> AbstractContextManager[ReadMail]:
        """Open a mail in flight for reading.

        Raises:
            LookupError: it is no longer in flight.
        """

    def reschedule(self, mail: QueuedMail, schedule: MailSchedule) -> QueuedMail | None:
        """Change when a destination is due."""

    def send_start(self, mail: QueuedMail) -> InflightMail | None:
        """Take a destination into flight. Only the worker that does may send it."""

    def send_done(self, mail: InflightMail) -> PendingCleanup | None:
        """Note that a destination needs no further attempt: it is sent, or has failed for good."""

    def send_cancel(self, mail: InflightMail, schedule: MailSchedule) -> QueuedMail | None:
        """Put a destination back into the queue, with its next schedule; it was surely not sent, or may be again."""

    def drop(self, mail: QueuedMail) -> PendingCleanup | None:
        """Take a destination out of the queue without sending it."""

    def cleanup(self, mail: PendingCleanup) -> bool:
        """Remove a destination, and with the last one the content; False if this was done before."""

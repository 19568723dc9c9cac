"""Where notices are kept, what notifiers have uploaded, and what begins runs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from shared.domain.times import Millis

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from shared.domain.content.content import Content
    from shared.domain.jobs.prepared import PreparedJob
    from shared.domain.notices.inbox import InboxState
    from shared.domain.notices.notice import Notice, NoticeChange


class Notices(Protocol):
    """Notices by their keys, each with its entries of the update log."""

    def read(self, uuids: Collection[str]) -> dict[str, Notice]:
        """Return those of the notices that there are, by key, consistent; also such as count as absent."""

    def write(self, old: Notice | None, change: NoticeChange) -> bool:
        """Write a change in one transaction with its entries.

        Entries whose stamps readers have closed are stamped anew.

        Args:
            old: as read; None: there was none.
            change: its notice is one version on.

        Returns:
            False: the notice has moved on, and nothing is written.

        Raises:
            Retriable: nothing is written; readers close the log faster than the entries are stamped.
        """

    def write_all(self, changes: Sequence[tuple[Notice, NoticeChange]]) -> bool:
        """Write changes of different notices, with their entries, in one transaction, or none of them.

        Entries whose stamps readers have closed are stamped anew.

        Args:
            changes: each with its notice as read; together within `inbox.MAX_ITEMS`.

        Returns:
            False: one of the notices has moved on, and nothing is written; or it is, and the answer was lost.

        Raises:
            Retriable: none is written; readers close the log faster than the entries are stamped.
        """

    def shorten(self, notice: Notice, until: int) -> None:
        """Keep a notice only until a moment (Unix seconds), if it is as read and was to be kept longer."""

    def due(self, shard: int, now: int) -> Iterable[str]:
        """Walk the notices of a shard that have something to do by now (Unix ms), oldest first: a hint."""

    def of_number(self, account: str, phone: str) -> Iterable[str]:
        """Walk the notices of an account to a number (E.164), newest first: a hint."""


class InboxStep(StrEnum):
    """The result of a step of the intake."""

    TAKEN = "taken"
    LATE = "late"
    """The checkpoint has moved: another worker is further."""
    CHANGED = "changed"
    """A notice, or the number of the newest payload, has changed since it was read."""


class Inboxes(Protocol):
    """Payloads of notifiers, and how far they are taken."""

    def add(self, notifier: str, body: bytes, now: Millis) -> int:
        """Store a payload under the next number, which is returned.

        Args:
            body: as `inbox.pack` returns it.
        """

    def state(self, notifier: str) -> InboxState:
        """Return how far an inbox is, consistent."""

    def payload(self, notifier: str, number: int) -> bytes:
        """Return a payload as it was stored.

        Raises:
            LookupError: it was removed.
        """

    def advance(
        self, old: InboxState, new: InboxState, changes: Sequence[tuple[Notice | None, NoticeChange]]
    ) -> InboxStep:
        """Write changes of different notices, their entries and the checkpoint in one transaction.

        Args:
            new: how far it is then.
            changes: each with its notice as read; together within `inbox.MAX_ITEMS`.
        """

    def waiting(self, now: int, older: int) -> Iterable[str]:
        """Walk the notifiers whose inboxes have not been empty for `older` milliseconds: a hint."""


class RunStarts(Protocol):
    """The one transaction that accepts a run's job and makes its notices ACTIVE."""

    def begin(
        self, made: PreparedJob, content: Content, moves: Sequence[tuple[Notice, NoticeChange]]
    ) -> Collection[str]:
        """Store chunk, ledger and content, then accept the job and move its notices in one transaction.

        Args:
            made: the job, under a new id, with one chunk.
            content: what its messages have in common.
            moves: up to 96 notices as read, each with its change.

        Returns:
            The keys of notices that have moved on, so that nothing was accepted. Empty: all is done.
        """

"""Where notifiers, their updates and programs are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from shared.domain.times import Millis
from shared.ports.common import After, Limit, Paged
from shared.ports.records import Idempotency, Mismatch, Replay, Stored

if TYPE_CHECKING:
    from shared.domain.audit import Event
    from shared.domain.notices.days import NotifierDay
    from shared.domain.notices.notifier import Contact, Notifier
    from shared.domain.notices.programs import Program
    from shared.domain.notices.updates import Marks, Span, UpdateEntry


class Notifiers(Paged["Notifier"], Protocol):
    """Notifiers, each found by its name. A name that was used once stays taken."""

    def create(self, notifier: Notifier, *, event: Event) -> bool:
        """Store a new notifier with an entry of the audit log; False if its name is taken.

        It is among `UpdateLog.to_purge` a day later.
        """

    def get(self, name: str) -> Notifier | None:
        """Return a notifier, also one that is deleted, consistent; None if there never was one."""

    def change(self, old: Notifier, new: Notifier, *, event: Event) -> bool:
        """Write a notifier if it is unchanged since it was read, with an entry of the audit log.

        Args:
            new: the next version; one that is deleted is no longer listed.

        Returns:
            False: it has changed, and nothing is written.
        """

    def count(self, namespace: str, most: int) -> int:
        """Return how many notifiers a namespace has, at most `most`; one just made may be missing for a moment."""

    def contacts(self, names: Iterable[str]) -> Mapping[str, Contact]:
        """Return notifier → when it was last there; those that never were have no entry."""

    def note(self, name: str, now_ms: Millis, *, status: bool) -> None:
        """Note that a notifier calls; two calls within a minute may be noted once.

        Args:
            status: it asks for updates, or for the status of a notice.
        """


class UpdateLog(Protocol):
    """The updates of notifiers. Entries are written with the notices that they are about."""

    def marks(self, notifier: str) -> Marks:
        """Return how far a notifier's log is read, consistent; all 0 if it never was."""

    def close(self, notifier: str, until: int) -> None:
        """Raise the mark `closed` (Unix ms), so that later entries have later stamps; a lower one changes nothing."""

    def collect(self, notifier: str, until: int) -> None:
        """Raise the mark `collected` (Unix ms): the log is read up to here without a gap."""

    def to_purge(self, now: int) -> Iterator[str]:
        """Walk the notifiers whose log is due for a purge by now (Unix ms): a hint.

        A notifier is among them a day after it was made, and then as `purge` says.
        """

    def purge(self, notifier: str, until: int, *, again: int | None, event: Event | None = None) -> None:
        """Raise the mark `purged`, and say when the log is to be walked again, in one transaction with an event.

        Args:
            until: Unix milliseconds: notices that ended up to here are taken care of. If the mark is higher, nothing
                changes.
            again: Unix milliseconds of the next walk; None: there is none.
        """

    def days(self, notifier: str, days: Sequence[str]) -> Mapping[str, NotifierDay]:
        """Return those of some UTC days, `YYYYMMDD`, that are stored, by day."""

    def keep_day(self, notifier: str, day: NotifierDay) -> None:
        """Store what a UTC day counts, for as long as its entries; the log is closed up to its end."""

    def read(self, notifier: str, span: Span) -> Iterator[UpdateEntry]:
        """Walk the entries with stamps in a range, oldest first, consistently."""


class Programs(Protocol):
    """Programs, each found by its name, in namespaces of accounts' live or test keys."""

    def save(
        self, old: Program | None, new: Program, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        """Store a new program or the next version of one, with its idempotency record and an event.

        Args:
            old: as read; None for a new one.

        Returns:
            None: `old` is no longer what is stored, and nothing is written.
        """

    def delete(self, program: Program, *, event: Event) -> bool:
        """Remove a program if it is as read, with an event; one that no longer exists counts as removed."""

    def get(self, namespace: str, name: str) -> Program | None:
        """Return a program, consistent."""

    def all(self, namespace: str) -> Sequence[Program]:
        """Return the programs of a namespace in the order of their names, consistent."""


class WaitingNotices(Protocol):
    """What waits of a notifier."""

    def any(self, notifier: str) -> bool:
        """Return whether a payload waits to be taken, or a notice for its next run."""

    def count(self, notifier: str, most: int) -> int:
        """Return how many notices wait for their next run, at most `most`; a lower bound where very many wait."""

    def page(self, notifier: str, *, after: After, limit: Limit) -> tuple[list[str], str]:
        """Return keys of notices that wait, the next due first, and the place to continue from; empty at the end.

        A page may be short, or empty, and still have a next one.
        """

"""Where the seals of audit logs are kept, beside the logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from shared.domain.auditing.seals import AuditSeal, LoggedEntry
    from shared.domain.times import Millis


class Seals(Protocol):
    """Seals of audit logs, and the logs as they are stored."""

    def ready(self) -> bool:
        """Tell whether logs are where they stay: entries that an upgrade still moves would look inserted."""

    def logs(self) -> Iterator[str]:
        """Walk the names of all logs: each account's namespaces, and the deployment's own."""

    def last(self, log: str) -> AuditSeal | None:
        """Return the newest seal of a log, consistent."""

    def of(self, log: str) -> Iterator[AuditSeal]:
        """Walk the seals of a log, oldest first, consistently."""

    def add(self, seal: AuditSeal) -> bool:
        """Store a seal. False: there is one of its number already, which stays."""

    def entries(self, log: str, start: Millis, end: Millis) -> Iterator[LoggedEntry]:
        """Walk a log's entries from a moment on until another one (exclusive), in order, consistently."""

    def done(self) -> Millis:
        """Return until when all logs are sealed, Unix milliseconds; 0: not known."""

    def note(self, end: Millis) -> None:
        """Note until when all logs are sealed."""

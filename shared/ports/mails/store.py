"""Where mails are kept, and the transaction that queues one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shared.ports.campaigns import Files
from shared.ports.common import Paged
from shared.ports.records import Idempotency, Mismatch, Replay, Stored

if TYPE_CHECKING:
    from shared.domain.content.content import Content
    from shared.domain.jobs.prepared import PreparedJob
    from shared.domain.mails.mail import StoredMail
    from shared.ports.campaigns import FileFacts


class Mails(Paged["StoredMail"], Protocol):
    """Mails by their ids. Every write is all or nothing."""

    def open(self, mail: StoredMail, key: Idempotency | None) -> Stored | Replay | Mismatch:
        """Store a new mail, with its idempotency record."""

    def get(self, mail: str) -> StoredMail | None:
        """Return a mail, consistent."""

    def commit(
        self, old: StoredMail | None, new: StoredMail, made: PreparedJob, content: Content, key: Idempotency | None
    ) -> Stored | Replay | Mismatch | None:
        """Store chunks, ledgers and content, then job, mail and idempotency record in one transaction.

        Args:
            old: as read, OPEN; None: the mail is new.
            new: COMMITTED, with the job.
            made: the job, under a new id, with one chunk for each destination.
            content: what names the mail's bytes.

        Returns:
            None: the mail has moved on, and no job is accepted.
        """

    def change(self, old: StoredMail, new: StoredMail) -> bool:
        """Write a mail if it is as read; False: it has moved on, and nothing is written."""


class MailFigures(Protocol):
    """Figures for operators about the end of mails."""

    def late(self) -> None:
        """Count a mail that should have been cleaned hours before."""

    def notified(self) -> None:
        """Count a notification that was queued."""

    def given_up(self, count: int) -> None:
        """Count destinations that failed of mails without a return path: there is no further notification."""


class MailFiles(Files, Protocol):
    """Files of mails in the deployment's bucket."""

    def copy(self, name: str, *, etag: str, to: str) -> FileFacts:
        """Copy a file under another name, if it is still the one that was asked for; return what the copy is.

        Args:
            etag: of the version to copy.
            to: the name of the copy.

        Raises:
            FileChanged: there is no file with that ETag.
        """

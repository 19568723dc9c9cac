"""A mail: a finished message with its envelope, from its upload to the removal of its content.

OPEN: its content may be uploaded, and nothing is queued. COMMITTED: a job carries its destinations, one in each chunk.
CLEANED: every destination has its end, and the content is removed. Each change is one compare-and-swap on its version.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from shared.contracts import MAIL_UPLOADS
from shared.domain.jobs.labels import Labels
from shared.domain.namespaces import namespace
from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

MAX_DESTINATIONS: Final = 1_000
LIFE_MS: Final = 2 * DAY_MS
"""A mail expires so long after it was made, by default and at the most."""
KEPT_MS: Final = 30 * DAY_MS
"""A cleaned mail is kept for so long after it expires, at the least."""


class MailState(StrEnum):
    """How far a mail is."""

    OPEN = "open"
    COMMITTED = "committed"
    CLEANED = "cleaned"


@dataclass(frozen=True, slots=True)
class StoredMail:
    """A mail as stored. Times are Unix milliseconds.

    Attributes:
        mail_from: the envelope's sender; empty: the null return path of a notification.
        hosts: the domain of each destination, in their order.
        expires_at: from then on no destination is tried.
        ttl: Unix seconds when its item may go.
        job: carries its destinations, once it is committed.
        content: name of its bytes in the bucket, once it is committed.
        size: bytes of the content.
        by: the actor who made it.
        reporting: numbers of the destinations of the notification that is being made; empty: none is.
        reports: how many notifications were begun.
        reference: its owner's name for it; empty: none.
        tags: its owner's words for it.
    """

    id: str
    account: str
    mail_from: str
    hosts: tuple[str, ...]
    created_at: Millis
    expires_at: Millis
    ttl: int
    test: bool = False
    state: MailState = MailState.OPEN
    job: str = ""
    content: str = ""
    size: int = 0
    by: str = ""
    reporting: tuple[int, ...] = ()
    reports: int = 0
    reference: str = ""
    tags: tuple[str, ...] = ()
    version: int = 1

    @property
    def namespace(self) -> str:
        """Whose list it is in: that of the account's live keys, or of its test keys."""
        return namespace(self.account, test=self.test)

    @property
    def labels(self) -> Labels:
        """The names that its owner gives it; its job has the same."""
        return Labels(self.reference, self.tags)

    @property
    def upload(self) -> str:
        """Name in the bucket under which its content is uploaded."""
        return f"{MAIL_UPLOADS}{self.id}"

    @property
    def envelope(self) -> str:
        """Name in the bucket under which its destinations are until it is committed."""
        return f"{MAIL_UPLOADS}{self.id}.json"

    def at_host(self, host: str) -> list[int]:
        """Return the numbers of the destinations of a domain, in order."""
        return [n for n, x in enumerate(self.hosts) if x == host]


def opened(
    *,
    mail: str,
    account: str,
    test: bool,
    mail_from: str,
    addresses: Iterable[str],
    by: str,
    now: Millis,
    until: Millis,
) -> StoredMail:
    """Return a new mail.

    Args:
        test: made by a test key.
        mail_from: the envelope's sender, empty for a notification.
        addresses: of its destinations, in their order.
        until: when it expires, Unix milliseconds; 0: as late as it may.
    """
    expires = min(until or now + LIFE_MS, now + LIFE_MS)
    hosts = tuple(host_of(x) for x in addresses)
    ttl = (expires + KEPT_MS) // 1000
    return StoredMail(mail, account, mail_from, hosts, now, expires, ttl, test=test, by=by)


def host_of(address: str) -> str:
    """Return the domain of an address, in lower case."""
    return address.rpartition("@")[2].lower()


def committed(mail: StoredMail, *, job: str, content: str, size: int) -> StoredMail:
    """Return an open mail as committed.

    Args:
        content: name of its bytes in the bucket.
        size: bytes of the content.
    """
    return replace(mail, state=MailState.COMMITTED, job=job, content=content, size=size, version=mail.version + 1)


def begin_report(mail: StoredMail, numbers: Sequence[int]) -> StoredMail | None:
    """Return a mail that notes for which destinations a notification is being made; None: another one is.

    The destinations that are noted first are finished first, so that none is ever in two notifications.
    """
    if mail.reporting or not numbers:
        return None
    return replace(mail, reporting=tuple(sorted(numbers)), reports=mail.reports + 1, version=mail.version + 1)


def end_report(mail: StoredMail) -> StoredMail:
    """Return a mail whose notification is queued, and noted with its destinations."""
    return replace(mail, reporting=(), version=mail.version + 1)


def cleaned(mail: StoredMail) -> StoredMail | None:
    """Return a mail whose content is removed; None: it is so already, or a notification is not finished."""
    if mail.state is not MailState.COMMITTED or mail.reporting:
        return None
    return replace(mail, state=MailState.CLEANED, content="", version=mail.version + 1)

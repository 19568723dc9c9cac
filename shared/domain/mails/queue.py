"""The results of a queue of mails: each value names one destination of one mail, in one state.

A destination is queued, then in flight, then to be cleaned up, then removed. The content of a mail is removed with its
last destination.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, BinaryIO

from shared.domain.times import Millis
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class MailSchedule:
    """When a destination is due.

    Attributes:
        at: Unix milliseconds.
        attempts: how many were made.
    """

    at: Millis
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class NewDestination:
    """A destination of a mail that is being queued.

    Attributes:
        address: of the recipient.
        schedule: of the first attempt.
        metadata: JSON of the mail's owner, returned as it is.
    """

    address: str
    schedule: MailSchedule
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueuedMail:
    """A destination that waits.

    Attributes:
        mail: id of the mail.
        n: number of the destination, from 0.
        schedule: as it was read.
    """

    mail: str
    n: int
    schedule: MailSchedule


@dataclass(frozen=True, slots=True)
class InflightMail:
    """A destination that is being sent, or was when its sender died; fields as in `QueuedMail`."""

    mail: str
    n: int
    schedule: MailSchedule


@dataclass(frozen=True, slots=True)
class PendingCleanup:
    """A destination that is sent or dropped, and never sent again; fields as in `QueuedMail`."""

    mail: str
    n: int


@dataclass(frozen=True, slots=True)
class ReadMail:
    """What is to be sent.

    Attributes:
        sender: envelope sender, empty for a notification.
        address: of the recipient.
        metadata: as it was queued.
        size: bytes of the content.
        content: at its beginning, open while the mail is read.
    """

    sender: str
    address: str
    metadata: Mapping[str, Any]
    size: int
    content: BinaryIO

"""A mail as the relay has it: envelope, content, and the key under which the API takes it once."""

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from shared.domain.recipients.addresses import Address, parse


@dataclass(frozen=True, slots=True)
class RelayMail:
    """A mail to post. The same envelope and content always have the same key.

    Attributes:
        sender: envelope sender, empty for a notification.
        recipients: each mailbox once, sorted.
        key: the Idempotency-Key of its post, 64 characters.
        size: bytes of the content.
        content: open; it is read from its beginning.
    """

    sender: str
    recipients: tuple[str, ...]
    key: str
    size: int
    content: BinaryIO


def relay_mail(sender: str, recipients: Iterable[str], content: bytes) -> RelayMail:
    """Return the mail of an SMTP transaction.

    Args:
        sender: envelope sender, empty for a notification.
        recipients: in any order; spellings of one mailbox are one recipient.
        content: the mail.
    """
    boxes = {_mailbox(x): x for x in sorted(set(recipients), reverse=True)}
    to = tuple(sorted(boxes.values()))
    envelope = hashlib.sha256(json.dumps([sender, to]).encode()).digest()
    key = hashlib.sha256(envelope + hashlib.sha256(content).digest()).hexdigest()
    return RelayMail(sender, to, key, len(content), io.BytesIO(content))


def _mailbox(address: str) -> str:
    found = parse(address)
    return found.key if isinstance(found, Address) else address

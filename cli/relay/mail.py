"""A mail as the relay has it: envelope, content, and the key under which the API takes it once."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from shared.domain.recipients.addresses import Address, parse

BLOCK: Final = 1 << 18
"""Bytes that are read at once."""


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


def blocks(content: BinaryIO) -> Iterator[bytes]:
    """Walk a content from its beginning."""
    content.seek(0)
    while block := content.read(BLOCK):
        yield block


def relay_mail(sender: str, recipients: Iterable[str], content: BinaryIO) -> RelayMail:
    """Return the mail of an SMTP transaction.

    Args:
        sender: envelope sender, empty for a notification.
        recipients: in any order; spellings of one mailbox are one recipient.
        content: the mail; it is read once, and stays the caller's to close.
    """
    boxes = {_mailbox(x): x for x in sorted(set(recipients), reverse=True)}
    to = tuple(sorted(boxes.values()))
    envelope = hashlib.sha256(json.dumps([sender, to]).encode()).digest()
    digest, size = hashlib.sha256(), 0
    for block in blocks(content):
        digest.update(block)
        size += len(block)
    key = hashlib.sha256(envelope + digest.digest()).hexdigest()
    return RelayMail(sender, to, key, size, content)


def _mailbox(address: str) -> str:
    found = parse(address)
    return found.key if isinstance(found, Address) else address

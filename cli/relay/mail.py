"""A mail as the relay has it: envelope, content, and the key under which the API takes it once."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

from shared.domain.recipients.addresses import Address, parse
from shared.domain.times import Millis

BLOCK: Final = 1 << 18
"""Bytes that are read at once."""
_MESSAGE_ID: Final = re.compile(rb"^message-id[ \t]*:[ \t]*(?:\r\n[ \t]+)?[^\s]", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RelayMail:
    """A mail to post. The same envelope and content have the same key, until `MailRounds` gives them another one.

    Attributes:
        sender: envelope sender, empty for a notification.
        recipients: each mailbox once, sorted.
        key: the Idempotency-Key of its post, 64 characters.
        size: bytes of the content.
        content: open; it is read from its beginning.
        has_id: its header has a Message-ID.
        new_since: mail that the API took before is another mail, Unix milliseconds; 0: only the key decides.
    """

    sender: str
    recipients: tuple[str, ...]
    key: str
    size: int
    content: BinaryIO
    has_id: bool = True
    new_since: Millis = 0


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
    digest, size, head = hashlib.sha256(), 0, b""
    for block in blocks(content):
        digest.update(block)
        head = head or block.partition(b"\r\n\r\n")[0]
        size += len(block)
    key = hashlib.sha256(envelope + digest.digest()).hexdigest()
    return RelayMail(sender, to, key, size, content, has_id=_MESSAGE_ID.search(head) is not None)


def relay_mails(
    sender: str, recipients: Sequence[str], silent: Sequence[str], content: BinaryIO
) -> Iterator[RelayMail]:
    """Yield the mails of an SMTP transaction, each mailbox in one of them only.

    Args:
        sender: envelope sender, empty for a notification.
        silent: whose failures are not: their mail has a null return path (RFC 3461 5.2.2).
        content: the mail; it stays the caller's to close.
    """
    told = {_mailbox(x) for x in recipients}
    rest = [x for x in silent if _mailbox(x) not in told]
    groups = [(sender, [*recipients])] if sender else [("", [*recipients, *rest])]
    groups += [("", rest)] if sender else []
    return (relay_mail(path, some, content) for path, some in groups if some)


def _mailbox(address: str) -> str:
    found = parse(address)
    return found.key if isinstance(found, Address) else address

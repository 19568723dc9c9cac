"""A mail as the relay has it: envelope, content, and the key under which the API takes it once."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True, slots=True)
class RelayMail:
    """A mail to post. The same envelope and content always have the same key.

    Attributes:
        sender: envelope sender, empty for a notification.
        recipients: each once, sorted.
        key: the Idempotency-Key of its post.
        size: bytes of the content.
        content: open; it is read from its beginning.
    """

    sender: str
    recipients: tuple[str, ...]
    key: str
    size: int
    content: BinaryIO


def key_of(sender: str, recipients: Iterable[str], content: bytes) -> str:
    """Return the idempotency key of a mail, 64 characters.

    Args:
        sender: envelope sender.
        recipients: in any order.
        content: the mail.
    """
    envelope = json.dumps([sender, sorted(set(recipients))]).encode()
    return hashlib.sha256(hashlib.sha256(envelope).digest() + hashlib.sha256(content).digest()).hexdigest()

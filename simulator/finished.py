"""Finished messages (RFC 5322) as vendors read them."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Final

from simulator.model import Content

MAX_LINE: Final = 1000
"""Bytes of a line with its end (RFC 5321 4.5.3.1.6)."""


def read(data: bytes, size: int) -> tuple[Content, str]:
    """Return the content of a message, and its subject. Raises ValueError if no vendor takes it.

    Args:
        data: the message.
        size: bytes of the call's body.
    """
    parsed = message_from_bytes(data, policy=policy.SMTP)
    if not isinstance(parsed, EmailMessage) or parsed["From"] is None or not parsed["From"].addresses:
        raise ValueError("Missing required header 'From'.")
    if any(len(line) > MAX_LINE for line in data.splitlines(keepends=True)):
        raise ValueError("A line of the message is too long.")
    bodies = {kind: _text(parsed, kind) for kind in ("html", "plain")}
    names = tuple(part.get_filename() or "" for part in parsed.iter_attachments()) if parsed.is_multipart() else ()
    sender = parsed["From"].addresses[0].addr_spec
    return Content(sender, bodies["html"], bodies["plain"], names, size, data), str(parsed["Subject"] or "")


def _text(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    found = part.get_content() if part is not None else ""
    return found if isinstance(found, str) else ""

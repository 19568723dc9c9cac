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
    sender = next((address.addr_spec for address in getattr(parsed["From"], "addresses", ())), "")
    if not isinstance(parsed, EmailMessage) or not sender:
        raise ValueError("Missing required header 'From'.")
    if max(map(len, data.splitlines(keepends=True))) > MAX_LINE:
        raise ValueError("A line of the message is too long.")
    html, text = _text(parsed, "html"), _text(parsed, "plain")
    return Content(sender, html, text, _files(parsed), size, data), str(parsed["Subject"] or "")


def _files(message: EmailMessage) -> tuple[str, ...]:
    found = message.iter_attachments() if message.is_multipart() else ()
    return tuple(part.get_filename() or "" for part in found)


def _text(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    found = part.get_content() if part is not None else ""
    return found if isinstance(found, str) else ""

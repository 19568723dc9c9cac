"""The notification that a mail was not delivered: a message of its own, as of RFC 3464.

It goes to the mail's return path, and its own return path is null, so that no notification is about another one.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from textwrap import wrap
from typing import Final

from shared.domain.jobs.job import StopReason
from shared.domain.jobs.states import Cell
from shared.domain.mails.diagnosis import diagnostic, status_of
from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_HEADER: Final = 16_384
"""Bytes of the mail's own header that are repeated."""
_SAYS: Final = {
    Cell.FAILED: "It was refused.",
    Cell.BOUNCED: "It was refused after it had been accepted.",
    Cell.DROPPED: "It was tried as often as it may be.",
    Cell.EXPIRED: "It could not be delivered before it expired.",
    Cell.SKIPPED: "The address is on the list of addresses that get no mail.",
    Cell.UNKNOWN_CLOSED: "The connection broke. It may have been delivered, and is not sent again.",
}
_SKIPPED: Final[Mapping[str, str]] = {
    StopReason.KEY_REVOKED: "The key that asked for it has been revoked.",
    StopReason.SENDER_REMOVED: "Its sender is not allowed any more.",
}
"""Why a destination was left out that is on no list."""
_OTHER: Final = "It was not delivered."
_WIDTH: Final = 76
"""Characters of a line. RFC 5322 2.1.1 recommends 78, and allows 998."""

_LONGEST: Final = 500
"""Characters of a word that is not broken: an address is whole."""


@dataclass(frozen=True, slots=True)
class FailedDestination:
    """A destination that was not reached.

    Attributes:
        cell: its end.
        code: what refused it, a status or in snake_case; empty if nothing did.
        words: of the provider or the server that refused it; empty if it gave none.
    """

    address: str
    cell: Cell
    code: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class ReportedMail:
    """The mail that a notification is about.

    Attributes:
        id: of the mail.
        sender: the address in its From field, which the notification also has.
        mail_from: the return path: whom the notification is for.
        arrived_at: Unix milliseconds.
        header: the bytes of its header, whole or cut.
    """

    id: str
    sender: str
    mail_from: str
    arrived_at: Millis
    header: bytes = b""


def notification(mail: ReportedMail, failures: Sequence[FailedDestination], *, name: str, now: Millis) -> bytes:
    """Return a delivery status notification: 7-bit lines that end in CRLF.

    Args:
        mail: what was not delivered.
        failures: to whom it was not, at least one.
    """
    host = mail.sender.rpartition("@")[2]
    boundary = f"=_{name}"
    lines = [
        f"From: Mail Delivery System <{mail.sender}>",
        f"To: {_shown(mail.mail_from)}",
        "Subject: Undelivered mail",
        f"Date: {_date(now)}",
        f"Message-ID: <{name}@{host}>",
        "Auto-Submitted: auto-replied",
        "MIME-Version: 1.0",
        f'Content-Type: multipart/report; report-type=delivery-status; boundary="{boundary}"',
        "",
        f"--{boundary}",
        "Content-Type: text/plain; charset=us-ascii",
        "",
        "Your mail was not delivered to:",
        "",
        *(line for x in failures for line in _for_people(x)),
        "",
        f"--{boundary}",
        "Content-Type: message/delivery-status",
        "",
        f"Reporting-MTA: dns; {host}",
        f"Original-Envelope-Id: {mail.id}",
        f"Arrival-Date: {_date(mail.arrived_at)}",
        *(line for x in failures for line in _fields(x)),
        "",
    ]
    text = "\r\n".join(lines).encode("ascii", "backslashreplace")
    end = f"--{boundary}--\r\n".encode()
    return text + b"\r\n" + _repeated(mail.header, boundary) + end


def _for_people(x: FailedDestination) -> list[str]:
    left_out = _SKIPPED.get(x.code) if x.cell is Cell.SKIPPED else None
    said = left_out or _SAYS.get(x.cell, _OTHER)
    words = f" The answer was: {_shown(x.words)}" if x.words else ""
    return _folded(f"  {_shown(x.address)}: {said}{words}", "    ")


def _fields(x: FailedDestination) -> list[str]:
    kind = "rfc822" if x.address.isascii() else "utf-8"
    said = diagnostic(x.code, x.words)
    return [
        "",
        f"Final-Recipient: {kind}; {_shown(x.address)}",
        "Action: failed",
        f"Status: {status_of(x.cell, x.code, x.words)}",
        *(_folded(f"Diagnostic-Code: {_shown(said)}", " ") if said else []),
    ]


def _folded(text: str, blank: str) -> list[str]:
    """Return a text as folded lines. Characters that cannot be printed become blanks.

    Args:
        blank: before each line but the first.
    """
    plain = "".join(c if c.isprintable() else " " for c in text)
    broken = any(len(word) > _LONGEST for word in plain.split())
    return wrap(plain, _WIDTH, subsequent_indent=blank, break_long_words=broken, break_on_hyphens=False)


def _shown(text: str) -> str:
    r"""Return an address, or words, in ASCII: other characters as `\x{E9}` (RFC 6533 3)."""
    return "".join(c if c.isascii() else f"\\x{{{ord(c):X}}}" for c in text)


def _repeated(header: bytes, boundary: str) -> bytes:
    """Return the part with the mail's own header; empty if it is not at hand."""
    if not header:
        return b""
    lines = header[:MAX_HEADER].split(b"\r\n")
    kept = [line for line in _without_bcc(lines) if line]
    seven = b"\r\n".join(kept).decode("utf-8", "replace").encode("ascii", "backslashreplace")
    return f"--{boundary}\r\nContent-Type: text/rfc822-headers\r\n\r\n".encode() + seven + b"\r\n\r\n"


def _without_bcc(lines: Sequence[bytes]) -> list[bytes]:
    """Return the lines of a header without the fields of blind copies."""
    out: list[bytes] = []
    blind = False
    for line in lines:
        if not line[:1].isspace():
            blind = line.lower().startswith((b"bcc:", b"resent-bcc:"))
        if not blind:
            out.append(line)
    return out


def _date(at: Millis) -> str:
    return format_datetime(datetime.fromtimestamp(at / 1000, UTC))

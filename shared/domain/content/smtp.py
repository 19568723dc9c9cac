"""The message for an SMTP server, and the server's replies (RFC 5321)."""

import re
from dataclasses import field
from enum import StrEnum
from typing import Final

from shared.domain.content.streams import Stream
from shared.frozen import dataclass

_PATH: Final = re.compile(
    r'(?:"[^\x00-\x1f\x7f-\xa0<>\u2028\u2029\ud800-\udfff]*"@)?[^\x00-\x20\x7f-\xa0<>\u2028\u2029\ud800-\udfff]+'
)
"""One word, or a local part in quotes, in which blanks may be, with its domain."""


def is_path(address: str) -> bool:
    """Whether an address can be written between the angle brackets of MAIL and RCPT, so that no other one comes in."""
    return _PATH.fullmatch(address) is not None


class Tls(StrEnum):
    """How a connection to an SMTP server is made private: by STARTTLS, from its first byte, or not at all."""

    STARTTLS = "starttls"
    IMPLICIT = "implicit"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Relay:
    """An SMTP server and how to speak to it. No `username`: no AUTH."""

    host: str
    port: int
    tls: Tls
    username: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Mail:
    """One SMTP transaction.

    Attributes:
        sender: the envelope's; empty: the null return path.
        recipients: the envelope's, at least one.
        data: the message (RFC 5322), its lines and itself ending in CRLF, dots not yet doubled.
        utf8: it needs SMTPUTF8 (RFC 6531).
        eight_bit: it needs 8BITMIME (RFC 6152).
    """

    sender: str
    recipients: tuple[str, ...]
    data: tuple[bytes, ...] | Stream
    utf8: bool = False
    eight_bit: bool = False


class SmtpStep(StrEnum):
    """Where in a conversation an SMTP server gave its last reply."""

    GREETING = "greeting"
    EHLO = "ehlo"
    STARTTLS = "starttls"
    AUTH = "auth"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    END = "end"
    """After the message's final dot."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply that decided a transaction: 2xx after the final dot, else 4xx or 5xx and nothing was sent.

    Attributes:
        code: three digits.
        text: its lines, joined by spaces.
        recipient: the number of the envelope's recipient, if the reply is to its RCPT.
    """

    step: SmtpStep
    code: int
    text: str
    recipient: int = 0

"""A finished message as it leaves: its bytes, less the fields that name blind copies.

A server that takes no 8-bit bytes gets another form of the message, made by the standard library's rules. Signatures do
not survive that.
"""

import base64
import quopri
from collections.abc import Iterator
from dataclasses import replace
from email import policy
from email.generator import BytesGenerator
from email.message import EmailMessage, Message
from email.parser import BytesParser
from io import BytesIO
from threading import Lock
from typing import Any, Final, cast

from shared.domain.content.streams import Stream
from shared.domain.mails.header import FAULTS, MAX_HEADER, fields, in_ascii, without_blind
from shared.frozen import dataclass

MAX_REENCODED: Final = 4 * 1024 * 1024
"""Bytes of a message of which a 7-bit form is made: that takes several times as much memory."""
_EMPTY_LINE: Final = b"\r\n\r\n"
_END: Final = b"\r\n"
_PLAIN: Final = frozenset({"", "7bit", "8bit", "binary"})
"""Transfer encodings that leave bytes as they are."""
_ALONE: Final = Lock()
"""One message at a time has its 7-bit form made, for the same reason."""
_POLICY: Final = policy.SMTP.clone(cte_type="7bit", refold_source="none", max_line_length=None)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as it leaves. Implements `Stream`.

    Attributes:
        header: its fields and the empty line after them.
        message: the bytes that it is made of.
        start: where the body begins in them.
        added: the line end that the last line lacks, or empty.
        ascii_body: whether the body is 7-bit.
    """

    header: bytes
    message: Stream
    start: int
    added: bytes
    ascii_body: bool

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.header) + self.message.size - self.start + len(self.added)

    @property
    def names(self) -> frozenset[str]:
        """The names of the header's fields, in lower case."""
        return frozenset(field.name for field in fields(self.header[: -len(_END)]))

    def __iter__(self) -> Iterator[bytes]:
        yield self.header
        skip = self.start
        for block in self.message:
            if rest := block[skip:]:
                yield rest
            skip = max(0, skip - len(block))
        if self.added:
            yield self.added

    def with_ascii_header(self) -> "Outgoing | None":
        """Return the message with encoded words in its header; None if an address is not ASCII."""
        header = in_ascii(self.header[: -len(_END)])
        return None if header is None else replace(self, header=header + _END)

    def seven_bit(self) -> "Outgoing | None":
        """Return the message in a 7-bit form; None if there is none, or if it is too large to be made."""
        if self.size > MAX_REENCODED:
            return None
        try:
            with _ALONE:
                data = _seven_bit(b"".join(self))
        except FAULTS:
            return None
        return outgoing(_Whole(data)) if data and data.isascii() else None


def outgoing(message: Stream) -> Outgoing:
    """Return a message as it leaves. It is walked once; memory holds its header and one block.

    Args:
        message: the bytes of a message that was accepted.

    Raises:
        ValueError: its header is too long. Such a message is not accepted.
    """
    header, start, last = b"", -1, b""
    ascii_body = True
    for block in message:
        last = (last + block)[-2:]
        if start >= 0:
            ascii_body = ascii_body and block.isascii()
            continue
        header += block
        start = _body_of(header)
        if start >= 0:
            ascii_body = header[start:].isascii()
            header = header[:start]
        elif len(header) > MAX_HEADER:
            raise ValueError("the header is too long")
    if start < 0:  # the message is no more than its header
        header, start, last = header + (b"" if header.endswith(_END) else _END) + _END, message.size, _END
    kept = without_blind(header[: -len(_END)]) + _END
    return Outgoing(kept, message, start, b"" if last == _END else _END, ascii_body)


def _body_of(data: bytes) -> int:
    """Return where the body begins; -1 if the header's end is not there yet."""
    if data.startswith(_END):
        return len(_END)
    found = data.find(_EMPTY_LINE)
    return found + len(_EMPTY_LINE) if found >= 0 else -1


@dataclass(frozen=True, slots=True)
class _Whole:
    """A message in memory."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[bytes]:
        yield self.data


def _seven_bit(data: bytes) -> bytes:
    """Return a 7-bit form of a message; empty if a part has none."""
    parsed = BytesParser(policy=_POLICY).parsebytes(data)
    if "MIME-Version" not in parsed:
        parsed["MIME-Version"] = "1.0"
    for part in parsed.walk():
        if not _encode(part):
            return b""
    out = BytesIO()
    BytesGenerator(out, mangle_from_=False, policy=_POLICY).flatten(parsed)
    return out.getvalue()


def _encode(part: Message | EmailMessage) -> bool:
    """Give a part a 7-bit form, without its parts; False if it has none."""
    if not _encode_fields(part):
        return False
    coding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if part.is_multipart():
        if coding in ("8bit", "binary"):
            part.replace_header("Content-Transfer-Encoding", "7bit")
        return True
    raw = part.get_payload(decode=True) if coding in _PLAIN else b""  # the bytes as they are
    if not isinstance(raw, bytes) or raw.isascii():
        return True
    text = part.get_content_maintype() == "text"
    encoded = quopri.encodestring(raw) if text else base64.encodebytes(raw)
    del part["Content-Transfer-Encoding"]
    part["Content-Transfer-Encoding"] = "quoted-printable" if text else "base64"
    part.set_payload(encoded.decode("ascii"))
    return True


def _encode_fields(part: Message) -> bool:
    """Write a part's fields in ASCII; False if that cannot be done."""
    found = [(name, str(value)) for name, value in part.raw_items()]
    if all(value.isascii() for _, value in found):
        return True
    for name in {name for name, _ in found}:
        del part[name]
    for name, value in found:
        raw = f"{name}: {value}".encode("ascii", "surrogateescape")
        encoded = in_ascii(b"\r\n".join(raw.splitlines()) + _END)
        if encoded is None:
            return False
        cast("Any", part).set_raw(name, encoded.decode().partition(":")[2].strip(" \t\r\n"))
    return True

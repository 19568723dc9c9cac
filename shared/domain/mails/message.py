"""The rules of acceptance for finished messages: each is read once, in blocks, at any size (RFC 5322, 5321)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from shared.domain.content.content import Mailbox
from shared.domain.mails.header import MAX_HEADER, HeaderField, addresses, fields, readable, text_of
from shared.frozen import dataclass

MAX_BYTES: Final = 40 * 1024 * 1024
"""Of a message."""
MAX_SUBJECT: Final = 998
"""Characters of the subject that are kept."""
AGENTS: Final = frozenset({"sender", "resent-from", "resent-sender"})
"""Fields that name a sender beside From, which readers show as one (RFC 5322 3.6.2, 3.6.6)."""
_BARE: Final = re.compile(rb"(?<!\r)\n|\r(?!\n)|\x00")
_BARE_CODES: Final = {b"\n": "bare_lf", b"\r": "bare_cr", b"\0": "nul_byte"}
_ENDS: Final = re.compile(rb"\r\n|\r|\n")
_EMPTY_LINE: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """The facts about a message that may be sent.

    Attributes:
        size: in bytes.
        senders: the mailboxes of its From field, at least one.
        subject: of its header, decoded; empty if it has none.
        names: the names of its header's fields, in lower case.
        claims: the mailboxes of From and of all other fields that name a sender, each with all words of its field.
    """

    size: int
    senders: tuple[Mailbox, ...]
    subject: str
    names: frozenset[str]
    claims: tuple[Mailbox, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageRefusal:
    """Why a message cannot be sent.

    Attributes:
        code: stable, in snake_case.
        line: of the message, from 1; 0: the whole message.
    """

    code: str
    line: int = 0


def check(blocks: Iterable[bytes], *, most: int = MAX_BYTES) -> MessageFacts | MessageRefusal:
    """Check a message.

    Line ends other than CRLF are refused: servers disagree on what they end, so one message could become two.

    Args:
        blocks: the message's bytes, in order.
        most: the most bytes it may have.
    """
    scan = _Scan(most)
    for block in blocks:
        if refusal := scan.read(block):
            return refusal
    return scan.end()


def normalised(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Walk a message with CRLF in place of every other line end."""
    held = b""
    for block in blocks:
        data = held + block
        held = b"\r" if data.endswith(b"\r") else b""  # the line end may go on in the next block
        yield _ENDS.sub(b"\r\n", data[: len(data) - len(held)])
    if held:
        yield b"\r\n"


class _Scan:
    """A message that is read. `most`: bytes it may have."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._lines = 0
        self._held = b""
        self._header = b""
        self._in_header = True

    def read(self, block: bytes) -> MessageRefusal | None:
        """Read a block."""
        self._size += len(block)
        if self._size > self._most:
            return MessageRefusal("too_large")
        data = self._held + block
        self._held = b"\r" if data.endswith(b"\r") else b""  # the line end may go on in the next block
        return self._take(data[: len(data) - len(self._held)])

    def end(self) -> MessageFacts | MessageRefusal:
        """Judge the message that was read."""
        if refusal := self._take(self._held):
            return refusal
        if not self._size:
            return MessageRefusal("empty")
        found = list(fields(self._header))
        for field in found:
            if not field.is_certain:
                return MessageRefusal("not_a_header", field.line)
        return _judged(found, self._size)

    def _take(self, data: bytes) -> MessageRefusal | None:
        ends = data.count(b"\r\n")
        if data.count(b"\n") != ends or data.count(b"\r") != ends or b"\0" in data:
            found = _BARE.search(data)
            if found is not None:
                line = self._lines + data.count(b"\r\n", 0, found.start()) + 1
                return MessageRefusal(_BARE_CODES[found[0]], line)
        self._lines += ends
        return self._take_header(data) if self._in_header else None

    def _take_header(self, data: bytes) -> MessageRefusal | None:
        """Keep the header's bytes; it ends at the first empty line, or with the message."""
        seen = max(0, len(self._header) - len(_EMPTY_LINE))
        self._header += data
        end = 0 if self._header.startswith(b"\r\n") else self._header.find(_EMPTY_LINE, seen)
        if end >= 0:
            self._header = self._header[: end + 2 if end else 0]
            self._in_header = False
        return MessageRefusal("header_too_large") if len(self._header) > MAX_HEADER else None


def joined(blocks: Iterable[bytes]) -> bytes:
    """Return a content as one; of a content that is too large no more than shows that it is."""
    body = bytearray()
    for block in blocks:
        body += block
        if len(body) > MAX_BYTES:
            break
    return bytes(body)


def _judged(found: list[HeaderField], size: int) -> MessageFacts | MessageRefusal:
    sender = _from(found)
    if isinstance(sender, MessageRefusal):
        return sender
    boxes = _boxes(sender)
    if not boxes:
        return MessageRefusal("invalid_from", sender.line)
    agents = [(field, _boxes(field)) for field in found if field.name in AGENTS and "@" in field.value]
    for field, named in agents:
        if not named:
            return MessageRefusal("invalid_sender", field.line)
    claims = [_worded(box, field) for field, some in ((sender, boxes), *agents) for box in some]
    return _facts(found, size, boxes, claims)


def _from(found: list[HeaderField]) -> HeaderField | MessageRefusal:
    senders = [field for field in found if field.name == "from"]
    if len(senders) > 1:
        return MessageRefusal("several_from", senders[1].line)
    return senders[0] if senders else MessageRefusal("no_from")


def _facts(found: list[HeaderField], size: int, boxes: tuple[Mailbox, ...], claims: list[Mailbox]) -> MessageFacts:
    """Return what is known of a message.

    Args:
        found: the fields of its header.
        size: in bytes.
        claims: all that it names as its senders.
    """
    subject = next((text_of(field) for field in found if field.name == "subject"), "")
    names = frozenset(field.name for field in found)
    return MessageFacts(size, boxes, subject[:MAX_SUBJECT], names, tuple(claims))


def _worded(box: Mailbox, field: HeaderField) -> Mailbox:
    """Return a mailbox with all that readers may show as its name: also comments, and names of the others."""
    return Mailbox(box.address, f"{box.display} {text_of(field)}")


def _boxes(field: HeaderField) -> tuple[Mailbox, ...]:
    """Return the mailboxes of a field; empty if one of them is no address."""
    boxes = tuple(Mailbox(a.addr_spec, readable(a.display_name)) for a in addresses(field))
    return boxes if all("@" in box.address.strip("@") for box in boxes) else ()

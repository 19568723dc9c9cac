"""The header of a finished message, field by field, as its author wrote it (RFC 5322 2.2, 6532)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from email import policy
from email.errors import InvalidHeaderDefect, MessageError
from email.header import decode_header, make_header
from email.headerregistry import Address, AddressHeader
from typing import Any, Final

from shared.frozen import dataclass

MAX_HEADER: Final = 256 * 1024
"""Bytes of a header: it is held in memory, for a message of any size. Common servers allow less."""
BLIND: Final = frozenset({"bcc", "resent-bcc"})
"""Fields that no recipient may see."""
FAULTS: Final = (ValueError, LookupError, AttributeError, TypeError, MessageError)
"""Exceptions that the standard library's parsers raise on some texts that they were not made for."""
_FIELD: Final = re.compile(rb"([!-9;-~]+)[ \t]*:")
_WORD: Final = re.compile(r"=\?[^?\s\"<>@,;:()\\]+\?[BbQq]\?[^?\"<>@,;:()\\]*\?=")
"""An encoded word without the marks of an address: with one of them, some readers see no word but the mark."""
_ASIDE: Final = "\ue000"
"""Is around the number of an encoded word that is set aside: of no charset, so no author writes it."""
_SET_ASIDE: Final = re.compile(rf"{_ASIDE}(\d+){_ASIDE}")
_BETWEEN: Final = re.compile(rf"(?<=\d{_ASIDE})\s+(?={_ASIDE}\d)")
_POLICY: Final = policy.SMTP.clone(cte_type="7bit")


@dataclass(frozen=True, slots=True)
class HeaderField:
    """One field of a header.

    Attributes:
        name: in lower case; empty: this is no field.
        raw: its lines with their ends.
        line: of its beginning, from 1.
    """

    name: str
    raw: bytes
    line: int

    @property
    def is_certain(self) -> bool:
        """Whether all readers take it for a field: some do not if there is a space before its colon (RFC 5322 4.5)."""
        return bool(self.name) and not self.raw.partition(b":")[0].endswith((b" ", b"\t"))

    @property
    def value(self) -> str:
        """The field's value, unfolded; bytes that are not UTF-8 are lone surrogates."""
        text = self.raw.partition(b":")[2].decode("utf-8", "surrogateescape")
        return text.replace("\r\n", "").strip(" \t")


def fields(header: bytes) -> Iterator[HeaderField]:
    """Walk the fields of a header. `header`: without the empty line after it, each line with its end."""
    begun: list[bytes] = []
    start = 1
    for number, line in enumerate(header.splitlines(keepends=True), 1):
        if line[:1] in (b" ", b"\t") and begun:
            begun.append(line)
            continue
        if begun:
            yield _field(begun, start)
        begun, start = [line], number
    if begun:
        yield _field(begun, start)


def _field(lines: Sequence[bytes], number: int) -> HeaderField:
    found = _FIELD.match(lines[0])
    return HeaderField(found[1].decode().lower() if found else "", b"".join(lines), number)


def without_blind(header: bytes) -> bytes:
    """Return a header without the fields that name blind copies; all others are as they were."""
    return b"".join(field.raw for field in fields(header) if field.name not in BLIND)


def addresses(field: HeaderField) -> tuple[Address, ...]:
    """Return the mailboxes of an address field; empty if it has none, or if readers may disagree on what they are.

    An encoded word (RFC 2047) can only be a name. It may be badly written: inside of quotes, with blanks, beside
    another text, in an unknown charset. So a flaw in one is no doubt about the address.
    """
    words: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        words.append(found[0])
        return f" {_ASIDE}{len(words) - 1}{_ASIDE} "

    try:
        parsed: Any = policy.SMTPUTF8.header_factory(field.name, _WORD.sub(set_aside, field.value.replace(_ASIDE, "?")))
        doubtful = any(isinstance(defect, InvalidHeaderDefect) for defect in parsed.defects)
        found = tuple(parsed.addresses) if isinstance(parsed, AddressHeader) and not doubtful else ()
        if any(_ASIDE in box.addr_spec for box in found):
            return ()
        return tuple(Address(_named(box.display_name, words), addr_spec=box.addr_spec) for box in found)
    except FAULTS:
        return ()


def _named(name: str, words: Sequence[str]) -> str:
    """Return a name with its encoded words decoded; blanks between two of them are no part of it."""
    joined = _BETWEEN.sub("", name)
    return " ".join(_SET_ASIDE.sub(lambda found: _decoded(words[int(found[1])]), joined).split())


def _decoded(word: str) -> str:
    """Return an encoded word as text; one that cannot be decoded stays as it is."""
    try:
        return str(make_header(decode_header(word)))
    except FAULTS:
        return word


def text_of(field: HeaderField) -> str:
    """Return the text of an unstructured field, its encoded words decoded."""
    try:
        return readable(str(policy.SMTPUTF8.header_factory("subject", field.value)))
    except FAULTS:  # an encoded word of a charset that nothing knows, for one
        return readable(field.value)


def readable(text: str) -> str:
    """Return a text with question marks in place of what was not UTF-8."""
    return text.encode("utf-8", "replace").decode()


def in_ascii(header: bytes) -> bytes | None:
    """Return a header with encoded words (RFC 2047, 2231) in place of what is not ASCII.

    Returns:
        None if there is no such form: an address is not ASCII. Fields in ASCII are as they were.
    """
    out: list[bytes] = []
    for field in fields(header):
        encoded = field.raw if field.raw.isascii() else _encoded(field)
        if encoded is None:
            return None
        out.append(encoded)
    return b"".join(out)


def _encoded(field: HeaderField) -> bytes | None:
    name = field.raw.partition(b":")[0].rstrip(b" \t").decode("ascii", "replace")
    try:
        parsed: Any = _POLICY.header_factory(name, field.value)
        if isinstance(parsed, AddressHeader) and not _all_ascii(parsed.addresses):
            return None
        folded = _POLICY.fold(name, parsed)
    except FAULTS:
        return None
    return folded.encode() if folded.isascii() else None


def _all_ascii(found: Iterable[Address]) -> bool:
    return all(address.addr_spec.isascii() for address in found)

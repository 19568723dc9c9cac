"""E-mail addresses: what a client typed, made into what a provider takes and what makes two of them the same.

Names are read liberally (`José Núñez <j@example.com>` needs no quotes), addresses strictly, by `email-validator`
without DNS; `local_parts` has the rules for quotes. Nearly all addresses are plain ASCII and take a regular expression
instead, in 5 µs against 55. It accepts a subset of the library's addresses and gives the same result; a property test
compares the two.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Final

from shared.domain.characters.invisible import ENDS, first_invisible, seen
from shared.domain.recipients import local_parts
from shared.frozen import dataclass

MAX_TEXT: Final = 998
"""Characters of one recipient with its display name: the longest line that RFC 5322 2.1.1 allows."""
MAX_ADDRESS: Final = 254
"""Octets of an address: RFC 5321 4.5.3.1.3 with erratum 1690."""
MAX_LOCAL: Final = 64
"""Octets before the @: RFC 5321 4.5.3.1.1."""
MAX_INVALID: Final = 320
"""Characters kept of an invalid recipient: enough to recognise it, few enough to keep chunks small."""

_BLANK: Final = (
    " \t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000" + ENDS
)
"""Characters that are no part of an address at its ends: blanks of any width, and those that show nothing."""
_LIST_BLANK: Final = _BLANK + "\r\n"
_CONTROL: Final = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff]")
"""C0 and C1 controls, the two Unicode line breaks and lone surrogates, which JSON can carry and UTF-8 cannot."""

_NO_CHARACTER: Final = re.compile(
    "[\\ufdd0-\\ufdef\\ufffd" + "".join(chr(plane << 16 | x) for plane in range(17) for x in (0xFFFE, 0xFFFF)) + "]"
)
"""Noncharacters, and the substitute for bytes that are not UTF-8: no real address has them (Unicode 23.7, 23.8)."""

_ATOM: Final = r"[A-Za-z0-9_!#$%&'*+\-/=?^`{|}~]+"
_PLAIN: Final = re.compile(
    rf"({_ATOM}(?:\.{_ATOM})*)@"
    r"((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+([A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z])?))"
)
_SPECIAL_TLDS: Final = frozenset({"arpa", "invalid", "local", "localhost", "onion"})
"""Special-use names that no provider can deliver to; `example` and `test` are accepted, for tests and demos."""

_NOT_READ: Final = "The address has a character that was not read as UTF-8."
_IN_QUOTES: Final = "If the address is really so, write what is before the @ in quotes."
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_NAME_WORD: Final = re.compile(r'(?<!\S)"(?:[^"\\]|\\.)*+"(?!\S)|[^\s"<>,;]++')
_LIST_ENTRY: Final = re.compile(r'(?:(?<![^\s,<])"(?:[^"\\]|\\.)*+"|[^,"]++|")++')


class InvalidCode(StrEnum):
    """The stable code of a recipient that cannot be an address."""

    INVALID_ADDRESS = "invalid_address"


@dataclass(frozen=True, slots=True)
class Address:
    """A recipient that can be sent to.

    Attributes:
        display: the display name, decoded, unquoted and NFC; empty if there is none.
        address: what a provider is given: the local part as written (NFC), the domain as lower-case A-labels. The
            local part has quotes if it needs them, and only then.
        key: equal for the same mailbox, in any case, quoted or not, in any IDN form. It is the address with its local
            part in lower case. RFC 5321 2.4 lets a host distinguish `Ann` from `ann`. No mailbox provider does, and a
            person who is written to twice is the likelier harm.
        smtputf8: true if the local part is not ASCII, so that the provider must speak SMTPUTF8 (RFC 6531).
    """

    display: str
    address: str
    key: str
    smtputf8: bool


@dataclass(frozen=True, slots=True)
class Invalid:
    """A recipient that cannot be sent to; it is a message all the same, in state `skipped`.

    Attributes:
        text: the given text, trimmed and cut to `MAX_INVALID` characters. U+FFFD replaces each control character and
            lone surrogate, so that it can be stored and shown.
        reason: a sentence for people; it never quotes the address.
        code: always `invalid_address`.
    """

    text: str
    reason: str
    code: InvalidCode = InvalidCode.INVALID_ADDRESS


@dataclass(frozen=True, slots=True)
class Parsed:
    """A list of recipients in the order given, the first of each mailbox.

    Attributes:
        duplicates: how many were left out.
        places: of each text that was given, the place of its recipient.
    """

    recipients: tuple[Address | Invalid, ...]
    duplicates: int
    places: tuple[int, ...] = ()


def parse(text: str) -> Address | Invalid:
    """Read one recipient: `a@b`, `<a@b>`, `Name <a@b>`, `"Name, quoted" <a@b>` or an RFC 2047 encoded name.

    Blanks around it are ignored; a line break or another control character anywhere is refused, since it could
    inject a header. IP addresses in brackets, which providers refuse, are invalid.

    Args:
        text: one recipient as the client wrote it, of any length.

    Returns:
        The address, or why it is none. Never raises on any string.
    """
    trimmed = text.strip(_BLANK)
    plain = _plain("", trimmed)
    if plain is not None:
        return plain
    if not trimmed:
        return _invalid(trimmed, "The address is empty.")
    if len(trimmed) > MAX_TEXT:
        return _invalid(trimmed, f"The recipient is longer than {MAX_TEXT} characters.")
    if _CONTROL.search(trimmed):
        return _invalid(trimmed, "The recipient contains a line break or another control character.")
    return _angled(trimmed) if trimmed.endswith(">") else _checked("", trimmed, trimmed)


def parse_many(texts: Iterable[str]) -> Parsed:
    """Read a list of recipients; of those with the same key the first wins, and so it does of equal invalid texts.

    Args:
        texts: recipients as the client wrote them.

    Returns:
        The distinct recipients in the order given; together with the duplicates as many as there were texts.
    """
    recipients: dict[tuple[bool, str], Address | Invalid] = {}
    numbers: dict[tuple[bool, str], int] = {}
    places: list[int] = []
    for text in texts:
        found = parse(text)
        same = (True, found.key) if isinstance(found, Address) else (False, text.strip(_BLANK))
        recipients.setdefault(same, found)
        places.append(numbers.setdefault(same, len(numbers)))
    return Parsed(tuple(recipients.values()), len(places) - len(recipients), tuple(places))


def split_list(text: str) -> list[str]:
    """Split a comma-separated string of recipients, minding commas in quoted display names and local parts.

    Blanks and line breaks around an entry and empty entries are dropped; a quote that is never closed is an ordinary
    character. The entries are not checked: that is what `parse` does.
    """
    entries = (entry.strip(_LIST_BLANK) for entry in _LIST_ENTRY.findall(text))
    return [entry for entry in entries if entry]


def address_hash(key: str) -> str:
    """Return the SHA-256 of an `Address.key` in hexadecimal: what suppressions and indexes store of an address."""
    return address_digest(key).hex()


def address_digest(key: str) -> bytes:
    """Return `address_hash` as bytes."""
    return hashlib.sha256(key.encode()).digest()


def _invalid(text: str, reason: str) -> Invalid:
    return Invalid(_CONTROL.sub("\ufffd", text[:MAX_INVALID]), reason)


def _plain(display: str, spec: str) -> Address | None:
    """Return the address if it is of the plain ASCII kind; None says nothing about its validity."""
    if len(spec) > MAX_ADDRESS:
        return None
    match = _PLAIN.fullmatch(spec)
    if match is None:
        return None
    local, domain, tld = match.groups()
    if len(local) > MAX_LOCAL or "--" in domain or local_parts.is_encoded(local):
        return None
    domain = domain.lower()
    if tld.lower() in _SPECIAL_TLDS:
        return None
    return Address(display, f"{local}@{domain}", f"{local.lower()}@{domain}", smtputf8=False)


def _angled(text: str) -> Address | Invalid:
    """Read an address in angle brackets, with or without a name before it."""
    name, bracket, spec = text[:-1].rpartition("<")
    if not bracket:
        return _invalid(text, "The recipient has a closing angle bracket without an opening one.")
    display = _display(name.strip(_BLANK))
    if display is None:
        return _invalid(text, "The display name is malformed; quote it if it contains commas, quotes or brackets.")
    spec = spec.strip(_BLANK)
    return _plain(display, spec) or _checked(display, spec, text)


def _checked(display: str, spec: str, text: str) -> Address | Invalid:
    """Read an address that is not plain."""
    hidden = first_invisible(spec)
    if hidden:
        return _invalid(text, f"The address has an invisible character ({hidden}).")
    inside = local_parts.unquoted(spec)
    if inside is not None:
        return _quoted(display, *inside, text)
    local, _, domain = spec.partition("@")
    if local_parts.may_be_dotted(domain) and local_parts.is_dotted(local):
        return _quoted(display, local, domain, text)
    found = _validated(display, spec, text)
    if isinstance(found, Invalid) and local_parts.is_dotted(local):
        return replace(found, reason=f"{found.reason} {_IN_QUOTES}")
    return found


def _quoted(display: str, content: str, domain: str, text: str) -> Address | Invalid:
    """Read an address by what is in the quotes of its local part.

    Args:
        content: the local part without quotes and escapes.
    """
    if not local_parts.needs_quotes(content):
        spec = f"{content}@{domain}"
        return _plain(display, spec) or _validated(display, spec, text)
    host = _plain("", f"x@{domain}") or _validated("", f"x@{domain}", text)
    reason = local_parts.fault(content) or (_NOT_READ if _NO_CHARACTER.search(content) else "")
    if reason or isinstance(host, Invalid):
        return _invalid(text, reason) if reason else host
    return _within(display, local_parts.quoted(content), host.key.rpartition("@")[2], text)


def _within(display: str, local: str, domain: str, text: str) -> Address | Invalid:
    """Return an address whose parts are valid, if they are not too long.

    Args:
        local: stays as written; only the key is in lower case.
        domain: in ASCII and in lower case.
    """
    local = unicodedata.normalize("NFC", local)
    if len(local.encode()) > MAX_LOCAL:
        return _invalid(text, f"The part before the @ is longer than {MAX_LOCAL} bytes.")
    address = f"{local}@{domain}"
    if len(address.encode()) > MAX_ADDRESS:
        return _invalid(text, f"The address is longer than {MAX_ADDRESS} bytes.")
    key = f"{unicodedata.normalize('NFC', local.lower())}@{domain}"
    return Address(display, address, key, smtputf8=not local.isascii())


def _validated(display: str, spec: str, text: str) -> Address | Invalid:
    """Read an address without quotes, with `email-validator`."""
    # Its import costs 70 ms, and only acceptance meets addresses that are not plain.
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415

    local, at, domain = spec.partition("@")
    reason = _shape(local, at, domain)
    if reason:
        return _invalid(text, reason)
    try:
        valid = validate_email(
            spec,
            check_deliverability=False,
            allow_smtputf8=True,
            allow_empty_local=False,
            allow_quoted_local=False,
            allow_domain_literal=False,
            allow_display_name=False,
            strict=True,
            globally_deliverable=True,
            test_environment=True,  # accepts the reserved domain `test`
        )
    except EmailNotValidError as error:
        return _invalid(text, _reason(error))
    ascii_domain = valid.ascii_domain.lower()
    if "." not in ascii_domain:
        return _invalid(text, "The domain needs at least one period.")
    return _within(display, local, ascii_domain, text)  # the library lower-cases local parts such as `Info`


def _shape(local: str, at: str, domain: str) -> str:
    """Return why the parts cannot be an address, or an empty string: the common faults in plain words."""
    full_width = "\uff20" in local or "\ufe6b" in local
    faults = (
        (not at and full_width, "The address has a full-width @ instead of @."),
        (not at, "The address has no @."),
        ("@" in domain, "The address has more than one @."),
        (not local, "There is nothing before the @."),
        (not domain, "There is nothing after the @."),
        (local_parts.is_encoded(local), local_parts.ENCODED),
        ('"' in local, "Quotes before the @ have to surround all that is before it."),
        (_NO_CHARACTER.search(local + domain) is not None, _NOT_READ),
        (domain.startswith("["), "An IP address in brackets is not accepted."),
    )
    return next((reason for fault, reason in faults if fault), "")


def _reason(error: Exception) -> str:
    """Return the library's sentence without what it quotes of the address, which follows a colon or bracket."""
    head = re.split(r"[:(]", str(error), maxsplit=1)[0].strip().rstrip(".")
    if head == "After Unicode normalization":
        return "The address is not valid after Unicode normalization."
    return head + "."


def _display(name: str) -> str | None:
    """Return a display name unquoted, decoded and NFC; empty if it shows nothing, None if it is malformed."""
    quoted = _QUOTED.fullmatch(name)
    if quoted:
        name = re.sub(r"\\(.)", r"\1", quoted[1])
    elif _NAME_WORD.sub("", name).strip():
        return None
    else:
        name = _NAME_WORD.sub(lambda word: _unquoted(word[0]), name)
        if "=?" in name:
            name = _decoded(name)
    name = unicodedata.normalize("NFC", name).strip()
    if _CONTROL.search(name):
        return None
    return name if seen(name) else ""


def _unquoted(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word[1:-1]) if word.startswith('"') else word


def _decoded(name: str) -> str:
    """Decode RFC 2047 encoded words; a name that cannot be decoded stays as it is."""
    from email.errors import HeaderParseError  # noqa: PLC0415 - as rare as the encoded names themselves
    from email.header import decode_header, make_header  # noqa: PLC0415

    try:
        return str(make_header(decode_header(name)))
    except (HeaderParseError, LookupError, ValueError):
        return name

"""A cell of a list's `recipient` column: what is sent to, what makes two of them the same, or the fault."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shared.domain.recipients.addresses import MAX_ADDRESS, MAX_LOCAL, Address, parse
from shared.domain.recipients.phones import Phone, PhoneReader

Found = tuple[str, str, str]
"""A recipient: address, key and display as in `chunks.Recipient`. A tuple, since there are millions."""


class RecipientFault(NamedTuple):
    """Why a cell is no recipient: a stable code and a sentence for people, which does not quote it."""

    code: str
    detail: str


class Landline(NamedTuple):
    """`Found` for a number that takes no texts, where texts are sent."""

    address: str
    key: str
    display: str = ""


Read = Callable[[str], Found | RecipientFault]
"""Reads one cell. Never raises on any string."""

_ATOM: Final = r"[A-Za-z0-9_!#$%&'*+\-/=?^`{|}~]+"
_LOCAL: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_MAX_DOMAINS: Final = 10_000
"""Domains remembered: nearly all recipients of a list share a few, and a list made of others must not fill memory."""


def number_reader(region: str = "", *, texts: bool = False) -> Read:
    """Return what reads phone numbers.

    Args:
        region: ISO 3166 code of the country whose numbers need no country code; empty: all need one.
        texts: they get texts, so that a number that takes none is a `Landline`.

    Raises:
        ValueError: there is no such region.
    """
    phones = PhoneReader(region)

    def read(text: str) -> Found | RecipientFault:
        found = phones.read(text)
        if not isinstance(found, Phone):
            return RecipientFault(found.code, found.reason)
        return Landline(found.e164, found.e164) if texts and found.landline else (found.e164, found.e164, "")

    return read


@dataclass(slots=True)
class EmailReader:
    """Reads e-mail addresses as `addresses.parse` does, at a third of the price where the domain was met before."""

    _domains: dict[str, str] = field(default_factory=dict)

    def read(self, text: str) -> Found | RecipientFault:
        """Read one cell."""
        local, _, domain = text.rpartition("@")
        known = self._domains.get(domain)
        short = len(local) <= MAX_LOCAL and len(text) <= MAX_ADDRESS
        if known is not None and short and "=?" not in local and _LOCAL.fullmatch(local):
            address = text if known == domain else f"{local}@{known}"
            return address, address if local.islower() else f"{local.lower()}@{known}", ""
        found = parse(text)
        if not isinstance(found, Address):
            return RecipientFault(found.code.value, found.reason)
        normal = found.address.rpartition("@")[2]
        if domain.isascii() and domain.lower() == normal and len(self._domains) < _MAX_DOMAINS:
            self._domains[domain] = normal
        return found.address, found.key, found.display

"""The return path of an envelope: an address that programs make, and people never type.

Forwarders, list managers and mailers put a whole other address, a number or a signature into its local part (SRS, VERP,
BATV). So it has only the limits of RFC 5321: a dotted atom or a quoted string, and 254 octets in all.
"""

import re
import unicodedata
from typing import Final

from shared.domain.characters.invisible import first_invisible
from shared.domain.recipients.addresses import MAX_ADDRESS, Address, Invalid, parse
from shared.domain.recipients.local_parts import needs_quotes

NULL: Final = "<>"
"""The return path of a notification, as SMTP writes it."""
_QUOTED: Final = re.compile(r'"(?:[!#-;=?-\[\]-~]|\\[!-;=?-~])++"')
"""A quoted string (RFC 5321 4.1.2) without angle brackets, which servers misread; `parse` takes those with blanks."""


def return_path(text: str) -> Address | Invalid:
    """Read an envelope's sender that is not null: any that `parse` takes, and those that only programs make.

    Args:
        text: as the client wrote it.

    Returns:
        The address, or why it is none. The local part stays as it is written.
    """
    found = parse(text)
    if isinstance(found, Address) or first_invisible(text):
        return found
    spec = text.strip(" \t")
    spec = spec[1:-1] if spec[:1] == "<" and spec[-1:] == ">" else spec
    local, _, domain = spec.rpartition("@")
    host = parse(f"x@{domain}")
    if (needs_quotes(local) and _QUOTED.fullmatch(local) is None) or not isinstance(host, Address):
        return found
    local, domain = unicodedata.normalize("NFC", local), host.address.partition("@")[2]
    address = f"{local}@{domain}"
    if len(address.encode()) > MAX_ADDRESS:
        return Invalid(found.text, f"The address is longer than {MAX_ADDRESS} bytes.")
    return Address("", address, f"{local.lower()}@{domain}", smtputf8=not local.isascii())

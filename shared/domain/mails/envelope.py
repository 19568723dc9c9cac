"""The return path of an envelope: an address that programs make, and people never type.

Forwarders, list managers and mailers put a whole other address, a number or a signature into its local part (SRS, VERP,
BATV). So it has only the limits of RFC 5321: a dotted atom or a quoted string, and 254 octets in all.
"""

import re
import unicodedata
from typing import Final

from shared.domain.recipients.addresses import MAX_ADDRESS, Address, Invalid, parse

NULL: Final = "<>"
"""The return path of a notification, as SMTP writes it."""
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u00a1-\ud7ff\ue000-\U0010ffff]+"
_LOCAL: Final = re.compile(rf'{_ATOM}(?:\.{_ATOM})*+|"(?:[!#-;=?-\[\]-~]|\\[!-;=?-~])++"')
"""RFC 5321 4.1.2 with RFC 6531 3.3. A quoted string has no angle bracket: servers misread it."""


def return_path(text: str) -> Address | Invalid:
    """Read an envelope's sender that is not null: any that `parse` takes, and those that only programs make.

    Args:
        text: as the client wrote it.

    Returns:
        The address, or why it is none. The local part stays as it is written.
    """
    found = parse(text)
    if isinstance(found, Address):
        return found
    spec = text.strip(" \t")
    spec = spec[1:-1] if spec[:1] == "<" and spec[-1:] == ">" else spec
    local, _, domain = spec.rpartition("@")
    host = parse(f"x@{domain}")
    if _LOCAL.fullmatch(local) is None or not isinstance(host, Address):
        return found
    local, domain = unicodedata.normalize("NFC", local), host.address.partition("@")[2]
    address = f"{local}@{domain}"
    if len(address.encode()) > MAX_ADDRESS:
        return Invalid(found.text, f"The address is longer than {MAX_ADDRESS} bytes.")
    return Address("", address, f"{local.lower()}@{domain}", smtputf8=not local.isascii())

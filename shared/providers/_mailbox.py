"""A mailbox as one text: `Name <address>`."""

import re
from typing import Final

from shared.providers._common import clean

_PLAIN: Final = re.compile(r"[^\"\\()<>\[\]:;@,.\x00-\x1f\x7f]+")
"""Names that need no quotes (RFC 5322, 3.2.3), and those beyond ASCII (RFC 6532)."""


def mailbox(address: str, display: str) -> str:
    """Return `Name <address>`, the name in quotes only where it needs them; the vendor encodes what is not ASCII.

    Args:
        address: without a name.
        display: the name, of any characters; empty if there is none.
    """
    name = clean(display, len(display)).strip()
    if not name:
        return address
    if not _PLAIN.fullmatch(name):
        name = '"{}"'.format(name.replace("\\", "\\\\").replace('"', '\\"'))
    return f"{name} <{address}>"

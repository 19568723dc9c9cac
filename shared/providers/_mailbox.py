"""Mailboxes: as one text, `Name <address>`, and which of them a provider takes."""

import re
from collections.abc import Iterator
from typing import Final

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import NotTogether, Rejected, cannot_carry
from shared.domain.recipients.local_parts import is_quoted
from shared.providers._common import SMTPUTF8
from shared.providers._texts import clean

QUOTED: Final = cannot_carry("quoted_address_not_supported")
"""Of addresses with a quoted local part for a provider that takes none: another one may."""
QUOTED_APART: Final = NotTogether("quoted_address")
"""Of such an address in a call of several, where the provider finds a recipient's values by the text of the address."""

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


def in_ascii(content: Content) -> bool:
    """Tell whether all addresses of a content are in ASCII: names may be anything."""
    return all(address.isascii() for address in _addresses(content))


def unfit(address: str) -> Rejected | None:
    """Return why a provider of plain addresses takes no such address; None if it does."""
    if not address.isascii():
        return SMTPUTF8
    return QUOTED if is_quoted(address) else None


def unfit_content(content: Content) -> Rejected | None:
    """Return why a provider of plain addresses takes no such content; None if it does."""
    return next(filter(None, map(unfit, _addresses(content))), None)


def _addresses(content: Content) -> Iterator[str]:
    """Yield all addresses of a content, but not its recipient's."""
    for box in (content.sender, *content.beside, *content.cc, *content.bcc):
        yield box.address
    if content.reply_to:
        yield content.reply_to.address

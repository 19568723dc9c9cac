"""Senders that no receiver could answer, such as cron's `root@localhost`: the relay writes another address instead.

Only the envelope's sender and the From field are changed, and only if their domain is a machine's own. A signature over
the From field breaks, so nothing else is touched.
"""

import re
import tempfile
from email.utils import formataddr, getaddresses
from pathlib import Path
from typing import BinaryIO, Final, cast

from cli.relay.mail import BLOCK
from cli.relay.receiving import IN_MEMORY
from shared.domain.mails.header import MAX_HEADER, HeaderField, fields, text_of

_LOCAL: Final = frozenset(
    {"arpa", "corp", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost", "private"}
)
"""Top-level names that no public DNS has (RFC 2606, 6761, 6762, 8375; ICANN's reserved ones), or no mail."""
_WORD: Final = re.compile(r"[^\s@<>\",;:()]+(?:@[^\s@<>\",;:()]+)?")
_END: Final = b"\r\n\r\n"


def lacks_domain(address: str) -> bool:
    """Whether an address has no domain but a machine's own: none, one name, an IP address, or a private suffix."""
    _, _, domain = address.rpartition("@") if "@" in address else ("", "", "")
    labels = domain.lower().rstrip(".").split(".")
    return domain.startswith("[") or len(labels) < 2 or labels[-1] in _LOCAL  # noqa: PLR2004 - a name and its suffix


def with_sender(content: BinaryIO, sender: str, folder: Path | None) -> BinaryIO | None:
    """Return a mail whose From field names a sender, for the caller to close; None: it names a domain, or is unclear.

    Args:
        content: the mail; it is read from its beginning.
        folder: for a large mail's file; None: the system's for temporary files.
    """
    content.seek(0)
    header = content.read(MAX_HEADER).partition(_END)[0]
    found = [field for field in fields(header + b"\r\n") if field.name == "from"]
    line = _rewritten(found[0], sender) if len(found) == 1 else None
    if line is None:
        return None
    place = str(folder) if folder else None
    made = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=place)  # noqa: SIM115 - the caller closes it
    start = sum(len(field.raw) for field in fields(header + b"\r\n") if field.line < found[0].line)
    made.write(header[:start] + line)
    content.seek(start + len(found[0].raw))
    while block := content.read(BLOCK):
        made.write(block)
    return cast("BinaryIO", made)  # it has these methods, which the library's types do not say


def _rewritten(field: HeaderField, sender: str) -> bytes | None:
    """Return a From field with a sender's address, and the name that it had."""
    boxes = getaddresses([text_of(field)])  # also of cron's `root (Cron Daemon)`, which has no domain at all
    name, address = boxes[0] if len(boxes) == 1 else ("", "")
    if _WORD.fullmatch(address) is None or not lacks_domain(address):
        return None
    shown = formataddr((name.strip() or address.partition("@")[0], sender))
    return b"From: " + shown.encode("ascii", "replace") + b"\r\n"

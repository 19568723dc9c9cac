"""A person's data are erased: what becomes of a recipient, and of a content that was theirs alone.

Source: docs/adr/0046. Counts, states and times stay: they tell of messages, not of a person.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.content.content import Content
from shared.domain.exports import COLUMNS
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import ERASED
from shared.domain.recipients.addresses import InvalidCode

_RECIPIENT: Final = COLUMNS.index("recipient")
INVALID: Final = InvalidCode.INVALID_ADDRESS.value
BLANK: Final = Recipient(ERASED, ERASED, skip=ERASED)
"""What stands in an erased recipient's place. It is no address, and is skipped if it still waits."""


def without(recipients: Sequence[Recipient], key: str) -> tuple[tuple[Recipient, ...], int]:
    """Return a chunk's recipients with those of a key blanked, and how many they were.

    Args:
        recipients: in list order, which stays.
        key: the normalised address or number; a recipient whose address is that very text counts, too, and one that
            was no address and has it in its text.
    """
    inside = re.compile(rf"(?<![\w.+-]){re.escape(key)}(?![\w-]|\.\w)", re.IGNORECASE)
    out = tuple(
        BLANK if key in (r.key, r.address) or (r.skip == INVALID and inside.search(r.address)) else r
        for r in recipients
    )
    return out, sum(1 for old, new in zip(recipients, out, strict=True) if old is not new)


def erased_row(row: list[str], names: Collection[str]) -> list[str]:
    """Return a row of an export or archive blanked if it is of one of the names (in lower case), else the very row.

    What it says of the message stays; its recipient, and the list's own values, do not.
    """
    recipient = row[_RECIPIENT].lower()
    if recipient not in names and recipient.removeprefix("'") not in names:
        return row
    return [*row[:_RECIPIENT], ERASED, *row[_RECIPIENT + 1 : len(COLUMNS)], *[""] * (len(row) - len(COLUMNS))]


def blank(content: Content) -> Content:
    """Return a content that says nothing: of a message that had no other recipient."""
    return Content(content.sender, "", text=ERASED)


def uncopied(content: Content, keys: Iterable[str]) -> Content:
    """Return a content without copies to some addresses, as they are written in it, in lower case."""
    gone = set(keys)
    return replace(
        content,
        cc=tuple(m for m in content.cc if m.address.lower() not in gone),
        bcc=tuple(m for m in content.bcc if m.address.lower() not in gone),
    )

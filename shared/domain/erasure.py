"""Erasure of a person's data: in recipients, and in contents that were only theirs.

Source: docs/adr/0046. Counts, states and times stay: they are about messages, not about a person.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.content.content import Content
from shared.domain.content.personal import PERSONAL, uncopied_values, without_copies
from shared.domain.digests.events import DigestEvent
from shared.domain.exports import COLUMNS
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import ERASED
from shared.domain.recipients.addresses import InvalidCode

_RECIPIENT: Final = COLUMNS.index("recipient")
INVALID: Final = InvalidCode.INVALID_ADDRESS.value
BLANK: Final = Recipient(ERASED, ERASED, skip=ERASED)
"""The substitute for an erased recipient. It is no address, and is skipped if it still waits."""


def without(recipients: Sequence[Recipient], key: str) -> tuple[tuple[Recipient, ...], int]:
    """Return a chunk's recipients with those of a key blanked, and how many they were.

    Args:
        recipients: in list order, which stays.
        key: the normalised address or number. It also matches a recipient whose address is that very text, and an
            invalid address that contains it.
    """
    inside = _mention(key)
    out = tuple(
        BLANK if key in (r.key, r.address) or (r.skip == INVALID and inside.search(r.address)) else _alone(r, key)
        for r in recipients
    )
    return out, sum(1 for old, new in zip(recipients, out, strict=True) if old is not new)


def _alone(one: Recipient, key: str) -> Recipient:
    """Return a recipient whose message does not go to an address beside its own; the very one if it does not."""
    if PERSONAL not in one.values:
        return one
    values = uncopied_values(one.values, {key.lower()})
    return one if values == one.values else replace(one, values=values)


def _mention(*keys: str) -> re.Pattern[str]:
    """Return what finds addresses or numbers in a text, but not in longer ones."""
    names = "|".join(map(re.escape, keys))
    return re.compile(rf"(?<![\w.+-])(?:{names})(?![\w-]|\.\w)", re.IGNORECASE)


def mentions(text: str, names: Collection[str]) -> bool:
    """Return whether a text has one of a person's addresses or numbers in it."""
    return _mention(*names).search(text) is not None


def uninformed(events: Sequence[DigestEvent], names: Collection[str]) -> tuple[tuple[DigestEvent, ...], int]:
    """Return a digest's events without a person, and how many events had the person as a recipient or named them.

    An event that had no other recipient keeps its type and time. In other events, texts that name the person are
    replaced.

    Args:
        events: of a part, whose order stays.
        names: the normalised address or number, and the text that it was given as.
    """
    inside = _mention(*names)
    known = {name.lower() for name in names}
    out = tuple(_uninformed(x, known, inside) for x in events)
    return out, sum(1 for old, new in zip(events, out, strict=True) if old != new)


def _uninformed(event: DigestEvent, names: Collection[str], inside: re.Pattern[str]) -> DigestEvent:
    left = tuple(x for x in event.recipients if _compact(x) not in names and not inside.search(x))
    if event.recipients and not left:
        return DigestEvent(event.type, (), event.at, id=event.id)
    data = {name: inside.sub(ERASED, value) for name, value in event.data.items()}
    changed = replace(event, recipients=left, data=data)
    return event if changed == event else replace(changed, dated=None)  # a repeat is then known by its id


def _compact(number: str) -> str:
    """Return a number without what people write between its digits; other texts in lower case."""
    return re.sub(r"[\s()./-]", "", number).lower() if number.strip().startswith("+") else number.strip().lower()


def erased_row(row: list[str], names: Collection[str]) -> list[str]:
    """Return a row of an export or archive blanked if it is of one of the names (in lower case), else the very row.

    The message's own columns stay. The recipient and all cells behind our first columns are blanked. Those cells are
    the list's own values, times and a provider's texts. Without the header they cannot be distinguished.
    """
    recipient = row[_RECIPIENT].lower()
    if recipient not in names and recipient.removeprefix("'") not in names:
        return row
    return [*row[:_RECIPIENT], ERASED, *row[_RECIPIENT + 1 : len(COLUMNS)], *[""] * (len(row) - len(COLUMNS))]


def blank(content: Content) -> Content:
    """Return a content that says nothing: of a message that had no other recipient."""
    return Content(content.sender, "", text=ERASED)


def uncopied(content: Content, keys: Iterable[str]) -> Content:
    """Return a content without copies to some addresses, and a digest's lines without these addresses.

    Args:
        keys: the addresses as they are written in it, in lower case.
    """
    gone = set(keys)
    lines = content.digest
    if lines is not None:
        inside = _mention(*gone)
        html, text = (tuple(inside.sub(ERASED, line) for line in column) for column in (lines.html, lines.text))
        lines = replace(lines, html=html, text=text)
    return replace(without_copies(content, gone), digest=lines)

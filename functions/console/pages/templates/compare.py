"""Differences between two versions of a template, line by line."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from functions.console.pages.campaigns.drafting import shown_mailbox
from shared.domain.campaigns.campaign import StoredTemplate
from shared.frozen import dataclass

AROUND: Final = 3
"""Equal lines that are shown before and after a difference."""
MAX_LINES: Final = 2_000
"""Lines of a text that are compared: more take seconds. In a text of 200 lines and more, no search begins at a frequent
line. Otherwise two texts of few different lines would take minutes."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line. `sign`: `+` only in the new version, `-` only in the old one, a space in both, `…` lines left out."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of the template that differs."""

    label: str
    lines: Sequence[DiffLine]


def differences(old: StoredTemplate, new: StoredTemplate) -> list[Difference]:
    """Return the parts of a template that differ between two of its versions, in the order of its form."""
    before, after = _parts(old), _parts(new)
    before = dict.fromkeys(after, "") | before
    after = dict.fromkeys(before, "") | after
    return [Difference(name, list(_lines(before[name], after[name]))) for name in after if before[name] != after[name]]


def _parts(x: StoredTemplate) -> dict[str, str]:
    message = x.message
    return {
        "Name": x.name,
        "From": shown_mailbox(message.sender),
        "Replies to": shown_mailbox(message.reply_to),
        "Subject": message.subject,
        "Message": message.body,
        "Text part": message.text,
        **{f"As {name}": text for name, text in x.variants.texts.items()},
    }


def _lines(old: str, new: str) -> Iterator[DiffLine]:
    a, b = old.splitlines()[:MAX_LINES], new.splitlines()[:MAX_LINES]
    for number, group in enumerate(SequenceMatcher(None, a, b).get_grouped_opcodes(AROUND)):
        if number or group[0][1] or group[0][3]:
            yield DiffLine("…", "")
        for tag, start, end, begin, stop in group:
            if tag == "equal":
                yield from (DiffLine(" ", line) for line in a[start:end])
            else:
                yield from (DiffLine("-", line) for line in a[start:end])
                yield from (DiffLine("+", line) for line in b[begin:stop])

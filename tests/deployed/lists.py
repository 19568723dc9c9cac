"""Lists of recipients as CSV files, with rows that are no good, and what must become of each row."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.deployed.kills import SILENT

LOUD: Final = "ann"
"""Feedback comes of recipients that begin so."""
LOUD_EVERY: Final = 10
NOTE: Final = 300
"""Letters of the column that no template names, so that a row has the length of a real one."""
BAD: Final = {
    "malformed address": (b"no address at all,Nobody,x", "invalid_address"),
    "cell of 100 kB": (b"huge@example.com,Nobody," + b"x" * 100_000, "row_too_large"),
    "a field too many": (b"many@example.com,Nobody,x,y", "wrong_field_count"),
    "NUL": (b"nul@example.com,No\0body,x", "nul_byte"),
    "invalid UTF-8": (b"latin@example.com,\xe9mile,x", "invalid_utf8"),
    "quote never closed": (b'quote@example.com,"Nobody,x', "unclosed_quote"),
}
"""Row by what is wrong with it, and the code it is reported with."""


@dataclass(frozen=True, slots=True)
class Made:
    """A list and what must become of it. Rows count from 1, the first below the header.

    Attributes:
        names: recipient → the name that the message must say.
        invalid: row → code.
        duplicates: rows whose recipient stands before.
    """

    file: Path
    names: dict[str, str]
    invalid: dict[int, str]
    duplicates: list[int]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.names) + len(self.invalid) + len(self.duplicates)


def make(file: Path, tag: str, recipients: int, *, known: Sequence[str] = ()) -> Made:
    """Write a list: so many recipients, one bad row of each kind and some duplicates among them.

    Args:
        file: where to.
        tag: part of every address.
        recipients: how many good ones.
        known: addresses that stand in the first rows, of the recipients.
    """
    made = Made(file, {}, {}, [])
    with file.open("wb") as sink:
        sink.write(b"Recipient,name,note\r\n")
        for line in _lines(made, tag, recipients, known):
            sink.write(line + b"\r\n")
    return made


def _lines(made: Made, tag: str, recipients: int, known: Sequence[str]) -> Iterator[bytes]:
    """Yield the rows, each noted in `made` before."""
    rng = random.Random(tag)  # noqa: S311 - places in a list
    kinds = list(BAD.values())
    places = sorted(rng.sample(range(1, recipients), min(len(kinds), recipients - 1)))
    bad = dict(zip(places, rng.sample(kinds, len(places)), strict=True))
    again = set(rng.sample(range(1, recipients), min(len(kinds), recipients - 1)))
    note = "n" * NOTE
    for i in range(recipients):
        if i in bad:
            line, code = bad[i]
            made.invalid[made.rows + 1] = code
            yield line
        if i in again:
            earlier, name = rng.choice(list(made.names.items()))
            made.duplicates.append(made.rows + 1)
            yield f"{earlier.upper()},{name},again".encode()
        address = known[i] if i < len(known) else f"{LOUD if i % LOUD_EVERY == 0 else SILENT}+{tag}.{i}@example.com"
        made.names[address] = f"Zoë {i}"
        yield f"{address},Zoë {i},{note}".encode()

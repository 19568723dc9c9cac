"""A list is checked before it is uploaded: its header, and its first rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.errors import Misused
from shared.domain.campaigns.campaign import Message
from shared.domain.channels.lookup import channel_of
from shared.domain.content.templates import InvalidTemplateError
from shared.domain.lists.csv_rows import RowReader
from shared.domain.lists.header import FileCode, RecipientColumn, doubts
from shared.domain.lists.rows import Row
from shared.domain.recipients.reader import RecipientFault

FIRST: Final = 100
"""Rows that are read."""
BLOCK: Final = 64 * 1024
_ADVICE: Final = "name it: --recipient-column NAME; if its name is in another row: --header-row N"
_ASK: Final = frozenset({FileCode.MISSING_RECIPIENT, FileCode.AMBIGUOUS_RECIPIENT})


@dataclass(frozen=True, slots=True)
class Expected:
    """What a list is for.

    Attributes:
        channel: as in `email`.
        options: of POST /campaigns/{id}/uploads.
        template: the campaign's, as POST /campaigns takes it; empty if it is a stored one.
    """

    channel: str
    options: Mapping[str, Any]
    template: Mapping[str, str]


def check_list(file: Path, expected: Expected) -> None:
    """Refuse a list that the API would refuse after its upload.

    Args:
        file: CSV in UTF-8.

    Raises:
        Misused: its header or its first rows cannot be used.
    """
    wanted = RecipientColumn(
        expected.options.get("recipient_column", ""), channel_of(expected.channel).recipient_columns
    )
    row = expected.options.get("header_row", 0)
    reader = RowReader(wanted=wanted, all_utf8=not expected.options.get("encoding"), header_row=row)
    rows = _first(file, reader)
    if reader.fault is not None:
        advice = f"\n{_ADVICE}" if reader.fault.code in _ASK else ""
        raise Misused(f"{file.name} cannot be used: {reader.fault.detail}{advice}")
    if missing := _missing(expected, reader.header):
        raise Misused(
            f"the list lacks columns that the template names: {', '.join(missing)}\n"
            + "\n".join([f"its columns are {', '.join(reader.header)}", *doubts(missing, reader.header)])
        )
    _check_rows(rows, reader.recipient, expected)


def _first(file: Path, reader: RowReader) -> list[Row]:
    rows: list[Row] = []
    try:
        with file.open("rb") as source:
            while len(rows) < FIRST and reader.fault is None:
                block = source.read(BLOCK)
                rows += reader.feed(block) if block else reader.finish()
                if not block:
                    break
    except OSError as error:
        raise Misused(f"cannot read {file}: {error.strerror}") from None
    return rows[:FIRST]


def _missing(expected: Expected, columns: tuple[str, ...]) -> tuple[str, ...]:
    subject, body, text = (expected.template.get(name, "") for name in ("subject", "body", "text"))
    try:
        return Message(subject, body, text).missing(expected.channel, columns, unsubscribe=True)
    except InvalidTemplateError:
        return ()  # the API says where


def _check_rows(rows: list[Row], at: int, expected: Expected) -> None:
    bad = [(row, fault) for row in rows if (fault := _fault(row, at, expected))]
    if not bad:
        return
    row, why = bad[0]
    if expected.options.get("strict"):
        raise Misused(f"row {row.sheet_row} cannot be used: {why}")
    if len(bad) == len(rows):
        some = f"the first {len(rows)} rows" if len(rows) == FIRST else "the rows"
        raise Misused(f"none of {some} has a valid recipient; row {row.sheet_row}: {why}")


def _fault(row: Row, at: int, expected: Expected) -> str:
    """Return what is wrong with a row, as far as it shows here: the account may know the country of its numbers."""
    if row.code:
        return row.detail
    channel, region = channel_of(expected.channel), expected.options.get("region", "")
    if channel.numbers and not region:
        return "" if row.cells[at].strip() else "It has no number."
    try:
        found = channel.reader(region)(row.cells[at])
    except ValueError:
        raise Misused(f"there is no country {region}: use a code such as DE") from None
    return found.detail if isinstance(found, RecipientFault) else ""

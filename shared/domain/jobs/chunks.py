"""Chunks: up to 500 recipients of a job, immutable, addressed by a pointer."""

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import field
from json.encoder import encode_basestring
from typing import Any, Final

from shared.frozen import dataclass

MAX_RECIPIENTS: Final = 500
"""Keeps a ledger within one write unit."""
MAX_RAW_BYTES: Final = 256 * 1024
"""Raw JSON of a chunk; compressed it stays well under DynamoDB's 400 KB."""
MAX_SECONDS: Final = 30
"""A chunk takes the slowest credential no longer than this, so that load can move and a lease can end."""

_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""Made once: it encodes each recipient."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """One recipient.

    Attributes:
        address: as it is sent; `key`: for equality.
        skip: code, if it is not to be sent to.
        not_after: Unix milliseconds after which no call for it may begin; 0: none.
    """

    address: str
    key: str
    display: str = ""
    skip: str = ""
    values: dict[str, str] = field(default_factory=dict)
    not_after: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk's recipients, in list order.

    Attributes:
        zone: with hours in each recipient's own zone, theirs; several separated by commas. Else empty.
        rows: the numbers of their rows in the file that they come from, as of `lists.row_numbers`; empty: not known.
    """

    job: str
    number: int
    recipients: tuple[Recipient, ...]
    ttl: int
    zone: str = ""
    rows: bytes = b""


def chunk_size(total: int, route_length: int, slowest_rate: float) -> int:
    """Return how many recipients a chunk holds. Every credential gets work, and none for over 30 s.

    Args:
        total: the job's recipients.
        route_length: the number of credentials on the route.
        slowest_rate: the lowest rate on the route, messages a second.
    """
    spread = math.ceil(total / route_length)
    return max(1, min(MAX_RECIPIENTS, spread, max(1, math.floor(MAX_SECONDS * slowest_rate))))


def split(recipients: Sequence[Recipient], size: int) -> list[tuple[Recipient, ...]]:
    """Cut a list into chunks of at most `size` recipients and MAX_RAW_BYTES of JSON."""
    out: list[tuple[Recipient, ...]] = []
    current: list[Recipient] = []
    weight = 0
    for r in recipients:
        w = row_weight(_row(r))
        if current and (len(current) == size or weight + w > MAX_RAW_BYTES):
            out.append(tuple(current))
            current, weight = [], 0
        current.append(r)
        weight += w
    if current:
        out.append(tuple(current))
    return out


def row_weight(row: list[Any]) -> int:
    """Return what a recipient, as `row_of` or a row of a `table` gives it, counts towards MAX_RAW_BYTES."""
    return len(_dumps(row)) + 1


def row_of(address: str, key: str, display: str, skip: str, values: dict[str, str], not_after: int = 0) -> list[Any]:
    """Return a recipient as a row of a chunk's JSON, without empty values at its end.

    Args:
        address: the address to send to.
        key: the normalised address.
        display: the name shown with the address; empty for none.
        skip: why the recipient is skipped; empty if it is not.
        values: the recipient's values, by variable.
        not_after: Unix milliseconds after which no call for it may begin; 0: none.
    """
    row: list[Any] = [address, "" if key == address else key, display, skip, values, not_after]
    while row and not row[-1]:
        row.pop()
    return row


def _row(r: Recipient) -> list[Any]:
    return row_of(r.address, r.key, r.display, r.skip, r.values, r.not_after)


def _dumps(value: Any) -> bytes:
    return _JSON.encode(value).encode()


def pack(recipients: Sequence[Recipient]) -> bytes:
    """Serialise recipients: JSON rows, compressed."""
    return zlib.compress(_dumps([_row(r) for r in recipients]), 6)


def table(columns: Sequence[str], at: int, rows: list[list[str]]) -> bytes:
    """Return the JSON of recipients that have the same values, whose names it holds once; see `pack_table`.

    Args:
        at: index of the cell that is the address; the others are values.
        rows: each recipient's cells. Up to three cells follow the columns: the key if it differs from the address, the
            display name, and the code of a skipped recipient. Empty cells at the end are left out.
    """
    return b'{"columns":%b,"at":%d,"rows":%b}' % (_dumps(columns), at, rows_json(rows))


def pack_table(raw: bytes) -> bytes:
    """Compress what `table` wrote: at level 4, as small as `pack` makes the same recipients in a third of the time."""
    return zlib.compress(raw, 4)


def rows_json(rows: list[list[str]]) -> bytes:
    """Return what json.dumps makes of lists of texts, in a third of the time: as one text, with marks between."""
    quoted = encode_basestring("\x1e".join(["\x1f".join(row) for row in rows]))
    if quoted.count("\\u001f") != sum(map(len, rows)) - len(rows) or quoted.count("\\u001e") != len(rows) - 1:
        return _dumps(rows)  # a cell has such a mark itself
    return f"[[{quoted}]]".replace("\\u001f", '","').replace("\\u001e", '"],["').encode()


def unpack(data: bytes) -> tuple[Recipient, ...]:
    """Read what `pack` or `pack_table` wrote."""
    found = json.loads(zlib.decompress(data))
    if isinstance(found, dict):
        columns, at = found["columns"], found["at"]
        return tuple([_of_table(columns, at, row) for row in found["rows"]])
    out = []
    for row in found:
        address, key, display, skip, values, not_after = _padded(row)
        out.append(Recipient(address, key or address, display, skip, values, not_after))
    return tuple(out)


def _of_table(columns: list[str], at: int, row: list[str]) -> Recipient:
    values = dict(zip(columns, row, strict=False))
    address = values.pop(columns[at])
    if len(row) == len(columns):
        return Recipient(address, address, "", "", values)
    key, display, skip = [*row[len(columns) :], "", ""][:3]
    return Recipient(address, key or address, display, skip, values)


def _padded(row: list[Any]) -> list[Any]:
    return [*row, *("", "", "", "", {}, 0)[len(row) :]]

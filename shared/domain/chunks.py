"""Chunks: up to 500 recipients of a job, immutable, addressed by a pointer."""

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

MAX_RECIPIENTS: Final = 500
"""Keeps a ledger within one write unit."""
MAX_RAW_BYTES: Final = 256 * 1024
"""Raw JSON of a chunk; compressed it stays well under DynamoDB's 400 KB."""
MAX_SECONDS: Final = 30
"""A chunk takes the slowest credential no longer than this, so that load can move and a lease can end."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """One recipient. `address`: as it is sent; `key`: for equality; `skip`: code, if it is not to be sent to."""

    address: str
    key: str
    display: str = ""
    skip: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk's recipients, in list order."""

    job: str
    number: int
    recipients: tuple[Recipient, ...]
    ttl: int


def chunk_size(total: int, route_length: int, slowest_rate: float) -> int:
    """Return how many recipients a chunk takes: every credential of the route gets work, none for over 30 s."""
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
    """Return what a recipient, as `row_of` gives it, counts towards MAX_RAW_BYTES."""
    return len(json.dumps(row, ensure_ascii=False).encode()) + 1


def row_of(address: str, key: str, display: str, skip: str, values: dict[str, str]) -> list[Any]:
    """Return a recipient as it stands in a chunk's JSON."""
    row: list[Any] = [address, "" if key == address else key, display, skip, values]
    while row and not row[-1]:
        row.pop()
    return row


def _row(r: Recipient) -> list[Any]:
    return row_of(r.address, r.key, r.display, r.skip, r.values)


def to_json(rows: Sequence[list[Any]]) -> bytes:
    """Serialise recipients that `row_of` made."""
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def compress(raw: bytes) -> bytes:
    """Compress what `to_json` wrote."""
    return zlib.compress(raw, 6)


def pack(recipients: Sequence[Recipient]) -> bytes:
    """Serialise recipients: JSON rows, compressed."""
    return compress(to_json([_row(r) for r in recipients]))


def unpack(data: bytes) -> tuple[Recipient, ...]:
    """Read what `pack` wrote."""
    rows = json.loads(zlib.decompress(data))
    out = []
    for row in rows:
        address, key, display, skip, values = _padded(row)
        out.append(Recipient(address, key or address, display, skip, values))
    return tuple(out)


def _padded(row: list[Any]) -> list[Any]:
    return [*row, *("", "", "", "", {})[len(row) :]]

"""Events of digests, and parts: the events of one request for one batch key, which are stored together.

A part is compressed as a whole, so a hundred similar events take about a fifth of the room of separate ones.
"""

import hashlib
import json
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_EVENTS: Final = 5_000
"""Events of one request."""
MAX_BYTES: Final = 5 * 1024 * 1024
"""Bytes of one request, and of one window's events."""
MAX_KEYS: Final = 200
"""Batch keys of one request."""
MAX_KEY: Final = 200
"""Characters of a batch key."""
MAX_EVENT_BYTES: Final = 100_000
"""Bytes of one event, as `raw_size` returns them."""
MAX_PART: Final = 350_000
"""Bytes of a compressed part: an item of DynamoDB takes 400 KB."""
MAX_DEPTH: Final = 8
"""Levels of an event's data."""
CONTENT_BYTES: Final = 8
"""Of what `content_of` returns."""
_ID_BYTES: Final = 16
_LONE: Final = "surrogatepass"
"""JSON may hold half a surrogate pair, which a message is rid of when it is rendered."""


@dataclass(frozen=True, slots=True)
class DigestEvent:
    """Something that happened in a client's system.

    Attributes:
        type: what happened, such as `task_failed`.
        recipients: addresses of the people to inform, as they were posted.
        at: when it happened, Unix milliseconds.
        data: more about it, as `flatten` returns it.
        id: as `event_id` returns it. An event without an id is never taken for a repeat.
        dated: whether the client gave `at`; None: unknown, as of events that an earlier version stored.
    """

    type: str
    recipients: tuple[str, ...]
    at: Millis
    data: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    dated: bool | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Events that are stored together.

    Attributes:
        events: in the order of their request.
        data: the same, as `pack` returns them.
        size: bytes before the compression.
    """

    events: tuple[DigestEvent, ...]
    data: bytes = field(repr=False)
    size: int


def event_id(own: str, request_key: str, position: int) -> str:
    """Return the id by which repeats of an event are recognised: 128 bits of a hash as 22 characters, or empty.

    Args:
        own: the event's `event_id`; empty if it has none.
        request_key: the request's `Idempotency-Key`; empty if it has none.
        position: the event's place in the request, from 0.
    """
    if not own and not request_key:
        return ""
    name = f"event\0{own}" if own else f"request\0{position}\0{request_key}"
    digest = hashlib.blake2b(name.encode(errors=_LONE), digest_size=_ID_BYTES).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def content_of(event: DigestEvent) -> bytes:
    """Return 64 bits of a hash of what an event says; empty if that is not known. A repeat has the same ones.

    The order of recipients and of data does not count, and neither does a time that the client did not give.
    """
    if event.dated is None:
        return b""
    at = event.at if event.dated else None
    said = (event.type, at, sorted(set(event.recipients)), sorted(event.data.items()))
    return hashlib.blake2b(json.dumps(said).encode(), digest_size=CONTENT_BYTES).digest()


def flatten(data: Mapping[str, Any]) -> dict[str, str]:
    """Return an event's data on one level, as texts. `_` joins the names; entries of lists have their number.

    Raises:
        ValueError: the data has more than `MAX_DEPTH` levels.
    """
    out: dict[str, str] = {}
    _flatten(out, "", data, MAX_DEPTH)
    return out


def _flatten(out: dict[str, str], prefix: str, value: Any, depth: int) -> None:
    if not isinstance(value, Mapping | list):
        out[prefix] = _text(value)
        return
    if depth == 0:
        raise ValueError(f"the data has more than {MAX_DEPTH} levels")
    entries = value.items() if isinstance(value, Mapping) else enumerate(value)
    for name, entry in entries:
        _flatten(out, f"{prefix}_{name}" if prefix else str(name), entry, depth - 1)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def raw_size(event: DigestEvent) -> int:
    """Return the bytes of an event before it is compressed."""
    return len(_row(event))


def pack(events: Sequence[DigestEvent]) -> bytes:
    """Serialise a part: JSON, compressed."""
    return _packed([_row(x) for x in events])


def unpack(data: bytes) -> tuple[DigestEvent, ...]:
    """Read what `pack` wrote, also with what a later version adds to an event."""
    return tuple(
        DigestEvent(kind, tuple(recipients), at, values, name, more[0] if more else None)
        for kind, at, recipients, values, name, *more in json.loads(zlib.decompress(data).decode(errors=_LONE))
    )


def cut(events: Sequence[DigestEvent], most: int) -> Iterator[Piece]:
    """Yield events in pieces, in order, each small enough to be a part and to fit into an empty window.

    Args:
        events: of one batch key, in the order of their request.
        most: the most events of a piece.
    """
    rows = [_row(x) for x in events]
    start = 0
    while start < len(rows):
        end = start + _fitting(rows[start : start + most])
        data = _packed(rows[start:end])
        while len(data) > MAX_PART and end - start > 1:
            end = start + (end - start + 1) // 2
            data = _packed(rows[start:end])
        yield Piece(tuple(events[start:end]), data, sum(map(len, rows[start:end])))
        start = end


def _fitting(rows: Sequence[bytes]) -> int:
    """Return how many of the first rows a window takes: one at the least."""
    size = 0
    for n, row in enumerate(rows):
        size += len(row)
        if size > MAX_BYTES:
            return max(n, 1)
    return len(rows)


def _row(event: DigestEvent) -> bytes:
    fields = (event.type, event.at, event.recipients, dict(event.data), event.id, event.dated)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(errors=_LONE)


def _packed(rows: Sequence[bytes]) -> bytes:
    return zlib.compress(b"[" + b",".join(rows) + b"]", 6)

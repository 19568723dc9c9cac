"""A notifier's inbox: payloads by number, and the checkpoint up to which their records are taken.

Payloads are processed in order of their numbers, records in array order. Each transaction advances the checkpoint on
the condition that it is unchanged, so no record is applied twice or out of order. Source: docs/adr/0112.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from shared.domain.notices.notice import NoticeChange
from shared.frozen import dataclass

FIRST: Final = 1
"""Number of the first payload."""
MAX_ITEMS: Final = 100
"""Items of one transaction."""
_ALWAYS: Final = 2
"""Of them, the inbox itself and the check of the update log."""
KEPT_DAYS: Final = 30
"""Days for which a payload is kept."""
MAX_RECORDS: Final = 10_000
MAX_BYTES: Final = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class InboxState:
    """How far an inbox is.

    Attributes:
        notifier: whose it is.
        last: number of the newest payload, 0: there was none.
        payload: number of the payload of which a record is to be taken next.
        record: that record, from 0.
    """

    notifier: str
    last: int = 0
    payload: int = FIRST
    record: int = 0

    @property
    def empty(self) -> bool:
        """Whether every record is taken."""
        return self.payload > self.last

    def advanced(self, records: int, of: int) -> "InboxState":
        """Return it with the next records taken.

        Args:
            records: how many.
            of: all records of the payload.
        """
        at = self.record + records
        return replace(self, record=at) if at < of else replace(self, payload=self.payload + 1, record=0)


def fits(changes: Sequence[NoticeChange], another: NoticeChange) -> bool:
    """Tell whether one transaction takes some changes and another one."""
    return _ALWAYS + sum(map(_items, changes)) + _items(another) <= MAX_ITEMS


def _items(change: NoticeChange) -> int:
    return (change.notice is not None) + len(change.entries)


def pack(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Serialise a payload: JSON, compressed."""
    return zlib.compress(json.dumps(records, separators=(",", ":")).encode(), 6)


def unpack(data: bytes) -> list[dict[str, Any]]:
    """Read what `pack` wrote."""
    records: list[dict[str, Any]] = json.loads(zlib.decompress(data))
    return records

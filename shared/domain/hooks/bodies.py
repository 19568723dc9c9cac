"""Bodies of hooks, as JSON. `fields` has what each kind of event says.

The body of an event of a message is made again for each attempt to deliver it, from items that never change. So it has
the same bytes each time. All other bodies are made once and stored.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.domain.hooks.fields import HookData, iso
from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_BATCH: Final = 100
"""Events of a batch."""
BATCH: Final = "batch"
"""The `type` of a batch."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event.

    Attributes:
        id: as `kinds` makes it.
        data: what it says.
        at: its time, Unix milliseconds; 0: when its delivery is made.
    """

    id: str
    data: HookData
    at: Millis = 0


def single(kind: str, at: Millis, data: Mapping[str, Any]) -> bytes:
    """Return the body of one event.

    Args:
        at: its time, Unix milliseconds.
    """
    return packed(_envelope(kind, at, data))


def batch(kind: str, at: Millis, events: Iterable[HookEvent]) -> bytes:
    """Return the body of several events of one kind.

    Args:
        kind: the kind of all of them.
        at: Unix milliseconds: when their delivery was made.
        events: in their order.
    """
    some = [{"id": x.id, **_envelope(kind, at, x.data)} for x in events]
    return packed(_envelope(BATCH, at, some))


def packed(value: Any) -> bytes:
    """Return JSON without spaces, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _envelope(kind: str, at: Millis, data: Any) -> HookData:
    return {"type": str(kind), "timestamp": iso(at), "data": data}

"""Sizes and capacity units by DynamoDB's rules.

Sources (docs.aws.amazon.com/amazondynamodb/latest/developerguide): CapacityUnitCalculations, read-write-operations,
transaction-apis ("Capacity management"). "Approximately" there is taken at its word: digits in pairs, rounded up.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.adapters.dynamo.jobs.sizes import item_size

Item = Mapping[str, Any]
KB: Final = 1024
KEPT_BESIDES: Final = 100
"""Bytes that DynamoDB bills for storing an item besides its own."""
READ_UNIT: Final = 4 * KB
TRANSACTION: Final = 2
"""A transactional read or write costs twice its plain form: once to prepare, once to commit."""


def kept_size(items: Iterable[Item | None]) -> int:
    """Return the bytes that DynamoDB bills for storing items and entries of indices; None: there is no entry."""
    return sum(item_size(x) + KEPT_BESIDES for x in items if x is not None)


def write_units(before: Item | None, after: Item | None) -> int:
    """Return the units of a plain write: the larger of the item before and after it, per started KB, at least 1."""
    return max(1, math.ceil(max(item_size(before), item_size(after)) / KB))


def read_units(size: int, *, consistent: bool) -> float:
    """Return the units of a plain read of `size` bytes: per started 4 KB, at least one; half if eventual."""
    return max(1, math.ceil(size / READ_UNIT)) * (1 if consistent else 0.5)


def index_units(before: Item | None, after: Item | None) -> int:
    """Return the units that a write costs an index, given its entry before and after (None: it has none).

    An entry made, changed or removed is one write; one that stays the same costs nothing. For an entry whose key
    changes see `moved_units`.
    """
    return 0 if before == after else write_units(before, after)


def moved_units(before: Item, after: Item) -> int:
    """Return the units of an index entry whose key changed: one removal and one insertion."""
    return write_units(before, None) + write_units(None, after)

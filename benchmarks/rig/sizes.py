"""Sizes and capacity units by DynamoDB's rules.

Sources (docs.aws.amazon.com/amazondynamodb/latest/developerguide): CapacityUnitCalculations, read-write-operations,
transaction-apis ("Capacity management"). "Approximately" there is taken at its word: digits in pairs, rounded up.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

Item = Mapping[str, Any]
KB: Final = 1024
KEPT_BESIDES: Final = 100
"""Bytes that DynamoDB bills for storing an item besides its own."""
READ_UNIT: Final = 4 * KB
TRANSACTION: Final = 2
"""A transactional read or write costs twice its plain form: once to prepare, once to commit."""
_COLLECTION: Final = 3
_ELEMENT: Final = 1


def _text(value: str) -> int:
    return len(value.encode())


def _number(value: str) -> int:
    mantissa = value.lower().partition("e")[0]
    digits = mantissa.lstrip("+-").replace(".", "").strip("0")
    return math.ceil(len(digits) / 2) + 1 + mantissa.startswith("-")


def _binary(value: bytes | str) -> int:
    return len(base64.b64decode(value)) if isinstance(value, str) else len(bytes(value))


def value_size(value: Mapping[str, Any]) -> int:
    """Return the bytes of one attribute value in DynamoDB's own form: {"S": "a"}.

    Binary values may be bytes (as clients have them) or base64 text (as on the wire).

    Raises:
        ValueError: the type is not one of DynamoDB's.
    """
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return _text(content)
        case "N":
            return _number(content)
        case "B":
            return _binary(content)
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(map(_text, content))
        case "NS":
            return sum(map(_number, content))
        case "BS":
            return sum(map(_binary, content))
        case "L":
            return _COLLECTION + sum(_ELEMENT + value_size(v) for v in content)
        case "M":
            return _COLLECTION + sum(_ELEMENT + _text(k) + value_size(v) for k, v in content.items())
    raise ValueError(f"no DynamoDB type: {kind}")


def item_size(item: Item | None) -> int:
    """Return an item's bytes: the names and values of its attributes; 0 for no item."""
    return sum(_text(name) + value_size(value) for name, value in (item or {}).items())


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

"""Sizes of items by DynamoDB's rules.

Source: docs.aws.amazon.com/amazondynamodb/latest/developerguide, CapacityUnitCalculations. "Approximately" there is
taken at its word: digits in pairs, rounded up.
"""

import base64
import math
from collections.abc import Mapping
from typing import Any, Final

Item = Mapping[str, Any]
WRITE_UNIT: Final = 1024
"""Bytes of an item that a write unit writes."""
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

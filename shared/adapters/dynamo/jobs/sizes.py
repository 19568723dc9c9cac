"""Sizes of items by DynamoDB's rules.

Source: docs.aws.amazon.com/amazondynamodb/latest/developerguide, CapacityUnitCalculations. "Approximately" there is
taken at its word: digits in pairs, rounded up.
"""

import base64
import math
from collections.abc import Callable, Iterable, Mapping
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
    if kind not in _SIZES:
        raise ValueError(f"no DynamoDB type: {kind}")
    return _SIZES[kind](content)


def _list(content: Iterable[Mapping[str, Any]]) -> int:
    return _COLLECTION + sum(_ELEMENT + value_size(v) for v in content)


def _map(content: Mapping[str, Any]) -> int:
    return _COLLECTION + sum(_ELEMENT + _text(k) + value_size(v) for k, v in content.items())


_SIZES: Final[Mapping[str, Callable[[Any], int]]] = {
    "S": _text,
    "N": _number,
    "B": _binary,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "SS": lambda content: sum(map(_text, content)),
    "NS": lambda content: sum(map(_number, content)),
    "BS": lambda content: sum(map(_binary, content)),
    "L": _list,
    "M": _map,
}


def item_size(item: Item | None) -> int:
    """Return an item's bytes: the names and values of its attributes; 0 for no item."""
    return sum(_text(name) + value_size(value) for name, value in (item or {}).items())

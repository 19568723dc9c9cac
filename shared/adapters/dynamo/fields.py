"""The fields of an entity as attributes of its item, by their types."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from shared.adapters.dynamo.client import Item
from shared.frozen import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type of fields: both directions, and what is left out of an item."""

    write: Callable[[Any], Item]
    read: Callable[[Item], Any]
    empty: Any


_KINDS: Final[Mapping[Any, _Kind]] = {
    str: _Kind(lambda x: {"S": x}, lambda x: x["S"], ""),
    int: _Kind(lambda x: {"N": str(x)}, lambda x: int(x["N"]), 0),
    bool: _Kind(lambda x: {"BOOL": x}, lambda x: x["BOOL"], empty=False),
    bytes: _Kind(lambda x: {"B": x}, lambda x: bytes(x["B"]), b""),
    tuple[str, ...]: _Kind(lambda x: {"L": [{"S": y} for y in x]}, lambda x: tuple(y["S"] for y in x["L"]), ()),
    tuple[int, ...]: _Kind(
        lambda x: {"L": [{"N": str(y)} for y in x]}, lambda x: tuple(int(y["N"]) for y in x["L"]), ()
    ),
}


@dataclass(frozen=True, slots=True)
class _Attribute:
    """A field with its attribute: `lacking` is its value if an item has no such attribute."""

    field: str
    name: str
    kind: _Kind
    always: bool
    lacking: Any


class Fields(Generic[T]):
    """Both directions for fields of a dataclass: texts, whole numbers, flags, bytes, enumerations, and tuples.

    An empty value is left out, and read as empty.

    Args:
        always: fields that are written even if they are empty. An older item that lacks one has its default.
        apart: fields that their caller writes and reads.
        names: field → attribute, where they differ.
    """

    def __init__(
        self,
        of: type[T],
        *,
        always: Collection[str] = (),
        apart: Collection[str] = (),
        names: Mapping[str, str] | None = None,
    ) -> None:
        plain = [x for x in fields(of) if x.name not in apart]  # type: ignore[arg-type]  # a dataclass
        self._attributes = [_attribute(x, (names or {}).get(x.name, x.name), x.name in always) for x in plain]
        self.names = tuple(x.name for x in self._attributes)

    def item(self, x: T) -> Item:
        """Return the attributes of an entity."""
        found = ((of, getattr(x, of.field)) for of in self._attributes)
        return {of.name: of.kind.write(value) for of, value in found if of.always or value}

    def read(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an item, as its class takes them."""
        return {x.field: x.kind.read(item[x.name]) if x.name in item else x.lacking for x in self._attributes}


def _attribute(x: Field[Any], name: str, always: bool) -> _Attribute:  # noqa: FBT001 - of a table
    if isinstance(x.type, type) and issubclass(x.type, StrEnum):
        kind = _Kind(lambda value: {"S": value.value}, lambda value, of=x.type: of(value["S"]), None)  # type: ignore[misc]
    else:
        kind = _KINDS[x.type]
    lacking = x.default if always and x.default is not MISSING else kind.empty
    return _Attribute(x.name, name, kind, always, lacking)

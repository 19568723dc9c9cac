"""moto's tables without work that grows with what a table holds, or that is done again for the same expression.

A query of moto sorts all items of a table before it looks for those of its partition: here it sees only these. Moto
measures an item anew with each attribute that it gets: here once. It compares a value by way of its type's five
questions. It parses an expression of an update three times for a call, and a condition twice. Here each is parsed once,
and a copy of a parsed update is made without the general machinery of copies.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table

NODES: Final[Any] = import_module("moto.dynamodb.parsing.ast_nodes")
EXPRESSIONS: Final[Any] = import_module("moto.dynamodb.parsing.expressions")
ORIGINALS: Final[Mapping[str, Any]] = {
    "query": Table.query,
    "make": EXPRESSIONS.UpdateExpressionParser.make,
    "parse": ConditionExpressionParser.parse,
    "cast": DynamoType.cast_value.fget,  # type: ignore[attr-defined]
    "value": DynamoType.__init__,
    "copy": DynamoType.__deepcopy__,
    "equals": DynamoType.__eq__,
    "item": Item.__init__,
}
_LARGEST: Final = 405_000
"""Bytes of an item from which moto refuses it."""
_AS_THEY_ARE: Final = frozenset({"S", "B", "BOOL"})
_SETS: Final = frozenset({"SS", "NS", "BS"})
_KEPT: Final = 2048
"""Parsed expressions."""


def install() -> None:
    """Have tables spare this work in this process; a repeat changes nothing."""
    Table.query = _query  # type: ignore[method-assign]
    Item.__init__ = _item  # type: ignore[method-assign]
    DynamoType.__init__ = _value  # type: ignore[assignment, method-assign]
    DynamoType.__deepcopy__ = _copied  # type: ignore[method-assign]
    DynamoType.__eq__ = _equals  # type: ignore[method-assign]
    DynamoType.cast_value = property(_cast)  # type: ignore[assignment, method-assign]
    ConditionExpressionParser.parse = _parse  # type: ignore[method-assign]
    EXPRESSIONS.UpdateExpressionParser.make = staticmethod(made)
    NODES.Node.__deepcopy__ = cloned


def _query(self: Table, hash_key: DynamoType | None, *rest: Any, **more: Any) -> Any:
    """Query a table that holds what the query may find, and nothing else."""
    index = rest[6] if len(rest) > 6 else more.get("index_name")
    if hash_key is None or not self.range_key_attr:
        return ORIGINALS["query"](self, hash_key, *rest, **more)
    found = _of_index(self, more.get("hash_key_conditions") or ()) if index else _of_partition(self, hash_key)
    view: Table = object.__new__(Table)  # type: ignore[type-abstract]
    view.__dict__.update(self.__dict__, items=found)
    return ORIGINALS["query"](view, hash_key, *rest, **more)


def _of_partition(table: Table, key: DynamoType) -> Mapping[DynamoType, Any]:
    return {key: table.items[key]} if key in table.items else {}


def _of_index(table: Table, conditions: Sequence[tuple[str, DynamoType]]) -> Mapping[DynamoType, Any]:
    partitions: Iterable[tuple[DynamoType, dict[DynamoType, Item]]] = list(table.items.items())
    found = {}
    for key, partition in partitions:
        matching = {
            place: item
            for place, item in list(partition.items())
            if all(name in item.attrs and item.attrs[name] == value for name, value in conditions)
        }
        if matching:
            found[key] = matching
    return found


def _item(self: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: Mapping[str, Any]) -> None:
    self.hash_key = hash_key
    self.range_key = range_key
    self.attrs = LimitedSizeDict()
    for name, value in attrs.items():
        dict.__setitem__(self.attrs, name, DynamoType(value))
    if self.size() > _LARGEST:
        raise ItemSizeTooLarge


def _value(self: DynamoType, given: Any) -> None:
    if type(given) is not dict or len(given) != 1:
        ORIGINALS["value"](self, given)
        return
    ((self.type, value),) = given.items()
    if self.type == "L":
        value = [DynamoType(each) for each in value]
    elif self.type == "M":
        value = {name: DynamoType(each) for name, each in value.items()}
    self.value = value


def _copied(self: DynamoType, memo: dict[int, Any]) -> DynamoType:
    copied: DynamoType = object.__new__(DynamoType)
    memo[id(self)] = copied
    copied.type, value = self.type, self.value
    if self.type == "L":
        value = [copy.deepcopy(each, memo) for each in value]
    elif self.type == "M":
        value = {name: copy.deepcopy(each, memo) for name, each in value.items()}
    elif self.type in _SETS:
        value = list(value)
    copied.value = value
    return copied


def _equals(self: DynamoType, other: DynamoType) -> bool:
    if self.type != other.type:
        return False
    if self.type in _AS_THEY_ARE:
        return bool(self.value == other.value)
    return bool(self.cast_value == other.cast_value)


def _cast(self: DynamoType) -> Any:
    return self.value if self.type in _AS_THEY_ARE else ORIGINALS["cast"](self)


@lru_cache(_KEPT)
def made(expression: str) -> Any:
    """Return the parsed expression of an update, which callers read; a validator changes a copy of its own."""
    return ORIGINALS["make"](expression)


def cloned(node: Any, _memo: Any = None) -> Any:
    """Return a copy of a parsed expression, as `copy.deepcopy` makes it."""
    copied = object.__new__(type(node))
    copied.__dict__.update(node.__dict__)
    if node.children is not None:
        copied.children = []
        for child in node.children:
            own = cloned(child) if isinstance(child, NODES.Node) else child
            if own is not child:
                own.parent = copied
            copied.children.append(own)
    return copied


def _parse(self: ConditionExpressionParser) -> Any:
    if not self.condition_expression:
        return ORIGINALS["parse"](self)
    names, values = self.expression_attribute_names, self.expression_attribute_values
    condition, names_found, values_found = _parsed(self.condition_expression, _Given(names), _Given(values))
    self.expr_attr_names_found.extend(names_found)
    self.expr_attr_values_found.extend(values_found)
    return condition


class _Given:
    """Names or values of an expression, the same as others that read the same."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self._text = repr(given)

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Given) and self._text == other._text


@lru_cache(_KEPT)
def _parsed(expression: str, names: _Given, values: _Given) -> tuple[Any, list[str], list[str]]:
    parser = ConditionExpressionParser(expression, names.given, values.given)
    condition = ORIGINALS["parse"](parser)
    return condition, parser.expr_attr_names_found, parser.expr_attr_values_found

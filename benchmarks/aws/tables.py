"""DynamoDB's tables as a dictionary that answers within some tens of microseconds, for what our stores ask of them.

Moto takes milliseconds for a call. A sender that waits for them finds its caches cold each time. It then takes several
times the processor time of one whose answers come in time. Expressions are translated into Python once.
Indices, paging, limits and metering are left out.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

Item = dict[str, Any]
_TOKEN: Final = re.compile(r"\s*(#?:?[\w.#\[\]]+|<>|<=|>=|[=<>(),+-])")
_WORDS: Final = {"AND": "and", "OR": "or", "NOT": "not", "=": "==", "<>": "!=", "IN": "in"}
_FUNCTIONS: Final = {"attribute_exists", "attribute_not_exists", "begins_with", "contains", "if_not_exists", "size"}


class Refused(Exception):
    """A condition does not hold; `item`: what is stored."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("refused")
        self.item = item


class _Missing:
    """The value of what is not there: no comparison with it holds."""

    def __eq__(self, other: object) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = None  # type: ignore[assignment]


_MISSING: Final = _Missing()


def _plain(value: Any) -> Any:
    """Return an attribute value as it compares."""
    if value is None:
        return _MISSING
    [(kind, held)] = value.items()
    if kind == "N":
        return float(held) if "." in held or "E" in held else int(held)
    return tuple(held) if kind in ("SS", "NS", "BS") else repr(held) if kind in ("L", "M") else held


class _Asked:
    """An item, and the names and values of one request."""

    def __init__(self, item: Item | None, request: Mapping[str, Any]) -> None:
        self.item = item or {}
        self._names = request.get("ExpressionAttributeNames", {})
        self._values = request.get("ExpressionAttributeValues", {})

    def place(self, path: str) -> tuple[Item, str]:
        """Return the map that holds what a path names, and its name there."""
        *above, last = [self._names.get(part, part) for part in path.split(".")]
        held = self.item
        for name in above:
            held = held.setdefault(name, {"M": {}})["M"]
        return held, last

    def raw(self, path: str) -> Any:
        """Return an attribute value; None if there is none."""
        if path.startswith(":"):
            return self._values[path]
        held: Any = self.item
        for part in path.split("."):
            held = held.get(self._names.get(part, part), {}) if part is path else self._step(held, part)
        return held or None

    def _step(self, held: Any, part: str) -> Any:
        held = held.get("M", held) if set(held) == {"M"} else held
        return held.get(self._names.get(part, part), {})

    def of(self, path: str) -> Any:
        """Return a value as it compares."""
        return _plain(self.raw(path))

    def attribute_exists(self, path: str) -> bool:
        return self.raw(path) is not None

    def attribute_not_exists(self, path: str) -> bool:
        return self.raw(path) is None

    def begins_with(self, path: str, start: str) -> bool:
        return self.raw(path) is not None and self.of(path).startswith(self.of(start))

    def contains(self, path: str, part: str) -> bool:
        raw = self.raw(path)
        if raw is None:
            return False
        return self.raw(part) in raw["L"] if "L" in raw else self.of(part) in self.of(path)

    def size(self, path: str) -> Any:
        raw = self.raw(path)
        return _MISSING if raw is None else len(next(iter(raw.values())))

    def if_not_exists(self, path: str, other: str) -> Any:
        found = self.raw(path)
        return self.raw(other) if found is None else found


@lru_cache(maxsize=1000)
def _condition(text: str) -> Callable[[_Asked], bool]:
    """Return a condition as a function."""
    out, names, between = [], False, False
    for word in _TOKEN.findall(text):
        if word in _FUNCTIONS:
            out.append(f"a.{word}")
            names = True
        elif word == "BETWEEN":
            out.append(">=")
            left, between = out[-2], True
        elif word == "AND" and between:
            out.append(f"and {left} <=")
            between = False
        elif word in _WORDS or word in "<=>=(),":
            out.append(_WORDS.get(word, word))
            names = names and word != ")"
        else:
            out.append(repr(word) if names else f"a.of({word!r})")
    return eval(f"lambda a: bool({' '.join(out)})")  # type: ignore[no-any-return]  # noqa: S307 - our own expressions


def holds(text: str | None, item: Item | None, request: Mapping[str, Any]) -> bool:
    """Tell whether a condition holds; none always does."""
    return not text or _condition(text)(_Asked(item, request))


def _add(a: Any, b: Any, sign: int = 1) -> Item:
    return {"N": str(_plain(a) + sign * _plain(b))}


@lru_cache(maxsize=1000)
def _clauses(text: str) -> list[tuple[str, list[str]]]:
    """Return each clause of an update: its word, and its actions."""
    found = re.split(r"\b(SET|REMOVE|ADD|DELETE)\b", text)[1:]
    pairs = zip(found[::2], found[1::2], strict=True)
    return [(word, [x.strip() for x in re.split(r",(?![^(]*\))", part)]) for word, part in pairs]


def _operand(asked: _Asked, text: str) -> Any:
    made = re.fullmatch(r"(if_not_exists|list_append)\s*\(\s*(\S+?)\s*,\s*(\S+?)\s*\)", text)
    if made is None:
        return asked.raw(text)
    if made[1] == "list_append":
        return {"L": [*asked.raw(made[2])["L"], *asked.raw(made[3])["L"]]}
    return asked.if_not_exists(made[2], made[3])


def update(item: Item, request: Mapping[str, Any]) -> None:
    """Change an item as an UpdateExpression says."""
    asked = _Asked(item, request)
    done: list[tuple[Item, str, Any]] = []
    for word, actions in _clauses(request.get("UpdateExpression", "")):
        for action in actions:
            path, _, right = action.partition("=" if word == "SET" else " ")
            held, name = asked.place(path.strip())
            value: Any = None
            if word == "SET":
                parts = re.split(r"\s([+-])\s", right.strip())
                value = _operand(asked, parts[0])
                if len(parts) > 1:
                    value = _add(value, _operand(asked, parts[2]), -1 if parts[1] == "-" else 1)
            elif word in ("ADD", "DELETE"):
                value = _sum(held.get(name), asked.raw(right.strip()), word)
            done.append((held, name, value))
    for held, name, value in done:
        if value is None:
            held.pop(name, None)
        else:
            held[name] = value


def _sum(old: Any, more: Item, word: str) -> Any:
    [(kind, held)] = more.items()
    if kind == "N":
        return _add(old or {"N": "0"}, more)
    had = set((old or {}).get(kind, ()))
    left = had | set(held) if word == "ADD" else had - set(held)
    return {kind: sorted(left)} if left else None


class Tables:
    """The tables. For one thread at a time."""

    def __init__(self) -> None:
        self._items: dict[str, dict[tuple[str, str], Item]] = {}
        self._partitions: dict[tuple[str, str], set[str]] = {}

    def get(self, table: str, key: Mapping[str, Any]) -> Item | None:
        """Return an item."""
        return self._items.get(table, {}).get((key["pk"]["S"], key["sk"]["S"]))

    def _store(self, table: str, key: Mapping[str, Any], item: Item | None) -> None:
        pk, sk = key["pk"]["S"], key["sk"]["S"]
        items, partition = self._items.setdefault(table, {}), self._partitions.setdefault((table, pk), set())
        if item is None:
            items.pop((pk, sk), None)
            partition.discard(sk)
        else:
            items[pk, sk] = item
            partition.add(sk)

    def write(self, request: Mapping[str, Any]) -> tuple[Item | None, Item | None]:
        """Make a put, an update or a deletion; return the item before and after. Raises Refused."""
        table, key = request["TableName"], request.get("Key") or request["Item"]
        before = self.get(table, key)
        if not holds(request.get("ConditionExpression"), before, request):
            raise Refused(before)
        after: Item | None = None
        if "Item" in request:
            after = request["Item"]
        elif "UpdateExpression" in request:
            after = _copy(before) if before is not None else dict(key)
            update(after, request)
        self._store(table, key, after)
        return before, after

    def query(self, request: Mapping[str, Any]) -> list[Item]:
        """Return the items of a partition that a condition names; none of an index."""
        if "IndexName" in request:
            return []
        pk = request["ExpressionAttributeValues"][":pk"]["S"]
        table = request["TableName"]
        found = (self._items[table][pk, sk] for sk in sorted(self._partitions.get((table, pk), ())))
        return [x for x in found if holds(request["KeyConditionExpression"], x, request)]

    def answer(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any] | Refused | list[Refused | None]:
        """Answer a call; a list: why a transaction is cancelled."""
        try:
            return dict(self._answer(operation, request))
        except Refused as refused:
            return refused

    def _answer(self, operation: str, request: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        if operation in ("GetItem", "BatchGetItem", "Query"):
            yield from self._read(operation, request)
        elif operation == "BatchWriteItem":
            for table, requests in request["RequestItems"].items():
                for one in requests:
                    [of] = one.values()
                    self.write({"TableName": table, **of})
            yield "UnprocessedItems", {}
        elif operation == "TransactWriteItems":
            self._together([next(iter(action.items())) for action in request["TransactItems"]])
        else:
            before, after = self.write(request)
            shown = {"ALL_NEW": after, "ALL_OLD": before, "UPDATED_NEW": after}.get(request.get("ReturnValues", ""))
            if shown is not None:
                yield "Attributes", shown

    def _read(self, operation: str, request: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        if operation == "GetItem":
            item = self.get(request["TableName"], request["Key"])
            if item is not None:
                yield "Item", item
        elif operation == "BatchGetItem":
            asked = request["RequestItems"].items()
            found = {table: [self.get(table, key) for key in of["Keys"]] for table, of in asked}
            yield "Responses", {table: [x for x in items if x is not None] for table, items in found.items()}
            yield "UnprocessedKeys", {}
        else:
            items = self.query(request)
            yield "Items", items
            yield "Count", len(items)

    def _together(self, actions: list[tuple[str, Any]]) -> None:
        for _, request in actions:
            before = self.get(request["TableName"], request.get("Key") or request["Item"])
            if not holds(request.get("ConditionExpression"), before, request):
                raise Refused(before)
        for kind, request in actions:
            if kind != "ConditionCheck":
                self.write({k: v for k, v in request.items() if k != "ConditionExpression"})


def _copy(item: Item) -> Item:
    return {k: {"M": _copy(v["M"])} if "M" in v else dict(v) for k, v in item.items()}

"""Frozen dataclasses whose methods are made when one of them is first needed. Source: docs/adr/0267.

    from shared.frozen import dataclass

    @dataclass(frozen=True, slots=True)
    class Place:
        line: int
        column: int = 0

This is `dataclasses.dataclass`: mypy reads it as such. A start defines hundreds of classes and uses some of them, while
`dataclasses` compiles six functions for each. Here a class has its slots at once. `dataclasses` makes the rest when the
class is first called, compared, printed or asked for its fields. It makes a class at once that has other options, or
is derived from a dataclass.
"""

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, InitVar
from inspect import get_annotations
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_origin

__all__ = ["dataclass"]

_OPTIONS: Final = {"frozen": True, "slots": True}
_METHODS: Final = (
    *("__init__", "__repr__", "__eq__", "__getstate__", "__setstate__"),
    *(("__replace__",) if sys.version_info >= (3, 13) else ()),
)
_FIELDS: Final = "__dataclass_fields__"
_FACTS: Final = (_FIELDS, "__dataclass_params__", "__match_args__")
"""Notes of `dataclasses` about a class, for its own functions and for `match`."""
_OF_INSTANCES: Final = frozenset({"__dict__", "__weakref__"})
_LOCK: Final = RLock()
"""Of classes that are being made whole: a second call of `dataclasses` would not find the first one's defaults."""


class _Pending:
    """A class without its methods.

    Attributes:
        original: the class that it was made of; None as soon as it is whole.
        later: the names of what it lacks.
    """

    __slots__ = ("later", "made", "original")

    def __init__(self, original: type) -> None:
        self.original: type | None = original
        self.made: type = original
        self.later: frozenset[str] = frozenset()

    def whole(self) -> type:
        """Return the class with all its methods. Threads may call it at once."""
        with _LOCK:
            if self.original is not None:
                full: type = dataclasses.dataclass(frozen=True, slots=True)(self.original)
                for name in self.later:
                    setattr(self.made, name, full.__dict__[name])
                self.original = None
        return self.made


class _Fact:
    """Something that `dataclasses` notes of a class, until it has done so."""

    __slots__ = ("_name", "_pending")

    def __init__(self, pending: _Pending, name: str) -> None:
        self._pending = pending
        self._name = name

    def __get__(self, _of: object, _owner: type) -> Any:
        return getattr(self._pending.whole(), self._name)


def _frozen(cls: type) -> type:
    """Return the class with slots. The rest is made later, unless only `dataclasses` knows which fields it has."""
    if not _is_plain(cls):
        return dataclasses.dataclass(frozen=True, slots=True)(cls)
    own, kinds = cls.__dict__, get_annotations(cls)
    pending = _Pending(cls)
    later = _later(pending, own)
    pending.later = frozenset(later)
    inside = {name: value for name, value in own.items() if name not in kinds and name not in _OF_INSTANCES}
    inside |= later | {"__slots__": tuple(kinds), "__qualname__": cls.__qualname__}
    made = pending.made = type(cls)(cls.__name__, cls.__bases__, inside)
    _guard(made, frozenset(kinds))
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # spares `dataclasses` to write the signature, which is not kept
    return made


def _is_plain(cls: type) -> bool:
    """Check whether a class is derived from no dataclass, and each name with an annotation is a field."""
    derived = any(_FIELDS in base.__dict__ for base in cls.__mro__[1:])
    return not derived and "__slots__" not in cls.__dict__ and all(map(_is_field, get_annotations(cls).values()))


def _later(pending: _Pending, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a class gets in place of what it lacks. `own`: what its author wrote."""
    later: dict[str, Any] = {name: _stub(pending, name) for name in _METHODS if name not in own}
    if own.get("__hash__") is None and ("__eq__" in own or "__hash__" not in own):
        later["__hash__"] = _stub(pending, "__hash__")
    return later | {name: _Fact(pending, name) for name in _FACTS if name not in own}


def _is_field(kind: Any) -> bool:
    """Check whether a name with this annotation is certainly a field."""
    if isinstance(kind, str):
        return not any(word in kind for word in ("ClassVar", "InitVar", "KW_ONLY"))
    if kind in (ClassVar, InitVar, dataclasses.KW_ONLY):
        return False
    return get_origin(kind) is not ClassVar and not isinstance(kind, InitVar)


def _stub(pending: _Pending, name: str) -> Any:
    """Return a method that makes the class whole and calls its own successor."""

    def stub(self: Any, *args: Any, **named: Any) -> Any:
        return getattr(pending.whole(), name)(self, *args, **named)

    return stub


def _guard(made: Any, names: frozenset[str]) -> None:
    """Let objects refuse assignments, as `dataclasses` does: a class that is derived may have attributes of its own."""

    def assign(self: Any, name: str, value: Any) -> None:
        if type(self) is made or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is made or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = assign, delete


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """Return a class with the methods of a value; see `dataclasses.dataclass`."""
    if cls is not None or options != _OPTIONS:
        return dataclasses.dataclass(cls, **options)
    return _frozen


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass

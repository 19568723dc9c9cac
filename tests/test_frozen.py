"""Frozen dataclasses that are made later: each does what the standard library's does, which stands beside it."""

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, InitVar, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from shared import frozen

ROOT = Path(__file__).resolve().parents[1]
Item = TypeVar("Item")


def is_whole(cls: type) -> bool:
    return isinstance(cls.__dict__["__dataclass_fields__"], dict)


def point(dataclass: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 7
        seen: int = field(default=0, compare=False)
        secret: str = field(default="key", repr=False)
        tags: list[str] = field(default_factory=list)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

        @property
        def sum(self) -> int:
            return self.x + self.y

    return Point


def own_methods(dataclass: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Own:  # noqa: PLW1641 - the decorator gives it a hash
        x: int

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, _other: object) -> bool:
            return True

    return Own


def generic(dataclass: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Page(Generic[Item]):
        items: tuple[Item, ...]

    return Page


def constant(dataclass: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Constant:
        LIMIT: ClassVar[int] = 3
        made: InitVar[int]
        _: KW_ONLY
        name: str = "a"

        def __post_init__(self, made: int) -> None:
            object.__setattr__(self, "name", self.name * made)

    return Constant


def derived(dataclass: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Derived(point(dataclass)):  # type: ignore[misc]
        z: int = 1

    return Derived


CALLS: dict[str, tuple[Callable[[Any], Any], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "fields": (point, ((1,), {"y": 2, "tags": ["a"]})),
    "own methods": (own_methods, ((1,), {})),
    "generic": (generic, (((1, 2),), {})),
    "no fields": (constant, ((2,), {"name": "b"})),
    "derived": (derived, ((1, 2), {"z": 3})),
}


@pytest.fixture(params=CALLS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any, Any, Any]:
    """Return a class of ours and the standard one, and an object of each."""
    make, (args, named) = CALLS[request.param]
    ours, theirs = make(frozen.dataclass), make(dataclasses.dataclass)
    return ours, theirs, ours(*args, **named), theirs(*args, **named)


def test_an_object_is_as_the_standard_one(pair: tuple[Any, Any, Any, Any]) -> None:
    ours, theirs, mine, other = pair
    assert repr(mine).replace(ours.__qualname__, "") == repr(other).replace(theirs.__qualname__, "")
    shown = [(f.name, f.compare, f.repr, f.kw_only, f.init) for f in fields(theirs)]
    assert [(f.name, f.compare, f.repr, f.kw_only, f.init) for f in fields(ours)] == shown
    assert dataclasses.asdict(mine) == dataclasses.asdict(other)
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert not hasattr(mine, "__dict__")
    assert mine == copy.copy(mine) == copy.deepcopy(mine)
    assert (mine == other) is (theirs.__name__ == "Own"), "another class is equal only if its own method says so"


@pytest.mark.parametrize("use", ["eq", "hash", "repr", "fields", "replace", "match", "set", "delete"])
def test_any_first_use_works(use: str) -> None:
    cls = point(frozen.dataclass)
    assert not is_whole(cls)
    if use == "fields":
        assert [f.name for f in fields(cls)] == ["x", "y", "seen", "secret", "tags"]
        return
    one, same = cls(1, tags=()), cls(1, seen=9, tags=())
    match use:
        case "eq":
            assert (one == same, one == cls(2)) == (True, False)
        case "hash":
            assert len({one, same, cls(2, tags=())}) == 2
        case "repr":
            assert "y=7" in repr(one)
            assert "key" not in repr(one)
        case "replace":
            assert replace(one, y=9).sum == 10
        case "match":
            match one:
                case cls(x, y):
                    assert (x, y) == (1, 7)
        case "set":
            with pytest.raises(FrozenInstanceError, match="assign to field 'x'"):
                one.x = 2
        case _:
            with pytest.raises(FrozenInstanceError, match="delete field 'x'"):
                del one.x
    assert is_whole(cls)


def test_a_class_with_an_equality_of_its_own_has_the_standard_hash() -> None:
    assert hash(own_methods(frozen.dataclass)(5)) == hash(own_methods(dataclasses.dataclass)(5))


def test_a_default_list_is_each_objects_own_and_a_refused_object_is_none() -> None:
    cls = point(frozen.dataclass)
    assert cls(1).tags is not cls(1).tags
    with pytest.raises(ValueError, match="x"):
        cls(-1)
    with pytest.raises(TypeError, match="missing"):
        cls()


def test_a_class_that_is_no_dataclass_may_derive_and_have_attributes() -> None:
    class Marked(point(frozen.dataclass)):  # type: ignore[misc]
        pass

    marked = Marked(1)
    marked.note = "kept"
    assert (marked.note, marked.sum) == ("kept", 8)
    with pytest.raises(FrozenInstanceError):
        marked.x = 2


def test_threads_that_call_a_class_at_once_get_whole_objects() -> None:
    for _ in range(20):
        cls = point(frozen.dataclass)
        gate = threading.Barrier(4)
        made: list[Any] = []

        def call(cls: Any = cls, gate: threading.Barrier = gate, made: list[Any] = made) -> None:
            gate.wait()
            made.append(cls(1))

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [cls(1)] * 4


@frozen.dataclass(frozen=True, slots=True)
class Kept:
    x: int


def test_an_object_outlives_its_process() -> None:
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)  # noqa: S301 - our own


def test_what_is_not_frozen_with_slots_is_the_standard_librarys() -> None:
    @frozen.dataclass(slots=True)
    class Counter:
        n: int = 0

    @frozen.dataclass
    class Plain:
        n: int = 0

    assert is_whole(Counter)
    assert is_whole(Plain)
    counter = Counter()
    counter.n += 1
    assert counter == Counter(1)


@pytest.mark.slow
def test_every_class_of_the_product_can_be_made_whole() -> None:
    """The standard library refuses wrong fields when a class is defined, this one when it is first used."""
    found = set()
    for file in sorted(f for top in ("shared", "functions") for f in (ROOT / top).rglob("*.py")):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = import_module(name)
        found |= {x for x in vars(module).values() if isinstance(x, type) and x.__module__ == name}
    classes = [x for x in found if "__dataclass_fields__" in x.__dict__]
    assert len(classes) > 400
    for cls in classes:
        fields(cls)
        assert is_whole(cls)

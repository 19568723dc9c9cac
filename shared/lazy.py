"""Parts that are made when they are first asked for, of modules that are loaded then. Source: docs/adr/0214.

    if TYPE_CHECKING:
        from shared.engine.jobs import plan, retry
    else:
        plan, retry = lazy("shared.engine.jobs", "plan", "retry")

    class Deployment:
        planner = part(lambda d: plan.Planner(records=d.records, clock=d.clock))

So a function's start loads only what it uses, and mypy knows each part's type. A part comes after those that it is made
of: mypy reads a class from top to bottom.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Generic, Self, TypeVar, overload

Owner = TypeVar("Owner")
Made = TypeVar("Made")


class LazyPart(Generic[Made]):
    """An attribute that is made of its object when it is first read. The object keeps it, or what is put there before.

    Args:
        make: returns it, given the object.
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self._name = ""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, of: None, _owner: type) -> Self: ...
    @overload
    def __get__(self, of: object, _owner: type) -> Made: ...
    def __get__(self, of: object | None, _owner: type) -> Self | Made:
        """Make the part; from then on the object's own attribute hides this one."""
        if of is None:
            return self
        made = of.__dict__[self._name] = self._make(of)
        return made


class PartOf(Generic[Owner]):
    """Declares parts of a class: `part = PartOf["Deployment"]()`. It says of what type a lambda's argument is."""

    def __call__(self, make: Callable[[Owner], Made]) -> LazyPart[Made]:
        """Return a part. `make`: returns it, given the object that it is part of."""
        return LazyPart(make)


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def lazy(package: str, *modules: str) -> Iterator[Any]:
    """Return modules of a package, each loaded when something in it is first asked for."""
    return (_LazyModule(f"{package}.{module}") for module in modules)

"""A dictionary by tuples that finds those of a group without looking at all others, as a table finds a partition."""

from collections.abc import Hashable
from typing import Any, TypeVar

K = TypeVar("K", bound=tuple[Any, ...])
V = TypeVar("V")


class Grouped(dict[K, V]):
    """Values by tuples, of which the first `width` elements name a group."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width
        self._groups: dict[Hashable, set[K]] = {}

    def of(self, *group: Any) -> list[K]:
        """Return the places of a group that holds something, in order."""
        return sorted(self._groups.get(group, ()))

    def __setitem__(self, place: K, value: V) -> None:
        super().__setitem__(place, value)
        self._groups.setdefault(place[: self._width], set()).add(place)

    def __delitem__(self, place: K) -> None:
        super().__delitem__(place)
        self._groups[place[: self._width]].discard(place)

    def setdefault(self, place: K, default: V) -> V:
        """Return what a place has, or give it a value."""
        if place not in self:
            self[place] = default
        return self[place]

    def clear(self) -> None:
        """Remove everything."""
        super().clear()
        self._groups.clear()

    def _no(self, *_args: Any, **_more: Any) -> Any:
        raise TypeError("this way of changing it does not keep its groups")

    pop = popitem = update = __ior__ = _no

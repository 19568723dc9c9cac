"""Readings of what changes by itself, until the caller has seen enough."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from shared.ports import Clock

T = TypeVar("T")
QUICK: Final = 0.5
SLOW: Final = 2.0
QUICK_POLLS: Final = 60
"""Half-second polls for the first half minute, in which most batches end; then every two seconds."""


def asked(read: Callable[[], T], clock: "Clock") -> Iterator[T]:
    """Yield one reading after the other; the pauses between them are short for half a minute, then longer."""
    for polls in count(1):
        yield read()
        clock.sleep(QUICK if polls <= QUICK_POLLS else SLOW)

"""A process that dies at each of its calls, one after the other: in a world of its own each time."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Protocol, TypeVar

from tests.fakes.faults import Crash, Tap, When


class Mortal(Protocol):
    """A world whose calls pass a tap, and whose processes can be started anew."""

    tap: Tap

    def reboot(self) -> None:
        """Start all processes anew."""
        ...


W = TypeVar("W", bound=Mortal)


def dying(
    make: Callable[[], W], act: Callable[[W], object], when: When, *, least: int = 1, every: int = 1
) -> Iterator[W]:
    """Yield a world in which an act died at its first call, one in which it died at its second, and so on to the last.

    Args:
        make: returns a world just before the act.
        act: is what dies.
        when: what goes wrong with the call.
        least: so many calls the act makes at least.
        every: only at each so many calls.
    """
    for nth in count(0, every):
        world = make()
        world.tap.arm(nth, when)
        died = False
        try:
            act(world)
        except Crash:
            died = True
        world.tap.disarm()
        if not world.tap.fired:
            assert nth >= least, f"only {nth} calls"
            return
        if died:
            world.reboot()
        yield world

"""Open places for files, in memory."""

from collections.abc import Callable, Collection, Sequence

from shared.ports import MAX_PLACES, Clock, PlaceKind


class FakeOpenPlaces:
    """`ports.OpenPlaces` in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[tuple[str, PlaceKind], dict[str, int]] = {}

    def take(
        self, namespace: str, kind: PlaceKind, name: str, until: int, filled: Callable[[Sequence[str]], Collection[str]]
    ) -> bool:
        held = {x: at for x, at in self._held.get((namespace, kind), {}).items() if at > self._clock.now() * 1000}
        if len(held) >= MAX_PLACES:
            gone = filled(list(held))
            held = {x: at for x, at in held.items() if x not in gone}
        if len(held) >= MAX_PLACES:
            return False
        self._held[namespace, kind] = held | {name: until}
        return True

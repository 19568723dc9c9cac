"""The API's memory of earlier events: it refuses an id that returns with other content (rule D8.4).

It reads before it writes, so two requests at the same moment do not see each other. Then both events are accepted, and
both are in a digest (`repeats.py`). A function remembers what it has read. Source: docs/adr/0178.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.domain.digests.events import DigestEvent, unpack
from shared.domain.digests.window import LOOK_BACK_MS, DigestWindow, WindowState, place
from shared.engine.digests.repeats import Name, SeenEvents, name_of, unpack_names
from shared.ports import Clock, WindowRetention, Windows

LOOK: Final = 12
"""Windows before the last one that are read: those of an hour, if windows take five minutes."""
REMEMBERED: Final = 100_000
"""Ids in a function's memory, about 20 MB."""


@dataclass(slots=True)
class _Known:
    """The known events of a window. `whole`: nothing joins it any more, and all of it was read."""

    parts: set[str] = field(default_factory=set)
    seen: SeenEvents = field(default_factory=SeenEvents)
    closed_at: int = 0
    whole: bool = False


class EarlierEvents:
    """Ids of events by batch key, read as they are needed.

    Args:
        windows: reads the last window of a key, and parts.
        keeping: reads earlier windows and the ids that they kept.
    """

    def __init__(self, windows: Windows, keeping: WindowRetention, clock: Clock) -> None:
        self._windows = windows
        self._keeping = keeping
        self._clock = clock
        self._held: dict[str, dict[int, _Known]] = {}
        self._ids = 0

    def clashing(self, namespace: str, key: str, events: Sequence[DigestEvent]) -> list[int]:
        """Return the places of events whose id an earlier event has with other content, also an earlier one of these.

        One read if no other function has added to the key since; two or three more if one has.

        Args:
            events: those whose client gave them an id, in their order.
        """
        known = self._read(namespace, key)
        own = SeenEvents()
        out = []
        for index, event in enumerate(events):
            name = name_of(event)
            if name is not None and _clashes((*known, own), name):
                out.append(index)
            own.add([name])
        return out

    def urgent(self, namespace: str, key: str, events: Sequence[DigestEvent]) -> list[int]:
        """Return the same of urgent events, which are compared with each other; one read.

        Args:
            events: those whose client gave them an id, in their order.
        """
        since = self._now() - LOOK_BACK_MS
        there = self._windows.urgent_contents(namespace, key, [x.id for x in events], since)
        own = SeenEvents()
        out = []
        for index, event in enumerate(events):
            name = name_of(event)
            if name is None:
                continue
            stored = SeenEvents()
            if event.id in there:
                stored.add([(name[0], there[event.id])])
            if _clashes((stored, own), name):
                out.append(index)
            own.add([name])
        return out

    def joined(self, window: DigestWindow, part: str, events: Sequence[DigestEvent]) -> None:
        """Remember a part that this process has added, so that it does not read it."""
        known = self._of(window.id.partition("-")[0], window.number)
        known.parts.add(part)
        self._note(known, [name_of(x) for x in events])

    # Reads

    def _read(self, namespace: str, key: str) -> list[SeenEvents]:
        """Return the ids of the last windows of a key, as far as they count."""
        last = self._windows.last(namespace, key)
        if last is None:
            return []
        held = self._place(place(namespace, key))
        first = max(1, last.number - LOOK)
        for number in [x for x in held if x < first]:
            del held[number]
        before = held.get(last.number - 1)
        known = first == last.number or (before is not None and before.whole)
        fresh = [] if known else self._keeping.numbered(last, first, last.number - 1)
        self._take_ids([x for x in fresh if x.number not in held], held)
        self._take_parts([*fresh, last], held)
        return self._counting(held)

    def _counting(self, held: dict[int, _Known]) -> list[SeenEvents]:
        since = self._now() - LOOK_BACK_MS
        return [x.seen for x in held.values() if not x.closed_at or x.closed_at >= since]

    def _take_ids(self, windows: Sequence[DigestWindow], held: dict[int, _Known]) -> None:
        """Note what windows have kept whose digests are made."""
        made = {x.id: x for x in windows if x.state is WindowState.PROCESSED}
        for name, data in (self._keeping.ids(list(made)) if made else {}).items():
            known = held.setdefault(made[name].number, _Known(set(made[name].parts)))
            self._note(known, unpack_names(data))

    def _take_parts(self, windows: Sequence[DigestWindow], held: dict[int, _Known]) -> None:
        """Note the events of windows that were not read yet. Those that no longer exist are unknown."""
        missing: dict[str, _Known] = {}
        for window in windows:
            known = held.setdefault(window.number, _Known())
            known.closed_at, known.whole = window.closed_at, window.state is not WindowState.OPEN
            missing |= dict.fromkeys((x for x in window.parts if x not in known.parts), known)
            known.parts |= set(window.parts)
        for part, data in (self._windows.parts(list(missing)) if missing else {}).items():
            self._note(missing[part], [name_of(x) for x in unpack(data)])

    def _note(self, known: _Known, names: Sequence[Name | None]) -> None:
        known.seen.add(names)
        self._ids += len(names)

    def _of(self, where: str, number: int) -> _Known:
        return self._place(where).setdefault(number, _Known())

    def _place(self, where: str) -> dict[int, _Known]:
        if self._ids > REMEMBERED:
            self._held, self._ids = {}, 0
        return self._held.setdefault(where, {})

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _clashes(seen: Sequence[SeenEvents], name: Name) -> bool:
    """Return whether an id is among those that were there, and never with this content."""
    return any(x.clashes(name) for x in seen) and not any(x.repeats(name) for x in seen)

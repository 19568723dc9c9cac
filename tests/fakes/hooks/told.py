"""What was handed on to webhooks, in memory."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from shared.domain.hooks.announced import AnnouncedStates
from shared.domain.hooks.kinds import HookPace
from shared.domain.times import Millis
from tests.fakes.faults import Tap


class FakeAnnouncements:
    """`ports.Announcements` in memory.

    Attributes:
        cells: what was handed on of chunks, by job, chunk and pace.
        ids: of events that were handed on, and until when that is kept.
        claims: what events say that are being handed on, by id.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.cells: dict[tuple[str, int, HookPace], AnnouncedStates] = {}
        self.ids: dict[str, int] = {}
        self.claims: dict[str, str] = {}
        self._tap = tap or Tap()

    def read(self, places: Collection[tuple[str, int]], pace: HookPace) -> Mapping[tuple[str, int], AnnouncedStates]:
        def found() -> dict[tuple[str, int], AnnouncedStates]:
            return {place: self.cells[*place, pace] for place in places if (*place, pace) in self.cells}

        return self._tap("told.read", found)

    def begin(self, was: AnnouncedStates, cells: bytes, at: Millis, pace: HookPace) -> AnnouncedStates | None:
        place = (was.job, was.chunk, pace)

        def step() -> AnnouncedStates | None:
            there = self.cells.get(place, replace(was, cells=b"", at=0))
            if there.at != was.at:
                return None
            if not there.begun_at:
                there = replace(there, begun=cells, begun_at=at)
            self.cells[place] = replace(there, ttl=was.ttl)
            return self.cells[place]

        return self._tap("told.begin", step)

    def finish(self, begun: AnnouncedStates, pace: HookPace) -> None:
        place = (begun.job, begun.chunk, pace)

        def step() -> None:
            there = self.cells.get(place)
            if there is not None and there.begun_at == begun.begun_at:
                self.cells[place] = replace(there, cells=begun.begun, at=begun.begun_at, begun=b"", begun_at=0)

        self._tap("told.finish", step)

    def known(self, ids: Collection[str]) -> set[str]:
        return self._tap("told.known", lambda: {x for x in ids if x in self.ids})

    def claim(self, name: str, data: str, ttl: int) -> str:
        return self._tap("told.claim", lambda: "" if name in self.ids else self.claims.setdefault(name, data))

    def note(self, ids: Collection[str], ttl: int) -> None:
        self._tap("told.note", lambda: self.ids.update(dict.fromkeys(ids, ttl)))

"""Events in memory."""

from collections.abc import Iterator

from shared.domain.audit import Act, Event, Log, accepted
from shared.ports import Clock
from tests.fakes.faults import Tap


class FakeJournal:
    """`ports.Journal`: events by account, log, time, id and kind."""

    def __init__(self, tap: Tap | None = None) -> None:
        self.items: dict[tuple[str, Log, int, str, str, str], Event] = {}
        self._tap = tap or Tap()

    def keep(self, event: Event) -> None:
        """Keep an event within somebody's transaction."""
        places = {log: (event.account, log, event.at, event.id, event.kind, event.mark) for log in event.logs}
        self.items |= {place: event for place in places.values() if place not in self.items}

    def write(self, event: Event) -> None:
        self._tap("journal.write", lambda: self.keep(event))

    def since(self, account: str, log: Log, at: int) -> Iterator[Event]:
        def found() -> list[Event]:
            places = sorted((k for k in self.items if k[:2] == (account, log) and k[2] >= at), key=lambda k: k[2:])
            return [self.items[k] for k in places]

        yield from self._tap("journal.since", found)

    def page(
        self, account: str, *, kind: str = "", actor: str = "", after: str = "", limit: int
    ) -> tuple[list[Event], str]:
        def found() -> tuple[list[Event], str]:
            places = sorted((k for k in self.items if k[:2] == (account, Log.AUDIT)), key=lambda k: k[2:], reverse=True)
            by_place = {
                f"{at:015d}#{name}#{what}#{mark}": self.items[account, log, at, name, what, mark]
                for account, log, at, name, what, mark in places
            }
            fits = [p for p, x in by_place.items() if kind in ("", x.kind) and actor in ("", x.actor)]
            wanted = [p for p in fits if not after or p < after]
            return [by_place[p] for p in wanted[:limit]], wanted[limit - 1] if len(wanted) > limit else ""

        return self._tap("journal.page", found)


class FakeAcceptances:
    """`ports.Acceptances` over a journal in memory; it remembers nothing itself."""

    def __init__(self, journal: FakeJournal, clock: Clock, tap: Tap | None = None) -> None:
        self._journal = journal
        self._clock = clock
        self._tap = tap or Tap()

    def note(self, account: str, act: Act, name: str, actor: str, why: str = "") -> None:
        event = accepted(account, int(self._clock.now() * 1000), name, act, actor, why)

        def kept() -> None:
            self._journal.keep(event)

        self._tap("acceptances.note", kept)

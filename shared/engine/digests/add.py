"""Adds posted events to windows: a part is stored, then one write adds it to its key's window (rules D1 to D4).

The two writes are no transaction, since transactions on a hot item conflict. A part that joins no window expires.

An adder remembers the open windows of hot keys, so that a part costs one write more and no read. Its memory may be out
of date: then the write's condition fails, and the stored window decides. If a write's answer was lost, the part shows
whether it took place. A next window begins only once its predecessor is seen closed. Source: docs/adr/0116.
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from shared.domain.digests import window as rules
from shared.domain.digests.events import DigestEvent, content_of, cut
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.window import LOOK_BACK_MS, DigestWindow, EventPart, WindowState
from shared.domain.namespaces import namespace
from shared.domain.times import Millis
from shared.engine.digests.earlier import EarlierEvents
from shared.engine.pool import Pool
from shared.frozen import dataclass
from shared.ports import Clock, DigestPolicies, NewWindowHints, Retriable, WindowRetention, Windows

WORKERS: Final = 16
"""Keys of one request that are served at once."""
TRIES: Final = 100
"""Writes of one part. Each that fails shows that another adder's has succeeded."""
REMEMBERED: Final = 1_000
"""Windows and policies in a function's memory."""
_PART_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class PostedEvent:
    """An event of a request. `urgent`: it waits for no window. `named`: its client gave it an id."""

    key: str
    event: DigestEvent
    urgent: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class AddedEvents:
    """Events of one key that are in one window. `closes_at`: Unix milliseconds; later events may move it."""

    key: str
    window_id: str
    closes_at: Millis
    accepted: int


@dataclass(frozen=True, slots=True)
class NoPolicy:
    """Nothing was stored: no policy has a prefix of these keys."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OtherContent:
    """Nothing was stored: these events have the id of an earlier event and another content.

    Attributes:
        places: in the request, from 0, ascending.
    """

    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where events are added: the windows of one batch key."""

    account: str
    test: bool
    key: str

    @property
    def namespace(self) -> str:
        return namespace(self.account, test=self.test)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Events of a place, the first of which are in a part. `urgent`: one urgent event."""

    place: _Place
    policy: DigestPolicy
    events: Sequence[DigestEvent]
    part: EventPart
    urgent: bool


def _sorted(
    account: str, posted: Sequence[PostedEvent], *, test: bool
) -> tuple[dict[_Place, list[DigestEvent]], list[tuple[_Place, DigestEvent]]]:
    """Return the events of each place, and urgent events with their places."""
    waiting: dict[_Place, list[DigestEvent]] = {}
    urgent: list[tuple[_Place, DigestEvent]] = []
    for x in posted:
        place = _Place(account, test, x.key)
        if x.urgent:
            urgent.append((place, x.event))
        else:
            waiting.setdefault(place, []).append(x.event)
    return waiting, urgent


class DigestAdder:
    """Takes requests of events. Safe for threads.

    Args:
        keeping: reads windows that came before.
        hints: wakes the function that makes digests.
        pool: runs calls side by side; as `pool.ThreadPool` makes them.
    """

    def __init__(
        self,
        *,
        windows: Windows,
        keeping: WindowRetention,
        policies: DigestPolicies,
        hints: NewWindowHints,
        clock: Clock,
        pool: Callable[[int], Pool],
    ) -> None:
        self._windows = windows
        self._earlier = EarlierEvents(windows, keeping, clock)
        self._policies = policies
        self._hints = hints
        self._clock = clock
        self._pool = pool
        self._open: dict[_Place, DigestWindow] = {}
        self._versions: dict[tuple[str, str, int], DigestPolicy] = {}

    def add(
        self,
        account: str,
        posted: Sequence[PostedEvent],
        *,
        test: bool,
        begin: Callable[[], None] = lambda: None,
    ) -> Sequence[AddedEvents] | NoPolicy | OtherContent:
        """Add the events of a request, or none of them.

        Args:
            posted: in the order of the request.
            test: they were posted with a test key.
            begin: called when nothing is left to refuse, before the first write. What it raises is raised.

        Returns:
            For each key the windows that its events are in, first those of events that are not urgent.

        Raises:
            Retriable: some events may have been added, some not. Repeats of events with ids are left out later.
        """
        waiting, urgent = _sorted(account, posted, test=test)
        known = self._known(waiting, dict.fromkeys(place for place, _ in urgent))
        if isinstance(known, NoPolicy):
            return known
        if other := self._other(account, posted, test=test):
            return OtherContent(tuple(other))
        begin()
        wanted = [*((x, events, False) for x, events in waiting.items()), *((x, [one], True) for x, one in urgent)]
        return self._served([self._batch(x, known[x], events, urgent=now) for x, events, now in wanted])

    def _known(
        self, waiting: Iterable[_Place], hurried: Mapping[_Place, None]
    ) -> dict[_Place, DigestPolicy] | NoPolicy:
        """Return the policy of each key; `hurried`: those of urgent events."""
        policies = {x: self._policy(x, present=x in hurried) for x in {**dict.fromkeys(waiting), **hurried}}
        known = {place: policy for place, policy in policies.items() if policy is not None}
        missing = tuple(place.key for place in policies if place not in known)
        return NoPolicy(missing) if missing else known

    def _served(self, batches: Sequence[_Batch]) -> Sequence[AddedEvents]:
        """Store the parts of all keys, then add them side by side."""
        self._windows.put_parts([x.part for x in batches])
        if len(batches) == 1:
            return self._added(batches[0])
        with self._pool(min(len(batches), WORKERS)) as pool:
            pending = [pool.submit(self._added, x) for x in batches]
            return [added for x in pending for added in x.result()]

    def _other(self, account: str, posted: Sequence[PostedEvent], *, test: bool) -> list[int]:
        """Return the places of events whose id an earlier event has with another content."""
        named: dict[tuple[str, bool], list[int]] = {}
        for index, x in enumerate(posted):
            if x.named:
                named.setdefault((x.key, x.urgent), []).append(index)
        where = namespace(account, test=test)

        def found(places: list[int]) -> list[int]:
            first = posted[places[0]]
            look = self._earlier.urgent if first.urgent else self._earlier.clashing
            return [places[i] for i in look(where, first.key, [posted[i].event for i in places])]

        if len(named) < 2:  # noqa: PLR2004 - one needs no second thread
            return [place for places in named.values() for place in found(places)]
        with self._pool(min(len(named), WORKERS)) as pool:
            pending = [pool.submit(found, places) for places in named.values()]
            return sorted(place for x in pending for place in x.result())

    # Policies

    def _policy(self, place: _Place, *, present: bool) -> DigestPolicy | None:
        """Return a key's policy, or that of its window which is remembered open, unless the `present` one is needed."""
        window = None if present else self._open.get(place)
        if window is not None and self._now() < window.closes_at:
            return self._policy_of(window)
        return self._policies.find(place.namespace, place.key)

    def _policy_of(self, window: DigestWindow) -> DigestPolicy:
        """Return the version of the policy that a window was opened with, which never changes."""
        name = (window.namespace, window.prefix, window.policy_version)
        found = self._versions.get(name) or self._policies.at(*name)
        if found is None:
            raise LookupError(f"version {window.policy_version} of a digest policy has gone")
        if len(self._versions) >= REMEMBERED:
            self._versions.clear()
        self._versions[name] = found
        return found

    # Parts

    def _batch(
        self, place: _Place, policy: DigestPolicy, events: Sequence[DigestEvent], *, urgent: bool = False
    ) -> _Batch:
        return _Batch(place, policy, events, self._part(place, events, policy.max_events, policy), urgent)

    def _part(self, place: _Place, events: Sequence[DigestEvent], most: int, policy: DigestPolicy) -> EventPart:
        """Return the first events, at most so many, as a part that is not stored yet."""
        piece = next(cut(events, most))
        name = urlsafe_b64encode(secrets.token_bytes(_PART_BYTES)).decode()
        ttl = int(self._clock.now() + policy.kept_for)
        return EventPart(name, piece.data, len(piece.events), piece.size, ttl, place.account)

    # Windows

    def _added(self, batch: _Batch) -> Sequence[AddedEvents]:
        if batch.urgent:
            return [self._add_urgent(batch)]
        out: list[AddedEvents] = []
        place, rest, part = batch.place, batch.events, batch.part
        while True:
            found = self._joined(place, part, batch.policy)
            most = batch.policy.max_events
            if isinstance(found, DigestWindow):
                out.append(AddedEvents(place.key, found.id, found.closes_at, part.events))
                self._earlier.joined(found, part.id, rest[: part.events])
                rest = rest[part.events :]
                if not rest:
                    return out
            else:
                most = found
            part = self._part(place, rest, most, batch.policy)
            self._windows.put_parts([part])

    def _add_urgent(self, batch: _Batch) -> AddedEvents:
        now, place, part = self._now(), batch.place, batch.part
        window = rules.urgent((place.account, place.test), place.key, batch.policy, part, now)
        event = batch.events[0]
        stored = self._windows.open_urgent(window, event.id, now - LOOK_BACK_MS, content_of(event))
        if stored.id == window.id:
            self._hint(stored, now)
        return AddedEvents(place.key, stored.id, stored.closes_at, 1)

    def _joined(self, place: _Place, part: EventPart, policy: DigestPolicy) -> DigestWindow | int:
        """Add a part to the open window of its key, or open the next.

        Returns:
            The window that the part is in; or how many of its events the window has room for.
        """
        window = self._open.get(place)
        read = False
        for _ in range(TRIES):
            if window is None:
                found = self._opened(place, part, policy)
                if isinstance(found, int):
                    return found
                window, read = found, True
            if part.id in window.parts:
                return self._remember(place, window)
            if window.state is not WindowState.OPEN:
                window = None
                continue
            fits = self._fits(window, part)
            if fits == part.events:
                window = self._write(window, part)
            elif not read:
                window = self._windows.get(window.id)
            elif fits:
                return fits
            else:
                window = self._closed(window)
            read = True
        raise Retriable("others add to the window all the time")

    def _fits(self, window: DigestWindow, part: EventPart) -> int:
        """Return how many of a part's events an open window takes now."""
        return rules.room(window, part, self._policy_of(window)) if self._now() < window.closes_at else 0

    def _write(self, window: DigestWindow, part: EventPart) -> DigestWindow | None:
        """Return the window with the part if it took it, else as it is stored; None: it has been removed."""
        join = rules.joining(window, part, self._policy_of(window), self._now())
        done, stored = self._windows.join(window.id, join)
        if not done:
            return stored
        after = rules.joined(window, join)
        if after.state is not WindowState.OPEN:
            self._hint(after, after.closed_at)
        return after

    def _opened(self, place: _Place, part: EventPart, policy: DigestPolicy) -> DigestWindow | int:
        """Return the last window of a key; a new one with a part in it if that has closed, or there is none.

        Returns:
            The window as it is stored; or how many of the part's events a new one has room for.
        """
        last = self._windows.last(place.namespace, place.key)
        if last is not None and (last.state is WindowState.OPEN or part.id in last.parts):
            return last
        policy = self._policies.find(place.namespace, place.key) or policy
        if part.events > policy.max_events:
            return policy.max_events
        number = last.number + 1 if last is not None else 1
        window = rules.opened((place.account, place.test), place.key, number, policy, part, self._now())
        stored = self._windows.open(window)
        if part.id in stored.parts:
            with suppress(Retriable):  # the sweeper finds the window
                self._hints.opened(stored.id, stored.due_at)
        return stored

    def _closed(self, window: DigestWindow) -> DigestWindow | None:
        """Close a window that is past its end or has no room, and return it as it is stored."""
        now = self._now()
        stored = self._windows.close(window.id, now, early=now < window.closes_at)
        if stored is not None and stored.state is WindowState.CLOSED:
            self._hint(stored, now)
        return stored

    def _remember(self, place: _Place, window: DigestWindow) -> DigestWindow:
        if window.state is not WindowState.OPEN:
            self._open.pop(place, None)
            return window
        if len(self._open) >= REMEMBERED:
            self._open.clear()
        self._open[place] = window
        return window

    def _hint(self, window: DigestWindow, at: Millis) -> None:
        with suppress(Retriable):  # the sweeper finds the window
            self._hints.at(window.id, at)

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)

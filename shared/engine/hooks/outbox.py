"""Makes deliveries of events, for each endpoint that wants them."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from shared.domain.hooks.bodies import MAX_BATCH, HookEvent, packed
from shared.domain.hooks.delivery import Cells, HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.kinds import HookKind, HookPace, batch_id
from shared.domain.times import Millis, Seconds
from shared.engine.hooks.adding import HookAdder
from shared.frozen import dataclass
from shared.ports import Clock, Endpoints

KNOWN_FOR: Final[Seconds] = 5.0
"""A change of an endpoint counts after so many seconds."""
KNOWN: Final = 256
"""Namespaces whose endpoints a process remembers."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CellEvent:
    """An event of a message.

    Attributes:
        id: of the event.
        job: the job's id.
        chunk: the chunk's number.
        cell: the message's index, and its cell's byte.
        note: the code that explains the state; empty for none.
        at: its time, Unix milliseconds; 0: when its delivery is made.
    """

    id: str
    job: str
    chunk: int
    cell: tuple[int, int]
    note: str = ""
    at: Millis = 0


class HookOutbox:
    """Makes deliveries and stores them.

    Args:
        adder: stores deliveries, and has them posted.
    """

    def __init__(self, *, endpoints: Endpoints, adder: HookAdder, clock: Clock) -> None:
        self._endpoints = endpoints
        self._adder = adder
        self._clock = clock
        self._known: OrderedDict[str, tuple[Seconds, Sequence[Endpoint]]] = OrderedDict()

    def at_pace(self, namespace: str, pace: HookPace) -> Sequence[Endpoint]:
        """Return a namespace's endpoints that take batches, or those that do not; both have one that changed lately."""
        now = self._now()
        return [x for x in self.endpoints(namespace) if x.gathers(now, later=pace is HookPace.LATER)]

    def endpoints(self, namespace: str) -> Sequence[Endpoint]:
        """Return the endpoints of a namespace, some seconds old, without listeners whose command has ended."""
        now = self._clock.now()
        at, found = self._known.get(namespace, (0.0, ()))
        if not at or now - at > KNOWN_FOR:
            found = self._endpoints.of(namespace)
            self._known[namespace] = (now, found)
            self._known.move_to_end(namespace)
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)
        return [x for x in found if not x.abandoned(int(now * 1000))]

    def apart_last(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """Return endpoints with those that failed or were slow the last time behind the others, as far as known."""
        return sorted(endpoints, key=lambda x: x.id in self._adder.apart)

    def changed(self, endpoint: Endpoint, events: Mapping[HookKind, Sequence[CellEvent]]) -> int:
        """Store deliveries of changes of messages for one endpoint; return how many. `events`: by their kind."""
        now = self._now()
        deliveries = [
            _delivery(endpoint, kind, part, now, cells=_cells(part))
            for kind, some in events.items()
            if endpoint.wants(kind)
            for part in _parts(endpoint, some)
        ]
        return self._store(endpoint, deliveries)

    def happened(self, endpoint: Endpoint, events: Mapping[HookKind, Sequence[HookEvent]]) -> int:
        """Store deliveries of other events for one endpoint; return how many. `events`: by their kind."""
        now = self._now()
        deliveries = [
            _delivery(endpoint, kind, part, now, data=_data(endpoint, part))
            for kind, some in events.items()
            if endpoint.wants(kind)
            for part in _parts(endpoint, some)
        ]
        return self._store(endpoint, deliveries)

    def _store(self, endpoint: Endpoint, deliveries: Sequence[HookDelivery]) -> int:
        self._adder.add(endpoint, deliveries)
        return len(deliveries)

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _parts(endpoint: Endpoint, events: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Yield events of one kind as they are delivered together."""
    size = MAX_BATCH if endpoint.batch else 1
    for start in range(0, len(events), size):
        yield events[start : start + size]


def _delivery(
    endpoint: Endpoint,
    kind: HookKind,
    events: Sequence[CellEvent | HookEvent],
    now: Millis,
    *,
    cells: tuple[Cells, ...] = (),
    data: str = "",
) -> HookDelivery:
    """Return a delivery of one event, or of several to an endpoint that takes batches.

    An event has its own id and time, however often its delivery is made. It is due at that time, so a delivery that is
    made again replaces one that waits. A batch is another one each time it is made.
    """
    if endpoint.batch:
        name, at = batch_id(endpoint.id, now, (x.id for x in events)), now
    else:
        name, at = events[0].id, events[0].at or now
    return HookDelivery(name, endpoint.id, kind.value, at, min(at, now), cells, data, endpoint.batch)


def _cells(events: Iterable[CellEvent]) -> tuple[Cells, ...]:
    """Return events of messages by chunk, in their order."""
    chunks: dict[tuple[str, int], list[CellEvent]] = {}
    for x in events:
        chunks.setdefault((x.job, x.chunk), []).append(x)
    return tuple(
        Cells(job, chunk, tuple(x.cell for x in some), {x.cell[0]: x.note for x in some if x.note})
        for (job, chunk), some in chunks.items()
    )


def _data(endpoint: Endpoint, events: Sequence[HookEvent]) -> str:
    """Return the data of events as it is stored; for a batch with their ids."""
    value = [[x.id, x.data] for x in events] if endpoint.batch else events[0].data
    return packed(value).decode()

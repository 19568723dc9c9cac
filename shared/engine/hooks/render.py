"""Makes the bodies of deliveries: the same bytes for every attempt, from items that never change."""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.domain.content.personal import labels_of
from shared.domain.hooks.bodies import HookEvent, batch, single
from shared.domain.hooks.delivery import Cells, HookDelivery
from shared.domain.hooks.endpoint import Endpoint, HookFormat
from shared.domain.hooks.fields import MAIL, MESSAGE, MessageSource
from shared.domain.hooks.formats import chat_body
from shared.domain.hooks.kinds import HookKind, message_event_id
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job
from shared.domain.times import Seconds
from shared.ports import Clock, Records

KEPT: Final[Seconds] = 30
"""Seconds for which a chunk is remembered: after that, the data of an erased person is removed here as well."""
MAX_KEPT: Final = 16
"""Chunks that are remembered, and read together; one has up to 500 recipients."""
Place = tuple[str, int]
"""A chunk: job and number."""


class HookBodies:
    """Makes bodies; safe for threads.

    Args:
        clock: by which what is remembered grows old.
    """

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._known: OrderedDict[tuple[str, int], tuple[Seconds, Job, Chunk]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, delivery: HookDelivery, endpoint: Endpoint) -> bytes:
        """Return the body of a delivery; empty if its messages no longer exist.

        Raises:
            Retriable: jobs or chunks cannot be read just now.
        """
        events = list(self._events(delivery))
        if not events:
            return b""
        if endpoint.format is not HookFormat.STANDARD:
            return chat_body(endpoint.format, delivery.kind, [x.data for x in events])
        if delivery.batch:
            return batch(delivery.kind, delivery.created_at, events)
        return single(delivery.kind, delivery.created_at, events[0].data)

    def _events(self, delivery: HookDelivery) -> Iterator[HookEvent]:
        if delivery.data:
            raw = json.loads(delivery.data)
            yield from [HookEvent(name, data) for name, data in raw] if delivery.batch else [HookEvent("", raw)]
        for start in range(0, len(delivery.cells), MAX_KEPT):
            some = delivery.cells[start : start + MAX_KEPT]
            found = self._loaded([(x.job, x.chunk) for x in some])
            for cells in some:
                if (cells.job, cells.chunk) in found:
                    yield from _of_cells(HookKind(delivery.kind), cells, *found[cells.job, cells.chunk])

    def _loaded(self, places: Sequence[Place]) -> Mapping[Place, tuple[Job, Chunk]]:
        """Return those of some chunks that there are, with their jobs; what is not remembered is one read."""
        now = self._clock.now()
        with self._lock:
            known = {x: self._known[x] for x in places if x in self._known}
        found = {x: (job, chunk) for x, (at, job, chunk) in known.items() if now < at + KEPT}
        missing = [x for x in places if x not in found]
        loaded = self._records.load_some(missing) if missing else {}
        with self._lock:
            for place, (job, chunk) in loaded.items():
                self._known[place] = (now, job, chunk)
                self._known.move_to_end(place)
            while len(self._known) > MAX_KEPT:
                self._known.popitem(last=False)
        return found | dict(loaded)


def _of_cells(kind: HookKind, cells: Cells, job: Job, chunk: Chunk) -> Iterator[HookEvent]:
    """Yield the events of one chunk's messages.

    Args:
        cells: which messages, and in what state they were.
    """
    for index, byte in cells.cells:
        name = message_event_id(job.id, chunk.number, index, byte >> 4, kind)
        recipient = chunk.recipients[index]
        address, error = recipient.address, cells.notes.get(index) or recipient.skip
        of_mail = kind is HookKind.MAIL_FAILED
        labels = labels_of(job, recipient.values)
        source = MessageSource(job, chunk.number, index, byte, address, error, labels)
        yield HookEvent(name, (MAIL if of_mail else MESSAGE).data(source))

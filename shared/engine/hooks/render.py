"""Makes the bodies of deliveries: the same bytes for every attempt, from items that never change."""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from shared.domain.content.personal import personal_of
from shared.domain.hooks.bodies import HookEvent, batch, single
from shared.domain.hooks.delivery import Cells, HookDelivery
from shared.domain.hooks.endpoint import Endpoint, HookFormat
from shared.domain.hooks.fields import MAIL, MESSAGE, UNMARKED, MessageSource
from shared.domain.hooks.formats import chat_body
from shared.domain.hooks.kinds import HookKind, message_event_id
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job
from shared.domain.times import Seconds
from shared.ports import Clock, Records

KEPT: Final[Seconds] = 30
"""Seconds for which a chunk is remembered: after that, the data of an erased person is removed here as well."""
MAX_KEPT: Final = 16
"""Chunks that are remembered; one has up to 500 recipients."""


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
        for cells in delivery.cells:
            found = self._loaded(cells.job, cells.chunk)
            if found is not None:
                yield from _of_cells(HookKind(delivery.kind), cells, *found)

    def _loaded(self, job: str, chunk: int) -> tuple[Job, Chunk] | None:
        now, place = self._clock.now(), (job, chunk)
        with self._lock:
            known = self._known.get(place)
        if known is not None and now < known[0] + KEPT:
            return known[1:]
        loaded = self._records.load(job, chunk, content=False)
        if loaded is None:
            return None
        with self._lock:
            self._known[place] = (now, loaded.job, loaded.chunk)
            self._known.move_to_end(place)
            while len(self._known) > MAX_KEPT:
                self._known.popitem(last=False)
        return loaded.job, loaded.chunk


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
        own = UNMARKED if of_mail else personal_of(recipient.values)
        source = MessageSource(job, chunk.number, index, byte, address, error, own)
        yield HookEvent(name, (MAIL if of_mail else MESSAGE).data(source))

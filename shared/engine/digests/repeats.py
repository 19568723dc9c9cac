"""Repeats: events that came again, in the same window or in one that closed a short time before (rules D8)."""

import logging
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Sequence
from typing import Final

from shared.domain.digests.events import DigestEvent, unpack
from shared.domain.digests.window import LOOK_BACK_MS, DigestWindow
from shared.ports import WindowKeeping, Windows

LOOK_BACK: Final = 100
"""The most earlier windows that are looked at."""
STEP: Final = 10
"""Windows that are read at once: with windows of five minutes an hour holds twelve."""
_BYTES: Final = 16
_LOG: Final = logging.getLogger(__name__)


def pack_ids(ids: Iterable[bytes]) -> bytes:
    """Serialise ids of events, as `raw_id` returns them."""
    return b"".join(ids)


def unpack_ids(data: bytes) -> set[bytes]:
    """Read what `pack_ids` wrote."""
    return {data[i : i + _BYTES] for i in range(0, len(data), _BYTES)}


def raw_id(text: str) -> bytes:
    """Return the 16 bytes of an event's id; none if it has no id."""
    return urlsafe_b64decode(f"{text}==") if text else b""


class Repeats:
    """Leaves out repeated events.

    Args:
        windows: reads the parts of earlier windows.
        keeping: reads earlier windows, and keeps the ids of those that become digests.
    """

    def __init__(self, windows: Windows, keeping: WindowKeeping) -> None:
        self._windows = windows
        self._keeping = keeping

    def first(self, window: DigestWindow, events: Sequence[DigestEvent], ttl: int) -> list[DigestEvent]:
        """Return the events that are no repeats, in their order, and keep the ids of all for later windows.

        Args:
            window: it has closed.
            events: all of its events, in the order of their arrival.
            ttl: Unix seconds from which on the ids may be deleted.
        """
        ids = [raw_id(x.id) for x in events]
        own = dict.fromkeys(x for x in ids if x)
        if not own or window.urgent:
            return list(events)
        self._keeping.keep_ids(window.id, pack_ids(own), ttl)
        seen = self._ids(self.earlier(window))
        fresh = []
        for name, event in zip(ids, events, strict=True):
            if name and name in seen:
                continue
            seen.add(name)
            fresh.append(event)
        return fresh

    def earlier(self, window: DigestWindow) -> list[DigestWindow]:
        """Return the windows in which an event counts as the first of its id: those that closed within an hour before.

        Cancelled ones are among them. The next windows open only once they have closed, so they no longer change.
        """
        out: list[DigestWindow] = []
        since, oldest = window.opened_at - LOOK_BACK_MS, max(1, window.number - LOOK_BACK)
        for last in range(window.number - 1, oldest - 1, -STEP):
            found = self._keeping.numbered(window, max(oldest, last - STEP + 1), last)
            near = [x for x in found if x.closed_at >= since]
            out += near
            if len(near) < len(found):
                break
        return out

    def _ids(self, windows: Sequence[DigestWindow]) -> set[bytes]:
        """Return the ids of all events of windows."""
        kept = self._keeping.ids([x.id for x in windows]) if windows else {}
        known = map(unpack_ids, kept.values())
        return set[bytes]().union(*known, *(self._of_parts(x) for x in windows if x.id not in kept))

    def _of_parts(self, window: DigestWindow) -> set[bytes]:
        """Return the ids of a window that kept none: it was cancelled, or is not made yet."""
        parts = self._windows.parts(window.parts)
        if len(parts) < len(window.parts):  # a repeat is better than a window that is never sent
            _LOG.warning("earlier events are gone", extra={"window": window.id})
        return {raw_id(event.id) for data in parts.values() for event in unpack(data) if event.id}

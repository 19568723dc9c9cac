"""Repeats: events that came again, in the same window or in one that closed a short time before (rules D8).

A repeat has the id and the content of an earlier event. Another content under the same id is another event: the API
refuses it where it sees it (`earlier.py`), and no maker leaves it out. Source: docs/adr/0178.
"""

import logging
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from shared.domain.digests.events import CONTENT_BYTES, DigestEvent, content_of, unpack
from shared.domain.digests.window import LOOK_BACK_MS, DigestWindow
from shared.ports import WindowRetention, Windows

LOOK_BACK: Final = 100
"""The most earlier windows that are read."""
STEP: Final = 10
"""Windows that are read at once: with windows of five minutes an hour holds twelve."""
_OLD_BYTES: Final = 16
_ID_BYTES: Final = 8
_FORM: Final = b"\x02"
"""The prefix of ids with contents. An earlier version kept ids of 16 bytes, without a prefix."""
_LOG: Final = logging.getLogger(__name__)

Name: TypeAlias = tuple[bytes, bytes]
"""An event's name: 64 bits of its id, and its content as `content_of` returns it."""


def name_of(event: DigestEvent) -> Name | None:
    """Return what an event is called; None if it has no id."""
    return (urlsafe_b64decode(f"{event.id}==")[:_ID_BYTES], content_of(event)) if event.id else None


def pack_names(names: Iterable[Name]) -> bytes:
    """Serialise names of events; a content that is unknown becomes zeros."""
    return _FORM + b"".join(name + content.rjust(CONTENT_BYTES, b"\0") for name, content in names)


def unpack_names(data: bytes) -> list[Name]:
    """Read what `pack_names` wrote, or the ids that an earlier version kept, whose contents are unknown."""
    size = _ID_BYTES + CONTENT_BYTES
    if len(data) % size != 1:
        return [(data[i : i + _ID_BYTES], b"") for i in range(0, len(data), _OLD_BYTES)]
    rows = [data[i : i + size] for i in range(1, len(data), size)]
    return [(x[:_ID_BYTES], x[_ID_BYTES:] if any(x[_ID_BYTES:]) else b"") for x in rows]


class SeenEvents:
    """Names of events that were there before."""

    def __init__(self) -> None:
        self._contents: dict[bytes, set[bytes]] = {}

    def add(self, names: Iterable[Name | None]) -> None:
        """Note names; None is the name of an event without an id."""
        for name in names:
            if name is not None:
                self._contents.setdefault(name[0], set()).add(name[1])

    def repeats(self, name: Name) -> bool:
        """Return whether an event is a repeat. Where a content is unknown, the id decides."""
        there = self._contents.get(name[0])
        return bool(there) and (name[1] in there or b"" in there or not name[1])  # type: ignore[operator]

    def clashes(self, name: Name) -> bool:
        """Return whether an earlier event has the same id, and none of them the same content."""
        return name[0] in self._contents and not self.repeats(name)


class Repeats:
    """Leaves out repeated events.

    Args:
        windows: reads the parts of earlier windows.
        keeping: reads earlier windows, and keeps the ids of those that become digests.
    """

    def __init__(self, windows: Windows, keeping: WindowRetention) -> None:
        self._windows = windows
        self._keeping = keeping

    def first(self, window: DigestWindow, events: Sequence[DigestEvent], ttl: int) -> list[DigestEvent]:
        """Return the events that are no repeats, in their order, and keep the names of all for later windows.

        Args:
            events: all of its events, in the order of their arrival.
            ttl: Unix seconds from which on the names may be deleted.
        """
        names = [name_of(x) for x in events]
        own = dict.fromkeys(x for x in names if x)
        if not own or window.urgent:
            return list(events)
        self._keeping.keep_ids(window.id, pack_names(own), ttl)
        seen = self._seen(self.earlier(window))
        fresh = []
        for name, event in zip(names, events, strict=True):
            if name and seen.repeats(name):
                continue
            seen.add([name])
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

    def _seen(self, windows: Sequence[DigestWindow]) -> SeenEvents:
        """Return the names of all events of windows."""
        seen = SeenEvents()
        kept = self._keeping.ids([x.id for x in windows]) if windows else {}
        for data in kept.values():
            seen.add(unpack_names(data))
        for window in windows:
            if window.id not in kept:
                seen.add(self._of_parts(window))
        return seen

    def _of_parts(self, window: DigestWindow) -> Iterable[Name | None]:
        """Return the names of a window that kept none: it was cancelled, or is not made yet."""
        parts = self._windows.parts(window.parts)
        if len(parts) < len(window.parts):  # a repeat is better than a window that is never sent
            _LOG.warning("earlier events are gone", extra={"window": window.id})
        return [name_of(event) for data in parts.values() for event in unpack(data)]

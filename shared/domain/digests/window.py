"""Windows: each collects one batch key's events until it closes, and then becomes one job.

The windows of a key are numbered from 1. At most one of them is open, and none is opened before the one before it has
closed. An urgent event has a window of its own beside them, which is closed from the start.

Adding is one conditional write (`Join`): no read, unless what the adder remembers of the window is out of date. A
store applies exactly `admits` and `joined`. Source: docs/adr/0116.
"""

import hashlib
import re
import zlib
from dataclasses import replace
from enum import StrEnum
from typing import Final

from shared.domain.digests.events import MAX_BYTES
from shared.domain.digests.policy import DigestPolicy
from shared.domain.namespaces import namespace
from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_PARTS: Final = 200
"""Parts of a window, each of which makes its item larger."""
SHARDS: Final = 16
"""Partitions of the index of windows."""
LOOK_BACK_MS: Final = 3_600_000
"""An event with the id of an earlier one within this time is a repeat."""
_PLACE: Final = 32
_ID: Final = re.compile(r"[0-9a-f]{32}-(?:[1-9][0-9]{0,9}|u[0-9]{15}[0-9a-f]{16})")


class WindowState(StrEnum):
    """The state of a window."""

    OPEN = "open"
    """Events join it."""
    CLOSED = "closed"
    """Its events are final. Its job is about to be made."""
    PROCESSED = "processed"
    """Its job is accepted, or all of its events were repeats."""
    CANCELLED = "cancelled"
    """Its owner has cancelled it before it closed. Its events are in no digest."""


@dataclass(frozen=True, slots=True)
class DigestWindow:
    """A window. Times are Unix milliseconds.

    Attributes:
        id: its name; the place of its item is part of it.
        account: whose it is.
        test: its events were posted with a test key.
        key: the batch key.
        number: among the key's windows, from 1; 0: of an urgent event.
        opened_at: when its first event came.
        closes_at: from then on no event joins. Events near the end move it.
        due_at: when the scheduled function next checks it; 0: never. While it is open, this is its first `closes_at`.
            Then it is `closed_at`, or when its digest is tried again. Once it is processed or cancelled, it is when it
            may be removed.
        parts: ids of its parts, in the order in which they joined.
        events: how many events its parts hold.
        size: bytes of its events.
        prefix: of its policy; `policy_version`: the version that it was opened with.
        closed_at: when it closed or was cancelled, 0: it is open.
        urgent: it holds one urgent event.
        job: the job that it became; empty: none, or not yet.
        groups: renderings of its digest.
        duplicates: events left out as repeats.
        failures: how often its digest could not be made.
        fault: code of why, the last time; empty: never.
        processed_at: when its digest was made; 0: it is not.
        version: one more with every write.
    """

    id: str
    account: str
    test: bool
    key: str
    number: int
    state: WindowState
    opened_at: Millis
    closes_at: Millis
    due_at: Millis
    parts: tuple[str, ...]
    events: int
    size: int
    prefix: str
    policy_version: int
    closed_at: Millis = 0
    urgent: bool = False
    job: str = ""
    groups: int = 0
    duplicates: int = 0
    failures: int = 0
    fault: str = ""
    processed_at: Millis = 0
    version: int = 1

    @property
    def namespace(self) -> str:
        """Whose it is: the account's live keys', or its test keys'."""
        return namespace(self.account, test=self.test)


@dataclass(frozen=True, slots=True)
class EventPart:
    """Events on their way into a window.

    Attributes:
        id: random.
        data: as `events.pack` returns them.
        events: how many there are.
        size: their bytes before the compression.
        ttl: Unix seconds from which on the stored part may be deleted.
        account: whose they are.
    """

    id: str
    data: bytes
    events: int
    size: int
    ttl: int
    account: str = ""


@dataclass(frozen=True, slots=True)
class Join:
    """The one write that adds a part to a window. Times are Unix milliseconds.

    Attributes:
        part: id of the part.
        events: that it holds.
        size: bytes of them.
        now: no window takes it that has closed by then.
        max_events: of the window's policy.
        closes_at: the window's end afterwards, if the write moves it; 0: it does not.
        seen: the end as read, on which a write that moves it depends; else it could move the end back.
        version: of the window as read, if the write fills the window, and therefore closes it; else 0.
    """

    part: str
    events: int
    size: int
    now: Millis
    max_events: int
    closes_at: Millis = 0
    seen: Millis = 0
    version: int = 0


def place(owner: str, key: str) -> str:
    """Return the place of a key's windows: 128 bits of a hash, hex. `owner`: a namespace."""
    return hashlib.sha256(f"{owner}\0{key}".encode()).hexdigest()[:_PLACE]


def window_id(owner: str, key: str, number: int) -> str:
    """Return the id of a numbered window.

    Args:
        number: from 1.
    """
    return f"{place(owner, key)}-{number}"


def urgent_id(owner: str, key: str, now: Millis, part: str) -> str:
    """Return the id of an urgent event's window.

    Args:
        part: the random id of its part.
    """
    return f"{place(owner, key)}-u{now:015d}{hashlib.sha256(part.encode()).hexdigest()[:16]}"


def is_window_id(text: str) -> bool:
    """Return whether a text has the form of a window's id."""
    return _ID.fullmatch(text) is not None


def place_of(window: str) -> str:
    """Return the place of the windows among which one is, by its id."""
    return window[:_PLACE]


def shard_of(window: str) -> int:
    """Return the shard of a window in the index, by its id."""
    return zlib.crc32(place_of(window).encode()) % SHARDS


def opened(
    owner: tuple[str, bool], key: str, number: int, policy: DigestPolicy, part: EventPart, now: Millis
) -> DigestWindow:
    """Return a new window with its first part in it. One that is full at once is closed.

    Args:
        owner: the account, and whether a test key is used.
        number: one more than that of the last window, which has closed.
        part: holds at most `policy.max_events` events.
    """
    account, test = owner
    end = now + policy.window * 1000
    window = DigestWindow(
        id=window_id(namespace(account, test=test), key, number),
        account=account,
        test=test,
        key=key,
        number=number,
        state=WindowState.OPEN,
        opened_at=now,
        closes_at=end,
        due_at=end,
        parts=(part.id,),
        events=part.events,
        size=part.size,
        prefix=policy.prefix,
        policy_version=policy.version,
    )
    return closed(window, now, early=True) if _is_full(window, policy.max_events) else window


def urgent(owner: tuple[str, bool], key: str, policy: DigestPolicy, part: EventPart, now: Millis) -> DigestWindow:
    """Return the window of an urgent event: closed from the start.

    Args:
        owner: the account, and whether a test key is used.
    """
    window = opened(owner, key, 0, policy, part, now)
    name = urgent_id(window.namespace, key, now, part.id)
    return replace(
        window, id=name, state=WindowState.CLOSED, closes_at=now, due_at=now, closed_at=now, urgent=True, version=1
    )


def joining(window: DigestWindow, part: EventPart, policy: DigestPolicy, now: Millis) -> Join:
    """Return the write that adds a part to a window.

    Args:
        window: as read, or as remembered: its counts may have grown since, and its end may have moved.
        now: before the window's end; Unix milliseconds.
    """
    latest = window.opened_at + policy.max_age * 1000
    near = now >= window.closes_at - policy.near * 1000 and window.closes_at < latest
    end = min(window.closes_at + policy.extend * 1000, latest) if near else 0
    grown = replace(
        window, parts=(*window.parts, part.id), events=window.events + part.events, size=window.size + part.size
    )
    return Join(
        part=part.id,
        events=part.events,
        size=part.size,
        now=now,
        max_events=policy.max_events,
        closes_at=end,
        seen=window.closes_at if near else 0,
        version=window.version if _is_full(grown, policy.max_events) else 0,
    )


def admits(window: DigestWindow, join: Join) -> bool:
    """Return whether a window takes a part by this very write."""
    if window.state is not WindowState.OPEN or join.part in window.parts or join.now >= window.closes_at:
        return False
    if join.seen and join.seen != window.closes_at:
        return False
    if join.version:
        return join.version == window.version
    return (
        window.events + join.events < join.max_events
        and window.size + join.size < MAX_BYTES
        and len(window.parts) + 1 < MAX_PARTS
    )


def joined(window: DigestWindow, join: Join) -> DigestWindow:
    """Return a window with a part that it admits."""
    grown = replace(
        window,
        parts=(*window.parts, join.part),
        events=window.events + join.events,
        size=window.size + join.size,
        closes_at=join.closes_at or window.closes_at,
        version=window.version + 1,
    )
    if not join.version:
        return grown
    return replace(closed(grown, join.now, early=True), version=grown.version)


def room(window: DigestWindow, part: EventPart, policy: DigestPolicy) -> int:
    """Return how many of a part's events a window takes: all, some, or none.

    Args:
        window: as read; open.
        part: what is to be added.
    """
    if len(window.parts) >= MAX_PARTS or window.size + part.size > MAX_BYTES:
        return 0
    return max(0, min(part.events, policy.max_events - window.events))


def closed(window: DigestWindow, now: Millis, *, early: bool = False) -> DigestWindow:
    """Return an open window closed.

    Args:
        early: before its end, so the scheduled function has to look at it earlier.
    """
    due = now if early else window.due_at
    return replace(window, state=WindowState.CLOSED, closed_at=now, due_at=due, version=window.version + 1)


def cancelled(window: DigestWindow, now: Millis) -> DigestWindow:
    """Return an open window cancelled. `now`: Unix milliseconds."""
    return replace(window, state=WindowState.CANCELLED, closed_at=now, due_at=now, version=window.version + 1)


def processed(
    window: DigestWindow, now: Millis, *, job: str, groups: int, duplicates: int, due_at: Millis
) -> DigestWindow:
    """Return a closed window whose digest is made.

    Args:
        job: id of its job; empty: all of its events were repeats.
        groups: renderings of the digest.
        duplicates: events left out as repeats.
        due_at: when the window may be removed, Unix milliseconds.
    """
    return replace(
        window,
        state=WindowState.PROCESSED,
        processed_at=now,
        job=job,
        groups=groups,
        duplicates=duplicates,
        due_at=due_at,
        version=window.version + 1,
    )


def postponed(window: DigestWindow, due_at: Millis, fault: str = "") -> DigestWindow:
    """Return a window whose next check is later.

    Args:
        due_at: when, Unix milliseconds; 0: never.
        fault: code of why its digest could not be made; empty: it was not tried.
    """
    failures = window.failures + bool(fault)
    return replace(window, due_at=due_at, failures=failures, fault=fault or window.fault, version=window.version + 1)


def _is_full(window: DigestWindow, max_events: int) -> bool:
    return window.events >= max_events or len(window.parts) >= MAX_PARTS or window.size >= MAX_BYTES

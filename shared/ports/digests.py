"""Where windows, their parts and digest policies are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from shared.ports.common import After, Limit, Paged
from shared.ports.records import Idempotency, Mismatch, Replay, Stored

if TYPE_CHECKING:
    from shared.domain.audit import Event
    from shared.domain.content.content import Content
    from shared.domain.digests.policy import DigestPolicy
    from shared.domain.digests.window import DigestWindow, EventPart, Join
    from shared.domain.jobs.prepared import PreparedJob
    from shared.domain.times import Millis


class Windows(Protocol):
    """Windows and parts, as adders and owners write them. Reads are consistent."""

    def put_parts(self, parts: Sequence[EventPart]) -> None:
        """Store parts. Their ids are random, so a repeat changes nothing."""

    def parts(self, ids: Collection[str]) -> Mapping[str, bytes]:
        """Return the data of those of the parts that there are, by id."""

    def get(self, window_id: str) -> DigestWindow | None:
        """Return a window. None: there is none, or the text is no id."""

    def last(self, namespace: str, key: str) -> DigestWindow | None:
        """Return the numbered window of a key with the highest number; None if there never was one."""

    def open(self, window: DigestWindow) -> DigestWindow:
        """Store a new window, and return it. If there is one with this number, return that one instead."""

    def open_urgent(self, window: DigestWindow, event: str, since: Millis, content: bytes = b"") -> DigestWindow:
        """Store the window of an urgent event, and return it.

        Args:
            window: closed, with the event in its only part.
            event: the event's id; empty: no other event is its repeat.
            since: Unix milliseconds. If the event's window that was stored last closed after then, the event is a
                repeat. Nothing is stored, and that window is returned.
            content: hash of the event, or empty. If both contents are known and differ, the event is no repeat.
        """

    def urgent_contents(self, namespace: str, key: str, events: Collection[str], since: Millis) -> Mapping[str, bytes]:
        """Return the contents of urgent events that came after a moment, by their ids; empty: unknown."""

    def join(self, window_id: str, join: Join) -> tuple[bool, DigestWindow | None]:
        """Add a part to a window by one conditional write, as `window.admits` and `window.joined` define it.

        Returns:
            True, None: the part has been added. False: it has not, and the window as it is stored, consistent; a part
            that is already in it was added earlier. None: the window has been removed.
        """

    def close(
        self, window_id: str, now: Millis, *, early: bool = False, event: Event | None = None
    ) -> DigestWindow | None:
        """Close a window if it is open and past its end, and return it as it is then stored; None: there is none.

        Args:
            early: also before its end.
            event: kept in the same transaction, only if this call closes it.
        """

    def cancel(self, window_id: str, now: Millis, *, event: Event | None = None) -> DigestWindow | None:
        """Cancel a window if it is open, and return it as it is then stored; None: there is none.

        Args:
            event: kept in the same transaction, only if this call cancels it.
        """


class WindowRetention(Protocol):
    """Windows as the scheduled function walks, changes and removes them."""

    def due(self, shard: int, now: Millis) -> Iterable[str]:
        """Walk the ids of a shard's windows that are not processed and due by now, the oldest first: a hint."""

    def ending(self, shard: int, since: Millis, until: Millis) -> Iterable[tuple[str, Millis]]:
        """Walk the ids of a shard's windows that are not processed, with when each is due, of a stretch of time.

        Args:
            shard: as of `due`, from 0.
            until: a window that is due then is not one of them.
        """

    def over(self, shard: int, now: Millis) -> Iterable[str]:
        """Walk the ids of a shard's processed and cancelled windows that are due by now, the oldest first: a hint."""

    def numbered(self, window: DigestWindow, first: int, last: int) -> Sequence[DigestWindow]:
        """Return the windows of the same key with numbers in a range, in order; consistent.

        Args:
            first: the lowest number.
            last: the highest number.
        """

    def change(self, old: DigestWindow, new: DigestWindow) -> bool:
        """Write a window if it is as read. False: it is not."""

    def ids(self, window_ids: Collection[str]) -> Mapping[str, bytes]:
        """Return what was kept of the ids of windows' events, by window, without those of which nothing was kept."""

    def keep_ids(self, window_id: str, data: bytes, ttl: int) -> None:
        """Keep the ids of a window's events.

        Args:
            window_id: the window; its events are final.
            ttl: Unix seconds from which on they may be deleted.
        """

    def keep_parts(self, ids: Collection[str], ttl: int) -> None:
        """Keep parts that there are for longer. `ttl`: Unix seconds from which on they may be deleted."""

    def remove(self, window: DigestWindow) -> bool:
        """Remove a window with its ids if it is as read, else return False. True if it no longer exists."""


class WindowPages(Paged["DigestWindow"], Protocol):
    """Windows as their owners list them, newest first, without the ids of their parts."""

    def of_key(self, namespace: str, key: str, *, after: After, limit: Limit) -> tuple[list[DigestWindow], str]:
        """Return windows of a batch key, and the place to continue from, empty at the end; consistent."""


class DigestPolicies(Paged["DigestPolicy"], Protocol):
    """Policies by prefix, in namespaces of accounts' live or test keys. Reads are consistent.

    A page has them in the order of their prefixes.
    """

    def save(
        self, old: DigestPolicy | None, new: DigestPolicy, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        """Store a new policy or the next version of one, with its idempotency record and an event.

        Args:
            old: as read, also one that is deleted; None for a new one.
            new: the policy to store. One that is deleted applies to no key.

        Returns:
            None: `old` is no longer what is stored, and nothing is written.
        """

    def get(self, namespace: str, prefix: str) -> DigestPolicy | None:
        """Return the latest version of a policy, also one that is deleted; None if there never was one."""

    def at(self, namespace: str, prefix: str, version: int) -> DigestPolicy | None:
        """Return a version of a policy, also one that was replaced or deleted since.

        Args:
            version: from 1.
        """

    def find(self, namespace: str, key: str) -> DigestPolicy | None:
        """Return the policy with the longest prefix of a batch key; None if none has one."""


class DigestJobs(Protocol):
    """The one transaction that accepts a window's job and makes the window PROCESSED."""

    def accept(self, made: PreparedJob | None, content: Content | None, old: DigestWindow, new: DigestWindow) -> bool:
        """Store chunks, ledgers and content, then accept the job and move its window on in one transaction.

        Args:
            made: the job, under a new id; None if all events were repeats, so that there is none.
            content: what its messages are made of; None without a job.
            new: the window as it is then.

        Returns:
            False: the window is no longer CLOSED. Nothing is accepted, and what was stored expires.
        """


class DigestHints(Protocol):
    """Wakes the function that makes digests."""

    def at(self, window_id: str, at: Millis) -> None:
        """Have a window looked at, about at a moment. A hint that is lost costs a minute.

        Args:
            at: Unix milliseconds; past: at once.
        """

    def all(self, found: Iterable[tuple[str, Millis]]) -> int:
        """Do the same for windows, each with its moment, and return how many they are."""


class NewWindowHints(DigestHints, Protocol):
    """Wakes the function that makes digests, also for windows that open."""

    def opened(self, window_id: str, at: Millis) -> None:
        """Have a stored window looked at when it ends."""

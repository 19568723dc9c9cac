"""Windows whose time has come: a hint, or else the walk, closes and makes each (rules D5)."""

import logging
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import Final

from shared.domain.digests.policy import MAX_RETENTION
from shared.domain.digests.window import SHARDS, DigestWindow, WindowState, postponed
from shared.domain.spending.limits import CODE
from shared.domain.times import DAY_MS, Millis, Seconds
from shared.engine.digests.make import DigestFault, DigestMaker
from shared.engine.digests.overdue import HINTED_MS, MINUTE_MS
from shared.engine.digests.repeats import Repeats
from shared.ports import Clock, DigestHints, DigestPolicies, Retriable, WindowRetention, Windows

LATE_MS: Final = 600_000
"""A window that has not been made so long after it closed raises the alarm."""
MIN_PAUSE_MS: Final = 60_000
MAX_PAUSE_MS: Final = 180_000
"""Between two tries of the walk to make a window: a quarter of the time since it closed, within these bounds."""
_LOG: Final = logging.getLogger(__name__)


class Arrived(StrEnum):
    """The result of a hint."""

    MADE = "made"
    EARLY = "early"
    """The window was extended; another hint is on its way."""
    NOTHING = "nothing"
    """The window is made or cancelled, or no longer exists."""


class WindowCloser:
    """Closes and makes windows. Two at once do the same work twice, without harm.

    Args:
        keeping: walks them, and keeps what could not be made.
        policies: for how long that is kept.
        hints: for windows that were extended.
        late: called with each window that should have been made minutes ago, before it is tried again. One that waits
            for the next day, as a limit of its account is used up, is not late.
    """

    def __init__(
        self,
        *,
        windows: Windows,
        keeping: WindowRetention,
        policies: DigestPolicies,
        hints: DigestHints,
        maker: DigestMaker,
        clock: Clock,
        late: Callable[[DigestWindow], None],
    ) -> None:
        self._windows = windows
        self._keeping = keeping
        self._policies = policies
        self._hints = hints
        self._maker = maker
        self._clock = clock
        self._late = late
        self._repeats = Repeats(windows, keeping)

    # Hints

    def arrived(self, window_id: str) -> Arrived:
        """Close and make a window that a hint has named.

        Raises:
            DigestFault: it cannot be made now. The walk tries it again.
            Retriable: a store fails.
        """
        window = self._closed(window_id)
        if window is None:
            return Arrived.NOTHING
        if window.state is WindowState.OPEN:
            self._hints.at(window_id, window.closes_at)
            return Arrived.EARLY
        if window.state is not WindowState.CLOSED:
            return Arrived.NOTHING
        self._maker.make(window)
        return Arrived.MADE

    def _closed(self, window_id: str) -> DigestWindow | None:
        """Return a window, closed if its time has come."""
        window = self._windows.get(window_id)
        if window is None or window.state is not WindowState.OPEN or window.closes_at > self._now():
            return window
        return self._windows.close(window_id, self._now())

    def minute(self, begin: Seconds) -> int:
        """Send the hints of all windows that end in a minute, and return how many they are.

        Args:
            begin: of the minute, Unix seconds.
        """
        since = int(begin * 1000)
        return self._hints.all(
            x for shard in range(SHARDS) for x in self._keeping.ending(shard, since, since + MINUTE_MS)
        )

    # What hints have left

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield each window that is due with what closes and makes it."""
        now = self._now()
        for shard in range(SHARDS):
            for window_id in self._keeping.due(shard, now):
                yield f"window {window_id}", partial(self.look, window_id)

    def look(self, window_id: str) -> None:
        """Close and make a window, if its hint has not done so. One that fails is tried again later.

        The try is recorded first. So a window that kills its function, each time, delays no other.
        """
        window = self._windows.get(window_id)
        now = self._now()
        if window is None or window.state not in (WindowState.OPEN, WindowState.CLOSED) or window.due_at > now:
            return
        ended = min(window.closed_at or window.closes_at, window.closes_at)
        if now - ended < HINTED_MS:
            return
        closed = self._closed(window_id)
        if closed is None or closed.state is not WindowState.CLOSED:
            return
        self._tell_late(closed, now - ended)
        pause = min(max((now - ended) // 4, MIN_PAUSE_MS), MAX_PAUSE_MS)
        tried = postponed(closed, now + pause)
        self._prolong(closed, ended, tried.due_at)
        if self._keeping.change(closed, tried):
            self._try(tried)

    def _tell_late(self, window: DigestWindow, age: Millis) -> None:
        """Tell of a window that is late, unless it waits for its account's next day. `age`: since it ended."""
        if age >= LATE_MS and window.fault != CODE:
            self._late(window)

    def _try(self, window: DigestWindow) -> None:
        try:
            self._maker.make(window)
        except Retriable:
            raise
        except DigestFault as fault:
            _LOG.error("window not made", extra={"window": window.id, "fault": fault.code})
            self._note(window, fault.code)
        except Exception:  # noqa: BLE001 - logged; its age raises the alarm, and others go on
            _LOG.exception("window not made", extra={"window": window.id})
            self._note(window, "internal_fault")

    def _note(self, window: DigestWindow, fault: str) -> None:
        """Write down why a window was not made, once: its owner may read it."""
        if window.fault != fault:
            self._keeping.change(window, postponed(window, window.due_at, fault))

    def _prolong(self, window: DigestWindow, ended: Millis, until: Millis) -> None:
        """Keep the events of a window for longer a day after it ended, and each day from then on (D9.4).

        Args:
            window: as read. Up to its `due_at` this was seen to.
            ended: when it closed, or was to close, Unix milliseconds.
            until: the time up to which it is seen to now, Unix milliseconds.
        """
        days, seen = ((at - ended) // DAY_MS for at in (until, window.due_at))
        if days <= max(seen, 0):
            return
        policy = self._policies.at(window.namespace, window.prefix, window.policy_version)
        kept = policy.kept_for if policy is not None else MAX_RETENTION
        parts = [name for x in (*self._repeats.earlier(window), window) for name in x.parts]
        self._keeping.keep_parts(parts, int(self._now() / 1000 + kept))

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)

"""Minutes in which something is due: each is announced once, and wakes the function of its kind when it comes.

A minute has one schedule for each kind, named after both. So it does not matter how many things are due then, or how
many processes announce them. The stored items decide. The sweeper finds the work of a minute that was not announced
(`shared.engine.sweeper.overdue`). Source: docs/adr/0276.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from shared.contracts import DueKind, DueMinute
from shared.domain.times import Millis, Seconds
from shared.ports import Clock, Queue, Retriable, Scheduler

MINUTE_S: Final = 60
EARLY_S: Final = 90
"""Seconds that a schedule comes early. EventBridge Scheduler keeps to the minute, so it comes half a minute early at
least, and the queue waits for the second."""
SOON_S: Final = 180
"""A minute that begins within so many seconds has a message that waits in the queue; no schedule."""
PAUSE_S: Final = 30
"""Seconds for which a process announces nothing after a fault, so that requests do not wait for each try."""
REMEMBERED: Final = 5_000
"""Minutes that a process remembers to have announced."""
LEADS: Final[Mapping[DueKind, int]] = {DueKind.DIGESTS: EARLY_S}
"""Seconds before its minute at which the function of a kind is woken; the others are when it begins."""
_LOG: Final = logging.getLogger(__name__)


class MinuteAnnouncer:
    """Announces minutes. Implements `ports.DueMinutes`; safe for threads.

    A process announces a minute once. So a busy stage costs a call for each minute, kind and process.

    Args:
        queue: of jobs whose time has come; schedules send to it.
    """

    def __init__(self, *, scheduler: Scheduler, queue: Queue, clock: Clock) -> None:
        self._scheduler = scheduler
        self._queue = queue
        self._clock = clock
        self._announced: set[DueMinute] = set()
        self._failed = -float(PAUSE_S)
        self._lock = threading.Lock()

    def announce(self, kind: DueKind, at: Millis) -> bool:
        """Have the function of a kind woken for a moment; False: the announcement failed."""
        minute = DueMinute(kind, _begin(kind, at))
        with self._lock:
            if minute in self._announced:
                return True
            if self._clock.now() - self._failed < PAUSE_S:
                return False
            if len(self._announced) >= REMEMBERED:
                self._announced.clear()
            self._announced.add(minute)
        try:
            self._send(minute)
        except Retriable:
            _LOG.warning("minute not announced", extra={"minute": minute.name})
            with self._lock:
                self._announced.discard(minute)
                self._failed = self._clock.now()
            return False
        return True

    def _send(self, minute: DueMinute) -> None:
        rest = minute.at - self._clock.now()
        if rest > SOON_S:
            self._scheduler.set_once(minute.name, minute.at - EARLY_S, minute.dumps())
        else:
            self._queue.send([minute.dumps()], delay=max(0.0, rest - LEADS.get(minute.kind, 0)))


def _begin(kind: DueKind, at: Millis) -> int:
    """Return the minute of a moment: that which it is in, or the next if the function comes when the minute begins."""
    seconds, part = divmod(at, 1_000)
    up = 0 if kind in LEADS else MINUTE_S - 1 + bool(part)
    return (seconds + up) // MINUTE_S * MINUTE_S


class MinuteRelay:
    """Wakes the function of each kind when its minute comes.

    Args:
        wake: for each kind what wakes its function.
        queue: brings a minute again that has come too early.
    """

    def __init__(self, *, wake: Mapping[DueKind, Callable[[DueMinute], None]], queue: Queue, clock: Clock) -> None:
        self._wake = wake
        self._queue = queue
        self._clock = clock

    def arrived(self, minute: DueMinute) -> bool:
        """Wake a function, or have the minute brought again; return whether it was woken.

        Raises:
            Retriable: the function may not have been woken.
        """
        rest: Seconds = minute.at - LEADS.get(minute.kind, 0) - self._clock.now()
        if rest > 0:
            self._queue.send([minute.dumps()], delay=rest)
            return False
        self._wake[minute.kind](minute)
        return True

"""Waking what a pause has kept: pointers that came meanwhile were acknowledged, so new ones are sent when it ends."""

import logging
from collections.abc import Iterable
from typing import Final

from shared.domain.states import ACTIVE
from shared.domain.switches import Switch
from shared.engine.accept import send_pointers
from shared.engine.plan import Planner
from shared.ports import Clock, Lanes, LedgerStore, OpenJob, Records

_LOG: Final = logging.getLogger(__name__)


class Waker:
    """Sends the pointers of what waits, within seconds of a resume; the sweeper does what is left.

    Args:
        records: the jobs.
        ledgers: their chunks.
        lanes: where pointers go.
        planner: starts what is READY.
        clock: the time.
        slots: every partition of the index `open` that has jobs.
    """

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerStore,
        lanes: Lanes,
        planner: Planner,
        clock: Clock,
        slots: Iterable[str],
    ) -> None:
        self._records = records
        self._ledgers = ledgers
        self._lanes = lanes
        self._planner = planner
        self._clock = clock
        self._slots = slots

    def wake(self, switch: Switch, *, deadline: float) -> int:
        """Send a pointer for each chunk that is due and was held back by a switch, until `deadline` (Unix seconds).

        Waking twice, or what nobody had paused, only duplicates pointers.

        Returns:
            How many were sent.
        """
        sent = 0
        asked: set[str] = set()
        for entry in self._records.open_jobs(self._slots):
            if self._clock.now() > deadline:
                _LOG.warning("not all woken", extra={"credential": switch.credential, "account": switch.account})
                break
            if entry.running:
                sent += self._point(entry, switch)
            elif not switch.credential and entry.credential not in asked:
                asked |= {entry.credential} - {""}
                started = self._planner.next(entry.credential) if entry.credential else self._planner.react(entry.job)
                sent += sum(job.chunks for job in started)
        return sent

    def _point(self, entry: OpenJob, switch: Switch) -> int:
        job = self._records.job(entry.job)
        if job is None or job.state not in ACTIVE or switch.account not in ("", job.account):
            return 0
        if switch.credential and switch.credential not in job.route:
            return 0
        now = int(self._clock.now() * 1000)
        waiting = [
            x
            for x in self._ledgers.list_queue(job.id)
            if x.not_before <= now and switch.credential in ("", x.lane)  # who is not due yet has a pointer under way
        ]
        return send_pointers(self._lanes, job, waiting)

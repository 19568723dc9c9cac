"""The bounce guard at work: it stops batches and campaigns' open jobs, each with an audit entry and an event."""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from shared.domain.audit import SYSTEM, Event
from shared.domain.campaigns import bounce_guard as rules
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.states import TRANSITIONS, Change
from shared.frozen import dataclass
from shared.ports import BouncingDays, Clock, Lists, Records, Retriable

STOPPED = "job.stopped"
"""The kind of event."""
BELIEVED_S: Final = 15.0
"""Seconds for which the counts of a campaign's other jobs are believed: two reads in that time, not two a fold."""
KNOWN: Final = 256
"""Campaigns whose counts a process remembers, and days that it has told of."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Inspection:
    """The counts of a campaign's jobs by their names, as they were at `at` (Unix seconds)."""

    at: float
    counts: Mapping[str, Mapping[str, int]]


class BounceGuard:
    """Stops campaigns and batches. A second check changes nothing: a stop and its audit event are one transaction."""

    def __init__(self, *, records: Records, lists: Lists, clock: Clock, bouncing: BouncingDays | None = None) -> None:
        """`bouncing`: tells accounts whose single messages bounce; None: nothing does."""
        self._bouncing = bouncing
        self._told: set[tuple[str, str, str]] = set()
        self._records = records
        self._lists = lists
        self._clock = clock
        self._looks: OrderedDict[str, _Inspection] = OrderedDict()

    def check(self, job: Job) -> bool:
        """Stop all open jobs of a job's campaign on its credential if too many of the campaign's messages have bounced.

        A batch is judged, and stopped, by itself.

        Args:
            job: as just read. Its own counts are exact. Those of the campaign's other jobs may be some seconds old, but
                before anything is stopped they are read again.

        Returns:
            Whether this call stopped the job itself.
        """
        if rules.is_single(job):
            self._look_at_day(job)
        if not rules.watches(job):
            return False
        counts = self._counts(job) if job.campaign else job.counts
        if not rules.trips(counts):
            return False
        stopped = self._stop(job, job, counts)
        for other in self._others(job):
            self._stop(other, job, counts)
        return stopped

    def _look_at_day(self, job: Job) -> None:
        """Tell the account if too many of the day's single messages have bounced; once a day. Nothing is stopped.

        A fault is logged: the next message that bounces has the day looked at again.
        """
        place = job.account, job.day, job.channel
        if self._bouncing is None or not job.counts["bounced"] or place in self._told:
            return
        try:
            day = self._bouncing.of(job, int(self._clock.now() * 1000))
            if not day.trips:
                return
            self._bouncing.note(day)
        except Retriable:
            _LOG.warning("bounces of single messages not told", extra={"account": job.account})
            return
        if len(self._told) >= KNOWN:
            self._told.clear()
        self._told.add(place)

    def _counts(self, job: Job) -> Mapping[str, int]:
        """Return the counts of all jobs of a job's campaign together; those that trip the guard are as of now."""
        look = self._looks.get(job.campaign)
        if look is not None and self._clock.now() - look.at < BELIEVED_S:
            look = replace(look, counts={**look.counts, job.id: job.counts})
            self._remember(job.campaign, look)
            counts = rules.together(look.counts.values())
            if not rules.trips(counts):
                return counts
        at = self._clock.now()
        others = [name for name in self._lists.sent(job.campaign) if name != job.id]
        found = self._records.read_jobs(others) if others else {}
        look = _Inspection(at, {name: x.counts for name, x in found.items()} | {job.id: job.counts})
        self._remember(job.campaign, look)
        return rules.together(look.counts.values())

    def _remember(self, campaign: str, look: _Inspection) -> None:
        self._looks[campaign] = look
        if len(self._looks) > KNOWN:
            self._looks.popitem(last=False)

    def _others(self, job: Job) -> Iterator[Job]:
        """Walk the other open jobs of the campaign on the credential that it reserves."""
        for running in (True, False) if job.exclusive else ():
            for entry in self._records.open_on(job.route[0], running=running):
                if entry.campaign == job.campaign and entry.job != job.id:
                    other = self._records.job(entry.job)
                    if other is not None:
                        yield other

    def _stop(self, job: Job, because: Job, counts: Mapping[str, int]) -> bool:
        """Stop a job, if it can be, because of the results of `because`. `counts`: of the campaign, or of the batch."""
        if job.state not in TRANSITIONS[Change.STOP][0]:
            return False
        now = int(self._clock.now() * 1000)
        told: dict[str, str | int] = {
            **({"campaign": job.campaign} if job.campaign else {}),
            "reason": StopReason.BOUNCE_GUARD.value,
            "because_of": because.id,
            "bounced": counts["bounced"],
            "settled": rules.settled(counts),
        }
        event = Event(job.namespace, now, job.id, STOPPED, SYSTEM, told)
        return self._records.change(job, Change.STOP, now, reason=StopReason.BOUNCE_GUARD.value, event=event).won

"""The bounce guard at work: it stops a campaign's open jobs, each with an entry in the audit log and an event."""

from collections.abc import Iterator

from shared.domain import guard as rules
from shared.domain.jobs import Job, StopReason
from shared.domain.journal import SYSTEM, Event
from shared.domain.states import TRANSITIONS, Change
from shared.ports import Clock, Records

STOPPED = "job.stopped"
"""The kind of event."""


class BounceGuard:
    """Stops campaigns. Looking again changes nothing: a stop and what is told of it are one transaction."""

    def __init__(self, *, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    def check(self, job: Job) -> bool:
        """Stop all open jobs of a job's campaign on its credential if too many of the job's messages have bounced.

        Args:
            job: as just read.

        Returns:
            Whether the job itself was stopped by this call.
        """
        if not job.campaign or job.guard_off or not rules.trips(job.counts):
            return False
        stopped = self._stop(job, job)
        for other in self._others(job):
            self._stop(other, job)
        return stopped

    def _others(self, job: Job) -> Iterator[Job]:
        """Walk the other open jobs of the campaign on the credential that it reserves."""
        for running in (True, False) if job.exclusive else ():
            for entry in self._records.open_on(job.route[0], running=running):
                if entry.campaign == job.campaign and entry.job != job.id:
                    other = self._records.job(entry.job)
                    if other is not None:
                        yield other

    def _stop(self, job: Job, because: Job) -> bool:
        """Stop a job, if it can be, because of what came of that one."""
        if job.state not in TRANSITIONS[Change.STOP][0]:
            return False
        now = int(self._clock.now() * 1000)
        told: dict[str, str | int] = {
            "campaign": job.campaign,
            "reason": StopReason.BOUNCE_GUARD.value,
            "because_of": because.id,
            "bounced": because.counts["bounced"],
            "settled": rules.settled(because.counts),
        }
        event = Event(job.account, now, job.id, STOPPED, SYSTEM, told)
        return self._records.change(job, Change.STOP, now, reason=StopReason.BOUNCE_GUARD.value, event=event).won

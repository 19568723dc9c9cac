"""Days whose single messages bounce, in memory."""

from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.campaigns.bounce_guard import SINGLES, BouncingDay
from shared.domain.jobs.job import Job
from tests.fakes.faults import Tap
from tests.fakes.records import FakeRecords


class FakeBouncingDays:
    """`ports.BouncingDays` in memory."""

    def __init__(self, records: FakeRecords, tap: Tap) -> None:
        self._records = records
        self._tap = tap
        self.noted: dict[tuple[str, str, str], BouncingDay] = {}

    def of(self, job: Job, now: int) -> BouncingDay:
        return self._tap("bouncing.of", lambda: self._of(job, now))

    def _of(self, job: Job, now: int) -> BouncingDay:
        place = job.account, job.day, job.channel
        shards = [amounts for where, amounts in self._records.stats.items() if where[:3] == place]
        bounced, settled = (sum(x[name] for x in shards) for name in SINGLES)
        return BouncingDay(*place, bounced, settled, now)

    def note(self, day: BouncingDay) -> bool:
        return self._tap("bouncing.note", lambda: self._note(day))

    def _note(self, day: BouncingDay) -> bool:
        place = day.account, day.day, day.channel
        if place in self.noted:
            return False
        self.noted[place] = day
        about: dict[str, str | int] = {"channel": day.channel, "bounced": day.bounced, "settled": day.settled}
        about["date"] = day.day
        self._records.journal.write(audited(day.account, day.at, day.account, Act.BOUNCING, SYSTEM, about))
        return True

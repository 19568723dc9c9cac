"""Work of the function of notices that no schedule has announced: the sweeper asks, and wakes it."""

from collections.abc import Iterable
from typing import Final

from shared.domain.notices.notice import SHARDS
from shared.domain.notices.times import MINUTE_MS
from shared.domain.times import Millis
from shared.frozen import dataclass
from shared.ports import Clock, Notices, Records, UpdateLog

LATE_MS: Final = 20_000
"""A notice is left so long to its schedule."""


@dataclass(frozen=True, slots=True)
class OverdueNotices:
    """Looks into the indices of notices, of their runs, of finished mails and of logs that are walked daily.

    Attributes:
        log: their updates.
        records: jobs of runs and mails.
    """

    notices: Notices
    records: Records
    log: UpdateLog
    clock: Clock

    def found(self) -> bool:
        """Return whether the function has work.

        The looks at finished runs and mails are a net themselves, so nothing announces them.
        """
        now: Millis = int(self.clock.now() * 1000)
        if any(_some(self.notices.due(shard, now - LATE_MS)) for shard in range(SHARDS)):
            return True
        half = now // MINUTE_MS % 2
        looks = (self.records.notice_runs, self.records.mail_jobs)
        return _some(looks[half](now)) or (now // MINUTE_MS % SHARDS == 0 and _some(self.log.to_purge(now)))


def _some(found: Iterable[str]) -> bool:
    return next(iter(found), None) is not None

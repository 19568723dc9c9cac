"""The archive: of each finished job an export that is kept for years, made when late feedback is over.

LOG also writes that the job is to be archived: the job gets a place in the index `open`. The place is given up once the
file exists. So after a crash at any point, the next run of the sweeper finds the job. A job that is reopened loses its
place. When it is LOGGED again, it gets another, and its file is written anew.
Source: docs/adr/0049.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from shared.contracts import export as message
from shared.domain.archive import due, export_id, file
from shared.domain.exports import AGAIN_MS, Export, ExportState
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.domain.times import Millis
from shared.engine.reports.export import begin
from shared.frozen import dataclass
from shared.ports import Clock, Exports, Queue, Records

PER_SHARD: Final = 32
"""Jobs of each of 16 shards that one run asks for: 700,000 jobs a day. This is half of what the exporters write in a
minute, so that clients' exports and the rest of the sweep need not wait."""
LOST_MS: Final = 3_600_000
"""Milliseconds until a message that no function received counts as lost; the queue may be that long."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Archiver:
    """The sweeper's part: has jobs archived. `queue`: of exports; `wait`: ms after a job's end until it is due."""

    records: Records
    exports: Exports
    queue: Queue
    clock: Clock
    wait: int

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the jobs whose archiving is due, each with the function that does it."""
        for job, at in self.records.unarchived(self._now(), PER_SHARD):
            yield job, partial(self._archive, job, at)

    def _archive(self, name: str, at: int) -> None:
        job = self.records.job(name)
        if job is None or job.state is not JobState.LOGGED or job.retry is not None:
            return  # the index is behind
        later = due(job, job.finished_at, self.wait)
        if job.test:
            self.records.archive_again(name, at, None)
        elif later > self._now():
            self.records.archive_again(name, at, later)  # it ended in doubt, whose last look was before
        elif self._stands(job, at):
            self.records.archive_again(name, at, None)

    def _stands(self, job: Job, at: int) -> bool:
        """Tell whether there is a file begun since a job was due; if not, ask for one unless it is being made."""
        found, now = self.exports.get(export_id(job.id)), self._now()
        if found is None or found.begun_at < at:
            new = begin(export_id(job.id), job.account, [job], now, found.version + 1 if found else 1, file=file(job))
        elif found.state is ExportState.PREPARING:
            if found.until > now:
                return False
            new = found.changed(owner="")  # the exporter that made it is lost
        elif found.code:
            _LOG.error("not archived yet: given up", extra={"job": job.id})
            self.records.archive_again(job.id, at, now + AGAIN_MS)  # then it is begun anew
            return False
        else:
            if found.state is ExportState.FAILED:
                _LOG.error("not archived: rows have gone", extra={"job": job.id})
            return True
        self._ask(found, new, now)
        return False

    def _ask(self, found: Export | None, new: Export, now: Millis) -> None:
        if self.exports.save(found, replace(new, until=now + LOST_MS)):
            self.queue.send([message(new.id)], group=new.account)

    def _now(self) -> int:
        return int(self.clock.now() * 1000)

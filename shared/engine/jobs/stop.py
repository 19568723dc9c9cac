"""Stopping jobs (J4), and finding those that are open: what owners do to one, and operators to many."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from shared.domain.audit import Act, Event, audited
from shared.domain.ids import ALPHABET
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.states import TRANSITIONS, Change
from shared.domain.times import MINUTE_MS
from shared.engine.pool import Pool
from shared.frozen import dataclass
from shared.ports import Clock, OpenJob, Records

PAGE: Final = 100
"""Jobs read at once: what one call of DynamoDB returns."""
WIDTH: Final = 8
"""Jobs stopped side by side: each takes one transaction."""
YOUNG: Final = 5
"""Minutes after which the sweeper has put small jobs that have not ended into the index."""
_YOUNG_PLACE: Final = "!"
"""Begins the places of those that it may not have put there yet: before all slots."""


class Stopper:
    """Stops jobs."""

    def __init__(self, *, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    def stop(
        self, job: Job | None, reason: StopReason, *, by: str, data: Mapping[str, str | int] | None = None
    ) -> tuple[Job | None, bool]:
        """Stop a job, or withdraw the retry that is on its way; the entry of the audit log is in the same transaction.

        Args:
            data: more for the audit entry.

        Returns:
            The job as it is stored, None if it no longer exists; and whether this call has stopped it.
        """
        while job is not None and job.retry is not None:
            withdrawn = self._records.set_retry(job, None, event=self._event(job, by, data))
            if withdrawn.won:
                return withdrawn.job, True
            job = withdrawn.job
        if job is None or job.owned:
            return job, False
        event = self._event(job, by, data)
        changed = self._records.change(job, Change.STOP, event.at, reason=reason.value, event=event)
        return changed.job, changed.won

    def _event(self, job: Job, by: str, data: Mapping[str, str | int] | None) -> Event:
        campaign = {"campaign": job.campaign} if job.campaign else {}
        now = int(self._clock.now() * 1000)
        return audited(job.namespace, now, job.id, Act.JOB_STOPPED, by, {**campaign, **(data or {})})


@dataclass(frozen=True, slots=True)
class OpenPage:
    """Some open jobs. `place`: the walk continues behind it."""

    jobs: list[Job]
    place: str


def open_places(records: Records, slots: Iterable[str], after: str) -> Iterator[tuple[str, OpenJob]]:
    """Walk the index of open jobs, the oldest of each slot first; yield each entry with its place.

    Args:
        after: a place that was yielded before; empty: from the beginning.
    """
    first, _, key = after.partition("/")
    for slot in sorted(x for x in slots if x >= first):
        for entry in records.open_jobs([slot], after=key if slot == first else ""):
            yield f"{slot}/{entry.key}", entry


class OpenWork:
    """The open jobs of a whole deployment, for operators.

    Args:
        slots: every partition of the index `open` that has jobs.
    """

    def __init__(
        self,
        *,
        records: Records,
        slots: Iterable[str],
        stopper: Stopper,
        pool: Callable[[int], Pool],
        clock: Clock,
    ) -> None:
        self._records = records
        self._slots = slots
        self._stopper = stopper
        self._pool = pool
        self._clock = clock

    def pages(self, wanted: Callable[[Job], bool], *, after: str = "") -> Iterator[OpenPage]:
        """Yield the wanted ones of each hundred open jobs: one read a hundred.

        Small jobs of the last minutes are first, then the oldest of each partition.

        The index lags: a job that was accepted a moment ago may be missing.

        Args:
            after: the place of a page before; empty: from the beginning.
        """
        for some in _hundreds(self._places(after)):
            names = [name for _, name in some]
            found = self._records.read_jobs(names)
            yield OpenPage([found[x] for x in names if x in found and wanted(found[x])], some[-1][0])

    def _places(self, after: str) -> Iterator[tuple[str, str]]:
        """Yield the name of each open job with its place."""
        if not after or after.startswith(_YOUNG_PLACE):
            now = int(self._clock.now() * 1000) // MINUTE_MS
            for minute in range(now - YOUNG, now + 1):
                for part in ALPHABET:
                    for job in self._records.unlisted(minute, part):
                        place = f"{_YOUNG_PLACE}{minute}/{part}/{job}"
                        if place > after:
                            yield place, job
        for place, entry in open_places(self._records, self._slots, after):
            yield place, entry.job

    def stop(self, jobs: Iterable[Job], *, by: str, data: Mapping[str, str | int] | None = None) -> list[Job]:
        """Stop those of some open jobs that can be stopped; return them as they were. A repeat stops the rest.

        Args:
            data: further fields of the audit entries.
        """
        able = list(filter(can_stop, jobs))
        with self._pool(WIDTH) as pool:
            calls = [pool.submit(self._one, job, by, data) for job in able]
            results = [call.result() for call in calls]
        return [job for job, done in zip(able, results, strict=True) if done]

    def _one(self, job: Job, by: str, data: Mapping[str, str | int] | None) -> bool:
        return self._stopper.stop(job, StopReason.OPERATOR, by=by, data=data)[1]


def can_stop(job: Job) -> bool:
    """Tell whether a stop would change a job."""
    if job.owned:
        return False
    return job.retry is not None or job.state in TRANSITIONS[Change.STOP][0]


def _hundreds(entries: Iterable[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    some: list[tuple[str, str]] = []
    for entry in entries:
        some.append(entry)
        if len(some) == PAGE:
            yield some
            some = []
    if some:
        yield some

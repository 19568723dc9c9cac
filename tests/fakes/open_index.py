"""The index `open` in memory: jobs that are not LOGGED, LOGGED ones with doubts, and those to be archived."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from shared.adapters.dynamo import indices
from shared.adapters.dynamo.jobs.transitions import FIRST_LOOK_MS
from shared.domain.archive import due
from shared.domain.ids import is_unlisted, minute_of
from shared.domain.jobs.job import MAIL, NOTICE, Job
from shared.domain.jobs.look_ups import LOOKS
from shared.domain.jobs.states import JobState
from shared.ports import OpenJob
from tests.fakes.faults import Tap
from tests.fakes.holders import Holders
from tests.fakes.suppressions import FakeSuppressions
from tests.fakes.transitions import slot_of


class Jobs(dict[str, Job]):
    """Jobs by id that know which are in each partition of the index, as it does, without asking all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._slots: dict[str, dict[str, Job]] = {}
        self.unlisted: set[str] = set()

    def enlist(self, name: str) -> None:
        """Put a small job into its partition, if it has not ended."""
        if name in self.unlisted:
            self.unlisted.remove(name)
            self[name] = self[name]

    def open(self, slot: str) -> list[Job]:
        """Return the jobs of a partition, oldest first."""
        return sorted(self._slots.get(slot, {}).values(), key=lambda j: (j.created_at, j.id))

    def __setitem__(self, name: str, job: Job) -> None:
        if name not in self and is_unlisted(name) and job.state is JobState.ENQUEUED:
            self.unlisted.add(name)
        elif job.state in (JobState.READY, JobState.STOPPED, JobState.LOGGED):
            self.unlisted.discard(name)
        self._leave(name)
        super().__setitem__(name, job)
        if name not in self.unlisted and (job.retry or job.state is not JobState.LOGGED):
            self._slots.setdefault(slot_of(job), {})[name] = job

    def __delitem__(self, name: str) -> None:
        self._leave(name)
        super().__delitem__(name)

    def _leave(self, name: str) -> None:
        if name in self:
            self._slots.get(slot_of(self[name]), {}).pop(name, None)

    def _no(self, *_args: Any, **_more: Any) -> Any:
        raise TypeError("this way of changing it does not keep its partitions")

    pop = popitem = update = setdefault = clear = __ior__ = _no


class FakeOpenIndex(FakeSuppressions):
    """The part of `ports.Records` that reads and writes the index `open`.

    Attributes:
        runs: the finished runs of notices, and when (Unix ms) to look at them.
        looks: the jobs with doubts, and when (Unix ms) a provider is asked about them.
        archive: milliseconds after which jobs are to be archived; `dues`: which are, and when.
        holders: which campaign holds which credential.
    """

    def __init__(self, lock: AbstractContextManager[object], tap: Tap) -> None:
        super().__init__(lock, tap)
        self.jobs = Jobs()
        self.looks: dict[str, int] = {}
        self.runs: dict[str, int] = {}
        self.archive: int | None = None
        self.dues: dict[str, int] = {}
        self.holders = Holders()

    def open_jobs(self, slots: Iterable[str], *, after: str = "") -> Iterable[OpenJob]:
        for slot in slots:
            there = self._atomic("open_jobs", lambda slot=slot: self._open(slot))  # type: ignore[misc]
            yield from (x for x in there if x.key > after)

    def unlisted(self, minute: int, part: str) -> Iterable[str]:
        def found() -> list[str]:
            return sorted(x for x in self.jobs.unlisted if minute_of(x) == minute and x[-2] == part)

        return self._atomic("unlisted", found)

    def enlist(self, job: str) -> None:
        def put() -> None:
            if job in self.jobs.unlisted:
                self.jobs.enlist(job)
                self.jobs[job] = replace(self.jobs[job], version=self.jobs[job].version + 1)

        self._atomic("enlist", put)

    def open_at_once(self, slots: Iterable[str]) -> list[OpenJob] | None:
        return self._atomic("open_at_once", lambda: [entry for slot in slots for entry in self._open(slot)])

    def _open(self, slot: str) -> list[OpenJob]:
        return [
            OpenJob(
                j.id,
                j.state is not JobState.READY,
                j.not_before,
                j.created_at,
                j.campaign,
                j.route[0] if j.exclusive else "",
            )
            for j in self.jobs.open(slot)
        ]

    def open_on(self, credential: str, *, running: bool) -> Iterable[OpenJob]:
        return self.open_jobs([indices.open_slot(credential, 0, running=running)])

    def reserved(self, credential: str) -> tuple[str, list[str]]:
        def found() -> tuple[str, list[str]]:
            return self.holders.of(credential), sorted(self.holders.running(credential))

        return self._atomic("reserved", found)

    def turns(self, credential: str) -> Sequence[str]:
        return self._atomic("turns", lambda: self.holders.turns.get(credential, []))

    def set_turns(self, credential: str, accounts: Sequence[str]) -> None:
        self._atomic("set_turns", lambda: self.holders.turns.update({credential: list(accounts)}))

    def give_back(self, job: Job) -> bool:
        def given() -> bool:
            if self.jobs[job.id].version != job.version:
                return False
            self.holders.give_back(job)
            return True

        return self._atomic("give_back", given)

    def clear(self, credential: str) -> None:
        self._atomic("clear", lambda: self.holders.keep(credential, self.jobs))

    def doubts(self, now: int) -> Iterable[str]:
        def found() -> list[str]:
            jobs = self.jobs
            there = [(at, x) for x, at in self.looks.items() if jobs[x].state is JobState.LOGGED and not jobs[x].retry]
            return [name for at, name in sorted(there) if at <= now]

        yield from self._atomic("doubts", found)

    def look_again(self, job: str, at: int | None) -> None:
        def put() -> None:
            if self.jobs[job].state is JobState.LOGGED and self.jobs[job].retry is None and job in self.looks:
                if at is None:
                    last = self.looks.pop(job)
                    if self.archive is not None:
                        self.dues[job] = last
                else:
                    self.looks[job] = at

        self._atomic("look_again", put)

    def notice_runs(self, now: int) -> Iterable[str]:
        def found() -> list[str]:
            return self._looked_at(NOTICE, now)

        yield from self._atomic("notice_runs", found)

    def mail_jobs(self, now: int) -> Iterable[str]:
        yield from self._atomic("mail_jobs", lambda: self._looked_at(MAIL, now))

    def _looked_at(self, kind: str, now: int) -> list[str]:
        due = [x for at, x in sorted((at, x) for x, at in self.runs.items()) if at <= now]
        return [x for x in due if self._rests(x) and self.jobs[x].kind == kind]

    def look_at_run_again(self, job: str, at: int | None) -> None:
        def put() -> None:
            if self._rests(job) and job in self.runs:
                last = self.runs.pop(job)
                if at is not None:
                    self.runs[job] = at
                elif self.archive is not None:
                    self.dues[job] = last

        self._atomic("look_at_run_again", put)

    def _finished(self, job: Job, unknown: int) -> None:
        """Note a job that is LOGGED now: its doubts are to be asked about, if some of its messages are `unknown`."""
        self.looks.pop(job.id, None)
        self.dues.pop(job.id, None)
        self.runs.pop(job.id, None)
        if job.owned:
            self.runs[job.id] = job.finished_at + FIRST_LOOK_MS
        elif unknown:
            self.looks[job.id] = job.finished_at + LOOKS[0] * 1000
        elif self.archive is not None and not job.test:
            self.dues[job.id] = due(job, job.finished_at, self.archive)

    def unarchived(self, now: int, limit: int) -> Iterable[tuple[str, int]]:
        def found() -> list[tuple[str, int]]:
            there = sorted((at, x) for x, at in self.dues.items() if at <= now and self._rests(x))
            return [(name, at) for at, name in there][:limit]

        yield from self._atomic("unarchived", found)

    def archive_again(self, job: str, at: int, later: int | None) -> None:
        def put() -> None:
            if self._rests(job) and self.dues.get(job) == at:
                del self.dues[job]
                self.dues |= {job: later} if later is not None else {}

        self._atomic("archive_again", put)

    def _rests(self, job: str) -> bool:
        return job in self.jobs and self.jobs[job].state is JobState.LOGGED and self.jobs[job].retry is None

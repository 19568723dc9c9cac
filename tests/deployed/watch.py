"""Reads the counts of jobs all the time while a drill goes on, and has the sweeper run as soon as a lease ran out."""

import time
from contextlib import ExitStack
from typing import Self

from shared.domain.jobs.ledger import LedgerStatus
from tests.deployed.api import STATES, Api
from tests.deployed.drill import Report, beside
from tests.deployed.inside import Inside

POLL_SECONDS = 0.05
PATIENT_POLL_SECONDS = 0.5
RECOVER_SECONDS = 1.0


class Watch:
    """Reads the counts of all unfinished jobs in turn while a drill goes on, and takes over leases that ran out.

    Attributes:
        samples: answered reads.
        missed: reads that timed out.
        wrong: counts that did not add up.
    """

    def __init__(self, inside: Inside, api: Api, *, patient: bool = False) -> None:
        self._inside = inside
        self._api = api
        self._patient = patient
        self._open: dict[str, int] = {}
        self._threads = ExitStack()
        self.samples = 0
        self.missed = 0
        self.wrong: list[str] = []

    def add(self, job: str, total: int) -> None:
        """Begin to watch a job."""
        self._open[job] = total

    def drop(self, job: str) -> None:
        """Watch a job no more."""
        del self._open[job]

    def __enter__(self) -> Self:
        self._threads.enter_context(beside(self._poll, lambda: PATIENT_POLL_SECONDS if self._patient else POLL_SECONDS))
        if not self._patient:
            self._threads.enter_context(beside(self._recover, lambda: RECOVER_SECONDS))
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.close()

    def report(self, report: Report) -> None:
        """Put what came of it so far into a drill's report: no count may be wrong, and some must have been read."""
        report.figures["reads of counts meanwhile"] = self.samples
        report.wrong += self.wrong
        report.check(f"none of {self.missed} reads of counts was answered", holds=self.samples)

    def _poll(self) -> None:
        jobs = list(self._open.items())
        if not jobs:
            return
        job, total = jobs[(self.samples + self.missed) % len(jobs)]
        try:
            found = self._api.get(f"/jobs/{job}")
        except TimeoutError:  # a busy machine: it says nothing of the counts
            self.missed += 1
            return
        self.samples += 1
        if sum(found["counts"][state] for state in STATES) != total:
            self.wrong.append(f"{job}: the counts do not add up to {total}: {found['counts']}")

    def _recover(self) -> None:
        """Run the sweeper as soon as a lease has run out; its own schedule is a minute."""
        now = time.time() * 1000
        ledgers = [x for job in list(self._open) for x in self._inside.ledgers.read_all(job)]
        if any(x.status is LedgerStatus.BUSY and x.until < now for x in ledgers):
            self._inside.sweep()

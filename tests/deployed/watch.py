"""Reads the counts of jobs all the time while a drill goes on, and has the sweeper run as soon as a lease ran out."""

import threading
import time
from collections.abc import Callable
from typing import Self

from botocore.exceptions import ReadTimeoutError

from shared.domain.jobs.ledger import LedgerStatus
from tests.deployed.api import STATES, Api
from tests.deployed.inside import Inside

POLL_SECONDS = 0.05
PATIENT_POLL_SECONDS = 0.5
RECOVER_SECONDS = 1.0


def answered(condition: Callable[[], bool]) -> Callable[[], bool]:
    """Return a condition that is false, to be asked again, when a read times out, as on a busy machine."""

    def holds() -> bool:
        try:
            return condition()
        except (TimeoutError, ReadTimeoutError):
            return False

    return holds


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
        self._open: dict[str, int] = {}
        self._ended = threading.Event()
        self._failed: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._guard, args=(self._poll, PATIENT_POLL_SECONDS if patient else POLL_SECONDS)),
        ]
        if not patient:
            self._threads.append(threading.Thread(target=self._guard, args=(self._recover, RECOVER_SECONDS)))
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
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        if self._failed:
            raise self._failed[0]

    def _guard(self, step: Callable[[], None], pause: float) -> None:
        try:
            while not self._ended.wait(pause):
                step()
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self._failed.append(error)

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

"""The transaction that makes a window a job, in memory."""

from shared.domain.content.content import Content
from shared.domain.digests.window import DigestWindow
from shared.domain.jobs.prepared import PreparedJob
from tests.fakes.digests.windows import FakeWindows
from tests.fakes.faults import Atomic, Tap
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.records import FakeRecords


class FakeDigestJobs:
    """`ports.DigestJobs`, atomic with the stores it is given."""

    def __init__(self, windows: FakeWindows, records: FakeRecords, ledgers: FakeLedgers, tap: Tap) -> None:
        self._windows = windows
        self._records = records
        self._ledgers = ledgers
        self._atomic = Atomic("digest_jobs", ledgers.lock, tap)

    def accept(self, made: PreparedJob | None, content: Content | None, old: DigestWindow, new: DigestWindow) -> bool:
        def parts() -> None:
            if made is not None and content is not None:
                self._records.chunks |= {(c.job, c.number): c for c in made.chunks}
                self._records.contents[made.job.id] = content
                for x in made.ledgers:
                    self._ledgers.store(x)

        def commit() -> bool:
            with self._windows.lock:
                if made is not None and made.job.id in self._records.jobs:
                    return True  # ours, whose answer was lost
                if not self._windows.write(old, new, versioned=False):
                    return False
                if made is not None:
                    self._records.add_job(made.job)
                return True

        self._atomic("parts", parts)
        return self._atomic("accept", commit)

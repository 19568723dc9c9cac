"""The transaction that begins a run, in memory."""

from collections.abc import Collection, Sequence

from shared.domain.content.content import Content
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.notices.notice import Notice, NoticeChange
from tests.fakes.faults import Atomic, Tap
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.notices.notices import FakeNotices
from tests.fakes.records import FakeRecords


class FakeRunStarts:
    """`ports.RunStarts`, atomic with the stores it is given."""

    def __init__(self, notices: FakeNotices, records: FakeRecords, ledgers: FakeLedgers, tap: Tap) -> None:
        self._notices = notices
        self._records = records
        self._ledgers = ledgers
        self._atomic = Atomic("run_starts", ledgers.lock, tap)

    def begin(
        self, made: PreparedJob, content: Content, moves: Sequence[tuple[Notice, NoticeChange]]
    ) -> Collection[str]:
        def parts() -> None:
            self._records.chunks |= {(c.job, c.number): c for c in made.chunks}
            self._records.contents[made.job.id] = content
            for x in made.ledgers:
                self._ledgers.store(x)

        def commit() -> Collection[str]:
            with self._notices.lock:
                if made.job.id in self._records.jobs:
                    return set()  # ours, whose answer was lost
                changed = {old.uuid for old, change in moves if not self._notices.unchanged(old, change)}
                if not changed:
                    self._records.add_job(made.job)
                    self._notices.apply(moves)
                return changed

        self._atomic("parts", parts)
        return self._atomic("begin", commit)

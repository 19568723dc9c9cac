"""Where a message may go: what whoever queues it has read of its past, against what its providers did."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from unittest.mock import patch

from shared.domain.ids import Ref
from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.feedback import SOFT, ProviderEventKind
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell
from tests.statemachine.stage import running
from tests.statemachine.world import StagedWorld

Place = tuple[str, int, int]
_FAILS: Final = SOFT | {ProviderEventKind.DEFERRED}
_HERE: Final = (Cell.QUEUED, Cell.CLAIMED)
"""What was in one of these was in the chunk's lane already."""

Failed = tuple[Ref, str]
"""An attempt, and the credential that took it and gave it up."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What was on record when a process read a chunk's details; `named`: (recipient, credential) of its windows."""

    failed: frozenset[Failed]
    named: frozenset[tuple[int, str]]


class Paths:
    """Knows who took a message and gave it up.

    Args:
        world: whose records are read.
        lanes: attempt → the credential whose provider it came to.
        fail: told of a violation.
    """

    def __init__(self, world: StagedWorld, lanes: Mapping[Ref, str], fail: Callable[[str], None]) -> None:
        self.failed: set[Failed] = set()
        self._world = world
        self._lanes = lanes
        self._fail = fail
        self._read: dict[tuple[str, str, int], _Read] = {}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Note what feedback is on record, and who has read it when: it decides where a message may go."""
        records = self._world.records
        put_feedback, details = records.put_feedback, records.details

        def put(detail: FeedbackDetail) -> None:
            put_feedback(detail)
            for e in detail.entries:
                ref = Ref(detail.job, detail.chunk, e.index, e.attempt)
                if (
                    ProviderEventKind(e.word) in _FAILS
                    and not e.secondary
                    and self._lanes.get(ref) == detail.credential
                ):
                    self.failed.add((ref, detail.credential))

        def read(job: str, chunk: int) -> tuple[list[Detail], list[FeedbackDetail]]:
            windows, words = details(job, chunk)
            named = frozenset((e.index, w.credential) for w in windows for e in w.entries)
            self._read[running(), job, chunk] = _Read(frozenset(self.failed), named)
            return windows, words

        with patch.object(records, "put_feedback", put), patch.object(records, "details", read):
            yield

    def went(self, old: Ledger, new: Ledger) -> None:
        """Check the messages that a write of a ledger queues, unless their owner asked for it."""
        for i in new.having(Cell.QUEUED) if new.retries == 0 else ():
            if old.lane != new.lane or old.cell(i)[0] not in _HERE:
                self._goes((new.job, new.chunk, i), new.cell(i)[1], new)

    def _goes(self, place: Place, attempt: int, x: Ledger) -> None:
        """Check that a message is queued where it may go, by what whoever queues it has read."""
        read = self._read.get((running(), x.job, x.chunk))
        failed = read.failed if read else self.failed
        mine = {(ref.attempt, lane) for ref, lane in failed if (ref.job, ref.chunk, ref.index) == place}
        name = f"message {x.chunk}.{place[2]} goes to {x.lane}"
        if x.lane in {lane for _, lane in mine}:
            self._fail(f"{name}, which took it and gave it up")
        if read and attempt in {a for a, _ in mine} and (place[2], x.lane) in read.named:
            self._fail(f"{name}, which has tried it, after it was given up")

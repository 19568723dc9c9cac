"""Words: what a run's ledger says changes its notices, each by compare-and-swap, and the ledger notes what was said.

They come from the stream of ledgers, and from looks at finished runs. A word that is told twice, late or by a process
that was frozen changes nothing. Source: docs/adr/0111.
"""

from collections.abc import Mapping
from typing import Final

from shared.domain.jobs import runs as cells
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell
from shared.domain.notices import words as rules
from shared.domain.notices.notice import Notice, NoticeRun
from shared.domain.notices.notifier import Notifier
from shared.ports import Clock, LedgerStore, Notices, Notifiers, Records, Retriable

RACES: Final = 10
"""Compare-and-swaps of one notice that others write meanwhile."""
NOTICE_VALUE: Final = "notice"
"""The value of a recipient that names its notice."""


class NoticeWords:
    """Tells notices what became of their runs.

    Args:
        notices: where notices are.
        notifiers: whose they are.
        records: which recipient of a run is which notice.
        ledgers: the runs' cells.
        clock: the time.
    """

    def __init__(
        self, *, notices: Notices, notifiers: Notifiers, records: Records, ledgers: LedgerStore, clock: Clock
    ) -> None:
        self._notices = notices
        self._notifiers = notifiers
        self._records = records
        self._ledgers = ledgers
        self._clock = clock
        self._known: dict[str, Notifier] = {}

    def tell(self, ledger: Ledger) -> int:
        """Tell all words of a run's ledger that were not told; return how many.

        Raises:
            Retriable: the store could not be reached, or others write a notice all the time. What was told is noted.
        """
        waiting = cells.untold(ledger)
        if not waiting:
            return 0
        owners = self.owners(ledger, waiting)
        told: dict[int, Cell] = {}
        faults: list[Exception] = []
        try:
            found = self._notices.read([owners[i] for i in waiting if i in owners])
            for index in waiting:
                state, _ = ledger.cell(index)
                notice = found.get(owners.get(index, ""))
                if self._attempt(faults, notice, ledger.job, index, state):
                    told[index] = state
        finally:
            if told:
                self._ledgers.tell(ledger.job, ledger.chunk, told)
        if faults:
            raise faults[0]
        return len(told)

    def _attempt(self, faults: list[Exception], notice: Notice | None, job: str, index: int, state: Cell) -> bool:
        """Tell one word; its fault is kept for the end, so that the run's other notices get theirs."""
        if notice is None:
            return True  # it was purged: no word is awaited
        try:
            self._one(notice, job, index, state)
        except Exception as fault:  # noqa: BLE001 - raised once all words were tried
            faults.append(fault)
            return False
        return True

    def withdraw(self, run: NoticeRun) -> None:
        """Withdraw a run's message if it still waits, and tell what its cell says now."""
        ledger = self._ledgers.drop(run.job, 0, [run.index], Cell.WITHDRAWN)
        if ledger is not None and run.index in cells.untold(ledger):
            self.tell(ledger)

    def owners(self, ledger: Ledger, indices: list[int]) -> Mapping[int, str]:
        """Return the notices of recipients by their places; empty if the run's items have gone."""
        chunk = self._records.chunk(ledger.job, ledger.chunk)
        if chunk is None:
            return {}
        values = {i: chunk.recipients[i].values.get(NOTICE_VALUE, "") for i in indices}
        return {i: uuid for i, uuid in values.items() if uuid}

    def notifier(self, name: str) -> Notifier | None:
        """Return a notifier, as this process has read it first: what a word needs of it are its hours."""
        if name not in self._known:
            found = self._notifiers.get(name)
            if found is None:
                return None
            self._known[name] = found
        return self._known[name]

    def _one(self, notice: Notice, job: str, index: int, state: Cell) -> None:
        """Change one notice as a word says."""
        notifier = self.notifier(notice.notifier)
        if notifier is None:
            return
        current: Notice | None = notice
        for _ in range(RACES):
            if current is None:
                return
            now = int(self._clock.now() * 1000)
            change = rules.word(current, job, index, state, notifier.hours, now)
            if change is None:
                return
            if self._notices.write(current, change):
                if change.withdraw is not None:
                    self.withdraw(change.withdraw)
                return
            current = self._notices.read([notice.uuid]).get(notice.uuid)
        raise Retriable("others write the notice all the time")

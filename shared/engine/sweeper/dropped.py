"""Folds that the stream gave up: the sweeper's part (J2).

The event source drops records that are too old or fail too often. The sweeper folds every ledger of jobs that run. For
LOGGED jobs no index shows which ledgers are not folded, since it would cost a write for each feedback event. But each
batch that is dropped is reported, and its records can still be read. Source: docs/adr/0061.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from shared.engine.outcome.fold import LedgerFolder
from shared.frozen import dataclass
from shared.ports import Report, Reports

MOST: Final = 100
"""Times that one run asks for reports; each brings up to ten."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Folds the ledgers of dropped records as they are now."""

    reports: Reports
    logger: LedgerFolder

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the reports that there are, with what folds their ledgers."""
        for _ in range(MOST):
            some = self.reports.receive()
            if not some:
                return
            for report in some:
                yield report.id, partial(self._fold, report)

    def _fold(self, report: Report) -> None:
        """Fold what a report names. One that names nothing that can be read stays, for an operator."""
        places = self.reports.ledgers(report)
        if places is None:
            _LOG.warning("a report of dropped records that cannot be read", extra={"report": report.id})
            return
        folded = 0
        for _, fold in self.logger.again(sorted(places)):
            folded += fold().folded
        self.reports.settle(report)
        _LOG.info("dropped records folded", extra={"report": report.id, "ledgers": len(places), "folded": folded})

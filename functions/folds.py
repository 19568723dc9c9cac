"""Changed ledgers in the tables' streams: both readers fold them, and call the products that listen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from shared.adapters import logs

if TYPE_CHECKING:
    from shared.bootstrap import Deployment
    from shared.domain.jobs.ledger import Ledger
    from shared.engine.outcome.fold import Folded


LATE_MS: Final = 5_000.0
"""Age of a batch's oldest record from which on its images count as old: the ledgers are read instead."""


class Folding:
    """One batch of a stream at work. A fault waits until all other jobs of the batch have had their turn."""

    def __init__(self, deployment: "Deployment", logger: logs.Lines) -> None:
        self._d = deployment
        self._logger = logger
        self.done: dict[str, Folded] = {}
        """Job's id → what its fold did."""
        self.faults: list[Exception] = []

    def fold(self, ledgers: "Sequence[Ledger]", *, late: bool) -> None:
        """Fold ledgers, those of one job together; `late` as of `Logger.batch`."""
        for job, fold in self._d.logger.batch(ledgers, late=late):
            with self.named(job):
                self.done[job] = fold()
        for job, folded in self.done.items():
            some = [x for x in ledgers if x.job == job]
            for step in (step for listener in self._d.fold_listeners for step in listener.steps(folded, some)):
                with self.named(job):
                    step()

    @property
    def retrying(self) -> list[str]:
        """The jobs of which an owner's retry is to be carried on."""
        return sorted(name for name, folded in self.done.items() if folded.retrying)

    @contextmanager
    def named(self, job: str) -> Iterator[None]:
        """Let a fault say whose it is, and keep it."""
        with logs.about(self._logger, job):
            try:
                yield
            except Exception as fault:  # any fault: the other jobs come first, then it is raised
                self._logger.exception("not folded")
                self.faults.append(fault)

"""Recipients of a chunk that are left out by now (L2): suppressed ones, or all of a mail without its key or sender."""

from collections.abc import Callable, Mapping
from typing import Final

from shared.domain.content.content import Content
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import MAIL, Job, StopReason
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell
from shared.domain.recipients.suppressions import Reach
from shared.engine.suppression.standing import AccountStatusCheck
from shared.engine.suppression.suppressed import Suppressed, Unwelcome, heeds
from shared.ports import AccountStatuses, Clock, Records

DNS_AGAIN_MS: Final = 60_000
"""So long a mail waits whose sender's domain DNS says nothing of."""


class LeavingOut:
    """Finds the recipients that are not to be sent to by now. One instance a sender; safe for threads.

    Args:
        standings: returns the keys and senders of accounts.
    """

    def __init__(self, records: Records, standings: Callable[[], AccountStatuses], clock: Clock) -> None:
        self._suppressed = Suppressed(records, clock)
        self._standings = standings
        self._clock = clock

    def among(
        self, job: Job, chunk: Chunk, ledger: Ledger, content: Content | None, latest: Mapping[Reach, int]
    ) -> Unwelcome:
        """Return who of a chunk's waiting recipients, and of those with copies, are not to be sent to by now.

        Args:
            content: what is sent, if it is known.
            latest: when an address was last suppressed, and unsubscribed (Unix ms), as of Control.

        Raises:
            DnsUnanswered: a mail's sender is of a claimed domain, and DNS does not answer.
        """
        waiting = ledger.having(Cell.QUEUED)
        gone = self._refusal(job, ledger)
        if gone is not None:
            return Unwelcome(dict.fromkeys(waiting, gone.value))
        heeded = heeds(job, content)
        return self._suppressed.among(job, chunk, waiting, latest, heeded, content)

    def _refusal(self, job: Job, ledger: Ledger) -> StopReason | None:
        """Return why a mail is not to be sent to a destination that was never tried, if it is not."""
        if job.kind != MAIL or any(cell >> 4 for cell in ledger.cells):
            return None
        return AccountStatusCheck(self._standings()).refusal(job, int(self._clock.now() * 1000))

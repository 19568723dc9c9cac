"""A mail and its destinations, for tests."""

from dataclasses import replace

from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import Cell
from shared.domain.mails.mail import StoredMail, opened
from tests.domain.ledgers import NOW, ledger

MAIL_ID = "01j0000000000000000000000m"
ACCOUNT = "acc_000000000001"
ADDRESSES = ("ann@example.org", "bob@EXAMPLE.org", "cem@example.net")


def mail(*addresses: str, until: int = 0, mail_from: str = "clinic@example.com") -> StoredMail:
    """Return an open mail."""
    return opened(
        mail=MAIL_ID,
        account=ACCOUNT,
        test=False,
        mail_from=mail_from,
        addresses=addresses or ADDRESSES,
        by="key_1",
        now=NOW,
        until=until,
    )


def one(cell: Cell, attempt: int = 0, **fields: object) -> Ledger:
    """Return the ledger of a destination; what has an end is DONE, and nothing is noted."""
    waits = cell in (Cell.QUEUED, Cell.RETRY)
    status = LedgerStatus.IDLE if waits else LedgerStatus.BUSY if cell is Cell.CLAIMED else LedgerStatus.DONE
    made = ledger((cell, attempt), limit=15)
    return replace(made, **{"told": bytes(1), "status": status, **fields})  # type: ignore[arg-type]

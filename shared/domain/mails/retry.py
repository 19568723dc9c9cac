"""When a mail is tried again, and what three refusals at one domain mean for its other destinations."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from shared.domain.jobs.job import OnAmbiguous, Policy
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import MAX_ATTEMPTS
from shared.domain.mails.destination import waits
from shared.domain.times import Millis

# change: when a relayed mail is tried again
DELAYS_MS: Final[Sequence[Millis]] = (300_000, 900_000, 3_600_000, 14_400_000)
"""Before the second, third, fourth and every later attempt: fifteen attempts last for two days."""
MAIL_POLICY: Final = Policy(max_attempts=MAX_ATTEMPTS, retry_on=(), on_ambiguous=OnAmbiguous.HOLD)
"""An accepted message stays accepted, since its content is then removed. A doubt is asked about, never risked."""
IN_A_ROW: Final = 3
"""Destinations of one domain whose last attempts failed for now, after which the domain's others also wait."""


_REFUSAL: Final = re.compile(r"smtp_4\d\d|4\.\d{1,3}\.\d{1,3}")
"""Codes of replies that refuse a recipient for now (RFC 5321 4.2.1, RFC 3463). A relay out of reach has none."""


def retry_delay(n: int) -> Millis:
    """Return the milliseconds before round n of attempts; the first one has number 0 and never waits."""
    return DELAYS_MS[min(n, len(DELAYS_MS)) - 1] if n > 0 else 0


def failed_for_now(ledger: Ledger) -> bool:
    """Tell whether a destination waits after an attempt that failed."""
    return waits(ledger) and ledger.cells[0] >> 4 > 0


def is_refusal(code: str) -> bool:
    """Tell whether a code is the reply of a server that refuses a recipient for now."""
    return _REFUSAL.fullmatch(code) is not None


def row_of(at_host: Iterable[Ledger]) -> Sequence[Ledger]:
    """Return the destinations of a domain whose attempts ended last, if all of them failed for now; else none.

    One that is accepted begins a new row.

    Args:
        at_host: the ledgers of a mail's destinations at one domain.
    """
    tried = [x for x in at_host if x.cells[0] >> 4 and x.status is not LedgerStatus.BUSY]
    latest = sorted(tried, key=lambda x: x.released_at)[-IN_A_ROW:]
    return latest if len(latest) == IN_A_ROW and all(map(failed_for_now, latest)) else []


def to_hold(at_host: Iterable[Ledger], until: Millis) -> list[Ledger]:
    """Return the destinations of a domain that wait for an earlier time than its row does (Unix milliseconds)."""
    return [x for x in at_host if x.status is LedgerStatus.IDLE and waits(x) and x.not_before < until]

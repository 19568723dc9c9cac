"""How long a notice is kept that has ended and whose last update its notifier has collected. Source: docs/adr/0110."""

from typing import Final

from shared.domain.notices.notice import DAY_S, KEPT_DAYS, Notice, Phase
from shared.domain.notices.updates import LOG_DAYS, Marks, Span, UpdateEntry
from shared.domain.times import DAY_MS, Millis

COLLECTED_DAYS: Final = 7
"""Days for which a collected notice is kept after its last update or its expiry, from the later of both. Until then a
late `delivered` still finds it, and a repeated upload is recognised. Afterwards an upload of the same record is too
late to be sent."""


def shortened(notice: Notice, collected: UpdateEntry) -> int | None:
    """Return until when a notice is kept (Unix seconds) once one of its entries is collected; None: as long as before.

    Args:
        collected: the entry. If the notice has changed since, the entry is not its last word.
    """
    if notice.phase is not Phase.ENDED or notice.version != collected.version:
        return None
    until = max(notice.stamp, notice.expires_at) // 1000 + COLLECTED_DAYS * DAY_S
    return until if until < notice.ttl else None


def to_walk(marks: Marks, created_at: int, now: Millis) -> Span:
    """Return the stamps that a walk has not seen: collected, or of notices that go uncollected; perhaps none.

    Args:
        marks: how far the notifier's log is collected and walked.
        created_at: when the notifier was made, Unix milliseconds; it has no older entry.
    """
    start = max(marks.purged, created_at, now - LOG_DAYS * DAY_MS)
    return Span(start, max(start, marks.collected, now - KEPT_DAYS * DAY_MS))

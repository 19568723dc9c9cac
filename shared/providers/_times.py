"""Times as vendors write them."""

from datetime import UTC, datetime

from shared.providers._common import MAX_AT


def iso_seconds(text: object) -> int:
    """Return an ISO 8601 time in Unix seconds, UTC if it names no zone; 0 if it is none.

    Args:
        text: as the vendor sent it, of any type.
    """
    if not isinstance(text, str):
        return 0
    try:
        moment = datetime.fromisoformat(text)
        at = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return 0
    return at if 0 < at <= MAX_AT else 0

"""Times to send at, checked before anything is asked of the API, as the API itself checks them."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from cli.errors import Misused
from shared.domain.campaigns.campaign import USE_WITHIN_DAYS
from shared.domain.times import PAST, Seconds, is_rfc_3339, may_begin

_EXAMPLE: Final = "2026-12-01T09:00:00+01:00"


def check_time(at: str, now: Seconds) -> None:
    """Refuse a time at which the API would send no list.

    Args:
        at: as it was typed; empty for now.

    Raises:
        Misused: it is no time with an offset, or it is over, or too late for a list of today.
    """
    if not at:
        return
    wanted = _time(at)
    if not may_begin(wanted, now) or wanted.timestamp() > now + PAST + USE_WITHIN_DAYS * 86_400:
        moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        raise Misused(f"choose a time for --at from now on and within {USE_WITHIN_DAYS} days; it is {moment}")


def _time(at: str) -> datetime:
    wanted: datetime | None = None
    if is_rfc_3339(at):
        with suppress(ValueError):
            wanted = datetime.fromisoformat(at.upper().replace(" ", "T"))
    if wanted is None:
        raise Misused(f"{at!r} is no time of RFC 3339 with its offset\nwrite --at like {_EXAMPLE}")
    return wanted

"""When an API key's owner hears that it ends soon."""

from typing import Final

from shared.domain.times import DAY_MS, Millis
from shared.frozen import dataclass

WARNED_DAYS: Final = (1, 7, 14)
"""So many days before its end, a key that is used is announced to its owner."""


@dataclass(frozen=True, slots=True)
class EndingKey:
    """An API key that ends soon.

    Attributes:
        namespace: whose endpoints get the event.
        key: its id.
        name: chosen by its owner.
        kind: `live`, `team` or `test`.
        expires: Unix milliseconds.
        days: the number of WARNED_DAYS that it is announced for.
    """

    namespace: str
    key: str
    name: str
    kind: str
    expires: int
    days: int


def warned_days(expires: Millis, now: Millis) -> int:
    """Return for which of WARNED_DAYS a key that ends at a time is announced; 0: for none.

    Args:
        expires: when it ends; 0 for never.
    """
    return next((days for days in WARNED_DAYS if now < expires <= now + days * DAY_MS), 0)

"""Daily figures of an account."""

from collections.abc import Mapping
from datetime import date

from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Day:
    """One UTC day on which messages were accepted.

    Attributes:
        day: the day.
        amounts: by AMOUNTS.
        channels: channel → amounts.
        providers: provider → its numbers, as folding names them: tried, accepted, delivered, failed.
    """

    day: date
    amounts: Mapping[str, int]
    channels: Mapping[str, Mapping[str, int]]
    providers: Mapping[str, Mapping[str, int]]

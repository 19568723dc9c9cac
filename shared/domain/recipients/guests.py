"""Guests: the few people whom an account's team keys may send to."""

from typing import Final

from shared.frozen import dataclass

MAX_GUESTS: Final = 100
"""Guests of an account: a list of colleagues, not of customers."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A guest. `address`: an e-mail address or a telephone number, normalised; `added_at`: Unix milliseconds."""

    address: str
    added_at: int

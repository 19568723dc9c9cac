"""When a call is made again."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

BUSY: Final = 429
FAILED: Final = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how long a call is made again.

    A call that was refused with 429, or that never reached the server, is always repeated. A call whose answer was
    lost, or that failed with 5xx, is repeated only if that does no harm. That is so if it only reads, if its method is
    safe to repeat, or if it has an idempotency key, which stays the same.

    Attributes:
        tries: how often a call is made at most.
        first: seconds before the first repeat; each further one is twice as long.
        longest: seconds of `Retry-After` that a call waits; with more it fails at once.
        jitter: returns a number from 0 to 1; by default a random one.
    """

    tries: int = 6
    first: float = 0.5
    longest: float = 120.0
    jitter: Callable[[], float] = random.random

    def pause(self, made: int, *, status: int | None, wait: float | None, repeatable: bool, sent: bool) -> float | None:
        """Return the seconds before the next try, None if there is to be none.

        Args:
            made: tries so far.
            status: of the answer, None if there was none.
            wait: seconds that the answer asks for.
            repeatable: whether a repeat does no harm, also if this try had an effect.
            sent: whether the server may have taken the call.
        """
        if made >= self.tries:
            return None
        again = not sent or repeatable if status is None else status == BUSY or (status in FAILED and repeatable)
        if not again:
            return None
        if wait is not None:
            return wait if wait <= self.longest else None
        return float(self.first * 2 ** (made - 1) * (0.5 + self.jitter() / 2))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return `Retry-After` in seconds, None if it is absent or nonsense.

    Args:
        headers: of the answer.
        now: Unix seconds.
    """
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)

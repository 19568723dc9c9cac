"""The line of an account's work of one kind, such as its exports: one piece is done, the others wait in order.

The line is a hint about order. That one piece at a time is done is certain, as long as `under_way` is right about the
one that has the turn.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from shared.domain.times import Millis

BEGIN_MS: Final[Millis] = 60_000
"""Milliseconds in which a piece that has the turn begins. After that its own lease shows whether it is under way."""
MOST_WAITING: Final = 50
"""Pieces that a line keeps in order. More of them come again when they are asked for again."""


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """An account's line. `holder`: the piece that has the turn; `until`: when it must be under way, Unix milliseconds.

    `version` counts the writes.
    """

    holder: str = ""
    until: Millis = 0
    waiting: tuple[str, ...] = ()
    version: int = 0

    def given(self, now: Millis) -> "WaitingLine":
        """Give the turn to the first that waits; to none if none does."""
        first, rest = (self.waiting[0], self.waiting[1:]) if self.waiting else ("", ())
        until = now + BEGIN_MS if first else 0
        return replace(self, holder=first, until=until, waiting=rest, version=self.version + 1)


def entered(line: WaitingLine, name: str, now: Millis, under_way: Callable[[str], bool]) -> tuple[WaitingLine, str]:
    """Return the line once a piece has come, and the piece that is to begin, or empty: one is under way.

    The same line: nothing is to be written.

    Args:
        under_way: tells whether a piece is worked on; asked only about one that had the time to begin.
    """
    if line.holder == name:
        return replace(line, until=now + BEGIN_MS, version=line.version + 1), name
    joined = line if name in line.waiting else replace(line, waiting=(*line.waiting, name))
    if line.holder and (line.until > now or under_way(line.holder)):
        known = joined is line or len(joined.waiting) > MOST_WAITING
        return (line if known else replace(joined, version=line.version + 1)), ""
    new = joined.given(now)
    return new, new.holder


def left(line: WaitingLine, name: str, now: Millis) -> tuple[WaitingLine, str]:
    """Return the line once a piece has ended, and the piece that is to begin, or empty.

    The same line: it had no turn.
    """
    if line.holder != name:
        return line, ""
    new = line.given(now)
    return new, new.holder

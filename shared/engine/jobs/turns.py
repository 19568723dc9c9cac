"""Turns on credentials after a pause of an account: whoever waits behind its campaign is looked at again in seconds.

A campaign gives way once no lease of it is held (`plan`), and a window may be out when its account is paused: so the
look is put off for a moment. Source: docs/protocol.md, "J1 Turn"; docs/adr/0086.
"""

from collections.abc import Callable, Iterable
from typing import Final

from shared.contracts import due
from shared.ports import Queue, Records

LOOKS_S: Final = (3.0, 20.0)
"""Seconds after which the turns are looked at: most leases have ended by the first look, those of slow providers by the
second. The sweeper, which comes each minute, sees the rest."""


class Turns:
    """Has the planner look at who waits for a credential."""

    def __init__(self, *, records: Records, credentials: Callable[[], Iterable[str]], queue: Queue) -> None:
        """`queue`: that of what is due."""
        self._records = records
        self._credentials = credentials
        self._queue = queue

    def look_again(self) -> int:
        """Have the oldest campaign that waits for each credential looked at in a moment; returns how many there are."""
        waiting = 0
        for credential in self._credentials():
            first = next(iter(self._records.open_on(credential, running=False)), None)
            if first is not None:
                waiting += 1
                for seconds in LOOKS_S:
                    self._queue.send([due(first.job)], delay=seconds)
        return waiting

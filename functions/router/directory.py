"""Which cell a caller is in: remembered, stored, or learned from the cells themselves.

Memory and store are hints. A cell that an account has left says so, and the cells are asked anew.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from functions.router.caller import Caller
from shared.domain.times import Seconds
from shared.ports import Clock, Retriable
from shared.ports.cells import CellRoutes
from shared.web.problems import Problem

KEPT: Final[Seconds] = 300
"""A process remembers a caller's cell for so long."""
REFUSED: Final[Seconds] = 30
"""A process remembers for so long that no cell has a caller."""
MAX_KEPT: Final = 10_000
ASKS: Final = 5
"""Callers a second that a process asks the cells for. Random keys cost no more than that, however many come."""
ASKS_AT_ONCE: Final = 20
INVALID: Final = {"WWW-Authenticate": 'Bearer realm="posthaste", error="invalid_token"'}
_LOG: Final = logging.getLogger(__name__)


class Directory:
    """Finds cells. Not safe for threads.

    Args:
        ask: asks the cell at an address whether a caller is there; None: it does not answer.
    """

    def __init__(
        self, cells: Mapping[str, str], routes: CellRoutes, ask: Callable[[str, Caller], bool | None], clock: Clock
    ) -> None:
        self._cells = cells
        self._routes = routes
        self._ask = ask
        self._clock = clock
        self._known: dict[str, tuple[Seconds, str]] = {}
        self._unknown: dict[Caller, Seconds] = {}
        self._asks: float = ASKS_AT_ONCE
        self._asked_at: Seconds = clock.now()

    def find(self, caller: Caller) -> str:
        """Return the name of a caller's cell.

        Raises:
            Problem: unauthorized; cell_unavailable, try_again: it cannot be known now.
            Retriable: what is stored cannot be read now.
        """
        now = self._clock.now()
        until, cell = self._known.get(caller.route, (0.0, ""))
        if now < until:
            return cell
        if now < self._unknown.get(caller, 0.0):
            raise Problem("unauthorized", headers=INVALID)
        stored = self._routes.get(caller.route)
        if stored is not None and stored in self._cells:
            self._remember(caller, stored)
            return stored
        found = self.learn(caller)
        if found is None:
            if len(self._unknown) >= MAX_KEPT:
                self._unknown.clear()
            self._unknown[caller] = now + REFUSED
            raise Problem("unauthorized", headers=INVALID)
        return found

    def learn(self, caller: Caller) -> str | None:
        """Ask the cells for a caller, and note what they say. None: all have answered, and it is in none.

        Raises:
            Problem: cell_unavailable, try_again.
        """
        self._known.pop(caller.route, None)
        if not caller.asked:
            return None
        self._take()
        silent = False
        for name, address in self._cells.items():
            here = self._ask(address, caller)
            if here:
                self._note(caller, name)
                return name
            silent |= here is None
        if silent:
            raise Problem("cell_unavailable", headers={"Retry-After": "5"})
        return None

    def _take(self) -> None:
        """Take one of the questions that the process may ask now."""
        now = self._clock.now()
        self._asks = min(ASKS_AT_ONCE, self._asks + (now - self._asked_at) * ASKS)
        self._asked_at = now
        if self._asks < 1:
            raise Problem("try_again", "Too many unknown keys come. Repeat the call.", headers={"Retry-After": "1"})
        self._asks -= 1

    def _note(self, caller: Caller, cell: str) -> None:
        self._remember(caller, cell)
        try:
            self._routes.put(caller.route, cell)
        except Retriable:
            _LOG.warning("route of a caller not noted", extra={"cell": cell})  # the next process learns it again

    def _remember(self, caller: Caller, cell: str) -> None:
        if len(self._known) >= MAX_KEPT:
            self._known.clear()
        self._known[caller.route] = (self._clock.now() + KEPT, cell)

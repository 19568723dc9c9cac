"""Which deployment an account is in, where several share one address."""

from typing import Protocol


class CellRoutes(Protocol):
    """Caller → cell, as a router has learned it. It is a hint: the cells decide, and a wrong one is learned anew."""

    def get(self, caller: str) -> str | None:
        """Return the cell of a caller, None if it is not known. `caller`: as `Caller.route`."""

    def put(self, caller: str, cell: str) -> None:
        """Note the cell of a caller; the last note wins."""

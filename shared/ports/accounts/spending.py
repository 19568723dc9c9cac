"""What accounts have spent today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.domain.spending.limits import Charge, Exceeded


class Spending(Protocol):
    """The use of accounts' limits, by day. Of an account without limits nothing is stored."""

    def take(self, charge: Charge) -> Exceeded | None:
        """Count a charge if it exceeds no limit; else count nothing and return the limit.

        Concurrency: of charges at once none is lost, and together they exceed no limit. A charge whose answer was lost
        may count twice.
        """

    def give_back(self, charge: Charge) -> None:
        """Take back what was counted; the limits of the charge do not matter."""

    def used(self, account: str, day: str, key: str = "") -> Mapping[str, int]:
        """Return measure → what is used of a day by an account, or by one of its keys, consistent."""

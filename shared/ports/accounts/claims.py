"""Domains that accounts claim, and the DNS that proves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shared.ports.common import Retriable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.domain.senders import SenderClaim


class DnsUnanswered(Retriable):
    """DNS gave no answer in time, or a fault: it is not known whether there is such a record."""


class Claims(Protocol):
    """Domains that accounts say are their own. A claim grants nothing by itself."""

    def get(self, account: str, domain: str) -> SenderClaim | None:
        """Return a claim; None if the account has none for the domain."""
        ...


class Dns(Protocol):
    """Look-ups in DNS."""

    def texts(self, name: str) -> Sequence[str]:
        """Return the TXT records of a name, each with its parts joined; none if there is no such name.

        Raises:
            DnsUnanswered: it is not known.
        """
        ...

    def exists(self, name: str) -> bool:
        """Return whether a name, or one below it, exists.

        Raises:
            DnsUnanswered: it is not known.
        """
        ...

"""Accounts and their suppressions, as acceptance reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.domain.accounts import SenderCheck
    from shared.domain.recipients.suppressions import AnyReach


class Senders(Protocol):
    """Which addresses an account may send from, and whether it may send at all."""

    def check_sender(self, account: str, address_key: str) -> SenderCheck:
        """Return whether an account may send now, and from an address, given as its normalised key."""
        ...

    def suspended(self, account: str) -> bool:
        """Return whether an operator has suspended an account."""
        ...

    def opened(self, account: str, channel: str) -> bool:
        """Return whether an account may send by a channel whose messages name no sender.

        Accounts that people made for themselves may not until an operator opens the channel.
        """
        ...


class SuppressionList(Protocol):
    """Addresses that an account does not send to."""

    def check(self, namespace: str, address_keys: Iterable[str], *, reach: AnyReach = ...) -> set[str]:
        """Return the addresses that have an entry.

        Args:
            address_keys: normalised addresses.
            reach: the list to look in.
        """
        ...

    def strangers(self, namespace: str, address_keys: Iterable[str]) -> set[str]:
        """Return the addresses to which the namespace's keys do not send: of team keys all that are no guests.

        Args:
            namespace: the account, or the namespace of its team or test keys; only team keys have strangers.
            address_keys: normalised addresses.
        """
        ...

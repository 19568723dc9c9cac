"""Accounts, their senders, claims and suppressions, as acceptance and the start of a job read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shared.ports.common import Retriable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from shared.domain.accounts import AccountStatus, SenderCheck
    from shared.domain.recipients.suppressions import AnyReach, Suppression
    from shared.domain.senders import SenderClaim


class Senders(Protocol):
    """Which addresses an account may send from, and whether it may send at all."""

    def check_sender(self, account: str, address_key: str) -> SenderCheck:
        """Return whether an account may send now, and from an address, given as its normalised key."""

    def suspended(self, account: str) -> bool:
        """Return whether an operator has suspended an account."""

    def opened(self, account: str, channel: str) -> bool:
        """Return whether an account may send by a channel whose messages name no sender.

        Accounts that people made for themselves may not until an operator opens the channel.
        """


class SuppressionList(Protocol):
    """Addresses that an account does not send to."""

    def check(self, namespace: str, address_keys: Iterable[str], *, reach: AnyReach = ...) -> set[str]:
        """Return the addresses that have an entry.

        Args:
            address_keys: normalised addresses.
            reach: the list to look in.
        """

    def entries(
        self, namespace: str, address_keys: Collection[str], reaches: Collection[AnyReach]
    ) -> Mapping[str, tuple[AnyReach, Suppression]]:
        """Return the weightiest entry of each address that has one: a read for each address and list.

        Args:
            address_keys: normalised addresses.
            reaches: the lists to look in, the weightiest first.
        """

    def strangers(self, namespace: str, address_keys: Iterable[str]) -> set[str]:
        """Return the addresses to which the namespace's keys do not send: of team keys all that are no guests.

        Args:
            namespace: the account, or the namespace of its team or test keys; only team keys have strangers.
            address_keys: normalised addresses.
        """


class AccountStatuses(Protocol):
    """The API keys and senders of accounts, as a job that starts needs them."""

    def read(self, account: str, key: str, sender: str) -> AccountStatus:
        """Return whether a key and a sender are still there, consistent: one call, a few if the key was rotated.

        Args:
            key: id of an API key, empty for none.
            sender: an address, empty for none.
        """

    def opened(self, account: str, channel: str) -> bool:
        """Return whether an account may send by a channel whose messages name no sender, as `Senders.opened`."""


class DnsUnanswered(Retriable):
    """DNS gave no answer in time, or a fault: it is not known whether there is such a record."""


class Claims(Protocol):
    """Domains that accounts say are their own. A claim grants nothing by itself."""

    def get(self, account: str, domain: str) -> SenderClaim | None:
        """Return a claim; None if the account has none for the domain."""


class Dns(Protocol):
    """Look-ups in DNS."""

    def texts(self, name: str) -> Sequence[str]:
        """Return the TXT records of a name, each with its parts joined; none if there is no such name.

        Raises:
            DnsUnanswered: it is not known.
        """

    def exists(self, name: str) -> bool:
        """Return whether a name, or one below it, exists.

        Raises:
            DnsUnanswered: it is not known.
        """

"""Domains at providers that sign their mail, and which accounts use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shared.ports.common import Retriable

if TYPE_CHECKING:
    from shared.domain.identities import DomainIdentity


class IdentityUnanswered(Retriable):
    """A provider did not answer about a domain, or refused the call for the moment."""


class DomainIdentities(Protocol):
    """Domains at one provider, in one region."""

    @property
    def provider(self) -> str:
        """Its name in the settings."""
        ...

    @property
    def region(self) -> str:
        """Of its service."""
        ...

    def read(self, domain: str) -> DomainIdentity:
        """Return what the provider knows of a domain.

        Raises:
            IdentityUnanswered: it is not known.
        """
        ...

    def ensure(self, domain: str) -> DomainIdentity:
        """Have the provider sign for a domain. One that it knows stays as it is, whoever made it.

        Raises:
            IdentityUnanswered: it is not known whether it does.
        """
        ...

    def remove(self, domain: str) -> None:
        """Have the provider forget a domain that this deployment made known to it; any other stays.

        Raises:
            IdentityUnanswered: it is not known whether it did.
        """
        ...


class IdentityUsers(Protocol):
    """Which accounts use a domain at the providers."""

    def join(self, account: str, domain: str) -> bool:
        """Note that an account uses a domain. False: the domain is being removed; repeat it in a minute."""
        ...

    def leave(self, account: str, domain: str) -> bool:
        """Note that an account no longer uses a domain.

        Returns:
            Whether it was the last one: for a minute no account can join, and the caller removes the domain.
        """
        ...

    def removed(self, domain: str) -> None:
        """Note that a domain was removed, so that accounts can join again."""
        ...

"""Domains at providers that sign their mail, and which of them this deployment made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shared.ports.common import Retriable

if TYPE_CHECKING:
    from shared.domain.identities import DomainIdentity, OwnedIdentity


class IdentityUnanswered(Retriable):
    """A provider did not answer about a domain, or refused the call for the moment."""


class IdentityRefused(Exception):
    """A provider takes no further domain."""


class IdentityChanged(Exception):
    """A domain at a provider is not as this deployment made it; its text says what it has."""


class DomainIdentities(Protocol):
    """Domains at one provider, in one region."""

    @property
    def provider(self) -> str:
        """Its name in the settings."""

    @property
    def region(self) -> str:
        """Of its service."""

    def read(self, domain: str) -> DomainIdentity:
        """Return what the provider knows of a domain, also of one that was made known there without us.

        Raises:
            IdentityUnanswered: it is not known.
        """

    def create(self, domain: str) -> bool:
        """Have the provider sign for a domain. False: it knows the domain already, and nothing was changed.

        Raises:
            IdentityRefused: it takes no further domain.
            IdentityUnanswered: it is not known whether it does.
        """

    def remove(self, domain: str) -> None:
        """Have the provider forget a domain; one that it does not know is no fault. Only operators may.

        Raises:
            IdentityChanged: another client made or changed it, so it stays.
            IdentityUnanswered: it is not known whether it did.
        """


class OwnedIdentities(Protocol):
    """Which domains this deployment made known to providers."""

    def reserve(self, made: OwnedIdentity) -> bool:
        """Count a domain for its account before it is made known. False: the account has had as many as it may.

        One that counts already does not count twice. Of requests at once none passes the limit.
        """

    def release(self, made: OwnedIdentity) -> None:
        """Count a domain no longer: the provider has not made it."""

    def add(self, made: OwnedIdentity) -> None:
        """Note that a domain was made known to a provider now."""

    def has(self, provider: str, region: str, domain: str) -> bool:
        """Tell whether this deployment made a domain known to a provider.

        Args:
            domain: lower-case ASCII.
        """

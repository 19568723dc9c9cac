"""Domains at providers that sign their mail: made known when an account proves them, and shown."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from shared.contracts import Credential
from shared.domain.identities import DomainIdentity, IdentityState, OwnedIdentity
from shared.domain.namespaces import owner
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import Clock, DomainIdentities, IdentityRefused, IdentityUnanswered, OwnedIdentities

_LOG: Final = logging.getLogger(__name__)
FRESH: Final = 20.0
"""Seconds that a provider's answer is remembered: it may take one such question a second, of all accounts together."""
MOST: Final = 1_000
"""Domains kept in memory."""


@dataclass(frozen=True, slots=True)
class Signing:
    """A credential whose provider signs for domains.

    Attributes:
        credential: as declared.
        identities: the provider's domains, those of all credentials with the same provider and region.
    """

    credential: Credential
    identities: DomainIdentities

    def sends(self, account: str, domain: str) -> bool:
        """Tell whether an account may send from a domain through the credential."""
        limits = self.credential.domains
        within = not limits or any(domain == x or domain.endswith(f".{x}") for x in limits)
        return within and self.credential.open_to(account)


class IdentityService:
    """Makes domains known to providers, and shows what those say. It removes none. Safe for threads.

    The caller has proven that the domain is the account's: nothing here looks into DNS.

    Args:
        signing: the credentials whose providers sign for domains; none in many deployments.
        made: which domains this deployment made known; asked for when it is first needed.
    """

    def __init__(self, signing: Sequence[Signing], made: Callable[[], OwnedIdentities], clock: Clock) -> None:
        self._signing = tuple(signing)
        self._made = made
        self._clock = clock
        self._known: dict[tuple[str, str, str], tuple[Seconds, DomainIdentity]] = {}
        self._lock = threading.Lock()

    def shown(self, account: str, domain: str) -> list[DomainIdentity]:
        """Return what each provider that the account may use says of a domain, or said some seconds ago."""
        return [self._remembered(x, domain) for x in self._of(account, domain)]

    def ensure(self, account: str, domain: str) -> list[DomainIdentity]:
        """Have each provider that the account may use sign for a domain that the account has proven."""
        return [self._noted(domain, self._ensured(x, account, domain)) for x in self._of(account, domain)]

    def _ensured(self, place: DomainIdentities, account: str, domain: str) -> DomainIdentity:
        """Make a domain known to a provider that does not know it.

        Args:
            account: the one that has proven the domain.
            domain: lower-case ASCII.
        """
        try:
            found = place.read(domain)
            if found.state is not IdentityState.NONE:
                return self._owned(found, domain)
            made = OwnedIdentity(place.provider, place.region, domain, owner(account))
            self._make(place, made)
            return self._owned(place.read(domain), domain)
        except IdentityRefused:
            return DomainIdentity(place.provider, place.region, IdentityState.REFUSED)
        except IdentityUnanswered as error:
            return _unanswered(place, error)

    def _make(self, place: DomainIdentities, made: OwnedIdentity) -> None:
        """Make a domain known to a provider, and note it; IdentityRefused if its account has had too many.

        It counts before it is made, so that neither a crash nor requests at once pass the limit.
        """
        if not self._made().reserve(made):
            raise IdentityRefused(made.domain)
        try:
            created = place.create(made.domain)
        except IdentityRefused:
            self._made().release(made)
            raise
        if created:
            self._made().add(made)
        else:
            self._made().release(made)

    def _remembered(self, place: DomainIdentities, domain: str) -> DomainIdentity:
        until, known = self._known.get((place.provider, place.region, domain), (0.0, None))
        if known is not None and self._clock.now() < until:
            return known
        try:
            return self._noted(domain, self._owned(place.read(domain), domain))
        except IdentityUnanswered as error:
            return _unanswered(place, error)

    def _owned(self, found: DomainIdentity, domain: str) -> DomainIdentity:
        """Return what a provider said, with whether this deployment made it."""
        if found.state is IdentityState.NONE or found.covered_by:
            return found
        return replace(found, ours=self._made().has(found.provider, found.region, domain))

    def _noted(self, domain: str, found: DomainIdentity) -> DomainIdentity:
        """Remember an answer, and return it."""
        if found.state is not IdentityState.UNKNOWN:
            with self._lock:
                if len(self._known) >= MOST:
                    self._known.clear()
                self._known[found.provider, found.region, domain] = (self._clock.now() + FRESH, found)
        return found

    def _of(self, account: str, domain: str) -> list[DomainIdentities]:
        """Return the providers, each region once."""
        places = [x.identities for x in self._signing if x.sends(account, domain)]
        return list({(x.provider, x.region): x for x in places}.values())


def _unanswered(place: DomainIdentities, error: IdentityUnanswered) -> DomainIdentity:
    _LOG.warning("no answer about a domain", extra={"provider": place.provider, "cause": str(error)})
    return DomainIdentity(place.provider, place.region, IdentityState.UNKNOWN)

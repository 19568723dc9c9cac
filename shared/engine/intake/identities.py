"""Domains at providers that sign their mail: made known when an account proves them, removed with the last claim."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shared.contracts import Credential
from shared.domain.identities import DomainIdentity, IdentityState
from shared.domain.times import Seconds
from shared.ports import Clock, DomainIdentities, IdentityUnanswered, IdentityUsers

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


class IdentityDesk:
    """Makes domains known to providers, shows what those say, and removes what is used no more. Safe for threads.

    The caller has proven that the domain is the account's: nothing here looks into DNS.

    Args:
        signing: the credentials whose providers sign for domains; none in many deployments.
        users: which accounts use a domain; made when it is first needed.
        clock: the time.
    """

    def __init__(self, signing: Sequence[Signing], users: Callable[[], IdentityUsers], clock: Clock) -> None:
        self._signing = tuple(signing)
        self._users = users
        self._clock = clock
        self._known: dict[tuple[str, str, str], tuple[Seconds, DomainIdentity]] = {}
        self._lock = threading.Lock()

    def shown(self, account: str, domain: str) -> list[DomainIdentity]:
        """Return what each provider that the account may use says of a domain, or said some seconds ago."""
        return [self._remembered(x, domain) for x in self._of(account, domain)]

    def ensure(self, account: str, domain: str) -> list[DomainIdentity]:
        """Have each provider that the account may use sign for a domain that the account has proven."""
        places = self._of(account, domain)
        if places and not self._users().join(account, domain):
            return [DomainIdentity(x.provider, x.region, IdentityState.UNKNOWN) for x in places]
        return [self._noted(domain, _answered(x, x.ensure, domain)) for x in places]

    def give_up(self, account: str, domain: str, granted: Iterable[str]) -> None:
        """Remove a domain that an account gives up, unless others use it. Repeat it after an error.

        Args:
            account: whose claim it was.
            domain: lower-case ASCII.
            granted: what operators granted to the account: the domain stays while one of them needs it.

        Raises:
            IdentityUnanswered: a provider did not answer; the domain may still be there.
        """
        if not self._signing or any(_covers(domain, sender) for sender in granted):
            return
        if not self._users().leave(account, domain):
            return
        for place in _once(x.identities for x in self._signing):
            place.remove(domain)
            self._forget(place, domain)
        self._users().removed(domain)

    def _remembered(self, place: DomainIdentities, domain: str) -> DomainIdentity:
        until, known = self._known.get((place.provider, place.region, domain), (0.0, None))
        if known is not None and self._clock.now() < until:
            return known
        return self._noted(domain, _answered(place, place.read, domain))

    def _noted(self, domain: str, found: DomainIdentity) -> DomainIdentity:
        """Remember an answer, and return it."""
        if found.state is not IdentityState.UNKNOWN:
            with self._lock:
                if len(self._known) >= MOST:
                    self._known.clear()
                self._known[found.provider, found.region, domain] = (self._clock.now() + FRESH, found)
        return found

    def _forget(self, place: DomainIdentities, domain: str) -> None:
        with self._lock:
            self._known.pop((place.provider, place.region, domain), None)

    def _of(self, account: str, domain: str) -> list[DomainIdentities]:
        return _once(x.identities for x in self._signing if x.sends(account, domain))


def _covers(domain: str, sender: str) -> bool:
    """Tell whether mail from a granted address or domain is signed for this domain."""
    of = sender.rpartition("@")[2]
    return of == domain or of.endswith(f".{domain}")


def _once(places: Iterable[DomainIdentities]) -> list[DomainIdentities]:
    """Return places, each provider and region once."""
    return list({(x.provider, x.region): x for x in places}.values())


def _answered(place: DomainIdentities, call: Callable[[str], DomainIdentity], domain: str) -> DomainIdentity:
    try:
        return call(domain)
    except IdentityUnanswered as error:
        _LOG.warning("no answer about a domain", extra={"provider": place.provider, "cause": str(error)})
        return DomainIdentity(place.provider, place.region, IdentityState.UNKNOWN)

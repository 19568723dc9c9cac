"""Domains at a provider, in memory."""

from shared.contracts import Credential
from shared.domain.identities import DomainIdentity, IdentityState
from shared.engine.intake.identities import IdentityService, Signing
from shared.ports import Clock, IdentityRefused, IdentityUnanswered, OwnedIdentities


class FakeIdentities:
    """`ports.DomainIdentities` in memory.

    Attributes:
        known: domain → state.
        meanwhile: domains that somebody else makes known before `create` is called.
        down: no call is answered.
        full: no domain is taken.
        calls: what was called, with its domain.
    """

    def __init__(self, provider: str = "signer", region: str = "eu-central-1") -> None:
        self.provider = provider
        self.region = region
        self.known: dict[str, IdentityState] = {}
        self.meanwhile: set[str] = set()
        self.down = False
        self.full = False
        self.calls: list[tuple[str, str]] = []

    def read(self, domain: str) -> DomainIdentity:
        self._call("read", domain)
        state = self.known.get(domain, IdentityState.NONE)
        records = {f"k1._domainkey.{domain}": "k1.dkim.example"} if domain in self.known else {}
        return DomainIdentity(self.provider, self.region, state, records)

    def create(self, domain: str) -> bool:
        self._call("create", domain)
        if self.full:
            raise IdentityRefused(domain)
        self.known.setdefault(domain, IdentityState.PENDING)
        return domain not in self.meanwhile

    def remove(self, domain: str) -> None:
        self._call("remove", domain)
        self.known.pop(domain, None)

    def _call(self, name: str, domain: str) -> None:
        self.calls.append((name, domain))
        if self.down:
            raise IdentityUnanswered("down")


def signing_service(places: list[FakeIdentities], made: OwnedIdentities, clock: Clock) -> IdentityService:
    """Return a service over some providers, each with a credential that is open to every account."""
    signing = [Signing(Credential(f"c{i}", place.provider, "email", 1), place) for i, place in enumerate(places)]
    return IdentityService(signing, lambda: made, clock)

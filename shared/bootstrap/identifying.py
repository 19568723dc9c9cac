"""Domains at the providers that sign for them, in the regions of the declared credentials."""

from typing import TYPE_CHECKING, Any, Final

from shared.adapters.aws import Aws, ClientOptions
from shared.adapters.dynamo.accounts.made_identities import DynamoOwnedIdentities
from shared.adapters.dynamo.client import Dynamo
from shared.contracts import Settings
from shared.engine.intake.identities import IdentityService, Signing
from shared.lazy import lazy
from shared.ports import Clock
from shared.providers.needs import needs_of

if TYPE_CHECKING:
    from shared.ports import DomainIdentities
    from shared.providers import registry
else:
    (registry,) = lazy("shared.providers", "registry")

CONFIG: Final[ClientOptions] = {
    "connect_timeout": 2,
    "read_timeout": 3,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}
"""A client waits for the answer, and a provider may take one such call a second."""


def service(settings: Settings, aws: Aws, dynamo: Dynamo, table: str, clock: Clock) -> IdentityService:
    """Return what makes domains known to providers; it does nothing where no declared provider signs for domains.

    Args:
        settings: with the credentials.
    """
    known: dict[tuple[str, str], DomainIdentities] = {}
    signing = []
    for credential in settings.credentials:
        if needs_of(credential.provider).identities:
            region = credential.region or aws.region
            place = (credential.provider, region)
            known[place] = known.get(place) or _identities(aws, *place)
            signing.append(Signing(credential, known[place]))
    return IdentityService(signing, lambda: DynamoOwnedIdentities(dynamo, table, clock), clock)


def _identities(aws: Aws, provider: str, region: str) -> "DomainIdentities":
    """Return a provider's domains in a region."""

    def later(service: str, where: str) -> Any:
        return aws.later(service, {**CONFIG, "region_name": where})

    return registry.identities(provider)(later, region)

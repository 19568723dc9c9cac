"""A sender's domain at a provider that signs its mail: its state there, and the records that its owner publishes."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from shared.frozen import dataclass

MAX_MADE: Final = 50
"""Domains made known for an account at a provider in a region, including those that the account gave up. A provider has
room for some thousands, for all accounts together."""


class IdentityState(StrEnum):
    """Whether a provider signs mail from a domain with DKIM."""

    NONE = "none"
    """The provider does not know the domain."""
    PENDING = "pending"
    """The provider looks for the records."""
    SUCCESS = "success"
    FAILED = "failed"
    """The provider found no records, and looks no more."""
    REFUSED = "refused"
    """The provider takes no further domain, or none of this account."""
    UNKNOWN = "unknown"
    """The provider did not answer, or cannot tell for now."""


ADVICE: Final[Mapping[IdentityState, str]] = {
    IdentityState.NONE: "Look for the record of the domain again: the domain is then made known to the provider.",
    IdentityState.PENDING: "Publish the CNAME records. The provider finds them within hours, at the latest in 72.",
    IdentityState.SUCCESS: "",
    IdentityState.FAILED: "The provider looks for the records no more. Publish them, and ask an operator.",
    IdentityState.REFUSED: "No more domains are made known to the provider. Ask an operator.",
    IdentityState.UNKNOWN: "The provider did not answer. Try again in a minute.",
}
"""State → what to do next; empty for nothing."""


@dataclass(frozen=True, slots=True)
class DomainIdentity:
    """A domain at a provider.

    Attributes:
        provider: its name in the settings.
        region: of the provider's service.
        state: of DKIM.
        records: name → value of the CNAME records to publish; none where somebody else made the keys.
        ours: whether this deployment made it.
        covered_by: a parent domain that the provider signs for, and so for this one; empty: it is known directly.
    """

    provider: str
    region: str
    state: IdentityState
    records: Mapping[str, str] = field(default_factory=dict)
    ours: bool = False
    covered_by: str = ""

    @property
    def advice(self) -> str:
        """The next step for the owner; empty: there is none."""
        return ADVICE[self.state]


@dataclass(frozen=True, slots=True)
class OwnedIdentity:
    """A domain that this deployment made known to a provider.

    Attributes:
        provider: its name in the settings.
        region: of the provider's service.
        domain: lower-case ASCII.
        account: the one that had proven it.
        made_at: when, in milliseconds; 0: not known.
    """

    provider: str
    region: str
    domain: str
    account: str = ""
    made_at: int = 0


def signs_for(domain: str, sender: str) -> bool:
    """Tell whether the provider signs mail from an address or a domain with the keys of this domain."""
    of = sender.rpartition("@")[2]
    return of == domain or of.endswith(f".{domain}")

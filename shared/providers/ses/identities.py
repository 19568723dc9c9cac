"""Domains that SES signs for: email identities with Easy DKIM.

Sources (docs.aws.amazon.com/ses/latest/APIReference-V2): API_CreateEmailIdentity, API_GetEmailIdentity,
API_DeleteEmailIdentity (errors), API_DkimAttributes (states, tokens, hosted zone).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.domain.identities import DomainIdentity, IdentityState
from shared.ports import IdentityChanged, IdentityRefused, IdentityUnanswered
from shared.providers.registry import Later

NAME: Final = "ses"
ZONE: Final = "dkim.amazonses.com"
"""Where SES publishes the keys, unless it names another zone."""
STATES: Final[Mapping[str, IdentityState]] = {
    "NOT_STARTED": IdentityState.PENDING,
    "PENDING": IdentityState.PENDING,
    "SUCCESS": IdentityState.SUCCESS,
    "FAILED": IdentityState.FAILED,
}
"""DKIM status → state; any other: SES cannot tell for now."""
KNOWN: Final = "AlreadyExistsException"
FULL: Final = "LimitExceededException"
UNKNOWN: Final = "NotFoundException"
CHANGES: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "tags": lambda known: known.get("Tags"),
    "a configuration set": lambda known: known.get("ConfigurationSetName"),
    "a MAIL FROM domain": lambda known: known.get("MailFromAttributes", {}).get("MailFromDomain"),
    "policies": lambda known: known.get("Policies"),
    "keys of its owner": lambda known: _external(known.get("DkimAttributes", {})),
}
"""Property that an identity has only if somebody else made or changed it → whether it has it."""


class SesIdentities:
    """`ports.DomainIdentities` of one region.

    Args:
        client: `sesv2`, of that region.
    """

    provider = NAME

    def __init__(self, client: Any, region: str) -> None:
        self._client = client
        self.region = region

    def read(self, domain: str) -> DomainIdentity:
        """Return what SES knows of a domain, or of one above it that it signs for; see `ports.DomainIdentities`.

        A domain that one above it covers needs no identity: one whose keys are not published would end the signatures.
        """
        found = self._read(domain)
        return (self._covering(domain) or found) if found.state is IdentityState.NONE else found

    def _covering(self, domain: str) -> DomainIdentity | None:
        """Return a domain as one above it that SES signs for covers it; None: none does."""
        labels = domain.split(".")
        for above in (".".join(labels[n:]) for n in range(1, len(labels) - 1)):
            if self._read(above).state is IdentityState.SUCCESS:
                return DomainIdentity(NAME, self.region, IdentityState.SUCCESS, covered_by=above)
        return None

    def _read(self, domain: str) -> DomainIdentity:
        """Return what SES knows of a domain itself."""
        answer = self._call("get_email_identity", UNKNOWN, EmailIdentity=domain)
        if isinstance(answer, str):
            return DomainIdentity(NAME, self.region, IdentityState.NONE)
        dkim = answer.get("DkimAttributes", {})
        state = STATES.get(dkim.get("Status", ""), IdentityState.UNKNOWN)
        return DomainIdentity(NAME, self.region, state, _records(domain, dkim))

    def create(self, domain: str) -> bool:
        """Make an identity without tags: with some, the caller would need the right to tag any identity."""
        signing = {"NextSigningKeyLength": "RSA_2048_BIT"}
        answer = self._call("create_email_identity", KNOWN, FULL, EmailIdentity=domain, DkimSigningAttributes=signing)
        if answer == FULL:
            raise IdentityRefused(domain)
        return answer != KNOWN

    def remove(self, domain: str) -> None:
        """Have SES forget a domain; see `ports.DomainIdentities`."""
        known = self._call("get_email_identity", UNKNOWN, EmailIdentity=domain)
        if isinstance(known, str):
            return
        changes = [name for name, there in CHANGES.items() if there(known)]
        if changes:
            raise IdentityChanged(", ".join(changes))
        self._call("delete_email_identity", UNKNOWN, EmailIdentity=domain)

    def _call(self, operation: str, *expected: str, **arguments: Any) -> Mapping[str, Any] | str:
        """Call SES; return its answer, or the name of an error that is expected."""
        try:
            answer: Mapping[str, Any] = getattr(self._client, operation)(**arguments)
        except ClientError as error:
            name = error.response["Error"]["Code"]
            if name in expected:
                return name
            raise IdentityUnanswered(f"{operation}: {name}") from error
        except BotoCoreError as error:
            raise IdentityUnanswered(f"{operation}: {type(error).__name__}") from error
        return answer


def _external(dkim: Mapping[str, Any]) -> bool:
    return bool(dkim.get("SigningAttributesOrigin", "AWS_SES") == "EXTERNAL")


def _records(domain: str, dkim: Mapping[str, Any]) -> dict[str, str]:
    """Return the CNAME records of Easy DKIM; none where the domain's owner signs with keys of their own."""
    if _external(dkim):
        return {}
    zone = dkim.get("SigningHostedZone") or ZONE
    return {f"{token}._domainkey.{domain}": f"{token}.{zone}" for token in dkim.get("Tokens", [])}


def _build(later: Later, region: str) -> SesIdentities:
    return SesIdentities(later("sesv2", region), region)


IDENTITIES: Final = _build

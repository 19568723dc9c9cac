"""Domains that SES signs for: email identities with Easy DKIM, made and removed by the deployment that tagged them.

Sources (docs.aws.amazon.com/ses/latest/APIReference-V2): API_CreateEmailIdentity, API_GetEmailIdentity,
API_DeleteEmailIdentity (errors), API_DkimAttributes (states, tokens, hosted zone).
"""

from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.domain.identities import DomainIdentity, IdentityState
from shared.ports import IdentityUnanswered
from shared.providers.needs import IDENTITY_TAG
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


class SesIdentities:
    """`ports.DomainIdentities` of one region.

    Args:
        client: `sesv2`, of that region.
        region: its name.
        stage: value of the tag by which this deployment knows what it made.
    """

    provider = NAME

    def __init__(self, client: Any, region: str, stage: str) -> None:
        self._client = client
        self.region = region
        self._stage = stage

    def read(self, domain: str) -> DomainIdentity:
        """Return what SES knows of a domain, or of one above it; see `ports.DomainIdentities`."""
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
            return self._identity(IdentityState.NONE)
        dkim = answer.get("DkimAttributes", {})
        ours = any(x["Key"] == IDENTITY_TAG and x["Value"] == self._stage for x in answer.get("Tags") or [])
        state = STATES.get(dkim.get("Status", ""), IdentityState.UNKNOWN)
        return self._identity(state, records=_records(domain, dkim), ours=ours)

    def ensure(self, domain: str) -> DomainIdentity:
        """Have SES sign for a domain; see `ports.DomainIdentities`.

        If SES signs for it by a domain above it, it gets no identity: one whose keys are not published yet would end
        the signatures. One of ours on which SES gave up begins anew.
        """
        found = self.read(domain)
        if found.ours and found.state is IdentityState.FAILED:
            self._delete(domain)
        elif found.state is not IdentityState.NONE:
            return found
        return self._identity(IdentityState.REFUSED) if self._create(domain) == FULL else self._read(domain)

    def remove(self, domain: str) -> None:
        """Have SES forget a domain, if this deployment made it; see `ports.DomainIdentities`."""
        if self._read(domain).ours:
            self._delete(domain)

    def _create(self, domain: str) -> str:
        """Make an identity; return the name of the error if there is one already, or one too many."""
        answer = self._call(
            "create_email_identity",
            KNOWN,
            FULL,
            EmailIdentity=domain,
            Tags=[{"Key": IDENTITY_TAG, "Value": self._stage}],
            DkimSigningAttributes={"NextSigningKeyLength": "RSA_2048_BIT"},
        )
        return answer if isinstance(answer, str) else ""

    def _delete(self, domain: str) -> None:
        self._call("delete_email_identity", UNKNOWN, EmailIdentity=domain)

    def _identity(
        self, state: IdentityState, *, records: Mapping[str, str] | None = None, ours: bool = False
    ) -> DomainIdentity:
        return DomainIdentity(NAME, self.region, state, records or {}, ours)

    def _call(self, operation: str, *expected: str, **arguments: Any) -> Mapping[str, Any] | str:
        """Call SES; return its answer, or the name of an error that is expected.

        Args:
            operation: the client's method.
            *expected: names of errors.
            **arguments: of the operation.
        """
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


def _records(domain: str, dkim: Mapping[str, Any]) -> dict[str, str]:
    """Return the CNAME records of Easy DKIM; none where the domain's owner signs with keys of their own."""
    if dkim.get("SigningAttributesOrigin", "AWS_SES") == "EXTERNAL":
        return {}
    zone = dkim.get("SigningHostedZone") or ZONE
    return {f"{token}._domainkey.{domain}": f"{token}.{zone}" for token in dkim.get("Tokens", [])}


def _build(later: Later, region: str, stage: str) -> SesIdentities:
    return SesIdentities(later("sesv2", region), region, stage)


IDENTITIES: Final = _build

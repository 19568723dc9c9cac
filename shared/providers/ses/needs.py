"""An AWS service: signed by the role, granted in IAM, with events by a topic of the stack.

Sources: Service Authorization Reference, "Amazon SES v2"; API reference, SendEmail ("To:, CC: and BCC: … cannot exceed
50").
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.contracts import Credential
from shared.providers.needs import ACCOUNT, NeededCheck, ProviderNeeds, Right

SEND: Final = ("ses:SendEmail", "ses:SendRawEmail", "ses:SendBulkTemplatedEmail")
"""SES checks the second for a mail with attachments, and the last for each entry of a SendBulkEmail."""
BULK: Final = "ses:SendBulkEmail"
"""The only one of them that knows no `ses:FromAddress`."""
ASK: Final = "ses:GetAccount"
TEMPLATES: Final = "A call for several recipients brings its template along, which has no name."
ANY_IDENTITY: Final = (
    "Who may use a sender's address is checked when a job is accepted; which addresses are verified changes from day "
    "to day without a deployment."
)
LOOK: Final = "ses:GetEmailIdentity"
MAKE: Final = "ses:CreateEmailIdentity"
ADDRESSES: Final = "identity/*@*"
"""An identity of an address is refused: SES would write to it."""
ABOVE: Final = "A domain is covered by those above it, and which an account will prove is not known beforehand."
PROVEN: Final = "Accounts prove domains from day to day, without a deployment."
OWN_IDENTITIES: Final = "Addresses and subdomains of the domains that the credential may send from."


def _rights(credential: Credential) -> tuple[Right, ...]:
    """Return what a sender may use: its domains' identities or all, and its configuration set."""
    resources: dict[str, str] = {}
    for domain in credential.domains:
        own = {f"identity/{name}": OWN_IDENTITIES for name in (f"*@{domain}", f"*.{domain}")}
        resources |= {f"identity/{domain}": "", **own}
    resources = resources or {"identity/*": ANY_IDENTITY}
    resources |= {"template/*": TEMPLATES, f"configuration-set/{credential.configuration_set}": ""}
    region = credential.region
    return (
        Right("ses", SEND, resources, region, _from(credential.domains)),
        Right("ses", (BULK,), resources, region),
        Right("ses", (ASK,), {"*": ACCOUNT}, region),
    )


def _identity_rights(credential: Credential) -> tuple[Right, ...]:
    """Return what makes identities may use. Nothing here tags, changes or deletes one: an operator's would be lost."""
    resources: dict[str, str] = {}
    for domain in credential.domains:
        resources |= {f"identity/{domain}": "", f"identity/*.{domain}": OWN_IDENTITIES}
    return (
        Right("ses", (LOOK,), {"identity/*": ABOVE}, credential.region),
        Right("ses", (MAKE,), resources or {"identity/*": PROVEN}, credential.region, refused=(ADDRESSES,)),
    )


def _from(domains: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the condition that a mail's `From` is of one of these domains or of their subdomains; None: any is."""
    patterns = [x for d in domains for x in (f"*@{d}", f"*@*.{d}")]
    return {"StringLike": {"ses:FromAddress": patterns}} if patterns else None


NEEDS: Final = ProviderNeeds(
    settings=frozenset({"region", "configuration_set", "domains"}),
    rights=_rights,
    identities=True,
    identity_rights=_identity_rights,
    role_signs=True,
    finished_bytes=40_000_000,
    people=50,
    topic="ses.amazonaws.com",
    topic_name="ses",
    checks=(NeededCheck("ses"), NeededCheck("ses events", deployed=True)),
)

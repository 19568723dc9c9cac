"""An AWS service: signed by the role, granted in IAM, with events by a topic of the stack.

Source: Service Authorization Reference, "AWS End User Messaging SMS and Voice V2".
"""

from collections.abc import Mapping
from typing import Final

from shared.contracts import Credential
from shared.providers.needs import ACCOUNT, NeededCheck, ProviderNeeds, Right

ACTIONS: Final[Mapping[str, str]] = {"voice": "sms-voice:SendVoiceMessage"}
"""Channel → what its sender may do; the others send SMS."""
TEXT: Final = "sms-voice:SendTextMessage"
ASK: Final = "sms-voice:DescribeAccountAttributes"
IDENTITIES: Final = "The secret names the number, sender or pool, which its owner changes without a deployment."


def _rights(credential: Credential) -> tuple[Right, ...]:
    """Return what a sender may use: any identity of its region, and its configuration set."""
    kinds = ("phone-number", "pool", "sender-id", "protect-configuration")
    resources = {**{f"{kind}/*": IDENTITIES for kind in kinds}, f"configuration-set/{credential.configuration_set}": ""}
    region = credential.region
    return (
        Right("sms-voice", (ACTIONS.get(credential.channel, TEXT),), resources, region),
        Right("sms-voice", (ASK,), {"*": ACCOUNT}, region),
    )


NEEDS: Final = ProviderNeeds(
    settings=frozenset({"region", "configuration_set", "number"}),
    rights=_rights,
    role_signs=True,
    topic="sms-voice.amazonaws.com",
    topic_name="sms",
    checks=(NeededCheck("aws-sms"), NeededCheck("aws-sms trial", deployed=True)),
)

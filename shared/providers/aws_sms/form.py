"""The fields of a request to AWS End User Messaging, and what is refused before one is made.

A test holds them to botocore's service model. The sender makes its requests of them, and the doctor its trial.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final, Self

from shared.contracts import Credential
from shared.domain.content.content import Content, Speech
from shared.domain.jobs.outcomes import NotStarted, Rejected, cannot_carry
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import Target
from shared.providers._common import REF_ARG, ErrorRule
from shared.providers.aws_sms.events import CREDENTIAL_ARG
from shared.providers.aws_sms.voices import voice_of

TEXT: Final = "SendTextMessage"
VOICE: Final = "SendVoiceMessage"
OPERATIONS: Final[Mapping[str, str]] = {"voice": VOICE}
"""Channel → operation; the others send SMS."""
MIN_SECONDS: Final = 5
MAX_SECONDS: Final = 259_200
"""`TimeToLive`; without it AWS keeps a message for the upper bound."""
MAX_BODY: Final = 1600
MAX_SPEECH: Final = 3000
"""Characters of plain text in a call."""
TYPES: Final = frozenset({"TRANSACTIONAL", "PROMOTIONAL"})
NUMBER: Final = re.compile(r"\+[1-9][0-9]{6,14}")
_REGION: Final = re.compile(r"[a-z]{2,4}(?:-[a-z]+){1,2}-\d")
_IDENTITY: Final = re.compile(r"[A-Za-z0-9_:/+-]{1,256}")
_PRICE: Final = re.compile(r"[0-9]{0,2}\.[0-9]{1,5}")

INVALID_RECIPIENT: Final = ErrorRule("invalid_recipient", permanent=True)
EMPTY: Final = ErrorRule("invalid_content", permanent=True)
TOO_LONG: Final = ErrorRule("too_large", permanent=True)
NO_KEYS: Final = cannot_carry("keys_not_supported")
"""AWS reports no key of a call: a credential of another provider may. A recording is not played; its text is said."""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The part that all requests of a credential share.

    Attributes:
        operation: `SendTextMessage` or `SendVoiceMessage`.
        identity: the number, sender or pool that sends.
        kind: `TRANSACTIONAL` or `PROMOTIONAL`, of an SMS.
        price: the highest, in US dollars; empty: any.
        protect: the protect configuration that applies; empty: the account's own.
        configuration_set: what publishes the events; empty: there are none.
        credential: travels with the events, which come by a topic of all credentials.
    """

    operation: str
    identity: str
    kind: str
    price: str
    protect: str
    configuration_set: str
    credential: str

    @classmethod
    def of(cls, declared: Credential | None, secret: Mapping[str, str]) -> Self:
        """Return the form of a credential's requests.

        Args:
            declared: the credential; None: a test's, of which only the secret is known.
            secret: its fields, as `send` lists them.
        """
        return cls(
            operation=OPERATIONS.get(declared.channel if declared else "", TEXT),
            identity=secret.get("origination_identity", "").strip(),
            kind=secret.get("message_type", "").strip() or "TRANSACTIONAL",
            price=secret.get("max_price", "").strip(),
            protect=secret.get("protect_configuration", "").strip(),
            configuration_set=declared.configuration_set if declared else "",
            credential=declared.id if declared else "",
        )

    def missing(self, region: str) -> str:
        """Return the code of what is wrong with the credential, or an empty string. `region`: of AWS."""
        faults = (
            (not _REGION.fullmatch(region), "no_region"),
            (not _IDENTITY.fullmatch(self.identity), "no_origination_identity"),
            (self.kind not in TYPES, "invalid_message_type"),
            (bool(self.price) and not _PRICE.fullmatch(self.price), "invalid_max_price"),
            (bool(self.protect) and not _IDENTITY.fullmatch(self.protect), "invalid_protect_configuration"),
        )
        return next((code for wrong, code in faults if wrong), "")

    def fields(self, content: Content, target: Target, now: Seconds) -> dict[str, Any] | Rejected | NotStarted:
        """Return the request's fields, or why nothing is sent.

        Args:
            content: whose text is sent or said.
            now: Unix seconds, for what is left of the message's time.
        """
        to, text = target.recipient.address, content.text.encode("utf-8", "replace").decode()
        if refused := self._refused(to, text):
            return refused
        own = self._spoken(content.speech or Speech()) if self.operation == VOICE else self._written()
        if isinstance(own, Rejected):
            return own
        fields = {"DestinationPhoneNumber": to, "OriginationIdentity": self.identity, "MessageBody": text, **own}
        fields["Context"] = {REF_ARG: target.ref, CREDENTIAL_ARG: self.credential}
        if self.configuration_set:
            fields["ConfigurationSetName"] = self.configuration_set
        if self.protect:
            fields["ProtectConfigurationId"] = self.protect
        if not target.not_after:
            return fields
        left = math.floor(target.not_after - now)
        return {**fields, "TimeToLive": min(left, MAX_SECONDS)} if left >= MIN_SECONDS else NotStarted()

    def _refused(self, to: str, text: str) -> Rejected | None:
        if not NUMBER.fullmatch(to):
            return INVALID_RECIPIENT.rejected()
        if not text.strip():
            return EMPTY.rejected()
        return TOO_LONG.rejected() if len(text) > (MAX_SPEECH if self.operation == VOICE else MAX_BODY) else None

    def _written(self) -> dict[str, Any]:
        return {"MessageType": self.kind, **({"MaxPrice": self.price} if self.price else {})}

    def _spoken(self, speech: Speech) -> dict[str, Any] | Rejected:
        if speech.keys:
            return NO_KEYS
        voice = voice_of(speech)
        if voice is None:
            return cannot_carry("voice_not_supported")
        price = {"MaxPricePerMinute": self.price} if self.price else {}
        return {"MessageBodyTextType": "TEXT", "VoiceId": voice, **price}

"""AWS End User Messaging: SMS by SendTextMessage and calls by SendVoiceMessage; `events` reads its feedback.

Sources (docs.aws.amazon.com): pinpoint/latest/apireference_smsvoicev2 (API_SendTextMessage, API_SendVoiceMessage,
errors and their reasons), sms-voice/latest/userguide. A test holds requests and answers to botocore's service model.
The secret: `origination_identity` (a number in E.164, or the id or ARN of a number, sender or pool); optional:
`message_type`, `max_price`, `protect_configuration`, and the keys and the region of another AWS account. Without keys
the sender function's role signs.

The ref and the credential travel in `Context`, which every event returns. AWS has no idempotent send and no list of
messages, so an attempt of unknown fate waits for its events.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from shared.domain.content.content import Content, Speech
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import Clock, Http, Response, Steps, Target
from shared.providers._aws import endpoint, keys_of, region_of
from shared.providers._common import MAX_ID, REF_ARG, ErrorRule, ask, clean, fault, own_answer, perform, wait
from shared.providers._sigv4 import Signer
from shared.providers.aws_sms.events import CREDENTIAL_ARG, AwsSmsWebhooks
from shared.providers.aws_sms.voices import voice_of
from shared.providers.registry import AwsKeys, Needs, SecretField

SERVICE: Final = "sms-voice"
TEXT: Final = "SendTextMessage"
VOICE: Final = "SendVoiceMessage"
OPERATIONS: Final[Mapping[str, str]] = {"voice": VOICE}
"""Channel → operation; the others send SMS."""
CONTENT_TYPE: Final = "application/x-amz-json-1.0"
MIN_SECONDS: Final = 5
MAX_SECONDS: Final = 259_200
"""`TimeToLive`; without it AWS keeps a message for the upper bound."""
MAX_BODY: Final = 1600
MAX_SPEECH: Final = 3000
"""Characters of plain text in a call."""
TYPES: Final = frozenset({"TRANSACTIONAL", "PROMOTIONAL"})
_NUMBER: Final = re.compile(r"\+[1-9][0-9]{6,14}")
_REGION: Final = re.compile(r"[a-z]{2,4}(?:-[a-z]+){1,2}-\d")
_IDENTITY: Final = re.compile(r"[A-Za-z0-9_:/+-]{1,256}")
_PRICE: Final = re.compile(r"[0-9]{0,2}\.[0-9]{1,5}")
_ACCEPTED: Final = 200
_TOO_MANY: Final = 429
_BROKEN: Final = 500

# What an answer means

_DOWN: Final = {"provider_down": True}
INVALID_RECIPIENT: Final = ErrorRule("invalid_recipient", permanent=True)
EMPTY: Final = ErrorRule("invalid_content", permanent=True)
TOO_LONG: Final = ErrorRule("too_large", permanent=True)
COUNTRY: Final = ErrorRule("region_not_permitted", about_message=True)
SENDER: Final = ErrorRule("invalid_from", **_DOWN)
BAD_REQUEST: Final = ErrorRule("bad_request", about_message=True)
FORBIDDEN: Final = ErrorRule("forbidden", **_DOWN)
ERRORS: Final[Mapping[str, ErrorRule | None]] = {
    "ThrottlingException": None,
    "TooManyRequestsException": None,
    "ValidationException": BAD_REQUEST,
    "ConflictException": ErrorRule("conflict", about_message=True),
    "ServiceQuotaExceededException": ErrorRule("quota_exceeded", **_DOWN),
    "AccessDeniedException": FORBIDDEN,
    "ResourceNotFoundException": SENDER,
    "UnrecognizedClientException": ErrorRule("unauthorized", **_DOWN),
    "InvalidSignatureException": ErrorRule("unauthorized", **_DOWN),
    "MissingAuthenticationTokenException": ErrorRule("unauthorized", **_DOWN),
    "ExpiredTokenException": ErrorRule("unauthorized", **_DOWN),
    "IncompleteSignatureException": ErrorRule("unauthorized", **_DOWN),
    "OptInRequired": FORBIDDEN,
    "UnknownOperationException": ErrorRule("unknown_operation", **_DOWN),
    "SerializationException": BAD_REQUEST,
}
"""Name of an error → meaning. None: throttled. Every one of them is a refusal: nothing was sent."""
REASONS: Final[Mapping[str, ErrorRule]] = {
    "CANNOT_PARSE": BAD_REQUEST,
    "CHANNEL_NOT_ENABLED": SENDER,
    "COUNTRY_CODE_MISMATCH": COUNTRY,
    "COUNTRY_NOT_ENABLED": COUNTRY,
    "DESTINATION_COUNTRY_BLOCKED": COUNTRY,
    "INTERNATIONAL_SENDING_NOT_SUPPORTED": COUNTRY,
    "INVALID_ARN": SENDER,
    "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY": COUNTRY,
    "PRICE_OVER_THRESHOLD": ErrorRule("price_over_threshold", about_message=True),
    "RESOURCE_NOT_ACCESSIBLE": SENDER,
    "SENDER_ID_NOT_REGISTERED": SENDER,
    "SENDER_ID_NOT_SUPPORTED": COUNTRY,
    "SENDER_ID_REQUIRES_REGISTRATION": SENDER,
    "VOICE_CAPABILITY_NOT_AVAILABLE": SENDER,
    "DESTINATION_PHONE_NUMBER_NOT_VERIFIED": ErrorRule("recipient_not_verified", about_message=True),
    "DESTINATION_PHONE_NUMBER_OPTED_OUT": ErrorRule("unsubscribed", permanent=True, unwanted=True),
    "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION": COUNTRY,
    "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE": ErrorRule("recipient_blocked", about_message=True),
    "NO_ORIGINATION_IDENTITIES_FOUND": COUNTRY,
    "NUMBER_CAPABILITIES_MISMATCH": SENDER,
    "MESSAGE_TYPE_MISMATCH": SENDER,
    "RESOURCE_NOT_ACTIVE": SENDER,
    "INSUFFICIENT_ACCOUNT_REPUTATION": ErrorRule("account_reputation", **_DOWN),
    "ACCOUNT_DISABLED": ErrorRule("account_suspended", **_DOWN),
    "DAILY_DESTINATION_CALL_LIMIT": ErrorRule("daily_destination_limit", about_message=True),
    "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT": ErrorRule("spend_limit_reached", **_DOWN),
    "MONTHLY_SPEND_LIMIT_REACHED_FOR_VOICE": ErrorRule("spend_limit_reached", **_DOWN),
}
"""An error's `Reason` → meaning, which goes before that of its name. A reason that is not here is judged by the name.
Only an opted-out number is about the recipient's wish; a destination that this account's rules block is not."""
NO_KEYS: Final = Rejected("keys_not_supported", permanent=False, about_message=True)
"""AWS reports no key of a call: a credential of another provider may. A recording is not played; its text is said."""
_LOST: Final = Unknown("malformed_answer")


class AwsSms:
    """SMS or calls through one AWS account, region and identity. Implements `ports.Provider`; safe for threads.

    Args:
        http: the transport.
        url: of the API, without a path.
        operation: `SendTextMessage` or `SendVoiceMessage`.
        secret: see the module.
        region: that requests are signed for; unknown: every message is refused, and nothing is sent.
        keys: whose signature it is; None: the same.
        configuration_set: what publishes the events; empty: there are none.
        credential: travels with the events, which come by a topic of all credentials.
        clock: for signatures, and for what is left of a message's time.
    """

    name = "aws-sms"
    per_call = 1
    has_feedback = True

    def __init__(
        self,
        http: Http,
        url: str,
        *,
        operation: str,
        secret: Mapping[str, str],
        region: str,
        keys: Callable[[], AwsKeys | None],
        configuration_set: str,
        credential: str,
        clock: Clock,
    ) -> None:
        self._http = http
        self._clock = clock
        self._keys = keys
        self._says = operation == VOICE
        self._credential = credential
        self._identity = secret.get("origination_identity", "").strip()
        self._type = secret.get("message_type", "").strip() or "TRANSACTIONAL"
        self._price = secret.get("max_price", "").strip()
        self._protect = secret.get("protect_configuration", "").strip()
        self._set = configuration_set
        self._missing = self._lacks(region)
        self._url = f"{url}/"
        target = f"PinpointSMSVoiceV2.{operation}"
        self._signer = Signer(self._url, region=region, service=SERVICE, content_type=CONTENT_TYPE, target=target)

    def send(self, content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
        """Call the provider once, see `steps`. Result: see `ports.Provider`.

        Args:
            content: what to send.
            targets: one recipient.
            deadline: Unix seconds by which the answer must have come.
        """
        return perform(self._http, self.steps(content, targets, deadline=deadline))

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: float) -> Steps[list[Outcome]]:
        """Send one SMS, or make one call, of the content's text; the rest of the content is not sent.

        Result: see `ports.Provider`.

        Args:
            content: what to send.
            targets: one recipient.
            deadline: Unix seconds by which the answer must have come.
        """
        (target,) = targets
        keys = self._keys()
        if self._missing or keys is None:
            return [Rejected(self._missing or "no_aws_keys", permanent=False, provider_down=True)]
        found = self._fields(content, target)
        if not isinstance(found, dict):
            return [found]
        body = json.dumps(found, separators=(",", ":")).encode()
        headers = self._signer.headers(keys, sha256(body).hexdigest(), self._clock.now())
        response = yield from ask("POST", self._url, headers=headers, body=body, deadline=deadline)
        return [self._outcome(response) if isinstance(response, Response) else response]

    def _lacks(self, region: str) -> str:
        """Return the code of what is wrong with the credential, or an empty string."""
        faults = (
            (not _REGION.fullmatch(region), "no_region"),
            (not _IDENTITY.fullmatch(self._identity), "no_origination_identity"),
            (self._type not in TYPES, "invalid_message_type"),
            (bool(self._price) and not _PRICE.fullmatch(self._price), "invalid_max_price"),
            (bool(self._protect) and not _IDENTITY.fullmatch(self._protect), "invalid_protect_configuration"),
        )
        return next((code for wrong, code in faults if wrong), "")

    def _fields(self, content: Content, target: Target) -> dict[str, Any] | Rejected | NotStarted:
        """Return the request's fields, or say why nothing is sent."""
        to, text = target.recipient.address, content.text.encode("utf-8", "replace").decode()
        if refused := self._refused(to, text):
            return refused
        own = self._spoken(content.speech or Speech()) if self._says else self._written()
        if isinstance(own, Rejected):
            return own
        fields = {"DestinationPhoneNumber": to, "OriginationIdentity": self._identity, "MessageBody": text, **own}
        fields["Context"] = {REF_ARG: target.ref, CREDENTIAL_ARG: self._credential}
        if self._set:
            fields["ConfigurationSetName"] = self._set
        if self._protect:
            fields["ProtectConfigurationId"] = self._protect
        if not target.not_after:
            return fields
        left = math.floor(target.not_after - self._clock.now())
        return {**fields, "TimeToLive": min(left, MAX_SECONDS)} if left >= MIN_SECONDS else NotStarted()

    def _refused(self, to: str, text: str) -> Rejected | None:
        if not _NUMBER.fullmatch(to):
            return INVALID_RECIPIENT.rejected()
        if not text.strip():
            return EMPTY.rejected()
        return TOO_LONG.rejected() if len(text) > (MAX_SPEECH if self._says else MAX_BODY) else None

    def _written(self) -> dict[str, Any]:
        return {"MessageType": self._type, **({"MaxPrice": self._price} if self._price else {})}

    def _spoken(self, speech: Speech) -> dict[str, Any] | Rejected:
        if speech.keys:
            return NO_KEYS
        voice = voice_of(speech)
        if voice is None:
            return Rejected("voice_not_supported", permanent=False, about_message=True)
        price = {"MaxPricePerMinute": self._price} if self._price else {}
        return {"MessageBodyTextType": "TEXT", "VoiceId": voice, **price}

    def _outcome(self, response: Response) -> Outcome:
        status, answer = response.status, own_answer(response.body)
        if status == _ACCEPTED:
            message = clean(answer.get("MessageId"), MAX_ID)
            return Accepted(message) if message else _LOST
        name = _error_name(response.headers.get("x-amzn-errortype", ""), answer)
        if status >= _BROKEN:
            return fault(status)
        rule = ERRORS.get(name)
        if status == _TOO_MANY or (name in ERRORS and rule is None):
            return Throttled(wait(response.headers.get("retry-after", ""), self._clock.now()))
        if rule is None:
            return fault(status)
        reason = answer.get("Reason")
        return (REASONS.get(reason, rule) if isinstance(reason, str) else rule).rejected()


def _error_name(header: str, answer: Mapping[str, Any]) -> str:
    """Return the name of an error: `prefix#Name:http://…` in a header or in the body; empty: not AWS's."""
    named = header or answer.get("__type") or ""
    return named.partition(":")[0].rpartition("#")[2].strip() if isinstance(named, str) else ""


def _build(needs: Needs) -> AwsSms:
    declared, region = needs.credential, region_of(needs)
    return AwsSms(
        needs.http,
        endpoint(needs, SERVICE, region),
        operation=OPERATIONS.get(declared.channel if declared else "", TEXT),
        secret=needs.secret,
        region=region,
        keys=keys_of(needs),
        configuration_set=declared.configuration_set if declared else "",
        credential=declared.id if declared else "",
        clock=needs.clock,
    )


PROVIDER: Final = _build
WEBHOOKS: Final = AwsSmsWebhooks
SECRET: Final = (
    SecretField("origination_identity", "the number, or the id or ARN of a number, sender or pool, that sends"),
    SecretField("message_type", "TRANSACTIONAL (if empty) or PROMOTIONAL", required=False),
    SecretField("max_price", "US dollars of one part of an SMS, or of a minute of a call, e.g. 0.10", required=False),
    SecretField("protect_configuration", "the protect configuration that applies", required=False),
    SecretField("access_key_id", "an access key of another AWS account; else the sender's role signs", required=False),
    SecretField("secret_access_key", "its secret key", required=False),
    SecretField("session_token", "its session token, if it is temporary", required=False),
    SecretField("region", "its region, if it is not that of the settings", required=False),
    SecretField(
        "topic_arn", "the SNS topic of another account whose posts are believed", required=False, feedback=True
    ),
    SecretField(
        "signing_certificate",
        "the only certificate to trust, PEM; else the one AWS names",
        required=False,
        feedback=True,
    ),
)

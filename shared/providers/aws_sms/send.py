"""AWS End User Messaging: SMS by SendTextMessage and calls by SendVoiceMessage; `events` reads its feedback.

Sources (docs.aws.amazon.com): pinpoint/latest/apireference_smsvoicev2 (API_SendTextMessage, API_SendVoiceMessage,
errors and their reasons), sms-voice/latest/userguide. A test holds requests and answers to botocore's service model.
The secret: `origination_identity` is a number in E.164, or the id or ARN of a number, sender or pool. `message_type`,
`max_price`, `protect_configuration`, and the keys and the region of another AWS account are optional. Without keys the
sender function's role signs.

The ref and the credential travel in `Context`, which every event returns. AWS has no idempotent send and no list of
messages, so an attempt of unknown fate waits for its events.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Accepted, Outcome, Unknown
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Target
from shared.providers._aws import NO_KEYS, SECRET_FIELDS, endpoint, keys_of, region_of
from shared.providers._common import ErrorRule, exchange, fault, own_answer
from shared.providers._texts import MAX_ID, clean, worded
from shared.providers._vendor import Vendor, VendorCall, lacking, silence
from shared.providers.aws_sms.events import AwsSmsWebhooks
from shared.providers.aws_sms.form import RequestForm
from shared.providers.registry import Needs, SecretField
from shared.sigv4 import AwsKeys, Signer

SERVICE: Final = "sms-voice"
CONTENT_TYPE: Final = "application/x-amz-json-1.0"
QUESTION: Final = "PinpointSMSVoiceV2.DescribeAccountAttributes"
_ACCEPTED: Final = 200
_TOO_MANY: Final = 429
_BROKEN: Final = 500

# What an answer means

_DOWN: Final = {"provider_down": True}
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
    "ResourceNotFoundException": SENDER,  # the identity or the configuration set does not exist
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
"""An error's `Reason` → meaning, which overrides that of its name. For a reason that is not here the name decides.
Only an opted-out number is about the recipient's wish; a destination that this account's rules block is not."""
_LOST: Final = Unknown("malformed_answer")


class AwsSms(Vendor):
    """SMS or calls through one AWS account, region and identity. Implements `ports.Pingable` also.

    It sends a content's text, and nothing else of the content.

    Args:
        url: of the API, without a path.
        region: that requests are signed for; unknown: every message is refused, and nothing is sent.
        keys: return those that sign; None: the same.
        clock: for signatures, and for the time that a message has left.
    """

    name = "aws-sms"

    def __init__(
        self,
        http: Http,
        url: str,
        *,
        form: RequestForm,
        region: str,
        keys: Callable[[], AwsKeys | None],
        clock: Clock,
    ) -> None:
        missing = form.missing(region)
        super().__init__(http, clock, lacking(missing) if missing else None)
        self._keys = keys
        self._form = form
        self._url = f"{url}/"
        target = f"PinpointSMSVoiceV2.{form.operation}"
        self._signer = Signer(self._url, region=region, service=SERVICE, content_type=CONTENT_TYPE, target=target)
        self._asker = Signer(self._url, region=region, service=SERVICE, content_type=CONTENT_TYPE, target=QUESTION)

    def ping(self, *, deadline: Seconds) -> str:
        """Ask for the account's attributes. See `ports.Pingable`.

        Args:
            deadline: Unix seconds by which the answer must have come.
        """
        keys = self._keys()
        if self._lacks or keys is None:
            return ""
        body = b"{}"
        headers = self._asker.headers(keys, sha256(body).hexdigest(), self._clock.now())
        return silence(exchange(self._http, "POST", self._url, headers=headers, body=body, deadline=deadline))

    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall | Outcome:
        (target,) = targets
        keys = self._keys()
        if keys is None:
            return NO_KEYS
        found = self._form.fields(content, target, self._clock.now())
        if not isinstance(found, dict):
            return found
        body = json.dumps(found, separators=(",", ":")).encode()
        return VendorCall(self._url, self._signer.headers(keys, sha256(body).hexdigest(), self._clock.now()), body)

    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:  # noqa: ARG002 - of the base
        (target,) = targets
        return [worded(self._outcome(response), lambda: _words(response), target.recipient.address)]

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
            return self._throttled(response.headers)
        if rule is None:
            return fault(status)
        reason = answer.get("Reason")
        return (REASONS.get(reason, rule) if isinstance(reason, str) else rule).rejected()


def _words(response: Response) -> object:
    answer = own_answer(response.body)
    return answer.get("message") or answer.get("Message")


def _error_name(header: str, answer: Mapping[str, Any]) -> str:
    """Return the name of an error: `prefix#Name:http://…` in a header or in the body; empty: not AWS's."""
    named = header or answer.get("__type") or ""
    return named.partition(":")[0].rpartition("#")[2].strip() if isinstance(named, str) else ""


def _build(needs: Needs) -> AwsSms:
    region = region_of(needs)
    form = RequestForm.of(needs.credential, needs.secret)
    url = endpoint(needs, SERVICE, region)
    return AwsSms(needs.http, url, form=form, region=region, keys=keys_of(needs), clock=needs.clock)


PROVIDER: Final = _build
WEBHOOKS: Final = AwsSmsWebhooks
SECRET: Final = (
    SecretField("origination_identity", "the number, or the id or ARN of a number, sender or pool, that sends"),
    SecretField("message_type", "TRANSACTIONAL (if empty) or PROMOTIONAL", required=False),
    SecretField("max_price", "US dollars of one part of an SMS, or of a minute of a call, e.g. 0.10", required=False),
    SecretField("protect_configuration", "the protect configuration that applies", required=False),
    *SECRET_FIELDS,
)

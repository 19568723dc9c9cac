"""Twilio: SMS by the Messages resource; `events` reads its status callbacks, `calls` makes calls.

Sources (twilio.com/docs): messaging/api/message-resource (fields, limits), usage/requests-to-twilio (Basic auth),
api/errors/<code> (codes), usage/webhooks (`StatusCallback`).
The secret, where `SECRET` does not say it: `auth_token` may be several, separated by commas, while it is rotated. One
of `from` (a number in E.164, a short code or an alphanumeric id) and `messaging_service_sid` is required. `api_key` is
`SK…:secret`. Callbacks come in at `webhook_url`, or at the API's own address.

The ref travels in the query of the callback's URL (docs/adr/0022-twilio-callbacks-carry-the-ref.md). Twilio has no
idempotent send and its list of messages does not show that URL, so an attempt of unknown fate waits for its callback.
"""

import base64
import math
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from shared.contracts import WEBHOOK_PATH
from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Unknown
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Target
from shared.providers._common import ErrorRule, keys, own_answer
from shared.providers._not_taken import unlisted
from shared.providers._texts import MAX_ID, clean, worded
from shared.providers._vendor import Vendor, VendorCall, get, lacking
from shared.providers.registry import Needs, SecretField
from shared.providers.twilio.events import TwilioWebhooks
from shared.providers.twilio.twiml import REF_QUERY

BASE_URL: Final = "https://api.twilio.com"
"""Regions have hosts of their own: `https://api.dublin.ie1.twilio.com`."""
MAX_BODY: Final = 1600
MIN_VALIDITY: Final = 1
MAX_VALIDITY: Final = 36_000
"""Seconds of `ValidityPeriod`; without it Twilio keeps a message for as long as the upper bound."""
E164: Final = re.compile(r"\+[1-9][0-9]{6,14}")
"""The only form of `To` here: `whatsapp:+…` leaves by another channel."""
_SID: Final = re.compile(r"[A-Za-z0-9]{1,64}")

# What an answer means

INVALID_RECIPIENT: Final = ErrorRule("invalid_recipient", permanent=True)
TOO_LONG: Final = ErrorRule("too_large", permanent=True)
EMPTY: Final = ErrorRule("invalid_content", permanent=True)
UNAUTHORIZED: Final = ErrorRule("unauthorized", provider_down=True)
SENDER: Final = ErrorRule("invalid_from", provider_down=True)
QUEUE_FULL: Final = ErrorRule("queue_full", provider_down=True)
# change: the meaning of an error code of Twilio
REFUSALS: Final[Mapping[int, ErrorRule]] = {
    20003: UNAUTHORIZED,  # authentication error
    20005: ErrorRule("account_not_active", provider_down=True),  # the account is not active
    20006: ErrorRule("forbidden", provider_down=True),  # access forbidden
    20404: ErrorRule("account_not_found", provider_down=True),  # the requested resource was not found
    30002: ErrorRule("account_suspended", provider_down=True),  # the account is suspended
    21211: INVALID_RECIPIENT,  # invalid "To" phone number
    21217: INVALID_RECIPIENT,  # the phone number does not appear to be valid
    21604: INVALID_RECIPIENT,  # a "To" phone number is required
    21614: INVALID_RECIPIENT,  # the "To" number is not a valid mobile number
    21635: INVALID_RECIPIENT,  # the "To" number is not one for SMS: a landline
    21610: ErrorRule("unsubscribed", permanent=True, unwanted=True),  # the recipient said STOP to this sender
    21602: EMPTY,  # the message body is required
    21619: EMPTY,  # a text or media is required
    21605: TOO_LONG,  # the body exceeds the maximum length
    21617: TOO_LONG,  # the concatenated body exceeds 1600 characters
    21408: ErrorRule("region_not_permitted", about_message=True),  # the account has not enabled the region of "To"
    21612: ErrorRule("no_route", about_message=True),  # cannot be sent with this combination of "To" and "From"
    21608: ErrorRule("recipient_not_verified", about_message=True),  # a trial account reaches verified numbers only
    21606: ErrorRule("sender_not_capable", about_message=True),  # "From" cannot send messages to this destination
    21659: ErrorRule("sender_not_capable", about_message=True),  # a short code in another country than "To"
    63016: ErrorRule("session_closed", about_message=True),  # no word from the recipient for 24 h, and no template
    63024: ErrorRule("recipient_without_whatsapp", about_message=True),  # the number has no WhatsApp
    21212: SENDER,  # invalid "From" number
    21401: SENDER,  # "From" is no number with SMS and no alphanumeric sender ID
    21603: SENDER,  # a "From" number is required
    21607: SENDER,  # about the sender
    21660: SENDER,  # "From" does not belong to this account
    21661: SENDER,  # the "From" number cannot send SMS
    21701: SENDER,  # the messaging service does not exist
    21703: SENDER,  # about the messaging service
    21704: SENDER,  # about the messaging service
    21705: SENDER,  # the messaging service is invalid
    21609: ErrorRule("invalid_callback", provider_down=True),  # the "StatusCallback" URL is not valid
    21611: QUEUE_FULL,  # "From" has exceeded its maximum of queued messages
    30001: QUEUE_FULL,  # queue overflow
}
"""Twilio's code → meaning. After STOP (21610) no other sender may write either. Where this account or sender does not
reach a country or network, another credential may, and this one reaches others. A full queue holds ten hours of
messages: others fare no better until it drains."""
THROTTLED: Final = frozenset(
    {
        20429,  # too many requests
        14107,  # SMS send rate limit exceeded
    }
)
OVER_QUOTA: Final = 63038
"""The account's messages of a rolling 24 hours are used up (api/errors/63038)."""
STATUSES: Final[Mapping[int, ErrorRule]] = {
    401: UNAUTHORIZED,
    403: ErrorRule("forbidden", provider_down=True),
    404: ErrorRule("account_not_found", provider_down=True),
    413: TOO_LONG,
}
"""Status → meaning, if the code is not in the table. A message with another code of a 400 leaves by another credential.
Most of the hundreds of codes are about accounts and senders, and must not condemn a message. All other statuses: see
`_common.fault`."""

_CREATED: Final = 201
_BAD_REQUEST: Final = 400
_TOO_MANY: Final = 429
_BROKEN: Final = 500


class Twilio(Vendor):
    """SMS through one Twilio account and sender. It sends a content's text, and nothing else of the content.

    Implements `ports.Pingable` also.

    Args:
        base_url: empty for Twilio's own in the US.
        secret: see the module; if a required field is missing every message is refused, and nothing is sent.
        clock: for `Retry-After` as a date, and for the time that a message has left.
        webhook_url: where callbacks come in, unless the secret names another.
    """

    name = "twilio"
    resource = "Messages"
    """Where messages are created."""
    refusals: Mapping[int, ErrorRule] = REFUSALS
    throttled: frozenset[int] = THROTTLED

    def __init__(
        self,
        http: Http,
        base_url: str,
        secret: Mapping[str, str],
        clock: Clock,
        *,
        webhook_url: str = "",
    ) -> None:
        sid = secret.get("account_sid", "").strip()
        token = next(iter(keys(secret.get("auth_token", ""))), "")
        key = secret.get("api_key", "").strip() or (f"{sid}:{token}" if token else "")
        service, number = secret.get("messaging_service_sid", "").strip(), secret.get("from", "").strip()
        self._sender = ("MessagingServiceSid", service) if service else ("From", number)
        self._validity = secret.get("validity_period", "").strip()
        self._webhook = secret.get("webhook_url", "").strip() or webhook_url
        missing = _missing(sid, key, self._sender[1], self._webhook)
        if self._validity and not _is_validity(self._validity):
            missing = "invalid_validity_period"
        super().__init__(http, clock, lacking(missing) if missing else None)
        self._account = f"{(base_url or BASE_URL).rstrip('/')}/2010-04-01/Accounts/{sid}"
        self._url = f"{self._account}/{self.resource}.json"
        self._headers = {
            "Authorization": "Basic " + base64.b64encode(key.encode("utf-8", "replace")).decode(),
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def ping(self, *, deadline: Seconds) -> str:
        """Ask for the account (`GET /Accounts/{sid}.json`), which only a main key may. See `ports.Pingable`."""
        return get(self._http, f"{self._account}.json", self._headers, deadline=deadline)

    def fields(self, content: Content, target: Target) -> list[tuple[str, str]] | Rejected | NotStarted:
        """Return the form's fields, or say why there is no message."""
        if not content.text.strip():
            return EMPTY.rejected()
        if len(content.text) > MAX_BODY:
            return TOO_LONG.rejected()
        validity = self._seconds_of(target)
        if isinstance(validity, NotStarted):
            return validity
        fields = [("To", target.recipient.address), self._sender, ("Body", content.text)]
        fields.append(("StatusCallback", self._callback(target)))
        return [*fields, ("ValidityPeriod", validity)] if validity else fields

    def _apart(self, content: Content, targets: Sequence[Target]) -> Sequence[Outcome | None]:  # noqa: ARG002 - of the base
        (target,) = targets
        return [None if E164.fullmatch(target.recipient.address) else INVALID_RECIPIENT.rejected()]

    def _call(self, content: Content, targets: Sequence[Target]) -> VendorCall | Outcome:
        (target,) = targets
        fields = self.fields(content, target)
        if not isinstance(fields, list):
            return fields
        body = "&".join([f"{name}={quote_plus(value, errors='replace')}" for name, value in fields]).encode()
        return VendorCall(self._url, self._headers, body)

    def _judged(self, response: Response, content: Content, targets: Sequence[Target]) -> list[Outcome]:  # noqa: ARG002 - of the base
        (target,) = targets
        outcome = self._outcome(response)
        return [worded(outcome, lambda: own_answer(response.body).get("message"), target.recipient.address)]

    def _callback(self, target: Target) -> str:
        return f"{self._webhook}?{urlencode({REF_QUERY: target.ref})}"

    def _seconds_of(self, target: Target) -> str | NotStarted:
        """Return how long Twilio may keep a message; empty: as long as it does by itself."""
        if not target.not_after:
            return self._validity
        left = math.floor(target.not_after - self._clock.now())
        if left < MIN_VALIDITY:
            return NotStarted()
        return str(min(left, int(self._validity or MAX_VALIDITY)))

    def _outcome(self, response: Response) -> Outcome:
        status, answer = response.status, own_answer(response.body)
        if status == _CREATED:
            return _accepted(answer)
        code, refused = _code(answer), _BAD_REQUEST <= status < _BROKEN
        limited = self._limited(status, code, response.headers) if refused else None
        if limited is not None:
            return limited
        refusal = (self.refusals.get(code) if refused else None) or STATUSES.get(status)
        if refusal is not None:
            return refusal.rejected()
        if status == _BAD_REQUEST and code:
            return Rejected(f"twilio_{code}", permanent=False, about_message=True)
        return unlisted(Twilio.name, status, answer)

    def _limited(self, status: int, code: int, headers: Mapping[str, str]) -> Outcome | None:
        """Return what a refusal says about a limit of the account; None if it is about none."""
        if code == OVER_QUOTA:
            return self._over_quota(headers)
        return self._throttled(headers) if status == _TOO_MANY or code in self.throttled else None


def _is_validity(text: str) -> bool:
    return text.isascii() and text.isdigit() and MIN_VALIDITY <= int(text[:9]) <= MAX_VALIDITY


def _missing(sid: str, key: str, sender: str, webhook: str) -> str:
    """Return the code of what a credential lacks, or an empty string."""
    usable = key.isascii() and key.isprintable() and ":" in key
    faults = (
        (not _SID.fullmatch(sid), "no_account_sid"),
        (not usable, "no_api_key"),
        (not sender, "no_sender"),
        (not webhook, "no_webhook_url"),
    )
    return next((code for fault, code in faults if fault), "")


def _code(answer: Mapping[str, Any]) -> int:
    """Return the code of an error, 0 if the answer is not Twilio's."""
    code = answer.get("code")
    mine = isinstance(code, int) and not isinstance(code, bool) and 0 < code <= 999_999  # noqa: PLR2004 - they have five digits
    return code if mine and isinstance(code, int) and isinstance(answer.get("message"), str) else 0


def _build(needs: Needs) -> Twilio:
    path = WEBHOOK_PATH.format(provider=Twilio.name, credential_id=needs.credential.id) if needs.credential else ""
    webhook_url = needs.public_url + path if needs.public_url and path else ""
    module, name = KINDS.get(needs.credential.channel if needs.credential else "", (__name__, Twilio.__name__))
    kind: type[Twilio] = getattr(import_module(module), name)
    return kind(needs.http, needs.base_url, needs.secret, needs.clock, webhook_url=webhook_url)


KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "voice": ("shared.providers.twilio.calls", "TwilioCalls"),
    "whatsapp": ("shared.providers.twilio.whatsapp", "TwilioWhatsapp"),
}
"""Channel → module and class of what sends by it. A lane loads the one that it needs; the others are for SMS."""
PROVIDER: Final = _build
WEBHOOKS: Final = TwilioWebhooks
SECRET: Final = (
    SecretField("account_sid", "the account SID, AC…"),
    SecretField("auth_token", "the auth token; it also signs the callbacks", feedback=True),
    SecretField("from", "the number, short code or alphanumeric id that sends", required=False),
    SecretField("messaging_service_sid", "the messaging service that sends instead, MG…", required=False),
    SecretField("api_key", "an API key as SK…:secret, which calls instead of the auth token", required=False),
    SecretField("validity_period", "seconds after which Twilio gives a text up, up to 36000", required=False),
    SecretField("content_sid", "for WhatsApp: an approved template with one variable, HX…", required=False),
    SecretField("ring_seconds", "seconds that a phone rings, 5 to 600; else 60", required=False),
    SecretField("machine_detection", "for calls: DetectMessageEnd (if empty), Enable, or off", required=False),
    SecretField("webhook_url", "where callbacks come in, if not at the API's address", required=False, feedback=True),
)


def _accepted(answer: Mapping[str, Any]) -> Outcome:
    """Return what an answer means that says that a message was created."""
    sid = clean(answer.get("sid"), MAX_ID)
    return Accepted(sid) if sid and isinstance(answer.get("status"), str) else Unknown("malformed_answer")

"""Twilio: SMS by the Messages resource; `events` reads its status callbacks, `calls` makes calls.

Sources (twilio.com/docs): messaging/api/message-resource (fields, limits), usage/requests-to-twilio (Basic auth),
api/errors/<code> (codes), usage/webhooks (`StatusCallback`).
The secret: `account_sid`, `auth_token` (it signs the callbacks; several, separated by commas, while it is rotated), and
`from` (a number in E.164, a short code or an alphanumeric id) or `messaging_service_sid`; optional: `api_key`
(`SK…:secret`, which calls instead of the auth token), `validity_period` (seconds), `webhook_url` (where callbacks come
in, if that is not the API's own address).

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
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.domain.times import Seconds
from shared.ports import Clock, Http, Response, Steps, Target
from shared.providers._common import MAX_ID, ErrorRule, ask, clean, keys, own_answer, perform, wait, worded
from shared.providers._not_taken import unlisted
from shared.providers._ping import get
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
"""What `To` may be here: `whatsapp:+…` would leave by another channel."""
_SID: Final = re.compile(r"[A-Za-z0-9]{1,64}")

# What an answer means

INVALID_RECIPIENT: Final = ErrorRule("invalid_recipient", permanent=True)
TOO_LONG: Final = ErrorRule("too_large", permanent=True)
EMPTY: Final = ErrorRule("invalid_content", permanent=True)
UNAUTHORIZED: Final = ErrorRule("unauthorized", provider_down=True)
SENDER: Final = ErrorRule("invalid_from", provider_down=True)
QUEUE_FULL: Final = ErrorRule("queue_full", provider_down=True)
REFUSALS: Final[Mapping[int, ErrorRule]] = {
    20003: UNAUTHORIZED,
    20005: ErrorRule("account_not_active", provider_down=True),
    20006: ErrorRule("forbidden", provider_down=True),
    20404: ErrorRule("account_not_found", provider_down=True),
    30002: ErrorRule("account_suspended", provider_down=True),
    21211: INVALID_RECIPIENT,
    21217: INVALID_RECIPIENT,
    21604: INVALID_RECIPIENT,
    21614: INVALID_RECIPIENT,
    21635: INVALID_RECIPIENT,
    21610: ErrorRule("unsubscribed", permanent=True, unwanted=True),
    21602: EMPTY,
    21619: EMPTY,
    21605: TOO_LONG,
    21617: TOO_LONG,
    21408: ErrorRule("region_not_permitted", about_message=True),
    21612: ErrorRule("no_route", about_message=True),
    21608: ErrorRule("recipient_not_verified", about_message=True),
    21606: ErrorRule("sender_not_capable", about_message=True),
    21659: ErrorRule("sender_not_capable", about_message=True),
    63016: ErrorRule("session_closed", about_message=True),
    63024: ErrorRule("recipient_without_whatsapp", about_message=True),
    21212: SENDER,
    21401: SENDER,
    21603: SENDER,
    21607: SENDER,
    21660: SENDER,
    21661: SENDER,
    21701: SENDER,
    21703: SENDER,
    21704: SENDER,
    21705: SENDER,
    21609: ErrorRule("invalid_callback", provider_down=True),
    21611: QUEUE_FULL,
    30001: QUEUE_FULL,
}
"""Twilio's code → meaning. 21610: the recipient said STOP to this sender, and nobody may write by another one. 21408,
21612, 21606, 21659: this account or sender does not reach that country or network; another credential may, and this one
reaches others. 21401 is about the sender's number and 21617 about the body, whatever their neighbours are about. A full
queue holds ten hours of messages: others fare no better until it drains."""
THROTTLED: Final = frozenset({20429, 14107})
STATUSES: Final[Mapping[int, ErrorRule]] = {
    401: UNAUTHORIZED,
    403: ErrorRule("forbidden", provider_down=True),
    404: ErrorRule("account_not_found", provider_down=True),
    413: TOO_LONG,
}
"""Status → meaning, if the code is not in the table. Another code with 400 goes by another credential: most of the
hundreds of codes are about accounts and senders, and none of these may condemn a message. All others: see
`_common.fault`."""

_CREATED: Final = 201
_BAD_REQUEST: Final = 400
_TOO_MANY: Final = 429
_BROKEN: Final = 500


class Twilio:
    """SMS through one Twilio account and sender. Implements `ports.Provider` and `Pingable`; safe for threads.

    Args:
        base_url: empty for Twilio's own in the US.
        secret: see the module; where something is missing every message is refused, and nothing is sent.
        clock: for `Retry-After` as a date, and for what is left of a message's time.
        webhook_url: where callbacks come in; the secret's own goes before it.
    """

    name = "twilio"
    per_call = 1
    has_feedback = True
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
        self._http = http
        self._clock = clock
        sid = secret.get("account_sid", "").strip()
        token = next(iter(keys(secret.get("auth_token", ""))), "")
        key = secret.get("api_key", "").strip() or (f"{sid}:{token}" if token else "")
        service, number = secret.get("messaging_service_sid", "").strip(), secret.get("from", "").strip()
        self._sender = ("MessagingServiceSid", service) if service else ("From", number)
        self._validity = secret.get("validity_period", "").strip()
        self._webhook = secret.get("webhook_url", "").strip() or webhook_url
        self._missing = _missing(sid, key, self._sender[1], self._webhook)
        if self._validity and not _is_validity(self._validity):
            self._missing = "invalid_validity_period"
        self._account = f"{(base_url or BASE_URL).rstrip('/')}/2010-04-01/Accounts/{sid}"
        self._url = f"{self._account}/{self.resource}.json"
        self._headers = {
            "Authorization": "Basic " + base64.b64encode(key.encode("utf-8", "replace")).decode(),
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def send(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> list[Outcome]:
        """Call the provider once, see `steps`. Result: see `ports.Provider`."""
        return perform(self._http, self.steps(content, targets, deadline=deadline))

    def steps(self, content: Content, targets: Sequence[Target], *, deadline: Seconds) -> Steps[list[Outcome]]:
        """Create one message of the content's text; the rest of the content is not sent.

        Arguments and result: see `ports.Provider`.
        """
        (target,) = targets
        fields = self._refused(target) or self.fields(content, target)
        if not isinstance(fields, list):
            return [fields]
        body = "&".join([f"{name}={quote_plus(value, errors='replace')}" for name, value in fields]).encode()
        response = yield from ask("POST", self._url, headers=self._headers, body=body, deadline=deadline)
        if not isinstance(response, Response):
            return [response]
        outcome = self._outcome(response)
        return [worded(outcome, lambda: own_answer(response.body).get("message"), target.recipient.address)]

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

    def _refused(self, target: Target) -> Rejected | None:
        """Return why nothing can be sent by this credential, or to this recipient."""
        if self._missing:
            return Rejected(self._missing, permanent=False, provider_down=True)
        return None if E164.fullmatch(target.recipient.address) else INVALID_RECIPIENT.rejected()

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
        if status == _TOO_MANY or (refused and code in self.throttled):
            return Throttled(wait(response.headers.get("retry-after", ""), self._clock.now()))
        refusal = (self.refusals.get(code) if refused else None) or STATUSES.get(status)
        if refusal is not None:
            return refusal.rejected()
        if status == _BAD_REQUEST and code:
            return Rejected(f"twilio_{code}", permanent=False, about_message=True)
        return unlisted(Twilio.name, status, answer)


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

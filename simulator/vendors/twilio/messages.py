"""Twilio's Messages resource: `POST /2010-04-01/Accounts/{sid}/Messages.json`, and the signed status callbacks.

`calls.py` has the Calls resource.

Sources (twilio.com/docs): messaging/api/message-resource (fields, answer, limits), messaging/guides/
webhook-request (texts that somebody writes), usage/twilios-response (errors),
iam/test-credentials (magic numbers), usage/security (signature), glossary/what-sms-character-limit (segments).

Calls are made as the account with its auth token, or with an API key (`SK…:secret`), which is what `keys` holds. The
numbers that Twilio documents for tests are refused as they are there. Others meet the behaviour of the whole number, by
the credential's `behaviours`, or of its `mix`.
"""

import base64
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from simulator.formats import forms
from simulator.formats.forms import Form
from simulator.model import RECEIVED, Answer, Content, Context, Message, Mode, Reply, Request
from simulator.vendors._vendor import Vendor, basic, hexadecimal, kept, later
from simulator.vendors.twilio import calls
from simulator.vendors.twilio.api import ACCOUNT, API, E164, REF_QUERY, Wrong, error, shown

SENDER: Final = "+15005550006"
MAX_FORM: Final = 2**20
MAX_BODY: Final = 1600
MAX_VALIDITY: Final = 36_000
FIELDS: Final = frozenset(
    {"To", "From", "MessagingServiceSid", "Body", "StatusCallback", "ValidityPeriod", "SmartEncoded", "ProvideFeedback"}
)
_PATH: Final = re.compile(rf"/{API}/Accounts/([A-Za-z0-9]+)(?:/(Messages|Calls))?\.json")
_SERVICE: Final = re.compile(r"MG[0-9a-f]{32}")
_SENDER: Final = re.compile(r"\+[1-9]\d{6,14}|\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}", re.ASCII)
_GSM: Final = re.compile(r"[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ -#¤%-?¡A-ZÄÖÑÜ§¿a-zäöñüà\f^{}\\\[~\]|€]*")
_GSM_TWICE: Final = re.compile(r"[\f^{}\\\[~\]|€]")

RECIPIENTS: Final[Mapping[str, tuple[int, str]]] = {
    "+15005550001": (21211, "Invalid 'To' Phone Number: {to}"),
    "+15005550002": (21612, "Message cannot be sent with the current combination of 'To' and/or 'From' parameters"),
    "+15005550003": (21408, "Permission to send an SMS has not been enabled for the region indicated by 'To': {to}"),
    "+15005550004": (21610, "Attempt to send to unsubscribed recipient"),
    "+15005550009": (21614, "'To' number is not a valid mobile number: {to}"),
}
SENDERS: Final[Mapping[str, tuple[int, str]]] = {
    "+15005550001": (21212, "Invalid From Number (caller ID): {from_}"),
    "+15005550007": (21606, "The 'From' number {from_} is not a valid, message-capable Twilio number for this account"),
    "+15005550008": (21611, "This 'From' number has exceeded the maximum number of queued messages"),
}

WORDS: dict[str, tuple[str, ...]] = {
    "deliver": ("sent", "delivered"),
    "read": ("sent", "delivered", "read"),
    "bounce": ("sent", "undelivered_30005"),
    "landline": ("sent", "undelivered_30006"),
    "blocked": ("sent", "undelivered_30007"),
    "drop": ("failed_30001",),
    "defer": ("queued", "sending", "sent", "delivered"),
    "expire": ("sent", "undelivered_30003"),
    "spam": ("failed_21610",),
    "segment": ("sent", "undelivered_30008", "delivered"),
    "lost_segment": ("sent", "undelivered_30005", "delivered"),
    "cancel": ("scheduled", "canceled"),
    "busy": ("sent", "undelivered_30003"),
    "late": ("queued", "sending"),
    "silent": (),
}
WORDS |= {name: WORDS["deliver"] for name in (x.removeprefix("call:") for x in calls.WORDS) if name not in WORDS}
"""Behaviour → statuses, with the error code where there is one. The two of segments: one fails, another arrives. A
behaviour that only a phone has changes nothing for a text."""


@dataclass(slots=True)
class Text(Message):
    """A message as Twilio keeps it. `service`: the Messaging Service that sent it, if any."""

    service: str = ""


class Twilio(Vendor):
    """The provider `twilio`; one account and auth token for all its credentials."""

    name = "twilio"
    roots = frozenset({API})
    default_key = "SK" + "6" * 32 + ":simulator"
    max_body = MAX_FORM
    outcomes: ClassVar[Mapping[str, tuple[str, ...]]] = {**WORDS, **calls.WORDS}

    def __init__(self, key_file: Path | None = None) -> None:
        self._token = kept(key_file, lambda: secrets.token_hex(16))

    # The API

    def _answer(self, request: Request, context: Context) -> Answer:
        path = _PATH.fullmatch(request.path)
        if path is None:
            raise Wrong(20404, f"The requested resource {request.path} was not found", 404)
        if basic(request) not in {*context.keys, f"{ACCOUNT}:{self._token}"} or path[1] != ACCOUNT:
            return Answer(self.refusal(Mode.UNAUTHORIZED, 401, 0))
        if request.method != ("POST" if path[2] else "GET"):
            raise Wrong(20004, "Method not allowed", 405)
        if not path[2]:
            account = {"sid": ACCOUNT, "friendly_name": "Simulated", "status": "active", "type": "Full"}
            return Answer(shown(200, account))
        try:
            form = forms.parse(request.header(b"content-type"), request.body)
        except forms.Malformed as e:
            raise Wrong(20001, str(e)) from None
        if path[2] == "Calls":
            return calls.created(form, request.size, context)
        text, validity = _text(form, request.size, context.id)
        return Answer(_created(text, context.at, validity), [text])

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:
        """Return Twilio's answer for an injected fault; see `Provider.refusal`."""
        if mode is Mode.THROTTLED:
            return later(error(429, 20429, "Too Many Requests"), retry_after)
        if mode is Mode.UNAUTHORIZED:
            return error(401, 20003, "Authenticate")
        if mode is Mode.GATEWAY:
            return error(status, 20500, "An internal server error has occurred")
        return error(status, 20503, "Service Unavailable")

    # The callback

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:  # noqa: ARG002 - Twilio has neither
        """Return the fields of one callback."""
        if isinstance(message, calls.PhoneCall):
            return calls.event(message, word)
        assert isinstance(message, Text)  # noqa: S101 - this provider makes no other
        if word == RECEIVED:
            return _received(message)
        status, _, code = word.partition("_")
        fields = {
            "AccountSid": ACCOUNT,
            "ApiVersion": API,
            "From": message.content.sender,
            "MessageSid": message.id,
            "MessageStatus": status,
            "SmsSid": message.id,
            "SmsStatus": status,
            "To": message.to,
        }
        if message.service:
            fields["MessagingServiceSid"] = message.service
        if code:
            fields |= {"ErrorCode": code, "ErrorMessage": ""}
        return fields

    def wrote(self, sender: str, to: str, text: str, fresh: str) -> Message:
        """Return a text that somebody writes; see `Writing`."""
        content = Content(sender, "", text, (), len(text))
        return Text(to or SENDER, "to", "", "Text", _sid(fresh), 0, content, {}, {})

    def post(self, events: list[dict[str, Any]], url: str, at: float) -> tuple[dict[str, str], bytes]:  # noqa: ARG002 - no time is signed
        """Return headers and body of one post, signed over the URL and its sorted fields."""
        (fields,) = events
        signed = url + "".join(name + fields[name] for name in sorted(fields))
        made = hmac.digest(self._token.encode(), signed.encode(), "sha1")
        headers = {
            "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
            "User-Agent": "TwilioProxy/1.1",
            "X-Twilio-Signature": base64.b64encode(made).decode(),
        }
        return headers, urlencode(fields).encode()

    def describe(self) -> dict[str, str]:
        """Return what a credential's secret has beside the API key."""
        return {"account_sid": ACCOUNT, "auth_token": self._token, "from": SENDER}


# Checks, in the order in which a message is read


def _check_options(callback: str, validity: str) -> None:
    """Raise `Wrong` for a callback that is no URL, or a validity out of its bounds."""
    parts = urlsplit(callback)
    if callback and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise Wrong(21609, f"The 'StatusCallback' URL {callback} is not a valid URL.")
    if validity and not (validity.isascii() and validity.isdigit() and 1 <= int(validity) <= MAX_VALIDITY):
        raise Wrong(21626, f"The ValidityPeriod {validity} is not within 1 to {MAX_VALIDITY} seconds")


def _text(form: Form, size: int, fresh: str) -> tuple[Text, str]:
    """Return the message that a form asks for, and its validity as given; raise `Wrong`."""
    for name, values in form.fields.items():
        if name not in FIELDS or len(values) > 1:
            raise Wrong(20001, f"Unexpected parameter {name}")
    to, body, callback = form.first("To"), form.first("Body"), form.first("StatusCallback")
    sender, service = _sender(form)
    if not body:
        raise Wrong(21602, "Message body is required.")
    if len(body) > MAX_BODY:
        raise Wrong(21617, "The concatenated message body exceeds the 1600 character limit.")
    _check_recipient(to, sender)
    validity = form.first("ValidityPeriod")
    _check_options(callback, validity)
    found = Text(
        to=to,
        role="to",
        ref=dict(parse_qsl(urlsplit(callback).query)).get(REF_QUERY, ""),
        subject="",
        id=_sid(fresh),
        index=0,
        content=Content(sender, "", body, (), size),
        args={},
        values={},
        callback=callback,
        service=service,
    )
    return found, validity


def _sid(fresh: str) -> str:
    """Return the id of a message."""
    return "SM" + hexadecimal(fresh)


def _received(text: Text) -> dict[str, Any]:
    """Return the fields by which a text that somebody wrote is reported."""
    return {
        "AccountSid": ACCOUNT,
        "ApiVersion": API,
        "Body": text.content.text,
        "From": text.content.sender,
        "MessageSid": text.id,
        "NumMedia": "0",
        "NumSegments": str(segments(text.content.text)),
        "SmsMessageSid": text.id,
        "SmsSid": text.id,
        "SmsStatus": RECEIVED,
        "To": text.to,
    }


def _check_recipient(to: str, sender: str) -> None:
    if not to:
        raise Wrong(21604, "A 'To' phone number is required.")
    if not E164.fullmatch(to):
        raise Wrong(21211, f"Invalid 'To' Phone Number: {to}")
    if to in RECIPIENTS:
        code, message = RECIPIENTS[to]
        raise Wrong(code, message.format(to=to))
    if to == sender:
        raise Wrong(21266, "'To' and 'From' number cannot be the same")


def _sender(form: Form) -> tuple[str, str]:
    """Return the sender, and the service that chose it."""
    sender, service = form.first("From"), form.first("MessagingServiceSid")
    if service and not _SERVICE.fullmatch(service):
        raise Wrong(21701, f"The Messaging Service {service} does not exist", 404)
    if not sender and not service:
        raise Wrong(21603, "A 'From' phone number is required.")
    if sender in SENDERS:
        code, message = SENDERS[sender]
        raise Wrong(code, message.format(from_=sender))
    if sender and not _SENDER.fullmatch(sender):
        raise Wrong(21212, f"Invalid From Number (caller ID): {sender}")
    return sender or SENDER, service


def segments(text: str) -> int:
    """Return in how many segments a text travels: septets if the GSM alphabet has all of it, else UTF-16 units."""
    if _GSM.fullmatch(text):
        units, alone, joined = len(text) + len(_GSM_TWICE.findall(text)), 160, 153
    else:
        units, alone, joined = len(text.encode("utf-16-le")) // 2, 70, 67
    return 1 if units <= alone else -(-units // joined)


def _created(text: Text, at: float, validity: str) -> Reply:
    """Return the message as Twilio shows it; one of a service has no sender and no segments yet."""
    moment = format_datetime(datetime.fromtimestamp(at, UTC))
    uri = f"/{API}/Accounts/{ACCOUNT}/Messages/{text.id}"
    body = {
        "account_sid": ACCOUNT,
        "api_version": API,
        "body": text.content.text,
        "date_created": moment,
        "date_sent": None,
        "date_updated": moment,
        "direction": "outbound-api",
        "error_code": None,
        "error_message": None,
        "from": None if text.service else text.content.sender,
        "messaging_service_sid": text.service or None,
        "num_media": "0",
        "num_segments": "0" if text.service else str(segments(text.content.text)),
        "price": None,
        "price_unit": "USD",
        "sid": text.id,
        "status": "accepted" if text.service else "queued",
        "subresource_uris": {"media": f"{uri}/Media.json"},
        "to": text.to,
        "uri": f"{uri}.json",
        **({"validity_period": validity} if validity else {}),
    }
    return shown(201, body)


PROVIDER: Final = Twilio

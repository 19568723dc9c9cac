"""Twilio's feedback: one status callback per post, a form, signed over the URL that it was posted to and its fields.

Sources (twilio.com/docs): usage/security and usage/webhooks/webhooks-security (signature), messaging/guides/
track-outbound-message-status (statuses), api/errors/<code> (codes).
The secret's `auth_token`: several, separated by commas, while it is rotated. `webhook_url`: the address that Twilio
knows, if the post came in by another one.

The signature has no time in it. A replay is harmless: it says again what was said of the same attempt.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs, parse_qsl

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.times import Seconds
from shared.ports import POSTED_AT, POSTED_TO, BadEvents, BadSignature, Reading
from shared.providers._common import keys
from shared.providers._texts import MAX_ID, MAX_TEXT, clean, digits, redacted
from shared.providers.twilio.twiml import REF_QUERY

SIGNATURE_HEADER: Final = "x-twilio-signature"
MAX_FIELDS: Final = 200
"""Twilio posts about a dozen."""
_ORIGIN: Final = re.compile(r"(https?)://(\[[^\]]*\]|[^:/?#]*)(?::([0-9]{1,5}))?(?=[/?#]|$)")
_PORTS: Final = {"https": "443", "http": "80"}
_CODE: Final = re.compile(r"[0-9]{1,6}")
_NUMBER: Final = re.compile(r"\+?[0-9][0-9 ().-]{5,}[0-9]")
"""A telephone number in words."""

STATUSES: Final[Mapping[str, ProviderEventKind]] = {
    "accepted": ProviderEventKind.ACCEPTED,
    "scheduled": ProviderEventKind.ACCEPTED,
    "queued": ProviderEventKind.ACCEPTED,
    "sending": ProviderEventKind.ACCEPTED,
    "sent": ProviderEventKind.ACCEPTED,
    "delivered": ProviderEventKind.DELIVERED,
    "read": ProviderEventKind.DELIVERED,
    "undelivered": ProviderEventKind.BLOCKED,
    "failed": ProviderEventKind.DROPPED,
    "canceled": ProviderEventKind.DROPPED,
}
"""Status → word, if the error code does not say more. `undelivered`: the carrier was asked; `failed`: it was not.
The others (receiving, received, partially_delivered) are not about a text that was sent."""
ENDS: Final = frozenset({"delivered", "read", "undelivered", "failed"})
"""Statuses whose error code, if they have one, decides: a text of which a segment failed is not delivered."""
CODES: Final[Mapping[str, ProviderEventKind]] = {
    "21610": ProviderEventKind.COMPLAINED,  # the recipient said STOP
    "21211": ProviderEventKind.BOUNCED,  # invalid "To" phone number
    "21217": ProviderEventKind.BOUNCED,  # the phone number does not appear to be valid
    "21614": ProviderEventKind.BOUNCED,  # the "To" number is not a valid mobile number
    "21635": ProviderEventKind.BOUNCED,  # the "To" number is not one for SMS: a landline
    "30005": ProviderEventKind.BOUNCED,  # the number is unknown or no longer exists
    "30006": ProviderEventKind.BOUNCED,  # a landline
    "30001": ProviderEventKind.DROPPED,  # queue overflow
    "30002": ProviderEventKind.DROPPED,  # the account is suspended
    "30003": ProviderEventKind.FAILED_TEMPORARILY,  # the phone may be off
    "30004": ProviderEventKind.BLOCKED,  # blocked: a filter's opinion of this sender and text
    "30007": ProviderEventKind.BLOCKED,  # filtered: the same
    "30008": ProviderEventKind.FAILED_TEMPORARILY,  # unknown error: it may be anything
    "30036": ProviderEventKind.FAILED_TEMPORARILY,  # its validity expired
    "30410": ProviderEventKind.FAILED_TEMPORARILY,  # the provider timed out
    "63016": ProviderEventKind.BLOCKED,  # WhatsApp needs a template
    "63024": ProviderEventKind.BLOCKED,  # the number has no WhatsApp
}
"""Error code → word. Those that complain or bounce are hard: they suppress the number. The others are soft: another
provider may be tried. For a code that is not here the status decides."""


class TwilioWebhooks:
    """Reads Twilio's callbacks. Implements `ports.WebhookReader`; safe for threads."""

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: Seconds) -> None:  # noqa: ARG002 - of the port
        """Check HMAC-SHA1 over the URL and the fields sorted, with any of the secret's tokens, in constant time.

        Twilio signs the URL with its port or without it, so either is valid.

        Raises:
            BadSignature: `no_key`, `unsigned` or `wrong_signature`.
        """
        known = keys(secret.get("auth_token", ""))
        if not known:
            raise BadSignature("no_key")
        fields = _fields(body)
        urls = _spellings(_url(headers, secret))
        given = _signature(headers.get(SIGNATURE_HEADER, ""))
        if fields is None or not urls or not given:
            raise BadSignature("unsigned")
        text = _signed_text(fields)
        signed = [(url + text).encode("utf-8", "replace") for url in urls]
        made = [hmac.digest(key.encode("utf-8", "replace"), one, "sha1") for key in known for one in signed]
        # No early end: how long it takes tells nothing about which key or spelling came near.
        if not sum([hmac.compare_digest(ours, given) for ours in made]):
            raise BadSignature("wrong_signature")

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:
        """Return the words of a callback, if it is ours. Twilio gives no time, so it is that of the post.

        Raises:
            BadEvents: the body is not a form about a message or a call.
        """
        every = _fields(body)
        if every is None:
            raise BadEvents("not_a_form")
        fields = {name: values[0] for name, values in every.items()}
        ref = parse_qs(headers.get(POSTED_TO, "").partition("?")[2]).get(REF_QUERY, [""])[0]
        at = int(text) if digits(text := headers.get(POSTED_AT, "")) else 0
        if "CallSid" in fields and "MessageSid" not in fields:
            return self._call(ref, fields, headers, at)
        if fields.get("SmsStatus") == "received" and "MessageStatus" not in fields:
            from shared.providers.twilio.inbound import texts  # noqa: PLC0415 - most posts are about our own texts

            return texts(fields, at)
        return self._text(ref, fields, at)

    def _text(self, ref: str, fields: Mapping[str, str], at: int) -> Reading:
        """Read a post about a text that was sent."""
        sid, status = fields.get("MessageSid", ""), fields.get("MessageStatus", "")
        if not sid or not status:
            raise BadEvents("no_status")
        code = fields.get("ErrorCode", "")
        code = code if _CODE.fullmatch(code) and code.strip("0") else ""
        kind = _kind(status, code)
        if kind is None or Ref.parse(ref) is None:
            return Reading(1, [])
        said = fields.get("ErrorMessage") or fields.get("ChannelStatusMessage", "")
        detail = redacted(_NUMBER.sub("<number>", clean(said, MAX_TEXT)))
        return Reading(1, [ProviderEvent(ref, kind.value, at, clean(sid, MAX_ID), code, detail)])

    def _call(self, ref: str, fields: Mapping[str, str], headers: Mapping[str, str], at: int) -> Reading:
        """Read a post about a call."""
        if not fields["CallSid"] or not (fields.get("CallStatus") or "Digits" in fields):
            raise BadEvents("no_status")
        if Ref.parse(ref) is None:
            return Reading(1, [])
        from shared.providers.twilio.call_events import call_words  # noqa: PLC0415 - most posts are about texts

        return call_words(ref, fields, headers.get(POSTED_TO, ""), at)


def _kind(status: str, code: str) -> ProviderEventKind | None:
    """Judge a status by its error code; None if it changes nothing. A success with an unknown error is soft."""
    kind = STATUSES.get(status)
    if kind is None or not code or status not in ENDS:
        return kind
    return CODES.get(code, ProviderEventKind.BLOCKED if kind is ProviderEventKind.DELIVERED else kind)


def _fields(body: bytes) -> dict[str, list[str]] | None:
    """Return a form's fields, each with all its values, empty ones too; None if it is no form."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="replace", max_num_fields=MAX_FIELDS)
    except ValueError:
        return None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _url(headers: Mapping[str, str], secret: Mapping[str, str]) -> str:
    """Return the URL as Twilio knows it."""
    came_by, told = headers.get(POSTED_TO, ""), secret.get("webhook_url", "").strip()
    query = came_by.partition("?")[2]
    return f"{told}?{query}" if told and query else told or came_by


def _spellings(url: str) -> list[str]:
    """Return a URL with and without its port; none if it is not one of the web."""
    match = _ORIGIN.match(url)
    if match is None or not match[2]:
        return []
    scheme, host, port = match.groups()
    rest = url[match.end() :]
    return [f"{scheme}://{host}{rest}", f"{scheme}://{host}:{port or _PORTS[scheme]}{rest}"]


def _signature(header: str) -> bytes:
    """Return a signature; empty if the header holds none."""
    try:
        return base64.b64decode(header, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _signed_text(fields: Mapping[str, Sequence[str]]) -> str:
    """Return the fields as they are signed: names and values, each value once, sorted."""
    return "".join([name + value for name in sorted(fields) for value in sorted(set(fields[name]))])

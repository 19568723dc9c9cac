"""SendGrid's feedback: the signed Event Webhook.

Sources (twilio.com/docs/sendgrid): for-developers/tracking-events/event (events) and
…/getting-started-event-webhook-security-features (signature).
The secret's `webhook_public_key`: as the settings page shows it, base64 of a DER SubjectPublicKeyInfo; several,
separated by commas, while keys are rotated.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.outcomes import UNSUBSCRIBED
from shared.domain.times import Seconds
from shared.ports import BadEvents, BadSignature, Reading
from shared.providers._common import REF_ARG, TO_ARG, digest, keys, posted_json
from shared.providers._texts import MAX_AT, MAX_ID, MAX_TEXT, check_age, clean, digits, redacted

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

SIGNATURE_HEADER: Final = "x-twilio-email-event-webhook-signature"
TIMESTAMP_HEADER: Final = "x-twilio-email-event-webhook-timestamp"
MAX_AGE: Final = 25 * 3600.0
"""Seconds. SendGrid retries a post for 24 h and does not say whether it signs each try anew. So the first signature has
to hold that long. A replay within that time is harmless: (ref, word, time) identifies a word."""

EVENTS: Final[Mapping[str, ProviderEventKind]] = {
    "processed": ProviderEventKind.ACCEPTED,
    "deferred": ProviderEventKind.DEFERRED,
    "delivered": ProviderEventKind.DELIVERED,
    "dropped": ProviderEventKind.DROPPED,
    "bounce": ProviderEventKind.BOUNCED,
    "spamreport": ProviderEventKind.COMPLAINED,
    "unsubscribe": ProviderEventKind.UNSUBSCRIBED,
    "group_unsubscribe": ProviderEventKind.UNSUBSCRIBED,
    "group_resubscribe": ProviderEventKind.RESUBSCRIBED,
}
"""The others (open, click) change nothing."""
DROPS: Final[Mapping[str, ProviderEventKind]] = {
    "bounced address": ProviderEventKind.BOUNCED,
    "invalid": ProviderEventKind.BOUNCED,
    "spam reporting address": ProviderEventKind.COMPLAINED,
}
"""Reasons of a drop that are about the address: SendGrid remembers a hard bounce or a complaint. Another provider must
not be tried (the mailbox is as dead there, and the recipient has said no), so these words are hard and suppress. An
opt-out (LEFT) keeps campaigns away, while another provider may carry what is no campaign. The rest (Spam Content,
Invalid SMTPAPI header, Recipient List over Package Quota) is about this account."""
LEFT: Final = "unsubscribed address"


class SendGridWebhooks:
    """Reads posts of the Event Webhook. Implements `ports.WebhookReader`; safe for threads."""

    def __init__(self) -> None:
        self._keys: dict[str, EllipticCurvePublicKey | None] = {}

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: Seconds) -> None:
        """Check ECDSA P-256/SHA-256 over timestamp + raw body with any of the secret's keys.

        Raises:
            BadSignature: `no_key`, `unsigned`, `too_old`, `too_new` or `wrong_signature`.
        """
        known = [key for key in map(self._key, keys(secret.get("webhook_public_key", ""))) if key is not None]
        if not known:
            raise BadSignature("no_key")
        timestamp = headers.get(TIMESTAMP_HEADER, "")
        try:
            signature = base64.b64decode(headers.get(SIGNATURE_HEADER, ""), validate=True)
        except (binascii.Error, ValueError):
            signature = b""
        if not signature or not digits(timestamp):
            raise BadSignature("unsigned")
        check_age(int(timestamp), now, most=MAX_AGE)
        signed = timestamp.encode() + body
        if not any(_holds(key, signature, signed) for key in known):
            raise BadSignature("wrong_signature")

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:
        """Return the words of a post. An event without a time of its own gets that of the post.

        Raises:
            BadEvents: the body is not a JSON array of objects.
        """
        events = posted_json(body)
        if not isinstance(events, list) or not all(isinstance(e, dict) for e in events):
            raise BadEvents("not_an_array_of_objects")
        sent = headers.get(TIMESTAMP_HEADER, "")
        sent_at = int(sent) if digits(sent) else 0
        return Reading(len(events), [word for event in events if (word := _word(event, sent_at)) is not None])

    def _key(self, text: str) -> "EllipticCurvePublicKey | None":
        if text not in self._keys:
            if len(self._keys) > 64:  # noqa: PLR2004 - many more than a deployment has
                self._keys.clear()
            self._keys[text] = _parse_key(text)
        return self._keys[text]


def _parse_key(text: str) -> "EllipticCurvePublicKey | None":
    # 30 ms of imports that only a signed post has to pay
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_der_public_key  # noqa: PLC0415

    try:
        key = load_der_public_key(base64.b64decode(text, validate=True))
    except (ValueError, TypeError):
        return None
    return key if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1) else None


def _holds(key: "EllipticCurvePublicKey", signature: bytes, signed: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    try:
        key.verify(signature, signed, ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def _bounce(how: object, code: str) -> ProviderEventKind:
    """Return what SendGrid means by a bounce of a type."""
    if how == "bounce":
        return ProviderEventKind.BOUNCED
    # Deferred for 72 hours and given up: a temporary failure to the end. Otherwise refused, but not as unknown.
    return (
        ProviderEventKind.FAILED_TEMPORARILY if how == "expired" or code.startswith("4") else ProviderEventKind.BLOCKED
    )


def _moment(event: Mapping[str, Any], sent_at: int) -> int:
    """Return an event's time, else that of the post; in Unix seconds."""
    at = event.get("timestamp")
    return int(at) if isinstance(at, int) and 0 < at <= MAX_AT else sent_at


def _drop(reason: str, code: str) -> tuple[ProviderEventKind, str]:
    """Return what SendGrid means by a message that it did not send, and its code."""
    if reason == LEFT:
        return DROPS.get(reason, ProviderEventKind.DROPPED), UNSUBSCRIBED
    return DROPS.get(reason, ProviderEventKind.DROPPED), code or reason.replace(" ", "_")[:MAX_ID]


def _word(event: Mapping[str, Any], sent_at: int) -> ProviderEvent | None:
    """Normalise one event; None if it is not ours or changes nothing."""
    ref = event.get(REF_ARG)
    name = event.get("event")
    if not isinstance(ref, str) or not isinstance(name, str):
        return None
    kind = EVENTS.get(name)
    if kind is None or Ref.parse(ref) is None:
        return None
    detail = clean(event.get("reason") or event.get("response"), MAX_TEXT)
    code = clean(event.get("status"), MAX_ID)
    if kind is ProviderEventKind.DROPPED:
        kind, code = _drop(detail.lower(), code)
    elif kind is ProviderEventKind.BOUNCED:
        kind = _bounce(event.get("type", "bounce"), code)
    message = clean(event.get("sg_message_id"), MAX_ID).partition(".")[0]
    secondary = TO_ARG in event and event[TO_ARG] != digest(ref, str(event.get("email", "")))
    return ProviderEvent(
        ref, kind.value, _moment(event, sent_at), message, code, redacted(detail, event.get("email")), secondary
    )

"""Postmark's feedback: one event per post, by HTTP Basic authentication; nothing is signed.

Sources (postmarkapp.com): developer/webhooks/webhooks-overview (authentication), …/webhooks/delivery-webhook,
bounce-webhook, spam-complaint-webhook and subscription-change-webhook, developer/api/bounce-api (types).
The secret's `webhook_auth`: `user:password` as in the webhook's URL; several, separated by commas, while it is rotated.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from typing import Any, Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.times import Seconds
from shared.ports import POSTED_AT, BadEvents, BadSignature, Reading
from shared.providers._common import REF_ARG, TO_ARG, digest, keys, posted_json
from shared.providers._texts import MAX_ID, MAX_TEXT, clean, digits, iso_seconds, redacted

BOUNCES: Final[Mapping[str, ProviderEventKind]] = {
    "HardBounce": ProviderEventKind.BOUNCED,
    "BadEmailAddress": ProviderEventKind.BOUNCED,
    "SpamComplaint": ProviderEventKind.COMPLAINED,
    "Unsubscribe": ProviderEventKind.UNSUBSCRIBED,
    "Subscribe": ProviderEventKind.RESUBSCRIBED,
    "Transient": ProviderEventKind.DEFERRED,
    "SoftBounce": ProviderEventKind.FAILED_TEMPORARILY,
    "DnsError": ProviderEventKind.FAILED_TEMPORARILY,
    "SpamNotification": ProviderEventKind.BLOCKED,
    "VirusNotification": ProviderEventKind.BLOCKED,
    "Blocked": ProviderEventKind.BLOCKED,
    "DMARCPolicy": ProviderEventKind.BLOCKED,
    "Unknown": ProviderEventKind.BLOCKED,
    "ManuallyDeactivated": ProviderEventKind.DROPPED,
    "Unconfirmed": ProviderEventKind.DROPPED,
    "SMTPApiError": ProviderEventKind.DROPPED,
    "TemplateRenderingFailed": ProviderEventKind.DROPPED,
}
"""Type of a bounce → meaning. A transient one may still be delivered, so it changes no state. The others (an automatic
answer, a changed address, a challenge, an inbound error) say nothing of the message."""
TIMES: Final = ("DeliveredAt", "BouncedAt", "ChangedAt")


class PostmarkWebhooks:
    """Reads Postmark's posts. Implements `ports.WebhookReader`; safe for threads."""

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: Seconds) -> None:  # noqa: ARG002 - of the port
        """Compare user name and password with any of the secret's, in constant time.

        Raises:
            BadSignature: `no_key`, `unsigned` or `wrong_password`.
        """
        known = [pair.encode("utf-8", "replace") for pair in keys(secret.get("webhook_auth", "")) if _pair(pair)]
        if not known:
            raise BadSignature("no_key")
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            raise BadSignature("unsigned")
        try:
            given = base64.b64decode(text.strip(), validate=True)
        except (binascii.Error, ValueError):
            raise BadSignature("unsigned") from None
        # No early end: how long it takes does not show which pair came near.
        if not sum([hmac.compare_digest(pair, given) for pair in known]):
            raise BadSignature("wrong_password")

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:
        """Return the word of a post, if it is ours. An event without a time of its own gets that of the post.

        Raises:
            BadEvents: the body is not a JSON object with a text `RecordType`.
        """
        event = posted_json(body)
        if not isinstance(event, dict) or not isinstance(event.get("RecordType"), str):
            raise BadEvents("no_event")
        posted = headers.get(POSTED_AT, "")
        word = _word(event, int(posted) if digits(posted) else 0)
        return Reading(1, [] if word is None else [word])


def _pair(text: str) -> bool:
    """Tell whether a text is a user name and a password, neither of them empty."""
    user, _, password = text.partition(":")
    return bool(user and password)


def _word(event: Mapping[str, Any], posted: int) -> ProviderEvent | None:
    """Normalise one event; None if it is not ours or changes nothing."""
    metadata = event.get("Metadata")
    if not isinstance(metadata, dict):
        return None
    ref, kind = metadata.get(REF_ARG), _kind(event)
    if not isinstance(ref, str) or Ref.parse(ref) is None or kind is None:
        return None
    at = next((moment for name in TIMES if (moment := iso_seconds(event.get(name)))), posted)
    code = clean(event.get("Type"), MAX_ID)
    address = event.get("Recipient") or event.get("Email")
    detail = redacted(clean(event.get("Details") or event.get("Description"), MAX_TEXT), address)
    secondary = TO_ARG in metadata and metadata[TO_ARG] != digest(ref, str(address))
    return ProviderEvent(ref, kind.value, at, clean(event.get("MessageID"), MAX_ID), code, detail, secondary)


def _kind(event: Mapping[str, Any]) -> ProviderEventKind | None:
    """Return what an event means; None if it changes nothing (opens, clicks, inbound mail)."""
    match event["RecordType"]:
        case "Delivery":
            return ProviderEventKind.DELIVERED
        case "SpamComplaint":
            return ProviderEventKind.COMPLAINED
        case "Bounce":
            kind = event.get("Type")
            return BOUNCES.get(kind) if isinstance(kind, str) else None
        case "SubscriptionChange":
            return _wish(event)
        case _:
            return None


def _wish(event: Mapping[str, Any]) -> ProviderEventKind | None:
    """Return what a recipient has asked for; None if a bounce, a complaint or the server's owner changed the list."""
    if event.get("Origin") != "Recipient":
        return None
    if event.get("SuppressSending") is False:
        return ProviderEventKind.RESUBSCRIBED
    return ProviderEventKind.UNSUBSCRIBED if event.get("SuppressionReason") == "ManualSuppression" else None

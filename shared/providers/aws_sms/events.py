"""Feedback of AWS End User Messaging: events that a configuration set publishes to an SNS topic.

Sources (docs.aws.amazon.com/sms-voice/latest/userguide): configuration-sets-event-types, …-event-format. `_sns` holds
which posts are believed. They come by the feedback queue, to which the topic is subscribed inside the account
(`from_topic`), or over HTTP (`AwsSmsWebhooks`).
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import ProviderEventKind
from shared.ports import BadEvents, Reading
from shared.providers._common import REF_ARG
from shared.providers._sns import SnsWebhooks, event_of, inner, notification, seconds, text
from shared.providers._texts import MAX_ID, MAX_TEXT, clean, redacted
from shared.providers.aws_sms.inbound import is_inbound
from shared.providers.aws_sms.inbound import words as texts

CREDENTIAL_ARG: Final = "posthaste_credential"
"""Key of the credential's id in `Context`."""
KINDS: Final = ("TEXT_", "VOICE_", "MEDIA_", "RCS_")
"""How the names of this service's events begin; another service's topic feeds the same queue."""
MAX_AT_MS: Final = 99_999_999_999_999

EVENTS: Final[Mapping[str, ProviderEventKind]] = {
    "TEXT_PENDING": ProviderEventKind.ACCEPTED,
    "TEXT_QUEUED": ProviderEventKind.ACCEPTED,
    "TEXT_SENT": ProviderEventKind.ACCEPTED,
    "TEXT_SUCCESSFUL": ProviderEventKind.ACCEPTED,
    "TEXT_DELIVERED": ProviderEventKind.DELIVERED,
    "TEXT_INVALID": ProviderEventKind.BOUNCED,
    "TEXT_INVALID_MESSAGE": ProviderEventKind.BLOCKED,
    "TEXT_UNREACHABLE": ProviderEventKind.FAILED_TEMPORARILY,
    "TEXT_CARRIER_UNREACHABLE": ProviderEventKind.FAILED_TEMPORARILY,
    "TEXT_BLOCKED": ProviderEventKind.BLOCKED,
    "TEXT_CARRIER_BLOCKED": ProviderEventKind.BLOCKED,
    "TEXT_SPAM": ProviderEventKind.BLOCKED,
    "TEXT_UNKNOWN": ProviderEventKind.ACCEPTED,
    "TEXT_TTL_EXPIRED": ProviderEventKind.FAILED_TEMPORARILY,
    "TEXT_PROTECT_BLOCKED": ProviderEventKind.DROPPED,
    "VOICE_INITIATED": ProviderEventKind.ACCEPTED,
    "VOICE_RINGING": ProviderEventKind.ACCEPTED,
    "VOICE_ANSWERED": ProviderEventKind.ACCEPTED,
    "VOICE_COMPLETED": ProviderEventKind.DELIVERED,
    "VOICE_BUSY": ProviderEventKind.FAILED_TEMPORARILY,
    "VOICE_NO_ANSWER": ProviderEventKind.FAILED_TEMPORARILY,
    "VOICE_FAILED": ProviderEventKind.FAILED_TEMPORARILY,
    "VOICE_TTL_EXPIRED": ProviderEventKind.FAILED_TEMPORARILY,
}
"""Event → word. `TEXT_SUCCESSFUL`: the carrier took it; in some countries no more is known. `TEXT_INVALID`:
the number does not exist. `TEXT_SPAM` is the carrier's opinion of the text, no complaint. `TEXT_UNKNOWN` comes after 72
hours without a receipt: the carrier has the message, so no other provider is asked. Events of other kinds (MEDIA, RCS)
are about messages that are not sent here."""


class AwsSmsWebhooks(SnsWebhooks):
    """Reads posts of SNS about events of SMS and calls."""

    def __init__(self) -> None:
        super().__init__(_reading)


def from_topic(body: str) -> tuple[str, list[ProviderEvent]]:
    """Read a message of the feedback queue that SNS put there: the credential and its words.

    Nothing is verified: only our topic may send to the queue.

    Returns:
        An empty credential if the event is none of ours. A text that a recipient wrote names no credential either: its
        word has the number that it was written to.

    Raises:
        BadEvents: it is no notification of SNS about an event of an SMS or a call.
    """
    message = notification(body)
    event = _event(message)
    if is_inbound(event):
        return "", texts(event, seconds(message.get("Timestamp")))
    credential = text(inner(event, "context"), CREDENTIAL_ARG)
    return credential, _words(event, seconds(message.get("Timestamp"))) if credential else []


def _reading(message: Mapping[str, Any]) -> Reading:
    """Read a notification that is verified."""
    event, published = _event(message), seconds(message.get("Timestamp"))
    return Reading(1, texts(event, published) if is_inbound(event) else _words(event, published))


def _event(message: Mapping[str, Any]) -> Mapping[str, Any]:
    event = event_of(message)
    if not text(event, "eventType").startswith(KINDS) and not is_inbound(event):
        raise BadEvents("not_an_event")
    return event


def _words(event: Mapping[str, Any], published: int) -> list[ProviderEvent]:
    name = text(event, "eventType")
    ref, kind = text(inner(event, "context"), REF_ARG), _kind(event, name)
    if kind is None or Ref.parse(ref) is None:
        return []
    at = event.get("eventTimestamp")
    when = at // 1000 if type(at) is int and 0 < at <= MAX_AT_MS else published
    code = "" if kind in (ProviderEventKind.ACCEPTED, ProviderEventKind.DELIVERED) else name.lower()
    detail = redacted(clean(text(event, "messageStatusDescription"), MAX_TEXT))
    return [ProviderEvent(ref, kind.value, when, clean(event.get("messageId"), MAX_ID), code, detail)]


def _kind(event: Mapping[str, Any], name: str) -> ProviderEventKind | None:
    """Return the word of an event. No report follows a final success, so it counts as a delivery."""
    kind = EVENTS.get(name)
    if name == "TEXT_SUCCESSFUL" and event.get("isFinal") is True:
        return ProviderEventKind.DELIVERED
    return kind

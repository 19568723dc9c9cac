"""SES's feedback: events that a configuration set publishes to an SNS topic.

They come by the feedback queue, to which the topic is subscribed inside the account (`from_topic`), or over HTTP, where
SNS signs its posts (`SesWebhooks`).

Sources (docs.aws.amazon.com): ses/latest/dg/event-publishing-retrieving-sns-contents (events), …/notification-contents
(types of bounces). `_sns` holds which posts are believed, by which fields of the secret.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.contracts import ProviderEvent
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.outcomes import UNSUBSCRIBED
from shared.ports import BadEvents, Reading
from shared.providers._common import REF_ARG, TO_ARG, digest
from shared.providers._sns import SnsWebhooks, event_of, inner, notification, seconds, text
from shared.providers._texts import MAX_ID, MAX_TEXT, clean, redacted

CREDENTIAL_ARG: Final = "posthaste_credential"
"""The tag that names the credential: what comes by the topic has no address to tell it by."""
VALIDATION: Final = "Successfully validated SNS topic for Amazon SES event publishing."
"""SES publishes this to a topic when an event destination is made."""
MAX_RECIPIENTS: Final = 50

EVENTS: Final[Mapping[str, ProviderEventKind]] = {
    "Send": ProviderEventKind.ACCEPTED,
    "Delivery": ProviderEventKind.DELIVERED,
    "DeliveryDelay": ProviderEventKind.DEFERRED,
    "Bounce": ProviderEventKind.BOUNCED,
    "Complaint": ProviderEventKind.COMPLAINED,
    "Reject": ProviderEventKind.DROPPED,
    "Rendering Failure": ProviderEventKind.DROPPED,
    "Subscription": ProviderEventKind.UNSUBSCRIBED,
}
"""The others (Open, Click) change nothing."""
PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "Send": ("send", ""),
    "Delivery": ("delivery", "recipients"),
    "DeliveryDelay": ("deliveryDelay", "delayedRecipients"),
    "Bounce": ("bounce", "bouncedRecipients"),
    "Complaint": ("complaint", "complainedRecipients"),
    "Reject": ("reject", ""),
    "Rendering Failure": ("failure", ""),
    "Subscription": ("subscription", ""),
}
"""Event → the place of its particulars and of its recipients; without them it is about the message."""
REFUSED: Final = frozenset({"contentrejected", "messagetoolarge", "attachmentrejected"})
"""Subtypes of a transient bounce that no waiting fixes, while the mailbox is all right."""


class SesWebhooks(SnsWebhooks):
    """Reads posts of SNS about events of SES."""

    def __init__(self) -> None:
        super().__init__(_reading)


def from_topic(body: str) -> tuple[str, list[ProviderEvent]]:
    """Read a message of the feedback queue that SNS put there: the credential and its words.

    Nothing is verified: only our topic may send to the queue.

    Returns:
        An empty credential if the event is none of ours.

    Raises:
        BadEvents: it is no notification of SNS about an event of SES.
    """
    message = notification(body)
    event = _event(message)
    credential = _tag(event, CREDENTIAL_ARG)
    return credential, _words(event, seconds(message.get("Timestamp"))) if credential else []


# Events


def _reading(message: Mapping[str, Any]) -> Reading:
    """Read a notification that is verified."""
    event = _event(message)
    return Reading(1, _words(event, seconds(message.get("Timestamp"))))


def _event(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the event within a notification; empty for SES's word that it can publish to the topic."""
    event = event_of(message)
    if not event and text(message, "Message").strip() != VALIDATION:
        raise BadEvents("not_an_event")
    return event


def _tag(event: Mapping[str, Any], name: str) -> str:
    """Return our value of a tag; SES lists the values of each."""
    values = inner(inner(event, "mail"), "tags").get(name)
    value = values[0] if isinstance(values, list) and values else ""
    return value if isinstance(value, str) else ""


def _kind(kind: ProviderEventKind, part: Mapping[str, Any]) -> ProviderEventKind | None:
    """Return what an event of a kind says by its own part; None if it says nothing for us."""
    if kind is ProviderEventKind.COMPLAINED and part.get("complaintFeedbackType") == "not-spam":
        return None  # somebody took it out of the spam folder
    return _preference(part) if kind is ProviderEventKind.UNSUBSCRIBED else kind


def _person(person: object) -> tuple[Mapping[str, Any], str]:
    """Return what an event says of one recipient, and its address; empty where it says nothing."""
    said = person if isinstance(person, dict) else {}
    return said, person if isinstance(person, str) else text(said, "emailAddress")


def _people(part: Mapping[str, Any], listed: str) -> list[object]:
    """Return the recipients that an event lists, of which there is one unknown where it lists none."""
    recipients = part.get(listed) if listed else None
    return recipients[:MAX_RECIPIENTS] if isinstance(recipients, list) and recipients else [None]


def _moment(part: Mapping[str, Any], mail: Mapping[str, Any]) -> int:
    """Return the time of an event, else that of its message; 0 if it has neither."""
    return seconds(part.get("timestamp")) or seconds(mail.get("timestamp"))


def _words(event: Mapping[str, Any], published: int) -> list[ProviderEvent]:
    """Normalise one event: a word about our recipient, and one about each cc or bcc it names.

    An event without a time of its own gets the message's, and at last the notification's.
    """
    ref, name = _tag(event, REF_ARG), text(event, "eventType")
    if name not in EVENTS or Ref.parse(ref) is None:
        return []
    mail = inner(event, "mail")
    where, listed = PARTS[name]
    part = inner(event, where)
    kind = _kind(EVENTS[name], part)
    if kind is None:
        return []
    at = _moment(part, mail) or published
    message = clean(mail.get("messageId"), MAX_ID)
    people = _people(part, listed)
    ours = _tag(event, TO_ARG)
    words = []
    for person in people if ours else people[:1]:
        said, address = _person(person)
        secondary = bool(ours and address) and ours != digest(ref, address)
        status = clean(said.get("status"), MAX_ID)
        found = _bounce(part, status) if kind is ProviderEventKind.BOUNCED else kind
        code = _code(name, part, status)
        detail = redacted(clean(_detail(part, said), MAX_TEXT), address)
        words.append(ProviderEvent(ref, found.value, at, message, code, detail, secondary))
    return words


def _preference(part: Mapping[str, Any]) -> ProviderEventKind | None:
    """Return what a recipient wants who changed their preferences of a contact list; None if it is not known.

    A recipient who leaves one topic asks for less of such mail. SES does not say which of ours are of that topic.
    """
    wanted = inner(part, "newTopicPreferences")
    topics = wanted.get("topicSubscriptionStatus")
    statuses = (
        [text(t, "subscriptionStatus") for t in topics if isinstance(t, dict)] if isinstance(topics, list) else []
    )
    if wanted.get("unsubscribeAll") is True or "OptOut" in statuses:
        return ProviderEventKind.UNSUBSCRIBED
    return ProviderEventKind.RESUBSCRIBED if wanted.get("unsubscribeAll") is False else None


def _left(bounce: Mapping[str, Any]) -> bool:
    """Tell whether SES kept a message from somebody who has left its contact list."""
    return text(bounce, "bounceSubType").lower() == "unsubscribedrecipient"


def _bounce(bounce: Mapping[str, Any], status: str) -> ProviderEventKind:
    """Judge a bounce by its type, its subtype and the code of the receiver's report, if there was one.

    A bounce that SES calls permanent is true for every provider, also if SES only remembers it (`Suppressed`,
    `OnAccountSuppressionList`). A transient one comes when SES has given up. Without any report it is an automatic
    reply, most often "out of office". That message was delivered, and must not be sent again.
    """
    kind, subtype = text(bounce, "bounceType").lower(), text(bounce, "bounceSubType").lower()
    if _left(bounce):
        return ProviderEventKind.DROPPED
    if kind == "permanent":
        return ProviderEventKind.BOUNCED
    if subtype in REFUSED:
        return ProviderEventKind.BLOCKED
    if kind == "transient":
        reported = status or subtype != "general"
        return ProviderEventKind.FAILED_TEMPORARILY if reported else ProviderEventKind.DEFERRED
    return ProviderEventKind.FAILED_TEMPORARILY if status.startswith("4") else ProviderEventKind.BLOCKED


def _detail(part: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """Return the text of the server that refused or took the message."""
    for holder, name in ((said, "diagnosticCode"), (part, "smtpResponse"), (part, "reason"), (part, "errorMessage")):
        if found := text(holder, name):
            return found
    return text(part, "complaintFeedbackType")


def _code(name: str, part: Mapping[str, Any], status: str) -> str:
    """Return an event's code: the one of its report, else its type and subtype, where it has them.

    Args:
        status: the code of the receiver's report, or empty.
    """
    if name == "Bounce" and _left(part):
        return UNSUBSCRIBED
    if status:
        return status
    if name == "Rendering Failure":
        return "rendering_failure"
    names = ("bounceType", "bounceSubType", "complaintSubType", "delayType")
    return clean("_".join([t.lower() for n in names if (t := text(part, n))]), MAX_ID)

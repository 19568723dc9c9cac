"""SES's feedback: events that a configuration set publishes to an SNS topic.

They come by the feedback queue, to which the topic is subscribed inside the account (`from_topic`), or over HTTP, where
SNS signs its posts (`SesWebhooks`).

Sources (docs.aws.amazon.com): ses/latest/dg/event-publishing-retrieving-sns-contents (events), …/notification-contents
(types of bounces), sns/latest/dg/sns-message-and-json-formats (posts), …/sns-verify-signature-of-message (signature).
The secret's `topic_arn`: whose posts are believed; several, separated by commas. `signing_certificate`: PEM; if it is
there it alone is trusted and none is fetched (the simulator signs with one of its own).
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from shared.contracts import Word
from shared.domain.ids import Ref
from shared.domain.jobs.feedback import WordKind
from shared.domain.jobs.outcomes import UNSUBSCRIBED
from shared.ports import AnswerLost, BadEvents, BadSignature, Clock, Http, NotSent, Reading, Response, Retriable
from shared.providers._common import (
    MAX_AHEAD,
    MAX_ID,
    MAX_TEXT,
    REF_ARG,
    TO_ARG,
    clean,
    digest,
    keys,
    own_answer,
    redacted,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

CREDENTIAL_ARG: Final = "posthaste_credential"
"""The tag that names the credential: what comes by the topic has no address to tell it by."""
MAX_AGE: Final = 24 * 3600.0
"""Seconds. SNS goes on trying for as long as the subscription says, an hour by default, with the signature of the first
try. A replay is harmless: words are joined by (ref, word, time), whatever is repeated."""
FETCH_SECONDS: Final = 4.0
"""SNS waits 15 s for the answer."""
SIGNED: Final[Mapping[str, Sequence[str]]] = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    "UnsubscribeConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}
"""Type → the fields that are signed, if they are there."""
VALIDATION: Final = "Successfully validated SNS topic for Amazon SES event publishing."
"""What SES publishes to a topic when an event destination is made."""
MAX_RECIPIENTS: Final = 50
_HOST: Final = re.compile(r"sns\.([a-z0-9-]{4,32})\.amazonaws\.com(?:\.cn)?")
_CERTIFICATE: Final = re.compile(r"/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem")
_KEPT: Final = 16
_OK: Final = 200
_SERVER_FAULT: Final = 500

EVENTS: Final[Mapping[str, WordKind]] = {
    "Send": WordKind.ACCEPTED,
    "Delivery": WordKind.DELIVERED,
    "DeliveryDelay": WordKind.DEFERRED,
    "Bounce": WordKind.BOUNCED,
    "Complaint": WordKind.COMPLAINED,
    "Reject": WordKind.DROPPED,
    "Rendering Failure": WordKind.DROPPED,
    "Subscription": WordKind.UNSUBSCRIBED,
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
"""Event → where its particulars stand, and the recipients it is about; without them it is about the message."""
REFUSED: Final = frozenset({"contentrejected", "messagetoolarge", "attachmentrejected"})
"""Subtypes of a transient bounce that no waiting will mend, while the mailbox is all right."""


class SesWebhooks:
    """Reads posts of SNS. Implements `ports.WebhookReader` and `ports.Fetching`; safe for threads."""

    def __init__(self) -> None:
        self._fetcher: tuple[Http, Clock] | None = None
        self._keys: dict[str, RSAPublicKey] = {}

    def fetch_by(self, http: Http, clock: Clock) -> None:
        """Take the transport; see `ports.Fetching`."""
        self._fetcher = http, clock

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: float) -> None:  # noqa: ARG002 - of the port
        """Check topic, age and RSA signature (version 1: SHA-1, version 2: SHA-256) of a post.

        Raises:
            BadSignature: `no_topic`, `unsigned`, `foreign_topic`, `too_old`, `too_new`, `foreign_certificate`,
                `no_certificate` or `wrong_signature`.
            Retriable: the certificate could not be fetched just now.
        """
        topics = keys(secret.get("topic_arn", ""))
        if not topics:
            raise BadSignature("no_topic")
        message = own_answer(body)
        fields = SIGNED.get(_text(message, "Type"))
        version = _text(message, "SignatureVersion")
        try:
            signature = base64.b64decode(_text(message, "Signature"), validate=True)
        except (binascii.Error, ValueError):
            signature = b""
        at = _seconds(message.get("Timestamp"))
        if fields is None or version not in ("1", "2") or not signature or not at:
            raise BadSignature("unsigned")
        topic = _text(message, "TopicArn")
        if topic not in topics:
            raise BadSignature("foreign_topic")
        if at < now - MAX_AGE:
            raise BadSignature("too_old")
        if at > now + MAX_AHEAD:
            raise BadSignature("too_new")
        key = self._key(message, topic, secret.get("signing_certificate", ""), now)
        if not _holds(key, signature, signed_text(message, fields), version):
            raise BadSignature("wrong_signature")

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:  # noqa: ARG002 - of the port
        """Return the words of a post whose signature holds; a subscription of the topic is confirmed.

        Raises:
            BadEvents: the body is not what SNS and SES document, or the confirmation was refused.
            Retriable: the confirmation did not get through.
        """
        message = own_answer(body)
        kind = _text(message, "Type")
        if kind == "SubscriptionConfirmation":
            self._confirm(_text(message, "SubscribeURL"))
            return Reading(0, [])
        if kind == "UnsubscribeConfirmation":
            return Reading(0, [])
        if kind != "Notification":
            raise BadEvents("not_a_notification")
        event = _event(message)
        return Reading(1, _words(event, _seconds(message.get("Timestamp"))))

    def _confirm(self, url: str) -> None:
        parts = urlsplit(url) if url.isascii() and url.isprintable() else urlsplit("")
        if not _is_sns(url) or "Action=ConfirmSubscription" not in parts.query.split("&"):
            raise BadEvents("foreign_subscribe_url")
        if self._fetch(url).status != _OK:
            raise BadEvents("confirmation_refused")

    def _key(self, message: Mapping[str, Any], topic: str, pinned: str, now: float) -> "RSAPublicKey":
        """Return the key of the signature; its certificate is fetched from the topic's own region alone."""
        if pinned:
            return self._kept(pinned, pinned.encode, now)
        url = _text(message, "SigningCertURL")
        region = topic.split(":")[3] if topic.count(":") == 5 else ""  # noqa: PLR2004 - arn:partition:sns:region:…
        if not _is_sns(url, region) or not _CERTIFICATE.fullmatch(urlsplit(url).path) or urlsplit(url).query:
            raise BadSignature("foreign_certificate")
        return self._kept(url, lambda: self._fetch(url).body, now)

    def _kept(self, name: str, pem: Callable[[], bytes], now: float) -> "RSAPublicKey":
        known = self._keys.get(name)
        if known is None:
            known = _parse(pem(), now)
            if len(self._keys) >= _KEPT:
                self._keys.clear()
            self._keys[name] = known
        return known

    def _fetch(self, url: str) -> Response:
        if self._fetcher is None:
            raise Retriable("no_transport")
        http, clock = self._fetcher
        try:
            answer = http.request("GET", url, headers={}, body=b"", deadline=clock.now() + FETCH_SECONDS)
        except (NotSent, AnswerLost) as error:
            raise Retriable("sns") from error
        if answer.status >= _SERVER_FAULT:
            raise Retriable("sns")
        return answer


def from_topic(body: str) -> tuple[str, list[Word]]:
    """Read a message of the feedback queue that SNS put there: the credential and its words.

    Nothing is verified: only our topic may send to the queue.

    Returns:
        An empty credential if the event is none of ours.

    Raises:
        BadEvents: it is no notification of SNS about an event of SES.
    """
    message = own_answer(body.encode("utf-8", "replace"))
    if message.get("Type") != "Notification":
        raise BadEvents("not_a_notification")
    event = _event(message)
    credential = _tag(event, CREDENTIAL_ARG)
    return credential, _words(event, _seconds(message.get("Timestamp"))) if credential else []


def signed_text(message: Mapping[str, Any], fields: Sequence[str]) -> bytes:
    """Return what SNS signs of a message: name and value of each field that is there, on lines of their own."""
    lines = [f"{name}\n{message[name]}\n" for name in fields if isinstance(message.get(name), str)]
    return "".join(lines).encode("utf-8", "replace")


# Signatures


def _is_sns(url: str, region: str = "") -> bool:
    """Tell whether a URL is one of SNS's own, of one region if it is given."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    host = _HOST.fullmatch(parts.netloc.lower().removesuffix(":443"))
    return parts.scheme == "https" and port in (None, 443) and host is not None and region in ("", host[1])


def _parse(pem: bytes, now: float) -> "RSAPublicKey":
    # 30 ms of imports that only a signed post has to pay
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415
    from cryptography.x509 import load_pem_x509_certificate  # noqa: PLC0415

    try:
        certificate = load_pem_x509_certificate(pem)
        key = certificate.public_key()
        until = certificate.not_valid_after_utc.timestamp()
    except ValueError:
        raise BadSignature("no_certificate") from None
    if not isinstance(key, RSAPublicKey) or until < now:
        raise BadSignature("no_certificate")
    return key


def _holds(key: "RSAPublicKey", signature: bytes, signed: bytes, version: str) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA1, SHA256  # noqa: PLC0415

    try:
        key.verify(signature, signed, PKCS1v15(), SHA1() if version == "1" else SHA256())  # noqa: S303 - SNS's own choice
    except InvalidSignature:
        return False
    return True


# Events


def _inner(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _seconds(value: object) -> int:
    """Return a time as SES and SNS write it in Unix seconds; 0 if it is none."""
    if not isinstance(value, str) or len(value) > MAX_ID:
        return 0
    try:
        at = datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError):
        return 0
    return max(0, int(at))


def _event(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the event within a notification; empty for SES's word that it can publish to the topic."""
    text = _text(message, "Message")
    event = own_answer(text.encode("utf-8", "replace"))
    if not event and text.strip() != VALIDATION:
        raise BadEvents("not_an_event")
    return event


def _tag(event: Mapping[str, Any], name: str) -> str:
    """Return our value of a tag; SES lists the values of each."""
    values = _inner(_inner(event, "mail"), "tags").get(name)
    value = values[0] if isinstance(values, list) and values else ""
    return value if isinstance(value, str) else ""


def _words(event: Mapping[str, Any], published: int) -> list[Word]:
    """Normalise one event: a word about our recipient, and one about each cc or bcc it names.

    An event without a time of its own gets the message's, and at last the notification's.
    """
    ref, name = _tag(event, REF_ARG), _text(event, "eventType")
    kind = EVENTS.get(name)
    if kind is None or Ref.parse(ref) is None:
        return []
    mail = _inner(event, "mail")
    where, listed = PARTS[name]
    part = _inner(event, where)
    at = _seconds(part.get("timestamp")) or _seconds(mail.get("timestamp")) or published
    message = clean(mail.get("messageId"), MAX_ID)
    if kind is WordKind.COMPLAINED and part.get("complaintFeedbackType") == "not-spam":
        return []  # somebody took it out of the spam folder
    if kind is WordKind.UNSUBSCRIBED:
        kind = _preference(part)
        if kind is None:
            return []
    recipients = part.get(listed) if listed else None
    people = recipients[:MAX_RECIPIENTS] if isinstance(recipients, list) and recipients else [None]
    ours = _tag(event, TO_ARG)
    words = []
    for person in people if ours else people[:1]:
        said = person if isinstance(person, dict) else {}
        address = person if isinstance(person, str) else _text(said, "emailAddress")
        secondary = bool(ours and address) and ours != digest(ref, address)
        status = clean(said.get("status"), MAX_ID)
        found = _bounce(part, status) if kind is WordKind.BOUNCED else kind
        code = UNSUBSCRIBED if name == "Bounce" and _left(part) else status or _code(name, part)
        detail = redacted(clean(_detail(part, said), MAX_TEXT))
        words.append(Word(ref, found.value, at, message, code, detail, secondary))
    return words


def _preference(part: Mapping[str, Any]) -> WordKind | None:
    """Return what a recipient wants who changed their preferences of a contact list; None if nothing can be told.

    Who leaves one topic has asked for less of such mail; which of ours are of that topic SES does not say.
    """
    wanted = _inner(part, "newTopicPreferences")
    topics = wanted.get("topicSubscriptionStatus")
    statuses = (
        [_text(t, "subscriptionStatus") for t in topics if isinstance(t, dict)] if isinstance(topics, list) else []
    )
    if wanted.get("unsubscribeAll") is True or "OptOut" in statuses:
        return WordKind.UNSUBSCRIBED
    return WordKind.RESUBSCRIBED if wanted.get("unsubscribeAll") is False else None


def _left(bounce: Mapping[str, Any]) -> bool:
    """Tell whether SES kept a message from somebody who has left its contact list."""
    return _text(bounce, "bounceSubType").lower() == "unsubscribedrecipient"


def _bounce(bounce: Mapping[str, Any], status: str) -> WordKind:
    """Judge a bounce by its type, its subtype and the code of the receiver's report, if there was one.

    What SES calls permanent holds with every provider, also if it only remembers it (`Suppressed`,
    `OnAccountSuppressionList`). A transient one comes when SES has given up; without any report it is an automatic
    reply, most often "out of office": that message was delivered, and must not be sent again.
    """
    kind, subtype = _text(bounce, "bounceType").lower(), _text(bounce, "bounceSubType").lower()
    if _left(bounce):
        return WordKind.DROPPED
    if kind == "permanent":
        return WordKind.BOUNCED
    if subtype in REFUSED:
        return WordKind.BLOCKED
    if kind == "transient":
        reported = status or subtype != "general"
        return WordKind.FAILED_TEMPORARILY if reported else WordKind.DEFERRED
    return WordKind.FAILED_TEMPORARILY if status.startswith("4") else WordKind.BLOCKED


def _detail(part: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """Return the words of whoever refused or took the message."""
    for holder, name in ((said, "diagnosticCode"), (part, "smtpResponse"), (part, "reason"), (part, "errorMessage")):
        if text := _text(holder, name):
            return text
    return _text(part, "complaintFeedbackType")


def _code(name: str, part: Mapping[str, Any]) -> str:
    """Return a code for an event without one: its type and subtype, where it has them."""
    if name == "Rendering Failure":
        return "rendering_failure"
    names = ("bounceType", "bounceSubType", "complaintSubType", "delayType")
    return clean("_".join([t.lower() for n in names if (t := _text(part, n))]), MAX_ID)

"""Amazon SNS as it posts events to us: which posts are believed, and what is within them.

Sources (docs.aws.amazon.com): sns/latest/dg/sns-message-and-json-formats (posts), …/sns-verify-signature-of-message
(signature).
The secret's `topic_arn`: whose posts are believed; several, separated by commas. `signing_certificate`: PEM; the
only one that is trusted. No other is fetched then (the simulator signs with one of its own).
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from shared.domain.times import Seconds
from shared.ports import AnswerLost, BadEvents, BadSignature, Clock, Http, NotSent, Reading, Response, Retriable
from shared.providers._common import keys, own_answer
from shared.providers._texts import MAX_ID, check_age

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

MAX_AGE: Final = 24 * 3600.0
"""Seconds. SNS retries for as long as the subscription says, an hour by default, with the signature of the first try. A
replay is harmless: (ref, word, time) identifies a word."""
FETCH_SECONDS: Final = 4.0
"""SNS waits 15 s for the answer."""
SIGNED: Final[Mapping[str, Sequence[str]]] = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    "UnsubscribeConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}
"""Type → the fields that are signed, if they are there."""
_HOST: Final = re.compile(r"sns\.([a-z0-9-]{4,32})\.amazonaws\.com(?:\.cn)?")
_CERTIFICATE: Final = re.compile(r"/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem")
_KEPT: Final = 16
_OK: Final = 200
_SERVER_FAULT: Final = 500


class SnsWebhooks:
    """Reads posts of SNS. Implements `ports.WebhookReader` and `ports.Fetching`; safe for threads.

    Args:
        read: reads the event within a notification; raises BadEvents.
    """

    def __init__(self, read: Callable[[Mapping[str, Any]], Reading]) -> None:
        self._read = read
        self._fetcher: tuple[Http, Clock] | None = None
        self._keys: dict[str, RSAPublicKey] = {}

    def fetch_by(self, http: Http, clock: Clock) -> None:
        """Take the transport; see `ports.Fetching`."""
        self._fetcher = http, clock

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: Seconds) -> None:  # noqa: ARG002 - of the port
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
        fields = SIGNED.get(text(message, "Type"))
        version = text(message, "SignatureVersion")
        try:
            signature = base64.b64decode(text(message, "Signature"), validate=True)
        except (binascii.Error, ValueError):
            signature = b""
        at = seconds(message.get("Timestamp"))
        if fields is None or version not in ("1", "2") or not signature or not at:
            raise BadSignature("unsigned")
        topic = text(message, "TopicArn")
        if topic not in topics:
            raise BadSignature("foreign_topic")
        check_age(at, now, most=MAX_AGE)
        key = self._key(message, topic, secret.get("signing_certificate", ""), now)
        if not _holds(key, signature, signed_text(message, fields), version):
            raise BadSignature("wrong_signature")

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:  # noqa: ARG002 - of the port
        """Return the words of a post whose signature holds; a subscription of the topic is confirmed.

        Raises:
            BadEvents: the body is not what SNS and the publisher document, or the confirmation was refused.
            Retriable: the confirmation did not get through.
        """
        message = own_answer(body)
        kind = text(message, "Type")
        if kind == "SubscriptionConfirmation":
            self._confirm(text(message, "SubscribeURL"))
            return Reading(0, [])
        if kind == "UnsubscribeConfirmation":
            return Reading(0, [])
        if kind != "Notification":
            raise BadEvents("not_a_notification")
        return self._read(message)

    def _confirm(self, url: str) -> None:
        parts = urlsplit(url) if url.isascii() and url.isprintable() else urlsplit("")
        if not _is_sns(url) or "Action=ConfirmSubscription" not in parts.query.split("&"):
            raise BadEvents("foreign_subscribe_url")
        if self._fetch(url).status != _OK:
            raise BadEvents("confirmation_refused")

    def _key(self, message: Mapping[str, Any], topic: str, pinned: str, now: Seconds) -> "RSAPublicKey":
        """Return the key of the signature; its certificate is fetched only from the topic's own region."""
        if pinned:
            return self._kept(pinned, pinned.encode, now)
        url = text(message, "SigningCertURL")
        region = topic.split(":")[3] if topic.count(":") == 5 else ""  # noqa: PLR2004 - arn:partition:sns:region:…
        if not _is_sns(url, region) or not _CERTIFICATE.fullmatch(urlsplit(url).path) or urlsplit(url).query:
            raise BadSignature("foreign_certificate")
        return self._kept(url, lambda: self._fetch(url).body, now)

    def _kept(self, name: str, pem: Callable[[], bytes], now: Seconds) -> "RSAPublicKey":
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


def notification(body: str) -> Mapping[str, Any]:
    """Return the notification that SNS put into a queue of ours.

    Nothing is verified: only our topics may send to that queue.

    Raises:
        BadEvents: it is no notification of SNS.
    """
    message = own_answer(body.encode("utf-8", "replace"))
    if message.get("Type") != "Notification":
        raise BadEvents("not_a_notification")
    return message


def event_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON object within a notification; empty if it holds none."""
    return own_answer(text(message, "Message").encode("utf-8", "replace"))


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


def _parse(pem: bytes, now: Seconds) -> "RSAPublicKey":
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


# Values


def inner(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object within an object; empty if there is none."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def text(value: Mapping[str, Any], name: str) -> str:
    """Return a text within an object; empty if there is none."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def seconds(value: object) -> int:
    """Return a time as AWS writes it in Unix seconds; 0 if it is none."""
    if not isinstance(value, str) or len(value) > MAX_ID:
        return 0
    try:
        at = datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError):
        return 0
    return max(0, int(at))

"""Posts of Amazon SNS with events of SES, signed as SNS signs them."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from shared.contracts import ProviderEvent, dump_feedback, load_feedback
from shared.ports import Fetching, Response
from shared.providers._common import REF_ARG
from shared.providers.ses.events import CREDENTIAL_ARG, SesWebhooks, from_topic
from tests.providers.contract import JOB
from tests.providers.fakes import FakeHttp, Fixed

NOW = 1_790_000_000
REF = f"{JOB}-3-17-2"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:posthaste-prod-ses"
SECRET = {"topic_arn": TOPIC}
HOST = "https://sns.eu-west-1.amazonaws.com"
CERTIFICATE = f"{HOST}/SimpleNotificationService-0123456789abcdef.pem"
KEY = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, until: float = NOW + 86_400) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    end = datetime.fromtimestamp(until, UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1).not_valid_before(end - timedelta(days=400))
    return made.not_valid_after(end).sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


PINNED = {**SECRET, "signing_certificate": pem(KEY)}


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def signature(message: Mapping[str, str], key: rsa.RSAPrivateKey, version: str) -> str:
    """As the developer guide describes it, written anew."""
    if message["Type"] == "Notification":
        names = [
            "Message",
            "MessageId",
            *(["Subject"] if "Subject" in message else []),
            "Timestamp",
            "TopicArn",
            "Type",
        ]
    else:
        names = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
    text = "".join(name + "\n" + message[name] + "\n" for name in names)
    chosen: hashes.HashAlgorithm = hashes.SHA1() if version == "1" else hashes.SHA256()  # noqa: S303 - SNS's own
    return base64.b64encode(key.sign(text.encode(), padding.PKCS1v15(), chosen)).decode()


def post(
    event: Any = None,
    *,
    key: rsa.RSAPrivateKey = KEY,
    version: str = "2",
    at: float = NOW,
    signed_as: Mapping[str, str] | None = None,
    **changes: Any,
) -> bytes:
    """A post of SNS. `changes`: fields of the message; None leaves one out. `signed_as`: what is signed instead."""
    message = {
        "Type": "Notification",
        "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
        "TopicArn": TOPIC,
        "Subject": "Amazon SES Email Event Notification",
        "Message": json.dumps(event if event is not None else delivery()),
        "Timestamp": iso(at),
        "SignatureVersion": version,
        "SigningCertURL": CERTIFICATE,
        "UnsubscribeURL": HOST + "/?Action=Unsubscribe",
    }
    message = {k: v for k, v in {**message, **changes}.items() if v is not None}
    if "Signature" not in changes:
        message["Signature"] = signature({**message, **(signed_as or {})}, key, version)
    return json.dumps(message).encode()


def confirmation(**changes: Any) -> bytes:
    url = HOST + f"/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f"
    fields = {
        "Type": "SubscriptionConfirmation",
        "Message": "You have chosen to subscribe",
        "SubscribeURL": url,
        "Token": "2336412f",
        "Subject": None,
        "UnsubscribeURL": None,
    }
    return post(**{**fields, **changes})


def event(kind: str, tags: Mapping[str, str] | None = None, **parts: Any) -> dict[str, Any]:
    """An event in the form SES documents it."""
    given = {REF_ARG: REF, CREDENTIAL_ARG: "ses-main"} if tags is None else tags
    return {
        "eventType": kind,
        "mail": {
            "timestamp": iso(NOW - 60),
            "source": "news@sender.example",
            "messageId": "0100018f-1-000000",
            "destination": ["reader@example.com"],
            "tags": {
                **{name: [value] for name, value in given.items()},
                "ses:configuration-set": ["posthaste-prod-ses-main"],
            },
        },
        **parts,
    }


def delivery(**changes: Any) -> dict[str, Any]:
    part = {"timestamp": iso(NOW - 5), "recipients": ["reader@example.com"], "smtpResponse": "250 2.0.0 OK", **changes}
    return event("Delivery", delivery=part)


def bounce(kind: str, subtype: str, **report: str) -> dict[str, Any]:
    people = [{"emailAddress": "reader@example.com", **report}]
    part = {"bounceType": kind, "bounceSubType": subtype, "bouncedRecipients": people, "timestamp": iso(NOW - 7)}
    return event("Bounce", bounce=part)


def fetching(answer: Response | Exception) -> tuple[SesWebhooks, FakeHttp]:
    http, reader = FakeHttp(answer), SesWebhooks()
    assert isinstance(reader, Fetching)
    reader.fetch_by(http, Fixed())
    return reader, http


def words(given: Any) -> list[ProviderEvent]:
    """Read an event both ways, twice: all must say the same."""
    body = post(given)
    first = SesWebhooks().words({}, body)
    assert SesWebhooks().words({}, body) == first
    assert first.events == 1
    assert from_topic(body.decode()) == ("ses-main", first.words)
    assert load_feedback(dump_feedback("main", first.words)) == ("main", first.words)
    return first.words

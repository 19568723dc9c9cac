"""Amazon SNS, as far as a topic's owner sees it: a signed post to an HTTP subscriber, and the call that publishes.

Sources (docs.aws.amazon.com/sns/latest): dg/sns-message-and-json-formats, dg/sns-verify-signature-of-message,
api/API_Publish.
"""

import base64
import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from simulator.formats.keys import self_signed, sign_rsa
from simulator.vendors._vendor import Vendor, iso
from simulator.vendors.aws.signing import SECRET_KEY

REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
TOPIC: Final = f"arn:aws:sns:{REGION}:{ACCOUNT}:posthaste-simulated-ses"
CERTIFICATE_URL: Final = f"https://sns.{REGION}.amazonaws.com/SimpleNotificationService-{'0' * 32}.pem"


class AwsVendor(Vendor):
    """A provider within AWS, whose events come by SNS: one account, one topic."""

    default_key = "AKIASIMULATOR0000000"
    wants = (b"user-agent",)  # botocore sends no Accept
    subject: str
    """Of its notifications."""

    def __init__(self, key_file: Path | None = None) -> None:
        self._key, self._certificate = self_signed(key_file, f"sns.{REGION}.amazonaws.com")

    def post(self, events: list[dict[str, Any]], url: str, at: float) -> tuple[dict[str, str], bytes]:
        """Return headers and body of a signed post, or of a Publish if the target has a topic."""
        (event,) = events
        text = json.dumps(event["event"], separators=(",", ":"))
        topic = urlsplit(url).fragment
        return publish(url, topic, text) if topic else notification(self._key, event["id"], text, at, self.subject)

    def describe(self) -> dict[str, str]:
        """Return what a credential's secret has."""
        return {
            "access_key_id": self.default_key,
            "secret_access_key": SECRET_KEY,
            "region": REGION,
            "topic_arn": TOPIC,
            "signing_certificate": self._certificate,
        }


def notification(
    key: RSAPrivateKey, message_id: str, text: str, at: float, subject: str
) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a post as a topic signs it: by version 1 or 2, as the message's id has it."""
    version = "12"[message_id.encode()[0] & 1]
    message = {
        "Type": "Notification",
        "MessageId": message_id,
        "TopicArn": TOPIC,
        "Subject": subject,
        "Message": text,
        "Timestamp": iso(at),
        "SignatureVersion": version,
        "SigningCertURL": CERTIFICATE_URL,
        "UnsubscribeURL": f"https://sns.{REGION}.amazonaws.com/?Action=Unsubscribe&SubscriptionArn={TOPIC}:0",
    }
    signed = "".join(
        f"{name}\n{message[name]}\n" for name in ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
    )
    message["Signature"] = base64.b64encode(sign_rsa(key, signed.encode(), version)).decode()
    headers = {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": "Notification",
        "x-amz-sns-message-id": message_id,
        "x-amz-sns-topic-arn": TOPIC,
        "User-Agent": "Amazon Simple Notification Service Agent",
    }
    return headers, json.dumps(message, indent=2).encode()


def publish(url: str, topic: str, text: str) -> tuple[dict[str, str], bytes]:
    """Return a signed Publish of the SNS query API, to the endpoint and with the keys in the URL."""
    parts = urlsplit(url)
    form = {"Action": "Publish", "Version": "2010-03-31", "TopicArn": topic, "Message": text}
    body = urlencode(form, quote_via=quote).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    request = AWSRequest("POST", f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/", headers, body)
    region = topic.split(":")[3]
    SigV4Auth(Credentials(parts.username or "test", parts.password or "test"), "sns", region).add_auth(request)
    return dict(request.headers.items()), body

"""Which posts of Amazon SNS are believed, and what is fetched for them."""

import base64
import json
from collections.abc import Mapping

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from shared.ports import AnswerLost, BadEvents, BadSignature, NotSent, Reading, Response, Retriable
from shared.providers._sns import MAX_AGE
from shared.providers._texts import MAX_AHEAD
from shared.providers.ses.events import SesWebhooks
from tests.providers.ses_posts import (
    CERTIFICATE,
    HOST,
    KEY,
    NOW,
    OTHER,
    PINNED,
    SECRET,
    TOPIC,
    confirmation,
    fetching,
    iso,
    pem,
    post,
)

# Signatures


@pytest.mark.promise(9)
@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", ["Amazon SES Email Event Notification", None])
def test_a_signature_holds(version: str, subject: str | None) -> None:
    reader, http = fetching(Response(200, {}, pem(KEY).encode()))
    body = post(version=version, Subject=subject)
    reader.verify({}, body, SECRET, NOW)
    reader.verify({}, body, SECRET, NOW)
    assert [(method, url) for method, url, _, _ in http.requests] == [("GET", CERTIFICATE)], "and is fetched once"


def test_a_certificate_of_the_secret_is_trusted_alone() -> None:
    reader, http = fetching(Response(200, {}, pem(OTHER).encode()))
    reader.verify({}, post(), PINNED, NOW)
    with pytest.raises(BadSignature, match="wrong_signature"):
        reader.verify({}, post(key=OTHER), PINNED, NOW)
    assert http.requests == []


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("body", "secret", "reason"),
    [
        (post(), {}, "no_topic"),
        (post(), {"topic_arn": " , "}, "no_topic"),
        (b"", PINNED, "unsigned"),
        (b"[]", PINNED, "unsigned"),
        (post(Signature=None), PINNED, "unsigned"),
        (post(Signature="é"), PINNED, "unsigned"),
        (post(Signature=7), PINNED, "unsigned"),
        (post(SignatureVersion="3"), PINNED, "unsigned"),
        (post(SignatureVersion=None), PINNED, "unsigned"),
        (post(signed_as={"Type": "Notification"}, Type="Other"), PINNED, "unsigned"),
        (post(signed_as={"Timestamp": "x"}, Timestamp=None), PINNED, "unsigned"),
        (post(signed_as={"Timestamp": "x"}, Timestamp="yesterday"), PINNED, "unsigned"),
        (post(TopicArn=TOPIC + "2"), PINNED, "foreign_topic"),
        (post(signed_as={"TopicArn": TOPIC}, TopicArn=None), PINNED, "foreign_topic"),
        (post(at=NOW - MAX_AGE - 1), PINNED, "too_old"),
        (post(at=NOW + MAX_AHEAD + 2), PINNED, "too_new"),
        (post(key=OTHER), PINNED, "wrong_signature"),
        (post(signed_as={"Message": "{}"}), PINNED, "wrong_signature"),
        (post(signed_as={"MessageId": "x"}), PINNED, "wrong_signature"),
        (post(signed_as={"Subject": "x"}), PINNED, "wrong_signature"),
        (post(signed_as={"Timestamp": iso(NOW + 1)}), PINNED, "wrong_signature"),
        (post(signed_as={"TopicArn": TOPIC + "2"}), PINNED, "wrong_signature"),
        (confirmation(signed_as={"Token": "x"}), PINNED, "wrong_signature"),
        (confirmation(signed_as={"SubscribeURL": "x"}), PINNED, "wrong_signature"),
        (post(Signature=base64.b64encode(b"x").decode()), PINNED, "wrong_signature"),
        (post(), {**SECRET, "signing_certificate": "x"}, "no_certificate"),
        (post(), {**SECRET, "signing_certificate": pem(KEY, NOW - 1)}, "no_certificate"),
        (post(), {**SECRET, "signing_certificate": pem(ec.generate_private_key(ec.SECP256R1()))}, "no_certificate"),
    ],
)
def test_a_bad_signature_is_refused(body: bytes, secret: Mapping[str, str], reason: str) -> None:
    with pytest.raises(BadSignature) as caught:
        SesWebhooks().verify({}, body, secret, NOW)
    assert str(caught.value) == reason


def test_one_version_is_not_taken_for_the_other() -> None:
    body = json.loads(post(version="1"))
    body["SignatureVersion"] = "2"
    with pytest.raises(BadSignature, match="wrong_signature"):
        SesWebhooks().verify({}, json.dumps(body).encode(), PINNED, NOW)


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "url",
    [
        "",
        CERTIFICATE.replace("https", "http"),
        "https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-1.pem",
        "https://evil.example/SimpleNotificationService-1.pem",
        "https://sns.eu-west-1.amazonaws.com@evil.example/SimpleNotificationService-1.pem",
        "https://evil.example\\@sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
        "https://user@sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
        "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-1.pem",
        "https://sns.eu-west-1.amazonaws.com:x/SimpleNotificationService-1.pem",
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem",
        "https://s3.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
        "https://sns.eu-west-1.amazonaws.com/?Action=GetTopic",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem?x=1",
        "https://sns.eu-west-1.amazonaws.com/a/../SimpleNotificationService-1.pem",
        "https://[::1",
    ],
)
def test_no_certificate_is_fetched_from_elsewhere(url: str) -> None:
    reader, http = fetching(Response(200, {}, pem(KEY).encode()))
    with pytest.raises(BadSignature, match="foreign_certificate"):
        reader.verify({}, post(SigningCertURL=url), SECRET, NOW)
    assert http.requests == []


def test_china_has_a_separate_domain() -> None:
    topic = "arn:aws-cn:sns:cn-north-1:123456789012:posthaste-prod-ses"
    url = "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-1.pem"
    reader, http = fetching(Response(200, {}, pem(KEY).encode()))
    reader.verify({}, post(TopicArn=topic, SigningCertURL=url), {"topic_arn": f"{TOPIC},{topic}"}, NOW)
    assert len(http.requests) == 1


@pytest.mark.parametrize("fault", [NotSent("dns"), AnswerLost("read_timeout"), Response(503, {}, b"")])
def test_a_certificate_that_cannot_be_fetched_now_is_asked_for_again(fault: Response | Exception) -> None:
    reader, http = fetching(fault)
    with pytest.raises(Retriable):
        reader.verify({}, post(), SECRET, NOW)
    http.answer = Response(200, {}, pem(KEY).encode())
    reader.verify({}, post(), SECRET, NOW)


@pytest.mark.parametrize("answer", [Response(404, {}, b""), Response(403, {}, b"no"), Response(200, {}, b"<html>")])
def test_what_is_no_certificate_is_not_believed(answer: Response) -> None:
    reader, _ = fetching(answer)
    with pytest.raises(BadSignature, match="no_certificate"):
        reader.verify({}, post(), SECRET, NOW)


def test_without_a_transport_nothing_is_believed() -> None:
    with pytest.raises(Retriable):
        SesWebhooks().verify({}, post(), SECRET, NOW)


# Subscriptions


def test_a_subscription_is_confirmed() -> None:
    reader, http = fetching(Response(200, {}, b"<ConfirmSubscriptionResponse/>"))
    body = confirmation()
    reader.verify({}, body, PINNED, NOW)
    assert http.requests == [], "not before the signature holds"
    assert reader.words({}, body) == Reading(0, [])
    assert [url for _, url, _, _ in http.requests] == [json.loads(body)["SubscribeURL"]]


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/?Action=ConfirmSubscription",
        HOST.replace("https", "http") + "/?Action=ConfirmSubscription",
        HOST + "/?Action=DeleteTopic",
        HOST + "/?Action=ConfirmSubscription\r\nX: y",
        "",
    ],
)
def test_nothing_else_is_asked_for(url: str) -> None:
    reader, http = fetching(Response(200, {}, b""))
    with pytest.raises(BadEvents, match="foreign_subscribe_url"):
        reader.words({}, confirmation(SubscribeURL=url))
    assert http.requests == []


def test_a_confirmation_that_fails() -> None:
    for answer, error in (
        (Response(503, {}, b""), Retriable),
        (NotSent("dns"), Retriable),
        (Response(400, {}, b"expired"), BadEvents),
    ):
        reader, _ = fetching(answer)
        with pytest.raises(error):
            reader.words({}, confirmation())


def test_the_end_of_a_subscription_is_noted_and_no_more() -> None:
    reader, http = fetching(Response(200, {}, b""))
    body = confirmation(Type="UnsubscribeConfirmation")
    reader.verify({}, body, PINNED, NOW)
    assert reader.words({}, body) == Reading(0, [])
    assert http.requests == []

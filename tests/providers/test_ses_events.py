import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import Word, dump_feedback, load_feedback
from shared.domain.feedback import WordKind
from shared.ports import AnswerLost, BadEvents, BadSignature, Fetching, NotSent, Reading, Response, Retriable
from shared.providers._common import MAX_AHEAD, REF_ARG, TO_ARG, digest
from shared.providers.ses_events import CREDENTIAL_ARG, MAX_AGE, VALIDATION, SesWebhooks, from_topic
from tests.providers.contract import JOB, check_reading
from tests.providers.fakes import FakeHttp, Fixed
from tests.providers.test_sendgrid_events import JSON

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


def words(given: Any) -> list[Word]:
    """Read an event both ways, twice: all must say the same."""
    body = post(given)
    first = SesWebhooks().words({}, body)
    assert SesWebhooks().words({}, body) == first
    assert first.events == 1
    assert from_topic(body.decode()) == ("ses-main", first.words)
    assert load_feedback(dump_feedback("main", first.words)) == ("main", first.words)
    return first.words


# Events


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("said", "word", "at", "code", "detail"),
    [
        (event("Send", send={}), "accepted", 60, "", ""),
        (delivery(), "delivered", 5, "", "250 2.0.0 OK"),
        (
            event(
                "DeliveryDelay",
                deliveryDelay={
                    "delayType": "MailboxFull",
                    "delayedRecipients": [{"emailAddress": "reader@example.com", "status": "4.2.2"}],
                    "timestamp": iso(NOW - 9),
                },
            ),
            "deferred",
            9,
            "4.2.2",
            "",
        ),
        (
            bounce(
                "Permanent", "General", status="5.1.1", diagnosticCode="smtp; 550 5.1.1 <reader@example.com> unknown"
            ),
            "bounced",
            7,
            "5.1.1",
            "smtp; 550 5.1.1 <<address>> unknown",
        ),
        (bounce("Permanent", "NoEmail"), "bounced", 7, "permanent_noemail", ""),
        (bounce("Permanent", "Suppressed"), "bounced", 7, "permanent_suppressed", ""),
        (
            bounce("Permanent", "OnAccountSuppressionList"),
            "bounced",
            7,
            "permanent_onaccountsuppressionlist",
            "",
        ),
        (bounce("Transient", "General", status="4.4.7"), "failed_temporarily", 7, "4.4.7", ""),
        (bounce("Transient", "MailboxFull"), "failed_temporarily", 7, "transient_mailboxfull", ""),
        (bounce("Transient", "ContentRejected", status="5.7.1"), "blocked", 7, "5.7.1", ""),
        (bounce("Transient", "MessageTooLarge"), "blocked", 7, "transient_messagetoolarge", ""),
        (bounce("Transient", "AttachmentRejected"), "blocked", 7, "transient_attachmentrejected", ""),
        (bounce("Undetermined", "Undetermined"), "blocked", 7, "undetermined_undetermined", ""),
        (bounce("Undetermined", "Undetermined", status="4.0.0"), "failed_temporarily", 7, "4.0.0", ""),
        (
            event(
                "Complaint",
                complaint={
                    "complainedRecipients": [{"emailAddress": "reader@example.com"}],
                    "complaintFeedbackType": "abuse",
                    "timestamp": iso(NOW - 8),
                },
            ),
            "complained",
            8,
            "",
            "abuse",
        ),
        (event("Reject", reject={"reason": "Bad content"}), "dropped", 60, "", "Bad content"),
        (
            event("Rendering Failure", failure={"errorMessage": "no name", "templateName": "t"}),
            "dropped",
            60,
            "rendering_failure",
            "no name",
        ),
    ],
)
def test_what_each_event_means(said: Any, word: str, at: int, code: str, detail: str) -> None:
    assert words(said) == [Word(REF, word, NOW - at, "0100018f-1-000000", code, detail)]


def test_an_automatic_reply_is_no_failure() -> None:
    """An out-of-office note comes as a transient bounce without a report: the message was delivered."""
    assert [w.word for w in words(bounce("Transient", "General"))] == ["deferred"]


@pytest.mark.parametrize(
    "said",
    [
        event("Open", open={"timestamp": iso(NOW)}),
        event("Click", click={"link": "https://x.example"}),
        event("Subscription", subscription={}),
        event("Complaint", complaint={"complaintFeedbackType": "not-spam", "timestamp": iso(NOW)}),
        {**delivery(), "eventType": "New"},
    ],
)
def test_what_changes_nothing(said: Any) -> None:
    assert words(said) == []


@pytest.mark.parametrize("tags", [{}, {REF_ARG: "x", CREDENTIAL_ARG: "a"}, {"other": REF}])
def test_what_is_not_ours(tags: dict[str, str]) -> None:
    body = post(event("Send", tags, send={}))
    assert SesWebhooks().words({}, body) == Reading(1, [])
    assert from_topic(body.decode())[1] == []


def test_a_notification_of_an_identity_has_no_tags_and_is_not_ours() -> None:
    said = delivery()
    said["notificationType"] = said.pop("eventType")
    assert SesWebhooks().words({}, post(said)).words == []


def test_words_about_copies_are_secondary() -> None:
    tags = {REF_ARG: REF, CREDENTIAL_ARG: "ses-main", TO_ARG: digest(REF, "Reader@example.com")}
    both = ["cc@example.com", "reader@example.com"]
    people = [{"emailAddress": a, "status": "5.1.1"} for a in both]
    part = {"bounceType": "Permanent", "bounceSubType": "General", "bouncedRecipients": people, "timestamp": iso(NOW)}
    assert [(w.word, w.secondary) for w in words(event("Bounce", tags, bounce=part))] == [
        ("bounced", True),
        ("bounced", False),
    ]
    alone = event("Delivery", tags, delivery={"recipients": both[:1], "timestamp": iso(NOW)})
    assert [w.secondary for w in words(alone)] == [True]
    assert [w.secondary for w in words(event("Send", tags, send={}))] == [False]
    assert [w.secondary for w in words(event("Reject", tags, reject={}))] == [False]


def test_one_word_if_there_is_one_recipient() -> None:
    assert len(words(delivery(recipients=["a@example.com", "b@example.com"]))) == 1


def test_an_event_without_a_time_gets_the_notification_s() -> None:
    said = event("Send", send={})
    del said["mail"]["timestamp"]
    assert [w.at for w in words(said)] == [NOW]


def test_what_ses_says_when_a_destination_is_made() -> None:
    body = post(Message=VALIDATION)
    assert SesWebhooks().words({}, body) == Reading(1, [])
    assert from_topic(body.decode()) == ("", [])


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b"[" * 100_000, b'{"Type": "Notification"}', post(Message="hello"), post(Message="[]")],
)
def test_a_body_that_makes_no_sense(body: bytes) -> None:
    with pytest.raises(BadEvents):
        SesWebhooks().words({}, body)
    with pytest.raises(BadEvents):
        from_topic(body.decode())


@pytest.mark.promise(10)
@given(JSON)
def test_whatever_is_posted(value: Any) -> None:
    odd = {"eventType": "Bounce", "bounce": value, "mail": value}
    for body in (json.dumps(value).encode(), post(value, Signature=""), post(odd, Signature="")):
        check_reading(SesWebhooks(), body)


@pytest.mark.promise(10)
@given(
    JSON, st.sampled_from(["Send", "Delivery", "DeliveryDelay", "Bounce", "Complaint", "Reject", "Rendering Failure"])
)
def test_whatever_stands_in_an_event_of_ours(value: Any, kind: str) -> None:
    parts = ("delivery", "deliveryDelay", "bounce", "complaint", "reject", "failure")
    lists = ("recipients", "delayedRecipients", "bouncedRecipients", "complainedRecipients")
    found: list[Any] = [value, dict.fromkeys(lists, value), {name: [value, value] for name in lists}]
    for part in found:
        body = post(event(kind, None, **dict.fromkeys(parts, part)), Signature="")
        check_reading(SesWebhooks(), body)
        for word in SesWebhooks().words({}, body).words:
            assert word.word in set(WordKind)
            assert word.ref == REF


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


def test_china_has_a_domain_of_its_own() -> None:
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

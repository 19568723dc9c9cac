import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import resend as sdk
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook

from shared.contracts import ProviderEvent, dump_feedback, load_feedback
from shared.domain.jobs.feedback import ProviderEventKind
from shared.ports import BadEvents, BadSignature
from shared.providers._common import REF_ARG, TO_ARG, digest
from shared.providers._texts import MAX_AHEAD
from shared.providers.resend.events import MAX_AGE, ResendWebhooks
from tests.providers.contract import JOB, check_reading
from tests.providers.test_sendgrid_events import JSON

NOW = 1_790_000_000
REF = f"{JOB}-3-17-2"
READER = ResendWebhooks()
KEY, OTHER = "whsec_" + base64.b64encode(b"k" * 24).decode(), "whsec_" + base64.b64encode(b"o" * 24).decode()
SECRET = {"webhook_signing_secret": KEY}
MAIL_ID = "56761188-7520-42d8-8898-ff6fc54ce618"


def made(body: bytes, at: object = NOW, key: str = KEY, name: str = "msg_1") -> str:
    """A signature, by the book."""
    signed = f"{name}.{at}.".encode() + body
    digest = hmac.new(base64.b64decode(key.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def headers(body: bytes, at: object = NOW, key: str = KEY) -> dict[str, str]:
    return {"svix-id": "msg_1", "svix-timestamp": str(at), "svix-signature": made(body, at, key)}


def body(kind: Any = "email.delivered", created_at: Any = "2026-09-21T14:13:10.126Z", **data: Any) -> bytes:
    """An event in the form Resend documents it."""
    plain = {
        "created_at": "2026-09-21T14:13:00.894719+00:00",
        "email_id": MAIL_ID,
        "message_id": "<111-222-333@email.example.com>",
        "from": "Acme <onboarding@resend.dev>",
        "to": ["reader@example.com"],
        "subject": "Sending this example",
        "tags": {REF_ARG: REF},
    }
    found = {k: v for k, v in {**plain, **data}.items() if v is not None}
    return json.dumps({"type": kind, "created_at": created_at, "data": found}).encode()


def words(post: bytes) -> list[ProviderEvent]:
    """Read a post twice: the second time must say the same."""
    first = READER.words(headers(post), post)
    assert READER.words(headers(post), post) == first
    assert first.events == 1
    assert load_feedback(dump_feedback("main", first.words)) == ("main", first.words)
    return first.words


def bounce(kind: str, subtype: str, message: str = "") -> dict[str, Any]:
    return {"bounce": {"type": kind, "subType": subtype, "message": message}}


SERVER = "smtp; 550 5.1.1 The email account that you tried to reach does not exist"


@pytest.mark.parametrize(
    ("reports", "detail"),
    [([SERVER], SERVER), ([SERVER, "another"], SERVER), (SERVER, SERVER), ([], "own"), (None, "own"), ([{}], "own")],
)
def test_the_words_of_the_receiver_s_server_come_before_resend_s_own(reports: Any, detail: str) -> None:
    bounced = {"bounce": {"type": "Permanent", "subType": "General", "message": "own", "diagnosticCode": reports}}
    (found,) = words(body("email.bounced", **bounced))
    assert found.detail == detail


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("kind", "data", "word", "code", "detail"),
    [
        ("email.sent", {}, "accepted", "", ""),
        ("email.delivered", {}, "delivered", "", ""),
        ("email.delivery_delayed", {}, "deferred", "", ""),
        ("email.complained", {}, "complained", "", ""),
        ("email.bounced", bounce("Permanent", "General", "no such user"), "bounced", "General", "no such user"),
        ("email.bounced", bounce("Permanent", "Suppressed"), "bounced", "Suppressed", ""),
        ("email.bounced", bounce("Permanent", "NoEmail"), "bounced", "NoEmail", ""),
        ("email.bounced", {}, "bounced", "", ""),
        ("email.bounced", {"bounce": {"message": "no such user"}}, "bounced", "", "no such user"),
        ("email.bounced", bounce("Permanent", "MessageRejected"), "blocked", "MessageRejected", ""),
        ("email.bounced", bounce("Transient", "MailboxFull"), "failed_temporarily", "Transient_MailboxFull", ""),
        ("email.bounced", bounce("Temporary", "General"), "failed_temporarily", "Temporary_General", ""),
        ("email.bounced", bounce("Transient", "ContentRejected"), "blocked", "Transient_ContentRejected", ""),
        ("email.bounced", bounce("Transient", "MessageTooLarge"), "blocked", "Transient_MessageTooLarge", ""),
        ("email.bounced", bounce("Transient", "AttachmentRejected"), "blocked", "Transient_AttachmentRejected", ""),
        ("email.bounced", bounce("Undetermined", "Undetermined"), "blocked", "Undetermined_Undetermined", ""),
        (
            "email.suppressed",
            {"suppressed": {"message": "on the list", "type": "OnAccountSuppressionList"}},
            *("bounced", "OnAccountSuppressionList", "on the list"),
        ),
        ("email.failed", {"failed": {"reason": "reached_daily_quota"}}, "dropped", "reached_daily_quota", ""),
    ],
)
def test_every_event_of_the_table(kind: str, data: dict[str, Any], word: str, code: str, detail: str) -> None:
    (found,) = words(body(kind, **data))
    assert found == ProviderEvent(REF, word, 1_789_999_990, MAIL_ID, code, detail)
    assert found.word in set(ProviderEventKind)


@pytest.mark.parametrize(
    "kind",
    [
        *("email.opened", "email.clicked", "email.scheduled", "email.received", "email.new", ""),
        *("contact.created", "suppression.added", "domain.updated"),
    ],
)
def test_events_that_change_nothing(kind: str) -> None:
    assert words(body(kind)) == []


@pytest.mark.parametrize("ref", [None, "", "x", 7, [], {}, f"{JOB}-1-1", REF.upper()])
def test_events_of_other_mails_are_counted_and_left_out(ref: Any) -> None:
    assert words(body(tags={REF_ARG: ref})) == []
    assert words(body(tags=ref)) == []
    assert words(body(tags=[{"name": REF_ARG, "value": REF}])) == []


@pytest.mark.parametrize("at", [None, "", "x", 7, [], "0001-01-01T00:00:00Z", "9999-12-31T23:59:59", "1969-01-01"])
def test_an_event_without_a_time_has_that_of_its_post(at: Any) -> None:
    (found,) = words(body(created_at=at))
    assert found.at == NOW


def test_times_without_a_zone_are_utc() -> None:
    for text in ("2026-09-21T14:13:10", "2026-09-21T14:13:10.126+00:00", "2026-09-21T16:13:10+02:00"):
        (found,) = words(body(created_at=text))
        assert found.at == 1_789_999_990


def test_a_word_about_a_copy_is_secondary() -> None:
    tags = {REF_ARG: REF, TO_ARG: digest(REF, "Reader@Example.com")}
    for to, secondary in (
        (["reader@example.com"], False),
        (["Reader <Reader@example.com>"], False),
        (["cc@example.com", "reader@example.com"], False),
        (["cc@example.com"], True),
        ([], False),
        (None, False),
        ("cc@example.com", False),
        ([7], True),
    ):
        (found,) = words(body(to=to, tags=tags))
        assert found.secondary is secondary


@pytest.mark.promise(9)
@pytest.mark.parametrize("text", ["550 <john.doe+x@example.co.uk>: rejected", "x " * 90 + "john.doe+long@example.com"])
def test_no_address_is_kept(text: str) -> None:
    (found,) = words(body("email.bounced", **bounce("Permanent", "General", text)))
    assert "john" not in found.detail
    assert len(found.detail) <= 200


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "a\uffffb", "a\x85b"])
def test_what_a_queue_refuses_is_not_passed_on(text: str) -> None:
    (found,) = words(body("email.bounced", email_id=text, **bounce("Permanent", text, text)))
    assert (found.detail, found.code, found.id) == ("a b", "a b", "a b")


@pytest.mark.parametrize(
    "post",
    [b"", b"[]", b"null", b"{}", b'{"type": "email.sent"}', b'{"type": 7, "data": {}}', b"[" * 200_000, b"\xff"],
)
def test_a_body_that_is_not_an_event(post: bytes) -> None:
    with pytest.raises(BadEvents):
        READER.words({}, post)
    with pytest.raises(BadSignature, match="unsigned"):
        READER.verify({}, post, SECRET, NOW)


# Signatures


def test_the_vendors_and_the_standards_packages_sign_and_verify_what_we_verify() -> None:
    post = body(subject="Grüße")
    now = datetime.now(UTC)
    at = int(now.timestamp())
    signature = Webhook(KEY).sign("msg_1", now, post.decode())
    good = {"svix-id": "msg_1", "svix-timestamp": str(at), "svix-signature": signature}
    assert signature == made(post, at)
    READER.verify(good, post, SECRET, at)
    for change in (
        {},
        {"svix-id": "msg_2"},
        {"svix-timestamp": str(at - 1)},
        {"svix-signature": made(post, at, OTHER)},
    ):
        given = {**good, **change}
        plain: Any = {name.removeprefix("svix-"): value for name, value in given.items()}
        options: Any = {"payload": post.decode(), "headers": plain, "webhook_secret": KEY}
        if not change:
            assert sdk.Webhooks.verify(options) == json.loads(post)
            continue
        with pytest.raises(ValueError, match="no matching signature"):
            sdk.Webhooks.verify(options)
        with pytest.raises(BadSignature, match="wrong_signature"):
            READER.verify(given, post, SECRET, at)
    with pytest.raises(BadSignature, match="wrong_signature"):
        READER.verify(good, post + b" ", SECRET, at)


def test_several_signatures_and_several_secrets_while_they_are_rotated() -> None:
    post = body()
    both = {"webhook_signing_secret": f"{OTHER}, {KEY},"}
    for signatures in (
        made(post),
        f"{made(post, key=OTHER)} {made(post)}",
        f"v1a,{base64.b64encode(b'x' * 64).decode()} {made(post)} v2,x",
        f"v1,!!! {made(post)}",
    ):
        READER.verify({**headers(post), "svix-signature": signatures}, post, SECRET, NOW)
        READER.verify({**headers(post), "svix-signature": signatures}, post, both, NOW)
    READER.verify(headers(post, key=OTHER), post, both, NOW)
    with pytest.raises(BadSignature, match="wrong_signature"):
        READER.verify(headers(post, key=OTHER), post, SECRET, NOW)
    other_version = made(post).replace("v1,", "v2,")
    with pytest.raises(BadSignature, match="unsigned"):
        READER.verify({**headers(post), "svix-signature": other_version}, post, SECRET, NOW)


@pytest.mark.parametrize("secret", ["", " , ", "whsec_", "whsec_!!", "whsec_ä"])
def test_without_a_secret_nothing_is_believed(secret: str) -> None:
    post = body()
    with pytest.raises(BadSignature, match="no_key"):
        READER.verify(headers(post, key=""), post, {"webhook_signing_secret": secret}, NOW)
    with pytest.raises(BadSignature, match="no_key"):
        READER.verify(headers(post, key=""), post, {}, NOW)


@pytest.mark.parametrize("name", ["svix-id", "svix-timestamp", "svix-signature"])
@pytest.mark.parametrize(
    "value", [None, "", "é", "-5", "1e9", "٣", "1.5", "v1", "v1,", "v1,é", " ", "\ud800", "x" * 300]
)
def test_headers_that_are_missing_or_malformed(name: str, value: str | None) -> None:
    post = body()
    given = {k: v for k, v in {**headers(post), name: value}.items() if v is not None}
    with pytest.raises(BadSignature):
        READER.verify(given, post, SECRET, NOW)


def test_a_signature_holds_for_five_minutes() -> None:
    post = body()
    for age in (0, MAX_AGE, -MAX_AHEAD):
        READER.verify(headers(post, NOW - int(age)), post, SECRET, NOW)
    for age, reason in ((MAX_AGE + 1, "too_old"), (-MAX_AHEAD - 1, "too_new")):
        with pytest.raises(BadSignature, match=reason):
            READER.verify(headers(post, NOW - int(age)), post, SECRET, NOW)
    assert MAX_AGE == MAX_AHEAD == 300


# Anything at all

EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["email.sent", "email.bounced", "email.failed", "email.suppressed"])},
    optional={
        "created_at": JSON,
        "data": JSON
        | st.fixed_dictionaries(
            {"tags": st.just({REF_ARG: REF}) | st.fixed_dictionaries({REF_ARG: st.just(REF), TO_ARG: JSON})},
            optional={
                "to": JSON,
                "email_id": JSON,
                "failed": JSON,
                "suppressed": JSON,
                "bounce": JSON | st.fixed_dictionaries({"type": JSON, "subType": JSON, "message": JSON}),
            },
        ),
    },
)


@pytest.mark.promise(10)
@given(st.binary() | (JSON | EVENTS).map(lambda v: json.dumps(v).encode()))
def test_no_body_breaks_the_reader(post: bytes) -> None:
    check_reading(READER, post)


@pytest.mark.promise(10)
@given(st.binary(), st.dictionaries(st.sampled_from(list(headers(b""))), st.text()), st.text())
def test_no_header_breaks_the_verifier(post: bytes, given_headers: dict[str, str], key: str) -> None:
    for secret in (SECRET, {"webhook_signing_secret": key}):
        with pytest.raises(BadSignature):
            READER.verify(given_headers, post, secret, NOW)
        with pytest.raises(BadSignature):
            READER.verify({**headers(post), **given_headers, "svix-signature": "v1,AAAA"}, post, secret, NOW)

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from sendgrid.helpers.eventwebhook import EventWebhook

from shared.contracts import ProviderEvent, dump_feedback, load_feedback
from shared.domain.jobs.feedback import ProviderEventKind
from shared.ports import BadEvents, BadSignature
from shared.providers._common import REF_ARG, TO_ARG, digest
from shared.providers._texts import MAX_AHEAD
from shared.providers.sendgrid.events import MAX_AGE, SIGNATURE_HEADER, TIMESTAMP_HEADER, SendGridWebhooks
from tests.providers.contract import JOB, check_reading

NOW = 1_790_000_000
REF = f"{JOB}-3-17-2"
READER = SendGridWebhooks()


def public(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    der = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
SECRET = {"webhook_public_key": public(KEY)}


def signed(body: bytes, at: int = NOW, key: ec.EllipticCurvePrivateKey = KEY) -> dict[str, str]:
    signature = key.sign(str(at).encode() + body, ec.ECDSA(hashes.SHA256()))
    return {SIGNATURE_HEADER: base64.b64encode(signature).decode(), TIMESTAMP_HEADER: str(at)}


def event(**changes: Any) -> dict[str, Any]:
    """An event in the form SendGrid posts it, custom arguments beside its own fields."""
    plain = {
        "email": "reader@example.com",
        "timestamp": 1_789_999_990,
        "smtp-id": "<Tq4mT1Q2RUKy0kGbE3ZtGw@geopod-ismtpd-1>",
        "sg_event_id": "ZGVsaXZlcmVkLTAtMTIz",
        "sg_message_id": "Tq4mT1Q2RUKy0kGbE3ZtGw.recvd-5f54b5d587-pczjm-1-67BADEEA-6.0",
        REF_ARG: REF,
    }
    return {k: v for k, v in {**plain, **changes}.items() if v is not None}


def words(*events: Any) -> list[ProviderEvent]:
    """Read a post twice: the second time must say the same."""
    body = json.dumps(list(events)).encode()
    first = READER.words({TIMESTAMP_HEADER: str(NOW)}, body)
    assert READER.words({TIMESTAMP_HEADER: str(NOW)}, body) == first
    assert first.events == len(events)
    assert load_feedback(dump_feedback("main", first.words)) == ("main", first.words)
    return first.words


PLAIN = ProviderEvent(REF, "", 1_789_999_990, "Tq4mT1Q2RUKy0kGbE3ZtGw")


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("posted", "word", "code", "detail"),
    [
        ({"event": "processed", "pool": {"name": "main", "id": 210}}, "accepted", "", ""),
        (
            {"event": "deferred", "response": "451 4.7.1 try again later", "attempt": "5", "tls": 1},
            "deferred",
            "",
            "451 4.7.1 try again later",
        ),
        ({"event": "delivered", "response": "250 OK", "ip": "192.0.2.1"}, "delivered", "", "250 OK"),
        (
            {
                "event": "bounce",
                "type": "bounce",
                "status": "5.1.1",
                "reason": "550 5.1.1 <reader@example.com>",
            },
            "bounced",
            "5.1.1",
            "550 5.1.1 <<address>>",
        ),
        ({"event": "bounce", "status": "5.0.0", "reason": "500 unknown recipient"}, "bounced", "5.0.0", None),
        ({"event": "bounce", "type": "blocked", "status": "5.7.1", "reason": "spam"}, "blocked", "5.7.1", "spam"),
        (
            {
                "event": "bounce",
                "type": "blocked",
                "reason": "unable to get mx info: failed to get IPs",
            },
            "blocked",
            "",
            None,
        ),
        (
            {"event": "bounce", "type": "blocked", "status": "4.4.1"},
            "failed_temporarily",
            "4.4.1",
            None,
        ),
        ({"event": "bounce", "type": "expired", "reason": "x"}, "failed_temporarily", "", "x"),
        ({"event": "bounce", "type": "something new", "reason": "x"}, "blocked", "", "x"),
        ({"event": "dropped", "reason": "Bounced Address", "status": "5.0.0"}, "bounced", "5.0.0", "Bounced Address"),
        ({"event": "dropped", "reason": "Invalid"}, "bounced", "invalid", "Invalid"),
        ({"event": "dropped", "reason": "Spam Reporting Address"}, "complained", "spam_reporting_address", None),
        ({"event": "dropped", "reason": "Unsubscribed Address", "status": "5.0.0"}, "dropped", "unsubscribed", None),
        ({"event": "unsubscribe"}, "unsubscribed", "", ""),
        ({"event": "group_unsubscribe", "asm_group_id": 10, "useragent": "x"}, "unsubscribed", "", ""),
        ({"event": "group_resubscribe", "asm_group_id": 10, "useragent": "x"}, "resubscribed", "", ""),
        ({"event": "dropped", "reason": "Spam Content"}, "dropped", "spam_content", None),
        ({"event": "dropped", "reason": "Recipient List over Package Quota"}, "dropped", None, None),
        ({"event": "dropped"}, "dropped", "", ""),
        ({"event": "spamreport"}, "complained", "", ""),
    ],
)
def test_every_event_of_the_table(posted: dict[str, Any], word: str, code: str | None, detail: str | None) -> None:
    (found,) = words(event(**posted))
    assert (found.ref, found.word, found.at, found.id, found.secondary) == (REF, word, PLAIN.at, PLAIN.id, False)
    assert found.word in set(ProviderEventKind)
    assert code is None or found.code == code
    assert detail is None or found.detail == detail


@pytest.mark.parametrize("name", ["open", "click", "something_new", "", None, 7])
def test_events_that_change_nothing(name: Any) -> None:
    assert words(event(event=name)) == []


@pytest.mark.parametrize("ref", [None, "", "x", 7, [], {}, f"{JOB}-1-1", f"{JOB}-1-1-1-1", REF.upper()])
def test_events_of_other_mails_are_counted_and_left_out(ref: Any) -> None:
    assert words(event(event="delivered", **{REF_ARG: ref}), event(event="delivered")) == [
        ProviderEvent(REF, "delivered", PLAIN.at, PLAIN.id)
    ]


def test_an_event_without_a_time_has_that_of_its_post() -> None:
    times: list[Any] = [None, "1", -5, 1.5, 10**30, []]
    for at in times:
        (found,) = words(event(event="delivered", timestamp=at))
        assert found.at == NOW


def test_a_word_about_a_copy_is_secondary() -> None:
    args = {TO_ARG: digest(REF, "Reader@Example.com")}
    to, cc = words(
        event(event="delivered", email="reader@example.com", **args),
        event(event="bounce", type="bounce", email="cc@example.com", **args),
    )
    assert (to.secondary, cc.secondary) == (False, True)


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "reason",
    [
        "550 <john.doe+x@example.co.uk>: Recipient address rejected",
        "john.doe@example.com: no such user",
        "https://example.com/bounce?to=john.doe%40example.com&x=1",
        "x " * 90 + "john.doe+very.long.name@subdomain.of.example.com",
    ],
)
def test_no_address_is_kept(reason: str) -> None:
    (found,) = words(event(event="bounce", type="bounce", reason=reason))
    assert "john" not in found.detail
    assert len(found.detail) <= 200


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "a\uffffb", "a\x85b"])
def test_what_a_queue_refuses_is_not_passed_on(text: str) -> None:
    (found,) = words(event(event="bounce", type="bounce", reason=text, status=text, sg_message_id=text))
    assert (found.detail, found.code, found.id) == ("a b", "a b", "a b")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"null",
        b"[1]",
        b'[{}, "x"]',
        b"[" * 200_000,
        b"\xff\xfe",
        b'[{"a": ' + b"1" * 5000 + b"}]",
        b"nonsense",
    ],
)
def test_a_body_that_is_not_an_array_of_objects(body: bytes) -> None:
    with pytest.raises(BadEvents):
        READER.words({}, body)


# Signatures


def test_the_vendors_sdk_verifies_what_we_sign_and_we_what_it_verifies() -> None:
    body = json.dumps([event(event="delivered", reason="ü")], ensure_ascii=False)
    headers = signed(body.encode())
    sdk = EventWebhook(public(KEY))
    assert sdk.verify_signature(body, headers[SIGNATURE_HEADER], headers[TIMESTAMP_HEADER])
    READER.verify(headers, body.encode(), SECRET, NOW)
    assert not sdk.verify_signature(body + " ", headers[SIGNATURE_HEADER], headers[TIMESTAMP_HEADER])
    with pytest.raises(BadSignature, match="wrong_signature"):
        READER.verify(headers, body.encode() + b" ", SECRET, NOW)


def test_several_keys_while_they_are_rotated() -> None:
    both = {"webhook_public_key": f"{public(OTHER)}, {public(KEY)},"}
    READER.verify(signed(b"[]"), b"[]", both, NOW)
    READER.verify(signed(b"[]", key=OTHER), b"[]", both, NOW)
    with pytest.raises(BadSignature):
        READER.verify(signed(b"[]", key=OTHER), b"[]", SECRET, NOW)


@pytest.mark.parametrize(
    "secret",
    [
        {},
        {"webhook_public_key": ""},
        {"webhook_public_key": " , "},
        {"webhook_public_key": "nonsense"},
        {"webhook_public_key": "bm9uc2Vuc2U="},
        {"webhook_public_key": public(rsa.generate_private_key(65537, 2048))},
        {"webhook_public_key": public(ec.generate_private_key(ec.SECP384R1()))},
    ],
)
def test_without_a_usable_key_nothing_is_believed(secret: dict[str, str]) -> None:
    with pytest.raises(BadSignature, match="no_key"):
        READER.verify(signed(b"[]"), b"[]", secret, NOW)


@pytest.mark.parametrize("name", [SIGNATURE_HEADER, TIMESTAMP_HEADER])
@pytest.mark.parametrize("value", [None, "", "x", "=", "é", "-5", "1e9", "٣"])
def test_headers_that_are_missing_or_malformed(name: str, value: str | None) -> None:
    headers = signed(b"[]")
    del headers[name]
    with pytest.raises(BadSignature):
        READER.verify(headers if value is None else {**headers, name: value}, b"[]", SECRET, NOW)


def test_a_signature_holds_for_the_time_of_retries_and_no_longer() -> None:
    for age in (0, 24 * 3600, MAX_AGE, -MAX_AHEAD):
        READER.verify(signed(b"[]", NOW - int(age)), b"[]", SECRET, NOW)
    for age, reason in ((MAX_AGE + 1, "too_old"), (-MAX_AHEAD - 1, "too_new")):
        with pytest.raises(BadSignature, match=reason):
            READER.verify(signed(b"[]", NOW - int(age)), b"[]", SECRET, NOW)


# Anything at all

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    [REF_ARG, TO_ARG, "event", "timestamp", "reason", "response", "status", "type", "sg_message_id", "email"]
)
EVENTS = st.dictionaries(FIELDS, JSON, max_size=8).flatmap(
    lambda e: st.sampled_from(["processed", "dropped", "bounce", "deferred"]).map(
        lambda name: {**e, "event": name, REF_ARG: REF}
    )
)


@pytest.mark.slow
@pytest.mark.promise(10)
@given(
    st.binary() | JSON.map(lambda v: json.dumps(v).encode()) | st.lists(EVENTS).map(lambda v: json.dumps(v).encode())
)
def test_no_body_breaks_the_reader(body: bytes) -> None:
    check_reading(READER, body)


@pytest.mark.promise(10)
@given(st.binary(), st.text(), st.text(), st.text())
def test_no_header_breaks_the_verifier(body: bytes, signature: str, timestamp: str, key: str) -> None:
    headers = {SIGNATURE_HEADER: signature, TIMESTAMP_HEADER: timestamp}
    for secret in (SECRET, {"webhook_public_key": key}):
        with pytest.raises(BadSignature):
            READER.verify(headers, body, secret, NOW)
    with pytest.raises(BadSignature):
        READER.verify({**signed(body), SIGNATURE_HEADER: base64.b64encode(body).decode()}, body, SECRET, NOW)

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mailgun.security import SecurityGuard

from shared.contracts import ProviderEvent, dump_feedback, load_feedback
from shared.domain.jobs.feedback import ProviderEventKind
from shared.ports import BadEvents, BadSignature
from shared.providers._common import REF_ARG, TO_ARG, digest
from shared.providers._texts import MAX_AHEAD
from shared.providers.mailgun.events import MAX_AGE, MailgunWebhooks
from tests.providers.contract import JOB, check_reading
from tests.providers.test_sendgrid_events import JSON

NOW = 1_790_000_000
REF = f"{JOB}-3-17-2"
READER = MailgunWebhooks()
KEY, OTHER = "signing-key", "another-key"
SECRET = {"webhook_signing_key": KEY}
TOKEN = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123"


def hexdigest(key: str, at: object = NOW, token: str = TOKEN) -> str:
    return hmac.new(key.encode(), f"{at}{token}".encode(), hashlib.sha256).hexdigest()


def signature(at: int = NOW, key: str = KEY, token: str = TOKEN) -> dict[str, Any]:
    return {"timestamp": str(at), "token": token, "signature": hexdigest(key, at, token)}


def body(event: Any = None, **changes: Any) -> bytes:
    given = {k: v for k, v in {**signature(), **changes}.items() if v is not None}
    return json.dumps({"signature": given, "event-data": {} if event is None else event}).encode()


def event(**changes: Any) -> dict[str, Any]:
    """An event in the form Mailgun documents it."""
    plain = {
        "id": "CCXMjJ7nQi2N3BPigGOdgQ",
        "timestamp": 1_789_999_990.375624,
        "log-level": "info",
        "domain": {"name": "mg.sender.example"},
        "envelope": {"sender": "news@sender.example", "targets": "reader@example.com", "transport": "smtp"},
        "message": {"headers": {"message-id": "20260203.1@mg.sender.example", "to": "reader@example.com"}, "size": 1},
        "recipient": "reader@example.com",
        "user-variables": {REF_ARG: REF},
    }
    return {k: v for k, v in {**plain, **changes}.items() if v is not None}


def failed(reason: str, severity: str = "permanent", **status: Any) -> dict[str, Any]:
    return {"event": "failed", "severity": severity, "reason": reason, "delivery-status": status}


def words(given: Any) -> list[ProviderEvent]:
    """Read a post twice: the second time must say the same."""
    post = body(given)
    first = READER.words({}, post)
    assert READER.words({}, post) == first
    assert first.events == 1
    assert load_feedback(dump_feedback("main", first.words)) == ("main", first.words)
    return first.words


DELAYED: dict[str, Any] = {
    "event": "failed",
    "severity": "permanent",
    "reason": "generic",
    "log-level": "error",
    "flags": {"is-delayed-bounce": True, "is-test-mode": False},
    "delivery-status": {
        "code": 550,
        "enhanced-code": "5.1.1",
        "message": "5.1.1 The email account that you tried to reach does not exist.",
        "description": "",
    },
}
"""Mailgun's own sample, "Failed (Permanent, Delayed Bounce)" (user-manual/webhooks/webhook-payloads), in part."""


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("posted", "word", "code", "detail"),
    [
        ({"event": "accepted"}, "accepted", "", ""),
        ({"event": "rejected", "reject": {"reason": "virus"}, "recipient": None}, "dropped", "", "virus"),
        (
            {"event": "delivered", "delivery-status": {"code": 250, "message": "OK", "enhanced-code": "2.0.0"}},
            "delivered",
            "2.0.0",
            "OK",
        ),
        ({"event": "delivered", "delivery-status": {"code": 0, "message": ""}}, "delivered", "", ""),
        ({"event": "complained"}, "complained", "", ""),
        (failed("generic", "temporary", code=498, message="No MX"), "deferred", "498", "No MX"),
        (failed("espblock", "temporary", code=421), "deferred", "421", ""),
        (
            failed("bounce", code=550, **{"enhanced-code": "5.1.1"}, message="550 <reader@example.com>"),
            "bounced",
            "5.1.1",
            "550 <<address>>",
        ),
        (failed("bounce", code=550, **{"bounce-type": "hard"}), "bounced", "550", ""),
        (failed("delayed-bounce"), "bounced", "delayed_bounce", ""),
        (failed("bounce", code=552, **{"bounce-type": "soft"}), "blocked", "552", ""),
        (failed("bounce", code=452, **{"bounce-type": "soft"}), "failed_temporarily", "452", ""),
        (failed("generic", code=550, **{"enhanced-code": "5.7.1"}, message="spam"), "blocked", "5.7.1", "spam"),
        (failed("generic", code=498, message="No MX"), "failed_temporarily", "498", "No MX"),
        (DELAYED, "bounced", "5.1.1", None),
        (failed("generic", code=550, **{"enhanced-code": "5.1.10"}), "bounced", "5.1.10", ""),
        (failed("hardfail", code=550, **{"enhanced-code": "5.1.1", "bounce-type": "soft"}), "blocked", "5.1.1", ""),
        ({**failed("generic", code=550), "flags": {"is-delayed-bounce": True}}, "bounced", "550", ""),
        ({**DELAYED, "delivery-status": {"code": 550, "enhanced-code": "5.7.1"}}, "blocked", "5.7.1", ""),
        (failed("espblock", code=554), "blocked", "554", ""),
        (failed("something-new"), "blocked", "something_new", ""),
        (failed("old", code=602, description="Too old"), "failed_temporarily", "602", "Too old"),
        (
            failed("suppress-bounce", code=605, message="", description="Not delivering to previously bounced address"),
            "bounced",
            "suppress_bounce",
            "Not delivering to previously bounced address",
        ),
        (failed("suppress-complaint", code=607), "complained", "suppress_complaint", ""),
        (failed("suppress-unsubscribe", code=606), "dropped", "unsubscribed", ""),
        ({"event": "unsubscribed"}, "unsubscribed", "", ""),
        (failed("suppress-other", code=608), "dropped", "suppress_other", ""),
    ],
)
def test_every_event_of_the_table(posted: dict[str, Any], word: str, code: str, detail: str | None) -> None:
    (found,) = words(event(**posted))
    detail = found.detail if detail is None else detail
    assert found == ProviderEvent(REF, word, 1_789_999_990, "20260203.1@mg.sender.example", code, detail)
    assert found.word in set(ProviderEventKind)


@pytest.mark.parametrize("name", ["opened", "clicked", "stored", "something_new", "", None, 7])
def test_events_that_change_nothing(name: Any) -> None:
    assert words(event(event=name)) == []


@pytest.mark.parametrize("ref", [None, "", "x", 7, [], {}, f"{JOB}-1-1", REF.upper(), "%recipient.ref%"])
def test_events_of_other_mails_are_counted_and_left_out(ref: Any) -> None:
    assert words(event(event="delivered", **{"user-variables": {REF_ARG: ref}})) == []
    assert words(event(event="delivered", **{"user-variables": ref})) == []


def test_an_event_without_a_time_has_that_of_its_signature() -> None:
    times: list[Any] = [None, "1", -5, 10**30, [], float("nan"), float("inf")]
    for at in times:
        (found,) = words(event(event="delivered", timestamp=at))
        assert found.at == NOW


def test_a_word_about_a_copy_is_secondary() -> None:
    variables = {REF_ARG: REF, TO_ARG: digest(REF, "Reader@Example.com")}
    for recipient, secondary in (("reader@example.com", False), ("cc@example.com", True), (None, False)):
        (found,) = words(event(event="accepted", recipient=recipient, **{"user-variables": variables}))
        assert found.secondary is secondary


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "reason",
    [
        "550 <john.doe+x@example.co.uk>: Recipient address rejected",
        "https://example.com/bounce?to=john.doe%40example.com&x=1",
        "x " * 90 + "john.doe+very.long.name@subdomain.of.example.com",
    ],
)
def test_no_address_is_kept(reason: str) -> None:
    (found,) = words(event(**failed("bounce", message=reason)))
    assert "john" not in found.detail
    assert len(found.detail) <= 200


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "a\uffffb", "a\x85b"])
def test_what_a_queue_refuses_is_not_passed_on(text: str) -> None:
    status = {"message": text, "enhanced-code": text}
    (found,) = words(event(**failed(text, **status), message={"headers": {"message-id": text}}))
    assert (found.detail, found.code, found.id) == ("a b", "a b", "a b")


@pytest.mark.parametrize(
    "post",
    [b"", b"[]", b"null", b"{}", b'{"event-data": []}', b"[" * 200_000, b"\xff", b'{"a": ' + b"1" * 5000 + b"}"],
)
def test_a_body_that_is_not_an_event(post: bytes) -> None:
    with pytest.raises(BadEvents):
        READER.words({}, post)
    with pytest.raises(BadSignature, match="unsigned"):
        READER.verify({}, post, SECRET, NOW)


# Signatures


def test_the_vendors_sdk_verifies_what_we_verify() -> None:
    good = signature()
    READER.verify({}, body(), SECRET, NOW)
    assert SecurityGuard.verify_webhook(KEY, TOKEN, good["timestamp"], good["signature"], max_age_seconds=0)
    for change in ({"token": TOKEN[:-1] + "4"}, {"timestamp": str(NOW - 1)}, {"signature": hexdigest(OTHER)}):
        bad = {**good, **change}
        assert not SecurityGuard.verify_webhook(
            KEY, bad["token"], bad["timestamp"], bad["signature"], max_age_seconds=0
        )
        with pytest.raises(BadSignature, match="wrong_signature"):
            READER.verify({}, body(**change), SECRET, NOW)


def test_a_number_as_timestamp_and_a_key_of_the_account_above() -> None:
    READER.verify({}, body(timestamp=NOW), SECRET, NOW)
    above = {"signature": hexdigest(OTHER), "parent-signature": hexdigest(KEY)}
    READER.verify({}, body(**above), SECRET, NOW)
    with pytest.raises(BadSignature):
        READER.verify({}, body(**{**above, "parent-signature": hexdigest("third")}), SECRET, NOW)


def test_several_keys_while_they_are_changed() -> None:
    both = {"webhook_signing_key": f"{OTHER}, {KEY},"}
    READER.verify({}, body(), both, NOW)
    READER.verify({}, body(signature=hexdigest(OTHER)), both, NOW)
    with pytest.raises(BadSignature):
        READER.verify({}, body(signature=hexdigest(OTHER)), SECRET, NOW)


@pytest.mark.parametrize("secret", [{}, {"webhook_signing_key": ""}, {"webhook_signing_key": " , "}, {"api_key": KEY}])
def test_without_a_key_nothing_is_believed(secret: dict[str, str]) -> None:
    with pytest.raises(BadSignature, match="no_key"):
        READER.verify({}, body(signature=hexdigest("")), secret, NOW)


@pytest.mark.parametrize("name", ["timestamp", "token", "signature"])
@pytest.mark.parametrize("value", [None, "", 1.5, True, [], {}, "é", "-5", "1e9", "٣", "x" * 64, "\ud800", "x" * 300])
def test_signatures_that_are_missing_or_malformed(name: str, value: Any) -> None:
    with pytest.raises(BadSignature):
        READER.verify({}, body(**{name: value}), SECRET, NOW)


def test_a_signature_holds_for_a_day_and_no_longer() -> None:
    for age in (0, MAX_AGE, -MAX_AHEAD):
        READER.verify({}, body(**signature(NOW - int(age))), SECRET, NOW)
    for age, reason in ((MAX_AGE + 1, "too_old"), (-MAX_AHEAD - 1, "too_new")):
        with pytest.raises(BadSignature, match=reason):
            READER.verify({}, body(**signature(NOW - int(age))), SECRET, NOW)
    assert MAX_AGE == 24 * 3600


# Anything at all

STATUS = st.dictionaries(
    st.sampled_from(["code", "enhanced-code", "message", "description", "bounce-type"]), JSON, max_size=5
)
EVENTS = st.fixed_dictionaries(
    {
        "event": st.sampled_from(["accepted", "rejected", "failed", "delivered"]),
        "user-variables": st.just({REF_ARG: REF}) | st.fixed_dictionaries({REF_ARG: st.just(REF), TO_ARG: JSON}),
    },
    optional={
        "timestamp": JSON,
        "severity": JSON,
        "reason": JSON | st.sampled_from(["bounce", "suppress-bounce", "old"]),
        "recipient": JSON,
        "reject": JSON,
        "message": JSON | st.fixed_dictionaries({"headers": JSON}),
        "delivery-status": JSON | STATUS,
    },
)


@pytest.mark.promise(10)
@given(
    st.binary()
    | JSON.map(lambda v: json.dumps(v).encode())
    | JSON.map(lambda v: json.dumps({"event-data": v, "signature": v}).encode())
    | EVENTS.map(body)
)
def test_no_body_breaks_the_reader(post: bytes) -> None:
    check_reading(READER, post)


@pytest.mark.promise(10)
@given(st.binary(), JSON, JSON, JSON, st.text())
def test_no_signature_breaks_the_verifier(raw: bytes, timestamp: Any, token: Any, made: Any, key: str) -> None:
    for post in (raw, body(timestamp=timestamp, token=token, signature=made), body(token=token), body(signature=made)):
        for secret in (SECRET, {"webhook_signing_key": key}):
            if secret is SECRET and post in (body(), body(token=None)):
                continue
            try:
                READER.verify({}, post, secret, NOW)
            except BadSignature:
                continue
            assert post == body()
            assert KEY in key

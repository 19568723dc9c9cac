"""Webhooks: what is genuine, and what is not. The first vector is that of Standard Webhooks' own libraries."""

import base64
import hashlib
import hmac
import json

import pytest
from posthaste_sdk import Webhook, WebhookError

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
AT = 1_614_265_330
BODY = b'{"test": 2432232314}'
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(AT),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def webhook(secret: str = SECRET, ahead: float = 0) -> Webhook:
    return Webhook(secret, now=lambda: AT + ahead)


def signed(body: bytes, secret: str = SECRET, at: int = AT) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.new(key, f"evt_1.{at}.".encode() + body, hashlib.sha256).digest()).decode()
    return {"Webhook-Id": "evt_1", "Webhook-Timestamp": str(at), "Webhook-Signature": f"v1,{signature}"}


def test_the_vector_of_the_standard_is_genuine() -> None:
    assert webhook().verify(BODY, HEADERS) == {"test": 2432232314}
    assert webhook().verify(BODY.decode(), {name.upper(): value for name, value in HEADERS.items()})
    assert webhook(SECRET.removeprefix("whsec_")).verify(BODY, HEADERS)


@pytest.mark.parametrize("ahead", [-300, 300])
def test_clocks_may_differ_by_five_minutes(ahead: int) -> None:
    assert webhook(ahead=ahead).verify(BODY, HEADERS)
    with pytest.raises(WebhookError, match="too old"):
        webhook(ahead=ahead + (1 if ahead > 0 else -1)).verify(BODY, HEADERS)


def test_after_a_rotation_either_signature_will_do() -> None:
    other = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
    for text in (f"{other} {HEADERS['webhook-signature']}", f"v2,AAAA {HEADERS['webhook-signature']} {other}"):
        assert webhook().verify(BODY, {**HEADERS, "webhook-signature": text})


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_other"},
        {"webhook-timestamp": str(AT + 1)},
        {"webhook-signature": "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="},
        {"webhook-signature": HEADERS["webhook-signature"].replace("v1,", "v1a,")},
        {"webhook-signature": "v1,not base64"},
        {"webhook-signature": "v1,"},
        {"webhook-timestamp": "٣"},
        {"webhook-timestamp": "1e9"},
        {"webhook-timestamp": "9" * 12},
        {"webhook-timestamp": "9" * 400},
        {"webhook-timestamp": "9" * 5_000},
        {"webhook-id": "msg_\udcff"},
        {"webhook-signature": "v1,\udcff"},
        {"webhook-id": ""},
        {"webhook-signature": ""},
    ],
    ids=lambda change: ascii(change)[:50],
)
def test_a_request_that_was_changed_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(WebhookError):
        webhook().verify(BODY, {**HEADERS, **change})


def test_a_changed_body_another_secret_and_missing_headers_are_refused() -> None:
    with pytest.raises(WebhookError, match="not of this endpoint"):
        webhook().verify(BODY + b" ", HEADERS)
    with pytest.raises(WebhookError, match="not of this endpoint"):
        webhook().verify("\ud800", HEADERS)
    with pytest.raises(WebhookError, match="not of this endpoint"):
        webhook("whsec_" + base64.b64encode(b"x" * 24).decode()).verify(BODY, HEADERS)
    with pytest.raises(WebhookError, match="no signature"):
        webhook().verify(BODY, {})
    with pytest.raises(WebhookError, match="not JSON"):
        webhook().verify(b"{", signed(b"{"))


def test_an_event_has_its_id_and_a_batch_has_its_events() -> None:
    one = {"type": "job.logged", "timestamp": "2026-11-23T09:00:00Z", "data": {"job_id": "j1"}}
    body = json.dumps(one).encode()
    assert webhook().events(body, signed(body)) == [{"id": "evt_1", **one}]
    several = [{"id": "evt_2", **one}, {"id": "evt_3", **one}]
    body = json.dumps({"type": "batch", "timestamp": "2026-11-23T09:00:00Z", "data": several}).encode()
    assert webhook().events(body, signed(body)) == several
    for body in (b"[]", b"{}", b'{"type": "batch"}'):
        with pytest.raises(WebhookError, match="no event"):
            webhook().events(body, signed(body))


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_ü", "whsec_not base64!"])
def test_what_is_no_secret_is_refused_at_once(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        Webhook(secret)

"""The signer against botocore's own."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from shared.sigv4 import AwsKeys, Signer
from tests.providers.fakes import NOW

KEYS = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


def ours(url: str, keys: AwsKeys, body: bytes, now: float, region: str = "eu-central-1") -> dict[str, str]:
    signer = Signer(url, region=region, service="ses", content_type="application/json")
    return signer.headers(keys, hashlib.sha256(body).hexdigest(), now)


def theirs(url: str, keys: AwsKeys, body: bytes, now: float, region: str = "eu-central-1") -> str:
    """Return botocore's signature of the same headers at the same second."""
    at = datetime.fromtimestamp(int(now), UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {"Content-Type": "application/json", "X-Amz-Date": at}
    if keys.token:
        headers["X-Amz-Security-Token"] = keys.token
    request: Any = AWSRequest("POST", url, headers, body)
    request.context["timestamp"] = at
    signer = SigV4Auth(Credentials(keys.access_key, keys.secret_key, keys.token), "ses", region)
    found: str = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return found


@pytest.mark.parametrize(
    "url",
    [
        "https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails",
        "https://email.cn-north-1.amazonaws.com.cn:443/v2/email/outbound-emails",
        "http://127.0.0.1:8080/ses/ses-main/v2/email/outbound-bulk-emails",
        "http://127.0.0.1:80/x~y_z.1/v2",
    ],
)
@pytest.mark.parametrize("token", ["", "IQoJb3JpZ2luX2VjEXAMPLE//+=="])
def test_the_signature_is_botocore_s(url: str, token: str) -> None:
    keys = AwsKeys(KEYS.access_key, KEYS.secret_key, token)
    made = ours(url, keys, b'{"a":1}', NOW)
    assert made["Authorization"].endswith("Signature=" + theirs(url, keys, b'{"a":1}', NOW))
    assert f"Credential={KEYS.access_key}/20260921/eu-central-1/ses/aws4_request," in made["Authorization"]
    assert made.get("X-Amz-Security-Token", "") == token


@given(st.binary(max_size=200), st.integers(0, 4_000_000_000), st.text(st.characters(codec="ascii"), min_size=1))
def test_whatever_is_signed(body: bytes, now: int, secret: str) -> None:
    keys = AwsKeys("AK", secret)
    url = "https://email.us-east-1.amazonaws.com/v2/email/outbound-emails"
    assert ours(url, keys, body, now)["Authorization"].endswith(theirs(url, keys, body, now))


def test_a_signer_follows_day_and_keys() -> None:
    signer = Signer("https://h.example/", region="us-east-1", service="ses", content_type="application/json")
    body_hash = hashlib.sha256(b"").hexdigest()
    for keys, now in ((KEYS, NOW), (KEYS, NOW + 86_400), (AwsKeys("AK", "other"), NOW + 86_400), (KEYS, NOW)):
        expected = theirs("https://h.example/", keys, b"", now, "us-east-1")
        assert signer.headers(keys, body_hash, now)["Authorization"].endswith(expected)


def test_keys_are_not_shown() -> None:
    keys = AwsKeys("AK", "very-secret", "token-text")
    assert "very-secret" not in repr(keys)
    assert "token-text" not in repr(keys)

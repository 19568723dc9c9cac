import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from shared.domain.access.signed import (
    EARLY_S,
    LATE_S,
    RequestSignature,
    is_digest_of,
    key_id_of,
    needed_components,
    public_key_of,
)

KEY_ID = "ab" * 32
NOW = 1_700_000_000
SIGNED = f'sig=("@method" "@path");created={NOW};keyid="{KEY_ID}"'
MADE = "sig=:AAAA:"


def test_the_text_that_is_signed_is_that_of_the_standard_s_example() -> None:
    """RFC 9421 B.2.6, with the public key of B.1.4; the key's name there is not a hash, so it is put in afterwards."""
    parameters = (
        '("date" "@method" "@path" "@authority" "content-type" "content-length")'
        ';created=1618884473;keyid="test-key-ed25519"'
    )
    covered = ("date", "@method", "@path", "@authority", "content-type", "content-length")
    said = base64.b64decode("wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==")
    found = RequestSignature(covered, parameters, 1618884473, 0, "", said)
    values = {
        "date": "Tue, 20 Apr 2021 02:07:55 GMT",
        "@method": "POST",
        "@authority": "example.com",
        "content-type": "application/json",
        "content-length": "18",
    }
    public = base64.urlsafe_b64decode("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs=")
    (base,) = found.bases(values, "/foo")
    Ed25519PublicKey.from_public_bytes(public).verify(said, base)


def test_the_path_is_tried_in_each_form_that_a_client_may_have_written() -> None:
    found = RequestSignature.read(SIGNED, MADE)
    texts = b"\n".join(found.bases({"@method": "GET"}, "/suppressions/ann+x@example.org"))
    for path in (b"/ann+x@example.org", b"/ann%2Bx%40example.org"):
        assert b"/suppressions" + path + b"\n" in texts


@pytest.mark.parametrize(
    ("covered", "given", "said"),
    [
        ("", MADE, "one signature"),
        (SIGNED, "", "one signature"),
        (SIGNED, "other=:AAAA:", "one signature"),
        (f"{SIGNED}, {SIGNED}", MADE, "one signature"),
        (SIGNED.replace('"@path"', '"@path";req'), MADE, "one signature"),
        (SIGNED.replace('"@path"', '"@method"'), MADE, "twice"),
        (f'{SIGNED};alg="hmac-sha256"', MADE, "ed25519"),
        (SIGNED.replace(f";created={NOW}", ""), MADE, "created"),
        (SIGNED.replace(KEY_ID, "main"), MADE, "keyid"),
        (SIGNED, "sig=:AAA:", "base64"),
        (SIGNED + " " * 5000 + "x", MADE, "one signature"),
    ],
)
def test_what_is_no_signature_that_is_taken_is_refused_with_the_reason(covered: str, given: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RequestSignature.read(covered, given)


@pytest.mark.parametrize(
    ("now", "held"),
    [(NOW, True), (NOW + LATE_S, True), (NOW + LATE_S + 1, False), (NOW - EARLY_S, True), (NOW - EARLY_S - 1, False)],
)
def test_a_signature_is_taken_for_five_minutes(now: float, held: bool) -> None:  # noqa: FBT001 - of a table
    assert (RequestSignature.read(SIGNED, MADE).fault(now, ("@method",)) == "") is held


def test_a_signature_ends_when_its_maker_says() -> None:
    found = RequestSignature.read(f"{SIGNED};expires={NOW + 10}", MADE)
    assert found.fault(NOW + 9, ()) == ""
    assert "expired" in found.fault(NOW + 10, ())


def test_what_a_signature_leaves_out_is_named() -> None:
    needed = needed_components(query=True, body=True, repeats=True)
    said = RequestSignature.read(SIGNED, MADE).fault(NOW, needed)
    assert said == "The signature does not cover @authority, @query, content-digest, idempotency-key."
    assert needed_components(query=False, body=False, repeats=False) == ("@method", "@authority", "@path")
    with pytest.raises(ValueError, match="does not have"):
        list(RequestSignature.read(SIGNED.replace("@path", "date"), MADE).bases({"@method": "GET"}, "/"))


@pytest.mark.parametrize("name", ["sha-256", "sha-512"])
def test_a_digest_is_that_of_one_body(name: str) -> None:
    made = base64.b64encode(hashlib.new(name.replace("-", ""), b"{}").digest()).decode()
    assert is_digest_of(f"{name}=:{made}:", b"{}")
    assert not is_digest_of(f"{name}=:{made}:", b"[]")
    for spoilt in ("", f"md5=:{made}:", f"{name}=:AAA:", f"{name}={made}"):
        assert not is_digest_of(spoilt, b"{}")


def test_a_public_key_has_32_bytes_and_its_hash_is_its_name() -> None:
    public = bytes(range(32))
    assert public_key_of(f" {base64.b64encode(public).decode()} ") == public
    assert key_id_of(public) == hashlib.sha256(public).hexdigest()
    for text in ("", "AAAA", "not base64!", base64.b64encode(public + b"x").decode()):
        with pytest.raises(ValueError, match="32 bytes"):
            public_key_of(text)

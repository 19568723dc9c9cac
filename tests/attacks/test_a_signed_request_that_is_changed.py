"""A request that its client has signed (RFC 9421) is changed on its way, or sent again.

Then: each request carried a secret that a proxy or a log could use for any other.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from examples import sign
from shared.domain.access.proofs import Proof
from shared.domain.access.signed import EARLY_S, LATE_S, key_id_of, public_key_of
from shared.domain.accounts import Scope
from tests.api.conftest import Api, Reply, event

HOST = "mail.example.com"


@dataclass(frozen=True)
class Signed:
    """A request of a client that signs, as the standard describes it. `path`: as the client writes it."""

    method: str
    path: str
    at: int
    body: str = ""
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    covers: tuple[str, ...] = ()

    def sent(self, private: Ed25519PrivateKey) -> dict[str, Any]:
        """Return the event of the signed request."""
        digest = base64.b64encode(hashlib.sha256(self.body.encode()).digest()).decode()
        headers = {"host": HOST, **({"content-digest": f"sha-256=:{digest}:"} if self.body else {}), **self.headers}
        values = {"@method": self.method, "@authority": HOST, "@path": self.path, "@query": f"?{self.query}", **headers}
        more = [x for x in ("content-digest", "idempotency-key") if x in headers]
        covers = self.covers or ("@method", "@authority", "@path", *(["@query"] if self.query else []), *more)
        named = " ".join(f'"{x}"' for x in covers)
        parameters = f'({named});created={self.at};keyid="{key_id_of(raw(private))}";alg="ed25519"'
        base = "\n".join((*(f'"{x}": {values[x]}' for x in covers), f'"@signature-params": {parameters}'))
        signature = base64.b64encode(private.sign(base.encode())).decode()
        all_headers = {**headers, "signature-input": f"sig={parameters}", "signature": f"sig=:{signature}:"}
        return event(self.method, self.path, body=self.body or None, headers=all_headers, query=self.query)


def raw(private: Ed25519PrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


@pytest.fixture
def private(api: Api) -> Ed25519PrivateKey:
    """Return the private half of an API key that signs."""
    made = Ed25519PrivateKey.generate()
    secret, key = api.services.accounts.create_key(api.account, proof=Proof.SIGNATURE, public=raw(made))
    assert secret == key_id_of(raw(made))
    assert key.id == secret[:16]
    return made


@pytest.fixture
def batch(api: Api) -> Signed:
    """Return a batch, with an Idempotency-Key."""
    at = int(api.world.clock.now())
    return Signed("POST", "/batches", at, json.dumps(api.body()), headers={"idempotency-key": "invoice-7"})


def refused(got: Reply) -> bool:
    return (got.status, got.code) == (401, "signature_invalid")


@pytest.mark.promise(9)
def test_a_signed_request_is_taken(api: Api, private: Ed25519PrivateKey, batch: Signed) -> None:
    assert api.handle(batch.sent(private)).status == 202
    listed = Signed("GET", "/jobs", batch.at, query="limit=5")
    assert len(api.handle(listed.sent(private)).json["items"]) == 1


@pytest.mark.promise(9)
@pytest.mark.parametrize("path", ["/suppressions/ann@example.org", "/suppressions/ann%40example.org"])
def test_a_path_is_signed_as_the_client_writes_it(api: Api, private: Ed25519PrivateKey, path: str) -> None:
    at = int(api.world.clock.now())
    assert api.handle(Signed("PUT", path, at).sent(private)).status == 200


@pytest.mark.promise(9)
@pytest.mark.parametrize("change", ["body", "path", "method", "host", "query", "key", "digest"])
def test_a_request_that_was_changed_on_its_way_is_refused(
    api: Api, private: Ed25519PrivateKey, batch: Signed, change: str
) -> None:
    sent = batch.sent(private)
    other = json.dumps(api.body(("thief@example.org",)))
    if change == "body":
        sent["body"] = other
    elif change == "digest":
        digest = base64.b64encode(hashlib.sha256(other.encode()).digest()).decode()
        sent["body"] = other
        sent["headers"]["content-digest"] = f"sha-256=:{digest}:"
    elif change == "path":
        sent["rawPath"] = "/mails"
    elif change == "method":
        sent["requestContext"]["http"]["method"] = "GET"
        sent["rawPath"] = "/jobs"
    elif change == "host":
        sent["headers"]["host"] = "staging.example.com"
    elif change == "query":
        sent["rawQueryString"] = "test=true"
    else:
        sent["headers"]["idempotency-key"] = "invoice-8"
    before = api.stored()
    assert refused(api.handle(sent))
    assert api.stored() == before


@pytest.mark.promise(1)
def test_a_request_that_is_sent_again_gets_the_first_answer_and_then_none(
    api: Api, private: Ed25519PrivateKey, batch: Signed
) -> None:
    sent = batch.sent(private)
    first = api.handle(sent)
    api.world.clock.advance(LATE_S)
    again = api.handle(sent)
    assert (again.json["job_id"], again.headers["idempotency-replayed"]) == (first.json["job_id"], "true")
    api.world.clock.advance(1)
    assert refused(api.handle(sent))
    assert len(api.call("GET", "/jobs").json["items"]) == 1


@pytest.mark.promise(9)
def test_a_request_of_the_future_is_refused(api: Api, private: Ed25519PrivateKey, batch: Signed) -> None:
    assert refused(api.handle(replace(batch, at=batch.at + int(EARLY_S) + 1).sent(private)))


@pytest.mark.promise(9)
@pytest.mark.parametrize("left", ["@method", "@authority", "@path", "content-digest", "idempotency-key"])
def test_a_signature_that_leaves_something_open_is_refused(
    api: Api, private: Ed25519PrivateKey, batch: Signed, left: str
) -> None:
    every = ("@method", "@authority", "@path", "content-digest", "idempotency-key")
    got = api.handle(replace(batch, covers=tuple(x for x in every if x != left)).sent(private))
    assert refused(got)
    assert f"does not cover {left}" in got.json["detail"]


@pytest.mark.promise(1)
def test_a_batch_without_an_idempotency_key_is_refused_as_it_could_be_sent_again(
    api: Api, private: Ed25519PrivateKey, batch: Signed
) -> None:
    got = api.handle(replace(batch, headers={}).sent(private))
    assert refused(got)
    assert "idempotency-key" in got.json["detail"]


@pytest.mark.promise(9)
def test_nobody_signs_with_another_key_or_by_what_is_stored(
    api: Api, private: Ed25519PrivateKey, batch: Signed
) -> None:
    stranger = Ed25519PrivateKey.generate()
    assert api.handle(batch.sent(stranger)).code == "unauthorized"
    sent = batch.sent(stranger)
    own, theirs = key_id_of(raw(private)), key_id_of(raw(stranger))
    sent["headers"]["signature-input"] = sent["headers"]["signature-input"].replace(theirs, own)
    assert refused(api.handle(sent))
    digest = hashlib.sha256(api.key.encode()).hexdigest()
    sent["headers"]["signature-input"] = sent["headers"]["signature-input"].replace(own, digest)
    assert refused(api.handle(sent)), "a key with a text has no public key"
    assert api.call("GET", "/jobs", key=own).code == "unauthorized"


@pytest.mark.promise(9)
def test_a_key_that_signs_has_an_end_networks_and_scopes_as_others_have(api: Api) -> None:
    accounts, made = api.services.accounts, Ed25519PrivateKey.generate()
    _, key = accounts.create_key(
        api.account,
        proof=Proof.SIGNATURE,
        public=raw(made),
        scopes=[Scope.STATS],
        networks=["192.0.2.0/24"],
        expires=api.world.clock.ms + 60_000,
    )
    at = int(api.world.clock.now())
    assert api.handle(Signed("GET", "/stats", at).sent(made)).status == 200
    assert api.handle(Signed("GET", "/jobs", at).sent(made)).code == "missing_scope"
    accounts.restrict_key(api.account, key.id, ["203.0.113.0/24"])
    assert api.handle(Signed("GET", "/stats", at).sent(made)).code == "network_not_allowed"
    api.world.clock.advance(60)
    assert api.handle(Signed("GET", "/stats", at).sent(made)).code == "key_expired"
    accounts.revoke_key(api.account, key.id)
    assert api.handle(Signed("GET", "/stats", at).sent(made)).code == "key_revoked"


def test_a_public_key_is_that_of_one_api_key(api: Api, private: Ed25519PrivateKey) -> None:
    with pytest.raises(ValueError, match="another API key"):
        api.services.accounts.create_key(api.account, proof=Proof.SIGNATURE, public=raw(private))
    for wrong in ({"proof": Proof.SIGNATURE}, {"public": raw(private)}):
        with pytest.raises(ValueError, match="goes with the proof"):
            api.services.accounts.create_key(api.account, **wrong)


def test_the_example_signs_what_the_api_takes(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "key"
    sign.main(file)
    assert file.stat().st_mode & 0o077 == 0
    public = public_key_of(capsys.readouterr().out.split()[-1])
    with pytest.raises(FileExistsError):
        sign.main(file)
    made = Ed25519PrivateKey.from_private_bytes(file.read_bytes())
    api.services.accounts.create_key(api.account, proof=Proof.SIGNATURE, public=public)
    monkeypatch.setattr("time.time", api.world.clock.now)
    body = json.dumps(api.body())
    own = {"Idempotency-Key": "invoice-9"}
    headers = sign.signed(made, "POST", f"https://{HOST}/batches", body.encode(), own)
    assert api.handle(event("POST", "/batches", body=body, headers={"host": HOST, **headers})).status == 202
    headers = sign.signed(made, "GET", f"https://{HOST}/jobs?limit=5")
    assert api.handle(event("GET", "/jobs", headers={"host": HOST, **headers}, query="limit=5")).status == 200

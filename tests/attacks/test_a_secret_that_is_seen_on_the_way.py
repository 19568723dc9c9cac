"""A secret is seen on its way, in a proxy's log or a crash report, and used again. Tokens are of use for minutes.

Then: each request carried the key itself. Who saw one had the key until somebody revoked it.
"""

import base64
from typing import Any
from urllib.parse import urlencode

import pytest

from shared.adapters.dynamo.accounts.api_keys import CACHE
from shared.adapters.dynamo.client import Dynamo
from shared.domain.access.proofs import ACCESS_MS, Proof
from shared.domain.accounts import REQUEST_BURST, Scope, id_of_key, key_digest
from tests.api.conftest import Api, Reply, event

FORM = "application/x-www-form-urlencoded"
GRANT = {"grant_type": "client_credentials"}


def ask(api: Api, secret: str, client: str | None = None, *, form: Any = None, **more: str) -> Reply:
    """Ask for a token by Basic. `client`: by default the key's own id; `form`: in place of the usual one."""
    pair = f"{id_of_key(key_digest(secret)) if client is None else client}:{secret}"
    headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}", "Content-Type": FORM, **more}
    body = urlencode(GRANT if form is None else form)
    return api.handle(event("POST", "/oauth/token", body=body, headers=headers))


def token(api: Api, secret: str, **form: str) -> str:
    got = ask(api, secret, form={**GRANT, **form})
    assert got.status == 200, got.text
    found: str = got.json["access_token"]
    return found


@pytest.fixture
def careful(api: Api) -> str:
    """Return a key whose text opens nothing but the exchange."""
    return api.services.accounts.create_key(api.account, proof=Proof.OAUTH)[0]


@pytest.mark.promise(9)
def test_a_key_is_exchanged_for_a_token_as_the_standard_has_it(api: Api, careful: str) -> None:
    got = ask(api, careful)
    assert (got.status, got.headers["cache-control"], got.headers["pragma"]) == (200, "no-store", "no-cache")
    assert {k: v for k, v in got.json.items() if k != "access_token"} == {
        "token_type": "Bearer",
        "expires_in": ACCESS_MS // 1000,
        "scope": "admin read send",
    }
    assert api.batch(key=got.json["access_token"]).status == 202
    posted = {**GRANT, "client_id": id_of_key(key_digest(careful)), "client_secret": careful}
    by_form = event("POST", "/oauth/token", body=urlencode(posted), headers={"Content-Type": FORM})
    assert api.handle(by_form).status == 200


@pytest.mark.promise(9)
def test_the_text_of_such_a_key_opens_nothing_else(api: Api, careful: str) -> None:
    before = api.stored()
    got = api.batch(key=careful)
    assert (got.status, got.code) == (401, "proof_needed")
    assert api.stored() == before


@pytest.mark.promise(9)
def test_a_token_that_was_seen_ends_after_ten_minutes(api: Api, careful: str) -> None:
    seen = token(api, careful)
    api.world.clock.advance(ACCESS_MS / 1000 - 1)
    assert api.call("GET", "/jobs", key=seen).status == 200
    api.world.clock.advance(1)
    got = api.batch(key=seen)
    assert (got.status, got.code) == (401, "token_expired")


@pytest.mark.promise(9)
def test_a_token_ends_with_its_key(api: Api) -> None:
    accounts = api.services.accounts
    secret, _ = accounts.create_key(api.account, expires=api.world.clock.ms + 60_000)
    got = ask(api, secret)
    assert got.json["expires_in"] == 60
    revoked, gone = accounts.create_key(api.account)
    seen = token(api, revoked)
    assert accounts.revoke_key(api.account, gone.id)
    api.world.clock.advance(CACHE)
    assert api.call("GET", "/jobs", key=seen).code == "key_revoked"
    api.world.clock.advance(30)
    assert api.call("GET", "/jobs", key=got.json["access_token"]).status == 401


@pytest.mark.promise(9)
def test_a_token_has_the_networks_of_its_key(api: Api) -> None:
    accounts = api.services.accounts
    secret, key = accounts.create_key(api.account, networks=["192.0.2.0/24"])
    seen = token(api, secret)
    assert api.call("GET", "/jobs", key=seen).status == 200
    accounts.restrict_key(api.account, key.id, ["203.0.113.0/24"])
    assert api.call("GET", "/jobs", key=seen).code == "network_not_allowed"
    got = ask(api, secret)
    assert (got.status, got.json["error"]) == (401, "invalid_client")


@pytest.mark.promise(9)
def test_a_token_has_the_scopes_that_were_asked_for_and_no_more(api: Api) -> None:
    seen = token(api, api.key, scope="read")
    assert api.call("GET", "/jobs", key=seen).status == 200
    assert api.batch(key=seen).code == "missing_scope"
    reader = api.scoped(Scope.READ, Scope.STATS)
    for scope in ("send", "read send", "all", "read,stats"):
        got = ask(api, reader, form={**GRANT, "scope": scope})
        assert (got.status, got.json["error"]) == (400, "invalid_scope"), scope


@pytest.mark.parametrize("spoil", [lambda x: x[:-2] + "AA", lambda x: x + "A", lambda _: "ph_token_", lambda x: x[:40]])
def test_a_token_that_was_changed_is_none(api: Api, careful: str, spoil: Any) -> None:
    assert api.call("GET", "/jobs", key=spoil(token(api, careful))).code == "unauthorized"


def test_a_text_that_was_sealed_for_something_else_is_no_token(api: Api) -> None:
    sealed = api.services.links.seal("posthaste cursor 1", f"{key_digest(api.key)} 9999999999999 read")
    assert api.call("GET", "/jobs", key=f"ph_token_{sealed}").code == "unauthorized"


@pytest.mark.parametrize(
    ("form", "more", "error"),
    [
        ({}, {}, "invalid_request"),
        ({"grant_type": "password"}, {}, "unsupported_grant_type"),
        ([("grant_type", "client_credentials")] * 2, {}, "invalid_request"),
        ({**GRANT, "client_secret": "x"}, {}, "invalid_request"),
        (GRANT, {"Content-Type": "application/json"}, "invalid_request"),
        (GRANT, {"Authorization": "Basic %%%"}, "invalid_client"),
        (GRANT, {"Authorization": "Bearer x"}, "invalid_request"),
        (GRANT, {"Authorization": ""}, "invalid_client"),
    ],
)
def test_what_is_no_request_for_a_token_is_refused_in_the_standard_s_words(
    api: Api, form: Any, more: dict[str, str], error: str
) -> None:
    before = api.stored()
    got = ask(api, api.key, form=form, **more)
    assert got.json["error"] == error
    assert got.status == (401 if error == "invalid_client" else 400)
    assert got.headers["content-type"] == "application/json"
    assert ("www-authenticate" in got.headers) is (got.status == 401)
    assert api.stored() == before


def test_only_the_key_s_own_id_goes_with_it(api: Api) -> None:
    assert ask(api, api.key, "0" * 16).json["error"] == "invalid_client"
    assert ask(api, "ph_live_" + "A" * 43).json["error"] == "invalid_client"
    assert ask(api, "secret").json["error"] == "invalid_client"


@pytest.mark.slow
def test_asking_for_tokens_counts_in_the_allowance_of_the_key(api: Api, careful: str) -> None:
    found = [ask(api, careful) for _ in range(REQUEST_BURST)]
    assert {x.status for x in found} == {200, 429}
    assert found[-1].json["error"] == "temporarily_unavailable"
    assert int(found[-1].headers["retry-after"]) >= 1


def test_a_request_by_a_token_makes_the_calls_of_one_by_the_key(
    api: Api, careful: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = token(api, careful)
    made: list[str] = []
    call = Dynamo.call

    def noted(db: Dynamo, name: str, **kwargs: Any) -> Any:
        made.append(name)
        return call(db, name, **kwargs)

    def calls(key: str) -> list[str]:
        made.clear()
        assert api.call("GET", "/jobs", key=key).status == 200
        return made.copy()

    calls(api.key)
    monkeypatch.setattr(Dynamo, "call", noted)
    assert calls(seen) == calls(api.key) != []

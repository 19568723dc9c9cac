"""Signing in by an OpenID provider: the console's own client against real endpoints, honest and not."""

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey

from shared.adapters.sign_in.issuer import MAX_KEYS, IssuerMetadata, TrustedIssuer
from shared.adapters.sign_in.openid import OpenIdSignIn, nonce_of
from shared.adapters.sign_in.wire import WireSession
from shared.contracts.console import ConsoleSettings
from shared.domain.content.streams import Body
from shared.domain.people import Identity, is_login
from shared.ports import Response
from shared.ports.people import NotSignedIn
from simulator import Simulator
from tests.simulator.openid import VERIFIER, Later, asked, issue, signing_in
from tests.simulator.test_github_api import ask, code

NOT_NAMED = {"authorization_response_iss_parameter_supported": None}


class Answering:
    """A transport that answers everything with one document."""

    def __init__(self, document: object) -> None:
        self.document = document

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: float) -> Response:
        return Response(200, {}, json.dumps(self.document).encode())


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator(seed="tests") as sim:
        yield sim


@pytest.fixture
def sim(running: Simulator) -> Simulator:
    issue(running)
    return running


@pytest.fixture
def clock() -> Later:
    return Later()


@pytest.fixture
def client(sim: Simulator, clock: Later) -> Iterator[OpenIdSignIn]:
    with signing_in(sim, clock) as made:
        yield made


def arrive(sim: Simulator, client: OpenIdSignIn, login: str = "octocat", verifier: str = VERIFIER) -> Identity:
    """Sign in as somebody, through the provider's page."""
    back = code(sim, client.address("the-state", verifier), login)
    assert back["state"] == "the-state"
    return client.identity(back["code"], verifier, back.get("iss", ""))


def test_a_person_signs_in_with_their_groups_and_the_domain_of_their_address(
    sim: Simulator, client: OpenIdSignIn
) -> None:
    everywhere = frozenset({"group:posthaste", "group:Keepers", "@posthaste.example"})
    subject = f"{sim.url}/openid#c0ffee-2"
    assert arrive(sim, client, "mona") == Identity("openid", subject, "mona", "Mona Lisa", everywhere)


def test_the_browser_is_sent_with_hashes_of_the_verifier_only(sim: Simulator, client: OpenIdSignIn) -> None:
    address = client.address("s", VERIFIER)
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert address.startswith(f"{sim.url}/openid/authorize?")
    assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
    assert set(query["scope"].split()) == {"openid", "profile", "email", "groups"}
    assert query["nonce"] == nonce_of(VERIFIER)
    assert len({query["nonce"], query["code_challenge"], VERIFIER}) == 3
    assert VERIFIER not in address


def test_groups_are_asked_for_only_if_the_settings_name_one_and_the_issuer_knows_the_scope(
    sim: Simulator, clock: Later
) -> None:
    with signing_in(sim, clock, organizations=("@posthaste.example",)) as client:
        assert "groups" not in client.address("s", VERIFIER)
        assert arrive(sim, client).organizations == {"@posthaste.example"}
    issue(sim, metadata={"scopes_supported": ["openid"]})
    with signing_in(sim, clock) as client:
        assert "groups" not in client.address("s", VERIFIER)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param({"claims": {"nonce": "another"}}, "nonce", id="another_sign_in_s"),
        pytest.param({"claims": {"nonce": None}}, "nonce", id="no_sign_in_s"),
        pytest.param({"claims": {"aud": "another", "azp": "client"}}, "aud", id="another_client_s"),
        pytest.param({"claims": {"aud": ["another"], "azp": "client"}}, "aud", id="other_clients"),
        pytest.param({"claims": {"aud": None}}, "aud", id="no_client_s"),
        pytest.param({"claims": {"aud": ["client", "another"]}}, "azp", id="two_clients"),
        pytest.param({"claims": {"aud": ["client", "another"], "azp": "another"}}, "azp", id="got_by_another"),
        pytest.param({"claims": {"iss": "https://evil.example"}}, "iss", id="another_issuer_s"),
        pytest.param({"claims": {"iss": None}}, "iss", id="no_issuer_s"),
        pytest.param({"claims": {"exp": 1_700_000_000}}, "exp", id="expired"),
        pytest.param({"claims": {"exp": None}}, "exp", id="without_an_end"),
        pytest.param({"claims": {"exp": "never"}}, "exp", id="with_no_such_end"),
        pytest.param({"claims": {"iat": 99_000_000_000}}, "iat", id="from_the_future"),
        pytest.param({"claims": {"at_hash": "AAAA"}}, "at_hash", id="with_another_access_token"),
        pytest.param({"claims": {"sub": None}}, "sub", id="of_nobody"),
        pytest.param({"claims": {"sub": ""}}, "sub", id="of_an_empty_name"),
        pytest.param({"claims": {"sub": 7}}, "sub", id="of_a_number"),
        pytest.param({"claims": {"sub": "a" * 256}}, "sub", id="of_a_long_name"),
        pytest.param({"signed": "none"}, "signature", id="not_signed"),
        pytest.param({"signed": "HS256"}, "signature", id="signed_by_the_public_key_s_text"),
        pytest.param({"signed": "stranger"}, "signature", id="signed_by_another_s_key"),
    ],
)
def test_a_token_that_is_not_for_this_sign_in_signs_nobody_in(
    sim: Simulator, client: OpenIdSignIn, wrong: dict[str, Any], said: str
) -> None:
    issue(sim, **wrong)
    with pytest.raises(NotSignedIn, match=f"^id_token_{said}$"):
        arrive(sim, client)


def test_a_code_of_another_sign_in_is_refused(sim: Simulator, client: OpenIdSignIn) -> None:
    back = code(sim, client.address("s", VERIFIER))
    with pytest.raises(NotSignedIn, match="invalid_grant"):
        client.identity(back["code"], "w" * 64, back["iss"])


def test_a_code_counts_once_and_only_with_the_client_s_secret(sim: Simulator, client: OpenIdSignIn) -> None:
    back = code(sim, client.address("s", VERIFIER))
    assert client.identity(back["code"], VERIFIER, back["iss"]).login == "octocat"
    with pytest.raises(NotSignedIn, match="invalid_grant"):
        client.identity(back["code"], VERIFIER, back["iss"])
    with signing_in(sim, Later(), "wrong") as other, pytest.raises(NotSignedIn, match="invalid_client"):
        arrive(sim, other)


def test_a_provider_that_takes_no_header_gets_the_secret_in_the_form(sim: Simulator, client: OpenIdSignIn) -> None:
    issue(sim, metadata={"token_endpoint_auth_methods_supported": ["client_secret_post"]})
    assert arrive(sim, client).login == "octocat"


def test_a_browser_that_comes_from_another_issuer_takes_no_code_along(sim: Simulator, client: OpenIdSignIn) -> None:
    before = asked(sim, "/token")
    for iss in ("https://evil.example", f"{sim.url}/openid/", None):
        issue(sim, iss=iss)
        with pytest.raises(NotSignedIn, match="issuer_differs"):
            arrive(sim, client)
    assert asked(sim, "/token") == before, "no issuer gets the code"


def test_an_issuer_that_never_names_itself_need_not(sim: Simulator, client: OpenIdSignIn) -> None:
    issue(sim, iss=None, metadata=NOT_NAMED)
    assert arrive(sim, client).login == "octocat"
    issue(sim, iss="https://evil.example", metadata=NOT_NAMED)
    with pytest.raises(NotSignedIn, match="issuer_differs"):
        arrive(sim, client)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://login.example/{tenantid}/v2.0"}, "issuer_differs"),
        ({"issuer": None}, "issuer_differs"),
        ({"token_endpoint": None}, "issuer_incomplete"),
        ({"authorization_endpoint": 7}, "issuer_incomplete"),
        ({"jwks_uri": "file:///etc/passwd"}, "issuer_incomplete"),
        ({"jwks_uri": "http://"}, "issuer_incomplete"),
        ({"token_endpoint": "http://acme.example@evil.example/token"}, "issuer_incomplete"),
        ({"token_endpoint": "http://acme.example:x/token"}, "issuer_incomplete"),
        ({"authorization_endpoint": "http://acme.example/\r\nSet-Cookie: a=b"}, "issuer_incomplete"),
        ({"authorization_endpoint": "http://acme.example/#"}, "issuer_incomplete"),
    ],
)
def test_a_document_of_another_issuer_sends_no_browser_anywhere(
    sim: Simulator, client: OpenIdSignIn, metadata: dict[str, Any], said: str
) -> None:
    issue(sim, metadata=metadata)
    with pytest.raises(NotSignedIn, match=said):
        client.address("s", VERIFIER)


def test_an_issuer_with_tls_has_no_endpoint_without(clock: Later) -> None:
    issuer = "https://login.acme.example"
    found = {"issuer": issuer, **dict.fromkeys(("authorization_endpoint", "jwks_uri"), f"{issuer}/x")}
    told = ConsoleSettings("openid", "client", issuer=issuer)
    for endpoint, safe in ((f"{issuer}/token", True), ("http://login.acme.example/token", False)):
        client = OpenIdSignIn(told, lambda: "s", Answering({**found, "token_endpoint": endpoint}), clock, "https://x")
        with nullcontext() if safe else pytest.raises(NotSignedIn, match="issuer_incomplete"):
            assert client.address("s", VERIFIER).startswith(f"{issuer}/x?")


def test_a_document_that_cannot_be_used_is_asked_for_every_ten_seconds(
    sim: Simulator, client: OpenIdSignIn, clock: Later
) -> None:
    path = "/.well-known/openid-configuration"
    before = asked(sim, path)
    issue(sim, metadata={"issuer": "https://evil.example"})
    for _ in range(3):
        with pytest.raises(NotSignedIn, match="issuer_differs"):
            client.address("s", VERIFIER)
    assert asked(sim, path) == before + 1
    issue(sim)
    clock.ahead = 11
    assert client.address("s", VERIFIER)
    assert asked(sim, path) == before + 2


def test_document_and_keys_are_kept_for_an_hour(sim: Simulator, client: OpenIdSignIn, clock: Later) -> None:
    paths = ("/.well-known/openid-configuration", "/keys")
    before = [asked(sim, path) for path in paths]
    for _ in range(3):
        arrive(sim, client)
    assert [asked(sim, path) for path in paths] == [n + 1 for n in before]
    clock.ahead = 3601
    client.address("s", VERIFIER)
    assert asked(sim, paths[0]) == before[0] + 2


def test_new_keys_of_the_issuer_are_read_but_not_at_every_wrong_signature(
    sim: Simulator, client: OpenIdSignIn, clock: Later
) -> None:
    arrive(sim, client)
    before = asked(sim, "/keys")
    issue(sim, signed="rotated")
    with pytest.raises(NotSignedIn, match="id_token_signature"):
        arrive(sim, client)
    assert asked(sim, "/keys") == before
    clock.ahead = 61
    assert arrive(sim, client).login == "octocat"
    assert asked(sim, "/keys") == before + 1


def test_an_address_counts_only_if_the_issuer_has_verified_it(sim: Simulator, client: OpenIdSignIn) -> None:
    assert arrive(sim, client, "stranger").organizations == frozenset()
    nameless = {"preferred_username": None}
    for verified in (False, None, "true", 1):
        given = {**nameless, "email_verified": verified}
        issue(sim, claims=given, userinfo=given)
        with pytest.raises(NotSignedIn, match="login_missing"):
            arrive(sim, client, "stranger")
    issue(sim, claims=nameless, userinfo=nameless)
    assert arrive(sim, client).login == "octocat@posthaste.example"


@pytest.mark.parametrize(
    "email", ["evil@a@posthaste.example", "@posthaste.example", "a@posthaste.example@", "a@\u212a.example"]
)
def test_an_address_of_another_form_has_no_domain(sim: Simulator, client: OpenIdSignIn, email: str) -> None:
    issue(sim, claims={"email": email, "groups": []})
    assert arrive(sim, client).organizations == frozenset()


def test_a_group_is_compared_letter_by_letter_and_a_name_shows_what_it_is(sim: Simulator, client: OpenIdSignIn) -> None:
    issue(sim, claims={"groups": ["KEEPERS", "\u212aeepers"], "name": "Ann\u202e\n Example" + "x" * 300})
    found = arrive(sim, client)
    assert found.organizations == {"group:KEEPERS", "group:\u212aeepers", "@posthaste.example"}
    assert found.name == ("Ann Example" + "x" * 300)[:200]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "provider_answer_malformed"),
        (None, "provider_answer_malformed"),
        ({}, "provider_answer_malformed"),
        ({"access_token": "a", "id_token": 7}, "provider_answer_malformed"),
        ({"access_token": "a", "id_token": "a.b.c"}, "id_token_signature"),
        ({"error": "Please call <b>0900</b>, or send your password"}, "provider_refused"),
        ({"error": {"a": "b"}}, "provider_refused"),
        ({"error": "invalid_grant", "error_description": "code abc"}, "invalid_grant"),
    ],
)
def test_an_answer_of_another_form_signs_nobody_in_and_is_not_repeated(
    sim: Simulator, clock: Later, answer: object, said: str
) -> None:
    with signing_in(sim, clock) as client:
        client._issuer.metadata()
        client._issuer.keys()
    client._wire._http = Answering(answer)
    with pytest.raises(NotSignedIn) as found:
        client.identity("code", VERIFIER, f"{sim.url}/openid")
    assert str(found.value) == said


@pytest.mark.filterwarnings("ignore:Key size should be")
def test_a_weak_or_unusable_key_is_none_and_of_many_the_first_are_looked_at(clock: Later) -> None:
    weak, own = (RSAKey.generate_key(bits).as_dict(private=False) for bits in (1024, 2048))
    shared = {"kty": "oct", "k": "c2VjcmV0"}
    off = {"kty": "EC", "crv": "P-256", "x": "AQ", "y": "AQ"}
    encrypts = {**own, "use": "enc"}
    for rows, count in (
        ([weak, own], 1),
        ([off, {"kty": "RSA"}, 7, own], 1),
        ([shared, own], 1),
        ([weak], 0),
        ([encrypts], 0),
        ("keys", 0),
        ([own] * (MAX_KEYS + 1), MAX_KEYS),
        ([weak] * MAX_KEYS + [own], 0),
    ):
        issuer = TrustedIssuer("https://a.example", WireSession(Answering({"keys": rows}), clock), clock)
        issuer._metadata = (clock.now(), IssuerMetadata("", "", "https://a.example/k", "", False, frozenset(), False))
        with nullcontext() if count else pytest.raises(NotSignedIn, match="issuer_without_keys"):
            assert len(issuer.keys().keys) == count


def test_claims_that_the_token_lacks_are_asked_for_and_no_others(sim: Simulator, client: OpenIdSignIn) -> None:
    before = asked(sim, "/userinfo")
    arrive(sim, client)
    assert asked(sim, "/userinfo") == before
    issue(sim, claims={"groups": None, "preferred_username": None, "email": None, "email_verified": None})
    found = arrive(sim, client, "mona")
    assert found.login == "mona"
    assert found.organizations == {"group:posthaste", "group:Keepers", "@posthaste.example"}
    assert asked(sim, "/userinfo") == before + 1
    issue(sim, claims={"groups": None}, metadata={"userinfo_endpoint": None})
    with signing_in(sim, Later()) as other:
        assert arrive(sim, other).organizations == {"@posthaste.example"}


def test_claims_of_another_person_are_refused(sim: Simulator, client: OpenIdSignIn) -> None:
    for sub in ("c0ffee-1", None):
        issue(sim, claims={"groups": None}, userinfo={"sub": sub})
        with pytest.raises(NotSignedIn, match="userinfo_sub"):
            arrive(sim, client, "mona")


@pytest.mark.parametrize("name", ["group:keepers", "@posthaste.example", "", "a b", 7])
def test_no_login_has_the_form_of_a_group_or_a_domain(sim: Simulator, client: OpenIdSignIn, name: object) -> None:
    assert not isinstance(name, str) or not is_login(name)
    issue(sim, claims={"preferred_username": name}, userinfo={"preferred_username": name})
    assert arrive(sim, client).login == "octocat@posthaste.example"


@pytest.mark.parametrize(
    ("groups", "found"),
    [("Keepers", {"group:Keepers"}), (["a", 7, "", "@posthaste.example"], {"group:a", "group:@posthaste.example"})],
)
def test_groups_come_in_several_forms_and_are_never_domains(
    sim: Simulator, client: OpenIdSignIn, groups: object, found: set[str]
) -> None:
    issue(sim, claims={"groups": groups, "email_verified": False})
    assert arrive(sim, client).organizations == found


def test_groups_can_be_in_another_claim(sim: Simulator, clock: Later) -> None:
    issue(sim, claims={"https://acme.example/teams": ["Keepers"]})
    with signing_in(sim, clock, groups_claim="https://acme.example/teams") as client:
        assert arrive(sim, client).organizations == {"group:Keepers", "@posthaste.example"}


def test_the_page_can_be_refused_and_sends_no_browser_elsewhere(sim: Simulator, client: OpenIdSignIn) -> None:
    address = client.address("s", VERIFIER)
    answer, _ = ask(sim, "POST", address, {"cancel": "1"})
    assert "error=access_denied" in answer.headers["location"]
    evil = address.replace("redirect_uri=http", "redirect_uri=https")
    assert ask(sim, "GET", evil)[0].status == 400
    assert ask(sim, "POST", evil, {"login": "octocat"})[0].status == 400


def test_an_issuer_that_is_away_signs_nobody_in(sim: Simulator, clock: Later) -> None:
    with signing_in(sim, clock, issuer="http://127.0.0.1:9") as away:
        with pytest.raises(NotSignedIn, match="provider_unavailable"):
            away.address("s", VERIFIER)
        with pytest.raises(NotSignedIn, match="provider_unavailable"):
            away.identity("code", VERIFIER)

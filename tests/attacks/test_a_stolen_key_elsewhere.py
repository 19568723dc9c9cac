"""A stolen API key is tried: from another network, after its end, after its revocation, and over and over.

Then: a key that leaked worked from everywhere and for ever, unless it was made with an end. A key after its end and one
that never was had the same answer, and nothing counted either.
"""

from typing import Any

import pytest

from shared.adapters.dynamo.accounts.api_keys import CACHE
from shared.domain.accounts import REQUEST_BURST, Scope
from tests.api.conftest import Api, Reply, event

HOME = "203.0.113.7"
ELSEWHERE = "198.51.100.9"
LOOP = REQUEST_BURST + 100


def come(api: Api, key: str, source: str, method: str = "GET", path: str = "/credentials", body: Any = None) -> Reply:
    """Make a call from an address."""
    what = event(method, path, body=body, headers={"Authorization": f"Bearer {key}"})
    what["requestContext"]["http"]["sourceIp"] = source
    return api.handle(what)


@pytest.fixture
def bound(api: Api) -> str:
    """Return a key of one network of each kind."""
    networks = ["203.0.113.0/24", "2001:db8:7::/48"]
    return api.services.accounts.create_key(api.account, networks=networks)[0]


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("source", "status"),
    [
        (HOME, 200),
        ("2001:db8:7::1", 200),
        (f"::ffff:{HOME}", 200),
        (ELSEWHERE, 403),
        ("203.0.114.7", 403),
        ("2001:db8:8::1", 403),
        (f"::ffff:{ELSEWHERE}", 403),
        ("", 403),
        ("203.0.113.7, 198.51.100.9", 403),
    ],
)
def test_a_key_works_from_its_networks_alone(api: Api, bound: str, source: str, status: int) -> None:
    got = come(api, bound, source)
    assert got.status == status
    if status != 200:
        assert got.code == "network_not_allowed"
        assert "203.0.113.0" not in got.text, "a thief is not told where the key works"


@pytest.mark.promise(9)
def test_a_thief_elsewhere_sends_nothing_and_leaves_nothing(api: Api, bound: str) -> None:
    before = api.stored()
    got = come(api, bound, ELSEWHERE, "POST", "/batches", api.body())
    assert (got.status, got.code) == (403, "network_not_allowed")
    assert api.stored() == before


@pytest.mark.promise(9)
def test_no_header_of_a_client_says_where_it_comes_from(api: Api, bound: str) -> None:
    said = {"X-Forwarded-For": HOME, "Forwarded": f"for={HOME}", "X-Real-IP": HOME}
    assert api.call("GET", "/credentials", key=bound, headers=said).code == "network_not_allowed"


@pytest.mark.slow
@pytest.mark.promise(9)
def test_a_thief_elsewhere_does_not_use_up_the_requests_of_the_key(api: Api, bound: str) -> None:
    assert {come(api, bound, ELSEWHERE).status for _ in range(LOOP)} == {403}
    assert come(api, bound, HOME, "POST", "/batches", api.body()).status == 202


def test_the_networks_of_a_key_that_is_used_are_narrowed(api: Api) -> None:
    accounts = api.services.accounts
    secret, key = accounts.create_key(api.account)
    assert come(api, secret, ELSEWHERE).status == 200
    narrowed = accounts.restrict_key(api.account, key.id, ["203.0.113.0/24"], by="operator:1:ann")
    assert narrowed is not None
    assert {x.id: x.networks for x in accounts.list_keys(api.account)}[key.id] == ("203.0.113.0/24",)
    assert come(api, secret, ELSEWHERE).code == "network_not_allowed"
    assert come(api, secret, HOME).status == 200
    assert accounts.restrict_key(api.account, key.id, []) == key
    assert come(api, secret, ELSEWHERE).status == 200
    assert accounts.restrict_key("acc_000000000000", key.id, []) is None


def test_the_successor_of_a_key_has_its_networks(api: Api) -> None:
    accounts = api.services.accounts
    _, key = accounts.create_key(api.account, networks=["203.0.113.0/24"], scopes=[Scope.STATS])
    made = accounts.rotate_key(api.account, key.id, api.world.clock.ms + 1000)
    assert made is not None
    assert (made[1].networks, made[1].scopes) == (key.networks, key.scopes)
    assert come(api, made[0], ELSEWHERE).code == "network_not_allowed"


@pytest.mark.promise(9)
def test_a_key_after_its_end_is_told_so(api: Api) -> None:
    secret, _ = api.services.accounts.create_key(api.account, expires=api.world.clock.ms + 10_000)
    assert come(api, secret, HOME).status == 200
    api.world.clock.advance(10)
    got = come(api, secret, HOME, "POST", "/batches", api.body())
    assert (got.status, got.code) == (401, "key_expired")
    assert got.headers["www-authenticate"].endswith('error="invalid_token"')


@pytest.mark.promise(9)
def test_a_revoked_key_is_told_apart_from_one_that_never_was(api: Api) -> None:
    accounts = api.services.accounts
    secret, key = accounts.create_key(api.account)
    assert come(api, secret, HOME).status == 200
    assert accounts.revoke_key(api.account, key.id)
    got = come(api, secret, HOME)
    assert (got.status, got.code) == (401, "key_revoked")
    assert come(api, "ph_live_" + "A" * 43, HOME).code == "unauthorized"
    api.world.clock.advance(CACHE)
    accounts.note_use(secret, key, ELSEWHERE)
    assert come(api, secret, HOME).code == "key_revoked", "noting a late use does not undo it"


def test_a_list_of_keys_shows_from_where_each_was_last_used(api: Api) -> None:
    accounts = api.services.accounts
    secret, key = accounts.create_key(api.account)
    assert come(api, secret, "2001:db8:7:8::9").status == 200
    assert [x.site for x in accounts.list_keys(api.account) if x.id == key.id] == ["2001:db8:7::/48"]
    before = api.client.writes[:]
    assert come(api, secret, HOME).status == 200
    assert api.client.writes == before, "within the hour nothing is written"
    api.world.clock.advance(3600)
    assert come(api, secret, HOME).status == 200
    assert [x.site for x in accounts.list_keys(api.account) if x.id == key.id] == ["203.0.113.0/24"]


REFUSED = {
    "wrong": "KeysWrong",
    "revoked": "KeysRevoked",
    "expired": "KeysExpired",
    "network": "KeysElsewhere",
    "limited": "KeysLimited",
}


@pytest.mark.parametrize("reason", [x for x in REFUSED if x != "limited"])
def test_each_refusal_is_counted_by_its_reason(
    api: Api, bound: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    accounts = api.services.accounts
    gone, key = accounts.create_key(api.account)
    accounts.revoke_key(api.account, key.id)
    ended, _ = accounts.create_key(api.account, expires=1)
    tried = {"wrong": "ph_live_" + "A" * 43, "revoked": gone, "expired": ended, "network": bound}
    capsys.readouterr()
    come(api, tried[reason], ELSEWHERE)
    assert f'"{REFUSED[reason]}":[1' in capsys.readouterr().out.replace(" ", "")


def test_what_is_no_key_at_all_is_not_counted(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert come(api, "eyJhbGciOiJub25lIn0", ELSEWHERE).code == "unauthorized"
    assert "Keys" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_key_in_a_loop_is_counted(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    key = api.scoped(Scope.READ)
    assert {come(api, key, HOME).status for _ in range(LOOP)} == {200, 429}
    assert '"KeysLimited":[1' in capsys.readouterr().out.replace(" ", "")

"""`/senders`: what providers that sign for domains are asked, and when."""

import pytest

from shared.domain.identities import IdentityState
from shared.domain.senders import record_name, record_value
from tests.api.conftest import Api
from tests.api.senders import signs
from tests.fakes.identities import FakeIdentities

DOMAIN = "news.example.net"


@pytest.fixture
def provider(api: Api) -> FakeIdentities:
    return signs(api)


def publish(api: Api) -> None:
    api.services.dns().records[record_name(DOMAIN)] = [record_value(api.account)]  # type: ignore[attr-defined]


def proven(api: Api) -> None:
    assert api.call("POST", "/senders", {"domain": DOMAIN}).status == 201
    assert api.call("POST", f"/senders/{DOMAIN}/verify").status == 200


@pytest.mark.promise(9)
def test_a_domain_that_is_not_proven_is_made_known_to_no_provider(api: Api, provider: FakeIdentities) -> None:
    provider.known[DOMAIN] = IdentityState.SUCCESS
    assert api.call("POST", "/senders", {"domain": DOMAIN}).status == 201
    assert api.call("POST", f"/senders/{DOMAIN}/verify").code == "not_proven"
    assert api.call("GET", f"/senders/{DOMAIN}").json["identities"] == []
    assert api.call("DELETE", f"/senders/{DOMAIN}").status == 200
    assert provider.calls == []


def test_a_domain_that_is_proven_gets_the_records_of_the_provider(api: Api, provider: FakeIdentities) -> None:
    publish(api)
    assert api.call("POST", "/senders", {"domain": DOMAIN}).status == 201
    (got,) = api.call("POST", f"/senders/{DOMAIN}/verify").json["identities"]
    advice = got.pop("advice")
    assert advice.startswith("Publish the CNAME records.")
    assert got == {
        "provider": "signer",
        "region": "eu-central-1",
        "state": "pending",
        "records": [{"type": "CNAME", "name": f"k1._domainkey.{DOMAIN}", "value": "k1.dkim.example"}],
        "made_here": True,
        "covered_by": None,
    }
    provider.known[DOMAIN] = IdentityState.SUCCESS
    api.world.clock.advance(60)
    (got,) = api.call("GET", f"/senders/{DOMAIN}").json["identities"]
    assert (got["state"], got["advice"]) == ("success", None)


def test_a_provider_that_is_down_keeps_no_domain_from_being_proven(api: Api, provider: FakeIdentities) -> None:
    publish(api)
    provider.down = True
    proven(api)
    got = api.call("GET", f"/senders/{DOMAIN}").json
    assert (got["state"], got["identities"][0]["state"]) == ("proven", "unknown")


@pytest.mark.promise(9)
def test_a_domain_that_is_given_up_stays_known_to_the_provider(api: Api, provider: FakeIdentities) -> None:
    """Only operators remove it: see tests/cli/test_identities.py."""
    publish(api)
    proven(api)
    provider.down = True
    assert api.call("DELETE", f"/senders/{DOMAIN}").status == 200
    assert DOMAIN in provider.known
    assert api.call("GET", f"/senders/{DOMAIN}").code == "not_found"


def test_an_account_that_only_claims_a_domain_sees_nothing_of_it(api: Api, provider: FakeIdentities) -> None:
    publish(api)
    proven(api)
    stranger, _ = api.services.accounts.create_key(api.services.accounts.create_account("Eve", []))
    assert api.call("POST", "/senders", {"domain": DOMAIN}, key=stranger).status == 201
    assert api.call("GET", f"/senders/{DOMAIN}", key=stranger).json["identities"] == []


def test_what_an_operator_granted_is_shown_with_what_the_provider_says(api: Api, provider: FakeIdentities) -> None:
    provider.known["example.com"] = IdentityState.SUCCESS
    (got,) = api.call("GET", "/senders/example.com").json["identities"]
    assert (got["state"], got["made_here"]) == ("success", False)
    assert [name for name, _ in provider.calls] == ["read"]

"""`/senders`: claims, the record that proves them, and what follows."""

from typing import Any

import pytest

from shared.domain.senders import record_name, record_value
from shared.engine.intake.proven import CACHE
from tests.api.conftest import Api

DOMAIN = "news.example.net"
FROM = f"news@{DOMAIN}"


def dns(api: Api) -> Any:
    return api.services.dns()


def publish(api: Api) -> None:
    dns(api).records[record_name(DOMAIN)] = ["other", record_value(api.account)]


def claim(api: Api, domain: str = DOMAIN) -> Any:
    return api.call("POST", "/senders", {"domain": domain})


def test_a_domain_is_claimed_proven_and_sent_from(api: Api) -> None:
    got = claim(api, "News.Example.NET")
    assert (got.status, got.headers["location"]) == (201, f"/senders/{DOMAIN}")
    assert (got.json["sender"], got.json["state"]) == (DOMAIN, "pending")
    record = {"type": "TXT", "name": f"_posthaste.{DOMAIN}", "value": f"posthaste-account={api.account}"}
    assert got.json["record"] == record
    assert api.batch(from_=FROM).code == "from_not_allowed"
    assert api.batch(from_=FROM, key=api.test_key()).status == 202
    refused = api.call("POST", f"/senders/{DOMAIN}/verify")
    assert (refused.status, refused.code) == (409, "not_proven")
    assert record["value"] in refused.json["detail"]
    publish(api)
    proven = api.call("POST", f"/senders/{DOMAIN}/verify").json
    assert proven["state"] == "proven"
    assert {x["name"]: x["state"] for x in proven["checks"]} == dict.fromkeys(("spf", "dkim", "dmarc"), "missing")
    assert api.batch(from_=FROM).status == 202


def test_a_domain_is_sent_from_without_the_call_of_verify(api: Api) -> None:
    claim(api)
    publish(api)
    assert api.batch(from_=FROM).status == 202
    assert api.batch(from_=FROM, key=api.other()).code == "from_not_allowed"


def test_a_domain_that_is_given_up_is_not_sent_from(api: Api) -> None:
    claim(api)
    publish(api)
    assert api.batch(from_=FROM).status == 202
    assert api.call("DELETE", f"/senders/{DOMAIN}").json == {"domain": DOMAIN, "removed": True}
    assert api.call("DELETE", f"/senders/{DOMAIN}").code == "not_found"
    api.world.clock.advance(CACHE)
    assert api.batch(from_=FROM).code == "from_not_allowed"


def test_senders_are_listed_with_their_state(api: Api) -> None:
    claim(api)
    assert {x["sender"]: x["state"] for x in api.call("GET", "/senders").json["items"]} == {
        "example.com": "granted",
        DOMAIN: "pending",
    }
    assert api.call("DELETE", "/senders/example.com").code == "granted_sender"
    assert api.call("GET", "/senders/example.com").json["state"] == "granted"
    assert api.call("GET", "/senders/unknown.example.org").code == "not_found"


def test_dns_that_does_not_answer_is_a_503_and_shown_as_unknown(api: Api) -> None:
    claim(api)
    dns(api).down = True
    assert api.call("POST", f"/senders/{DOMAIN}/verify").code == "dns_unanswered"
    assert api.batch(from_=FROM).status == 503
    checks = api.call("GET", f"/senders/{DOMAIN}").json["checks"]
    assert {x["state"] for x in checks} == {"unknown"}


def test_what_is_no_domain_is_refused(api: Api) -> None:
    for text in ("news@example.net", "localhost", "exa mple.net", "-", "example.net/x"):
        assert claim(api, text).status == 422
    assert api.call("GET", "/senders").json["items"][0]["sender"] == "example.com"


@pytest.mark.slow
def test_claims_are_few_and_audited(api: Api) -> None:
    for i in range(50):
        assert claim(api, f"d{i}.example.org").status == 201
    assert claim(api).code == "too_many_domains"
    assert claim(api, "d0.example.org").status == 201
    entries = api.call("GET", "/audit", query={"action": "sender.claimed", "limit": 100}).json["items"]
    assert len(entries) == 50

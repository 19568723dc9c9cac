"""Senders: what operators granted, and domains that the account proves by a DNS record."""

import pytest

from shared.domain.identities import IdentityState
from shared.domain.people import Role
from tests.api.senders import signs
from tests.console.console import ANN, Console
from tests.fakes.dns import FakeDns

DOMAIN = "news.example.net"


@pytest.fixture
def dns(console: Console) -> FakeDns:
    found = console.api.services.dns()
    assert isinstance(found, FakeDns)
    return found


def add(console: Console, domain: str = DOMAIN) -> None:
    assert console.post(f"/{console.account}/senders/add", domain=domain).status == 303


@pytest.mark.slow
def test_a_domain_is_claimed_proven_and_given_up(console: Console, dns: FakeDns) -> None:
    console.member()
    page = console.shown("/senders")
    assert "example.com" in page, "what an operator granted is listed, too"
    assert "by an operator" in page
    add(console, " News.Example.NET ")
    page = console.shown(f"/senders/{DOMAIN}")
    assert f"_posthaste.{DOMAIN}</code>" in page
    assert f"posthaste-account={console.account}</code>" in page
    path = f"/{console.account}/senders/{DOMAIN}"
    refused = console.post(f"{path}/verify")
    assert (refused.status, "It has no TXT record." in refused.text) == (409, True)
    dns.records[f"_posthaste.{DOMAIN}"] = ["another", f"posthaste-account={console.account}"]
    assert console.post(f"{path}/verify").status == 303
    assert ">proven<" in console.shown("/senders")
    assert console.get(f"{path}/give-up").status == 200
    assert console.post(f"{path}/give-up").status == 303
    assert console.post(f"{path}/give-up").status == 303, "a repeat is no fault"
    assert console.get(path).status == 404
    entries = console.api.call("GET", "/audit").json["items"]
    done = [(e["action"], e["actor"]) for e in entries if e["action"].startswith("sender.") and e["actor"] != "system"]
    assert sorted(done) == [(f"sender.{what}", "user:Ann") for what in ("claimed", "given_up", "proven")]


@pytest.mark.slow
def test_what_is_missing_is_shown_with_what_to_do(console: Console, dns: FakeDns) -> None:
    console.member()
    add(console)
    assert "3 of 3 need something" in console.shown(f"/senders/{DOMAIN}")
    dns.records |= {
        DOMAIN: ["v=spf1 include:mail.example ~all"],
        f"s1._domainkey.{DOMAIN}": ["v=DKIM1"],
        "_dmarc.example.net": ["v=DMARC1; p=none"],
    }
    page = console.shown(f"/senders/{DOMAIN}")
    assert "Nothing is missing" in page
    assert "v=spf1 include:mail.example ~all" in page
    dns.down = True
    page = console.shown(f"/senders/{DOMAIN}")
    assert page.count("DNS did not answer") == 3
    assert console.post(f"/{console.account}/senders/{DOMAIN}/verify").status == 503


@pytest.mark.slow
def test_a_granted_domain_shows_its_records_and_no_proof(console: Console, dns: FakeDns) -> None:
    provider = signs(console.api)
    provider.known["example.com"] = IdentityState.SUCCESS
    dns.records["example.com"] = ["v=spf1 include:mail.example ~all"]
    console.member()
    assert '/senders/example.com">example.com</a><small>by an operator' in console.shown("/senders")
    page = console.shown("/senders/example.com")
    assert "An operator granted it." in page
    assert "v=spf1 include:mail.example ~all" in page
    assert "2 of 3 need something" in page
    assert "DKIM by signer in eu-central-1" in page
    for claimed in ("_posthaste.example.com", "Look for the record", "Give up"):
        assert claimed not in page
    assert console.get(f"/{console.account}/senders/example.com/give-up").status == 404
    assert console.post(f"/{console.account}/senders/example.com/verify").status == 404


def test_a_granted_address_has_no_page(console: Console) -> None:
    account = console.api.services.accounts.create_account("Addresses", ["ann@example.org"])
    console.services.people.invite("github", "ann", account, Role.VIEWER)
    console.sign_in()
    page = console.get(f"/{account}/senders").text
    assert "ann@example.org<small>by an operator" in page
    assert f"/{account}/senders/ann" not in page
    assert console.get(f"/{account}/senders/ann@example.org").status == 404
    assert console.get(f"/{account}/senders/example.com").status == 404, "it is another account's"


@pytest.mark.slow
def test_giving_up_says_what_becomes_of_jobs(console: Console, dns: FakeDns) -> None:
    console.member()
    add(console)
    page = console.shown(f"/senders/{DOMAIN}/give-up")
    assert "Its scheduled jobs do not start" in page
    assert "<b>1</b>" not in page


def test_records_of_strangers_are_text(console: Console, dns: FakeDns) -> None:
    console.member()
    add(console)
    dns.records[DOMAIN] = ["v=spf1 <script>alert(1)</script>"]
    page = console.shown(f"/senders/{DOMAIN}")
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("domain", ["", "ann@example.net", "localhost", "a b.example", "x" * 300 + ".example"])
def test_what_is_no_domain_is_refused(console: Console, domain: str) -> None:
    console.member()
    assert console.post(f"/{console.account}/senders/add", domain=domain).status == 422


@pytest.mark.slow
def test_only_an_admin_changes_senders_and_another_account_s_are_not_there(console: Console) -> None:
    console.member()
    add(console)
    other = console.api.services.accounts.create_account("Other", ["example.org"])
    console.services.people.invite("github", "ann", other, Role.ADMIN)
    console.sign_in()
    assert console.get(f"/{other}/senders/{DOMAIN}").status == 404
    assert console.post(f"/{other}/senders/{DOMAIN}/verify").status == 404
    ((ann, _),) = console.services.people.members(console.account)
    console.services.people.change(ann.id, console.account, Role.VIEWER, by="user:olga")
    console.sign_in(ANN)
    path = f"/{console.account}/senders"
    for action in ("add", f"{DOMAIN}/verify", f"{DOMAIN}/give-up"):
        assert console.post(f"{path}/{action}", domain="x.example").status == 403
    assert "Add a domain" not in console.shown("/senders")


@pytest.mark.slow
def test_the_records_of_a_provider_are_shown_once_the_domain_is_proven(console: Console, dns: FakeDns) -> None:
    provider = signs(console.api)
    console.member()
    add(console)
    path = f"/{console.account}/senders/{DOMAIN}"
    assert "DKIM by" not in console.shown(f"/senders/{DOMAIN}")
    dns.records[f"_posthaste.{DOMAIN}"] = [f"posthaste-account={console.account}"]
    assert console.post(f"{path}/verify").status == 303
    page = console.shown(f"/senders/{DOMAIN}")
    assert "DKIM by signer in eu-central-1" in page
    assert f'<code id="identity-1-1-name">k1._domainkey.{DOMAIN}</code>' in page
    assert 'data-copy="identity-1-1-name"' in page
    assert '<code id="identity-1-1-value">k1.dkim.example</code>' in page
    assert 'data-copy="identity-1-1-value"' in page
    provider.known[DOMAIN] = IdentityState.SUCCESS
    console.api.world.clock.advance(60)
    assert "Leave the records in place." in console.shown(f"/senders/{DOMAIN}")


@pytest.mark.slow
def test_a_domain_that_is_given_up_stays_known_to_the_provider(console: Console, dns: FakeDns) -> None:
    provider = signs(console.api)
    console.member()
    add(console)
    path = f"/{console.account}/senders/{DOMAIN}"
    dns.records[f"_posthaste.{DOMAIN}"] = [f"posthaste-account={console.account}"]
    assert console.post(f"{path}/verify").status == 303
    provider.down = True
    assert console.post(f"{path}/give-up").status == 303
    assert (DOMAIN in provider.known, console.get(path).status) == (True, 404)

"""Operators see to accounts in the console: they make them, set their limits, and suspend them."""

import re
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.audit import Log
from shared.domain.spending.limits import UNLIMITED
from tests.console.console import Console
from tests.console.test_buttons import OLGA, acts

pytestmark = pytest.mark.slow


def limits(console: Console) -> dict[str, int]:
    return dict(console.services.accounts.rules(console.account).limits)


def fields(console: Console) -> dict[str, str]:
    """Return what the form of limits has."""
    page = console.shown("/manage")
    return dict(re.findall(r'name="(limit \w+|countries)" value="([^"]*)"', page))


def test_limits_are_seen_and_set_and_what_stays_has_no_entry(console: Console) -> None:
    console.sign_in(OLGA)
    before = fields(console)
    assert set(before.values()) == {""}, "all are the deployment's"
    there = f"/{console.account}/manage"
    changed = {**before, "limit email": "500", "limit sms": "none", "limit price": "20.50", "countries": "de, AT"}
    assert console.post(there, **changed).status == 303
    assert limits(console) == {"email": 500, "sms": UNLIMITED, "price": 20_500_000}
    assert console.services.accounts.rules(console.account).countries == {"AT", "DE"}
    assert fields(console) == {
        **before,
        "limit email": "500",
        "limit sms": "none",
        "limit price": "20.5",
        "countries": "AT DE",
    }
    entries = acts(console, console.account)
    assert console.post(there, **fields(console)).status == 303
    assert acts(console, console.account) == entries
    (last,) = [x for x in console.services.use_cases.journal.since(console.account, Log.AUDIT, 0) if "limits" in x.kind]
    assert (last.actor, last.data["email"], last.data["countries"]) == ("user:Olga", 500, "AT DE")
    assert console.post(there, **{**fields(console), "limit email": "", "countries": ""}).status == 303
    assert "email" not in limits(console)


@pytest.mark.parametrize(
    ("field", "text"),
    [("limit email", "-1"), ("limit email", "1.5"), ("limit price", "1e3"), ("limit sms", "x"), ("countries", "DEU")],
)
def test_a_wrong_limit_changes_nothing(console: Console, field: str, text: str) -> None:
    console.sign_in(OLGA)
    got = console.post(f"/{console.account}/manage", **{**fields(console), "limit voice": "7", field: text})
    assert got.status == 422, got.text
    assert limits(console) == {}


def test_an_account_is_made_once_however_often_the_form_is_sent(console: Console) -> None:
    console.sign_in(OLGA)
    page = console.get("/new-account").text
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page[page.index("<main") :]))
    form |= {"name": "Clinic", "senders": "clinic.example\nann@example.net"}
    first, again = console.ask("POST", "/new-account", form=form), console.ask("POST", "/new-account", form=form)
    assert first.status == again.status == 303
    assert first.headers["location"] == again.headers["location"]
    (made,) = [x for x in console.services.accounts.list_accounts() if x.name == "Clinic"]
    assert console.services.accounts.list_senders(made.id) == ["ann@example.net", "clinic.example"]
    assert ("account.created", "user:Olga") in acts(console, made.id)
    other = console.ask("POST", "/new-account", form={**form, "name": "Another"})
    assert (other.status, len(console.services.accounts.list_accounts())) == (422, 2)
    nameless = console.ask("POST", "/new-account", form={**form, "name": " "})
    assert nameless.status == 422


def test_an_account_is_suspended_with_a_reason_and_let_go(console: Console) -> None:
    console.sign_in(OLGA)
    assert "Suspend" in console.shown("/suspend")
    assert console.post(f"/{console.account}/suspend", reason="x" * 101).status == 422
    assert not console.services.accounts.suspended(console.account), "neither question nor mistake suspends"
    assert console.post(f"/{console.account}/suspend", reason="unpaid").status == 303
    assert console.services.accounts.suspended(console.account)
    assert "End the suspension" in console.shown("/manage")
    assert console.post(f"/{console.account}/unsuspend").status == 303
    assert not console.services.accounts.suspended(console.account)
    assert [x for x in acts(console, console.account) if "suspended" in x[0]] == [
        ("account.suspended", "user:Olga"),
        ("account.unsuspended", "user:Olga"),
    ]


def test_an_account_without_keys_is_listed_without_a_call_for_no_key(console: Console) -> None:
    """DynamoDB refuses such a call, and moto does not."""
    console.sign_in(OLGA)
    made = console.services.accounts.create_account("Empty")
    asked: list[int] = []

    def note(params: Any, **_: Any) -> None:
        asked.append(len(params["RequestItems"]))

    console.client.meta.events.register("before-parameter-build.dynamodb.BatchGetItem", note)
    try:
        page = console.get(f"/{made}/keys")
    finally:
        console.client.meta.events.unregister("before-parameter-build.dynamodb.BatchGetItem", note)
    assert "The account has no keys" in page.text
    assert asked
    assert 0 not in asked


def test_without_buttons_nothing_leads_to_these_pages(console: Console) -> None:
    console.services = replace(console.services, buttons=None)
    console.sign_in(OLGA)
    assert "Manage" not in console.shown()
    assert "new-account" not in console.get("").text
    for path in ("manage", "suspend", "unsuspend"):
        assert console.get(f"/{console.account}/{path}").status == 404
        assert console.post(f"/{console.account}/{path}").status == 404


@pytest.mark.parametrize(
    ("begins", "said"),
    [
        (date(2026, 9, 20), "Today is day <b>2</b> of 3: <b>1,500</b> messages"),
        (date(2026, 9, 25), "It begins on 2026-09-25"),
    ],
)
def test_a_warmup_is_drawn_with_where_it_is(console: Console, begins: date, said: str) -> None:
    console.sign_in(OLGA)
    quota = CredentialQuota(50_000, Per.DAY, "UTC", Warmup(begins, (200, 1500, 4000)))
    settings = console.services.settings
    declared = tuple(replace(c, quotas=(quota,)) if c.id == "one" else c for c in settings.credentials)
    console.services = replace(console.services, settings=replace(settings, credentials=declared))
    page = console.get("/credentials/one/warmup").text
    assert said in page
    assert len(re.findall(r'<rect class="warm-', page)) == 3
    assert "4,000" in page
    assert "/credentials/one/warmup" in console.get("/credentials").text
    assert console.get("/credentials/two/warmup").status == 404

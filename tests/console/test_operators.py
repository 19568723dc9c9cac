"""Pages of operators: credentials that are paused, slowed and resumed, dead letters; and the keys of an account."""

import re
from dataclasses import replace
from datetime import date

import pytest

from functions.console import rendering
from functions.console.pages import waiting
from functions.console.screens import ROUTES
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.credentials.breakers import DynamoBreakers
from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.accounts import Scope
from shared.domain.audit import EVERYONE, Log
from shared.domain.lanes.breaker import BreakerState
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.domain.people import Identity, Role
from tests.console.console import Console
from tests.fakes.clock import FakeClock

OLGA = Identity("github", "3", "Olga")
ONE = Switch(credential="one")
EVIL = "<script>alert(1)</script>"


def shown(console: Console, path: str) -> str:
    got = console.get(path)
    assert got.status == 200, got.text
    return got.text


def press(console: Console, path: str, **fields: str) -> int:
    return console.post(path, **fields).status


def acts(console: Console) -> list[tuple[str, str]]:
    return [(e.kind, e.actor) for e in console.services.use_cases.journal.since(EVERYONE, Log.AUDIT, 0)]


@pytest.mark.slow
def test_who_is_no_operator_finds_none_of_their_pages(console: Console) -> None:
    console.member()
    pages = [r for r in ROUTES if r.operators]
    assert len(pages) > 10
    for route in pages:
        path = route.path.removeprefix("/console").format(
            credential="one", account=console.account, key="0" * 16, queue="feedback"
        )
        got = console.post(path, rate="1") if route.method == "POST" else console.get(path)
        assert got.status == 404, route.name
    assert not console.services.use_cases.switches.read(ONE)[ONE].switches.paused
    assert ">Credentials</a>" not in console.shown()


@pytest.mark.slow
def test_a_credential_shows_the_day_of_its_warmup(console: Console) -> None:
    console.sign_in(OLGA)
    quota = CredentialQuota(50_000, Per.DAY, "UTC", Warmup(date(2026, 9, 20), (200, 1500)))
    settings = console.services.settings
    declared = tuple(replace(c, quotas=(quota,)) if c.id == "one" else c for c in settings.credentials)
    console.services = replace(console.services, settings=replace(settings, credentials=declared))
    page = shown(console, "/credentials")
    assert "1,500 of 1,500 left per day" in page
    assert "warm-up</a>: day 2 of 2, 50,000 from 2026-09-22" in page


@pytest.mark.slow
def test_a_credential_is_paused_after_a_question_and_resumed(console: Console) -> None:
    console.sign_in(OLGA)
    assert re.findall(r'<th scope="row" class="short">(\w+)<', shown(console, "/credentials")) == [
        "one",
        "two",
        "theirs",
        "texts",
    ]
    asked = shown(console, "/credentials/one/pause")
    assert "Pause one?" in asked
    assert "<b>0</b> messages of all open jobs that may be sent through it wait" in asked
    assert not console.services.use_cases.switches.read(ONE)[ONE].switches.paused, "a question changes nothing"
    assert press(console, "/credentials/one/pause", reason="invoice unpaid") == 303
    page = shown(console, "/credentials?state=paused")
    assert re.findall(r'<th scope="row" class="short">(\w+)<', page) == ["one"]
    assert "invoice unpaid" in page
    assert press(console, "/credentials/one/resume") == 303
    assert "No such credentials" in shown(console, "/credentials?state=paused")
    assert acts(console) == [("credential.paused", "user:Olga"), ("credential.resumed", "user:Olga")]


@pytest.mark.slow
def test_a_rate_is_set_up_to_the_declared_one(console: Console) -> None:
    console.sign_in(OLGA)
    assert "<b>100</b> of 100 messages a second" in shown(console, "/credentials/one/rate")
    assert press(console, "/credentials/one/rate", rate="20") == 303
    page = shown(console, "/credentials")
    assert "slowed" in page
    assert "<small>of 100</small>" in page
    for wrong in ("101", "-1", "nan", "inf", "fast", ""):
        assert press(console, "/credentials/one/rate", rate=wrong) == 422, wrong
    assert console.services.use_cases.switches.read(ONE)[ONE].switches.rate == 20
    assert press(console, "/credentials/one/rate", rate="0") == 303
    assert console.services.use_cases.switches.read(ONE)[ONE].switches.rate == 0
    assert press(console, "/credentials/nosuch/rate", rate="1") == 404


@pytest.mark.slow
def test_the_whole_deployment_is_paused_and_resumed(console: Console) -> None:
    console.sign_in(OLGA)
    assert "<b>0</b> messages of all open jobs wait until you resume" in shown(console, "/credentials/all/pause")
    assert press(console, "/credentials/all/pause", reason="a flood") == 303
    page = shown(console, "/credentials")
    assert "The whole deployment is paused" in page
    assert "a flood" in page
    assert press(console, "/credentials/all/resume") == 303
    assert not console.services.use_cases.switches.read(EVERYTHING)[EVERYTHING].switches.paused
    assert {x for x, _ in acts(console)} == {"deployment.paused", "deployment.resumed"}


def test_a_breaker_is_closed_by_hand(console: Console, clock: FakeClock) -> None:
    breakers = DynamoBreakers(Dynamo(console.api.client), console.api.tables.ops)
    closed = breakers.read(["one"])["one"]
    opened = replace(closed, state=BreakerState.OPEN, reason="provider_error", since=clock.ms, version=1)
    assert breakers.swap(closed, opened) == opened
    console.sign_in(OLGA)
    assert "provider_error, since" in shown(console, "/credentials?state=avoided")
    assert press(console, "/credentials/one/close") == 303
    assert breakers.read(["one"])["one"].closed
    assert acts(console) == [("credential.breaker_closed", "user:Olga")]


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["ask ann@example.org", "x" * 101])
def test_a_reason_without_addresses_is_asked_for(console: Console, reason: str) -> None:
    console.sign_in(OLGA)
    assert press(console, "/credentials/one/pause", reason=reason) == 422
    assert not console.services.use_cases.switches.read(ONE)[ONE].switches.paused
    assert press(console, "/credentials/one/pause", reason=EVIL) == 303
    page = shown(console, "/credentials")
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_dead_letters_are_counted_and_the_command_is_shown(console: Console) -> None:
    console.services = replace(console.services, buttons=None)
    console.sign_in(OLGA)
    page = shown(console, "/dead-letters")
    assert "<b>4</b> in" in page
    assert re.findall(r"<code>posthaste redrive ([a-z-]+)</code>", page) == ["feedback", "lane-one"]
    only = shown(console, "/dead-letters?only=with+dead+letters")
    assert re.findall(r'<th scope="row">([a-z-]+)<', only) == ["feedback", "lane-one"]


@pytest.mark.slow
def test_keys_are_listed_with_their_last_use_and_the_commands(console: Console, clock: FakeClock) -> None:
    accounts = console.services.accounts
    accounts.create_key(console.account, name=EVIL, test=True)
    old, _ = accounts.create_key(console.account, name="Old", expires=clock.ms + 1)
    clock.advance(1)
    console.api.call("GET", "/jobs")
    console.member()
    page = console.shown("/keys")
    assert page.count('<span class="badge') == 3
    assert "<script>alert" not in page
    assert old not in page
    assert f"posthaste key create {console.account}" in page
    assert "posthaste key revoke" in page
    assert "&lt;script&gt;" in console.shown("/keys?keys=test")
    assert console.shown("/keys?state=expired").count("expired</span>") == 1
    assert console.shown("/keys?state=in+use").count("in use</span>") == 1
    assert "No such keys" in console.shown("/keys?keys=team")


@pytest.mark.slow
def test_keys_page(console: Console) -> None:
    for n in range(55):
        console.services.accounts.create_key(console.account, name=f"k{n}", scopes=(Scope.READ,))
    console.member()
    page = console.shown("/keys?state=never+used")
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    page += console.shown("/keys" + more[1].replace("&amp;", "&"))
    assert len(set(re.findall(r">(k\d+)</a>", page))) == 55


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SENDER])
def test_only_an_admin_sees_keys(console: Console, role: Role) -> None:
    console.member(role=role)
    assert console.get(f"/{console.account}/keys").status == 403
    changing = [r for r in ROUTES if "/keys" in r.path and r.method == "POST"]
    assert all(r.key_admins for r in changing), "no member makes or changes a key"


@pytest.mark.slow
def test_operators_find_an_account_and_pause_it_after_a_question(console: Console) -> None:
    other = console.services.accounts.create_account("Other", [])
    console.api.accepted(("a@example.org", "b@example.org", "c@example.org"))
    console.sign_in(OLGA)
    assert {console.account, other} <= set(re.findall(r"<small>(acc_\w+)</small>", shown(console, "")))
    assert "invite your login" not in shown(console, ""), "who sees every account needs no invitation"
    assert re.findall(r"<small>(acc_\w+)</small>", shown(console, "?name=oTH")) == [other]
    assert re.findall(r"<small>(acc_\w+)</small>", shown(console, f"?name={other}")) == [other]
    assert "No such accounts" in shown(console, "?name=zzz")
    assert "<b>3</b> messages of all its open jobs wait" in shown(console, f"/{console.account}/pause")
    switch = Switch(account=console.account)
    assert not console.services.use_cases.switches.read(switch)[switch].switches.paused
    assert press(console, f"/{console.account}/pause", reason="too fast") == 303
    assert console.services.use_cases.switches.read(switch)[switch].reason == "too fast"
    assert "paused</span>" in shown(console, "")
    assert press(console, f"/{console.account}/resume") == 303
    entries = console.api.call("GET", "/audit").json["items"]
    done = {(e["action"], e["actor"]) for e in entries}
    assert {("account.paused", "user:Olga"), ("account.resumed", "user:Olga")} <= done


@pytest.mark.slow
@pytest.mark.parametrize("many", [False, True], ids=["the index is small", "the index is large"])
def test_the_questions_about_a_pause_count_the_messages_that_wait(
    console: Console, monkeypatch: pytest.MonkeyPatch, *, many: bool
) -> None:
    if many:
        monkeypatch.setattr(console.services.records, "open_at_once", lambda _slots: None)
    other = console.services.accounts.create_account("Other", [])
    console.sign_in(OLGA)
    console.api.accepted(("a@example.org", "b@example.org"), scheduled_at="2027-01-01T00:00:00Z")
    for _ in range(60):
        console.api.world.clock.advance(1)
        job = console.api.accepted(("a@example.org", "b@example.org"))
    assert console.api.call("POST", f"/jobs/{job}/stop").status < 300
    assert "<b>120</b> messages of all its open jobs wait" in shown(console, f"/{console.account}/pause")
    assert "<b>0</b> messages of all its open jobs wait" in shown(console, f"/{other}/pause")
    assert "<b>120</b> messages of all open jobs wait" in shown(console, "/credentials/all/pause")
    assert "<b>118</b> messages of all open jobs that may be" in shown(console, "/credentials/one/pause")
    assert "<b>0</b> messages of all open jobs that may be" in shown(console, "/credentials/texts/pause")
    for page, count, what in (
        (
            f"/{console.account}/resume",
            120,
            "all its open jobs go on, within the rates of their credentials, but for what is paused besides.",
        ),
        (f"/{other}/resume", 0, "all its open jobs go on"),
        ("/credentials/all/resume", 120, "all open jobs go on"),
        ("/credentials/one/resume", 118, "all open jobs may be sent through it again"),
        ("/credentials/texts/close", 0, "all open jobs may be sent through it at once"),
    ):
        assert f"<b>{count}</b> messages of {what}" in shown(console, page)
    monkeypatch.setattr(waiting, "MOST", 10)
    assert "<b>20</b> messages of the oldest 10 open jobs" in shown(console, "/credentials/all/pause")
    assert "<b>20</b> messages of its open jobs, among the" in shown(console, f"/{console.account}/pause")


@pytest.mark.slow
def test_each_page_of_a_paused_account_says_so_with_the_reason(console: Console) -> None:
    switch, switches = Switch(account=console.account), console.services.use_cases.switches
    console.member()
    for page in ("", "/jobs", "/templates"):
        assert "paused" not in console.shown(page)
    switches.pause(switch, by="user:Olga", reason="too <fast>")
    since = switches.read(switch)[switch].since
    for page in ("", "/jobs", "/templates"):
        text = console.shown(page)
        assert "<b>This account is paused</b> since <time" in text
        assert str(rendering.shown_time(since)) in text
        assert "for this reason: too &lt;fast&gt;." in text
    switches.resume(switch, by="user:Olga", reason="slower")
    assert "paused" not in console.shown("/jobs")
    console.services.accounts.suspend(console.account)
    assert "<b>This account is suspended.</b>" in console.shown("/jobs")


@pytest.mark.slow
def test_the_accounts_of_operators_page(console: Console) -> None:
    for n in range(55):
        console.services.accounts.create_account(f"Firm {n}", [])
    console.sign_in(OLGA)
    page = shown(console, "?name=firm")
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    page += shown(console, more[1].replace("&amp;", "&"))
    assert len(set(re.findall(r">(Firm \d+)</a>", page))) == 55

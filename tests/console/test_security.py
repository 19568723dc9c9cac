"""What strangers write is shown and never run, forms of other sites change nothing, and accounts are apart."""

import html
import itertools
import re

import pytest

from functions.console.rendering import POLICY
from functions.console.screens import ROUTES
from shared.domain.accounts import Taker
from shared.domain.people import Identity, Role
from shared.web.sessions import COOKIE
from tests.console.console import ANN, Console

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
ESCAPED = "&lt;script&gt;"


@pytest.mark.slow
def test_no_page_may_do_more_than_it_is_made_for(console: Console) -> None:
    job = console.api.logged(("a@example.org",))
    console.member()
    paths = ["", "/jobs", f"/jobs/{job}", f"/jobs/{job}/messages", f"/jobs/{job}/messages/0.0", "/messages"]
    everywhere = [*(f"/{console.account}{path}" for path in paths), "/style", "/no", "/sign-in"]
    for got in map(console.get, everywhere):
        assert got.headers["content-security-policy"] == POLICY
        assert "unsafe" not in POLICY
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["cache-control"] == "no-store"
        assert got.headers["referrer-policy"] == "same-origin"
        assert not re.search(r"<(script|style)>| style=| on[a-z]+=", got.text), "CSP would refuse it"
        assert not re.search(r"(src|href)=\"(https?:)?//", got.text), "everything is of our own origin"
        ends = re.findall(r"(?:href|action)=\"([^\"]*)\"", got.text)
        assert not [x for x in ends if x.endswith("/")], "API Gateway has no route for it"


@pytest.mark.slow
def test_what_strangers_write_is_text(console: Console) -> None:
    job = console.api.logged(("a@example.org", EVIL), subject=EVIL)
    console.member(Identity("github", "1", "ann", EVIL))
    waiting = console.api.accepted(("b@example.org",), subject=EVIL)
    for path in ("", "/jobs", f"/jobs/{job}", f"/jobs/{job}/messages", f"/jobs/{waiting}/stop"):
        page = console.get(f"/{console.account}{path}").text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert ESCAPED in page
    found = console.shown(f"/messages?recipient={EVIL}")
    assert "<script>alert" not in found
    assert ESCAPED in found


@pytest.mark.parametrize("token", ["", "nonsense", "nonce.0000", "another's"])
def test_a_form_of_another_site_changes_nothing(console: Console, token: str) -> None:
    job = console.api.accepted(("a@example.org",))
    console.member(ANN)
    if token == "another's":
        mine = console.cookies[COOKIE]
        console.sign_in(Identity("github", "2", "ben"))
        found = re.search(r'name="csrf" value="([^"]+)"', console.get("").text)
        assert found is not None
        token, console.cookies[COOKIE] = found[1], mine
    got = console.ask("POST", f"/{console.account}/jobs/{job}/stop", form={"csrf": token})
    assert got.status == 403
    assert "This form is not from your session" in got.text
    assert console.api.call("GET", f"/jobs/{job}").json["state"] == "ENQUEUED"
    assert console.ask("POST", "/sign-out", form={"csrf": token}).status == 403


def test_a_body_that_is_no_form_is_refused(console: Console) -> None:
    console.member()
    for kind in ("application/json", "text/plain", ""):
        assert console.ask("POST", "/sign-out", form={}, headers={"content-type": kind}).status == 415


@pytest.mark.slow
def test_another_account_is_not_there(console: Console) -> None:
    other = console.api.services.accounts.create_account("Other", ["example.com"])
    job = console.api.accepted(("a@example.org",))
    console.member()
    assert console.get(f"/{other}").status == 404
    assert console.get("/acc_000000000000").status == 404
    console.services.people.invite("github", "ann", other, Role.ADMIN)
    console.sign_in()
    assert console.get(f"/{other}").status == 200
    for path in (f"/jobs/{job}", f"/jobs/{job}/messages", f"/jobs/{job}/stop"):
        assert console.get(f"/{other}{path}").status == 404, "a job is its own account's"
    assert console.post(f"/{other}/jobs/{job}/stop").status == 404
    assert console.api.call("GET", f"/jobs/{job}").json["state"] == "ENQUEUED"


def test_an_operator_sees_every_account(console: Console) -> None:
    other = console.api.services.accounts.create_account("Other", ["example.com"])
    console.sign_in(Identity("github", "3", "olga"))
    page = console.get("").text
    assert {other, console.account} <= set(re.findall(r"acc_[0-9a-z]{12}", page))
    assert console.get(f"/{other}").status == 200


def test_a_viewer_changes_nothing(console: Console) -> None:
    job = console.api.accepted(("a@example.org",))
    console.member(role=Role.VIEWER)
    assert "Stop …" not in console.shown(f"/jobs/{job}")
    changing = [r for r in ROUTES if r.method == "POST" and "{job}" in r.path]
    assert changing
    for route in changing:
        path = route.path.removeprefix("/console").format(account=console.account, job=job)
        assert console.post(path).status == 403
        assert console.get(path).status == 403
    assert console.api.call("GET", f"/jobs/{job}").json["state"] == "ENQUEUED"


def test_every_page_but_those_of_signing_in_needs_a_session(console: Console) -> None:
    named = {"account": console.account, "job": "0" * 26, "message": "0.0"}
    for route in ROUTES:
        if not route.public:
            path = re.sub(r"\{(\w+)\}", lambda m: named.get(m[1], "x"), route.path.removeprefix("/console"))
            assert console.ask(route.method, path, form={}).status == 303
    assert {r.name for r in ROUTES if r.public} == {"file", "style", "sign in", "begin a sign-in", "end a sign-in"}


def test_a_place_of_another_account_s_list_is_refused(console: Console) -> None:
    console.member()
    sealed = console.services.links.seal("posthaste console cursor 1 acc_somebodyelse", "x")
    for path in ("/jobs", "/messages"):
        assert console.get(f"/{console.account}{path}?recipient=a@example.org&cursor={sealed}").status == 400


@pytest.mark.slow
def test_changes_take_from_the_requests_of_the_account_and_pages_do_not(console: Console) -> None:
    console.member()
    page = console.shown()
    form = {"csrf": html.unescape(re.findall(r'name="csrf" value="([^"]+)"', page)[0]), "login": "not a login"}
    changes = (Taker(f"person-{i}") for i in itertools.count())
    while console.api.services.accounts.take(console.account, next(changes)) is None:
        pass
    refused = console.ask("POST", f"/{console.account}/members/invite", form=form)
    assert (refused.status, "Too many changes" in refused.text) == (429, True)
    assert console.get(f"/{console.account}/members").status == 200

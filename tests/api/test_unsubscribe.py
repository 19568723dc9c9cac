"""Unsubscription links: what a mailbox provider posts, what a person sees, and what nobody may do with them."""

import logging
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest

from functions.api.services import VISIT_BURST
from shared.adapters.dynamo import keys
from shared.domain.content.unsubscribe import Unsubscription
from shared.domain.recipients.suppressions import DigestsOf, Reach
from shared.ports import Retriable
from tests.api.conftest import ADDRESS, Api, Reply
from tests.fakes.links import FakeLinks

ANN = "ann.private@example.org"
FORM = "application/x-www-form-urlencoded"
ONE_CLICK = "List-Unsubscribe=One-Click"
MULTIPART = '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'


def link(api: Api, account: str = "", address: str = ANN, *, test: bool = False) -> str:
    """Return the path of a recipient's link."""
    wanted = Unsubscription(account or api.account, address, "01k9zq3v5n8e7r2t4y6w1x0abc", test)
    return "/unsubscribe/" + FakeLinks().sign(wanted)


def visit(api: Api, method: str, path: str, body: str | None = None, kind: str = FORM) -> Reply:
    """Follow a link, as everybody may: without a key."""
    return api.call(method, path, body, key="", headers={"Content-Type": kind}, encoded=body is not None)


def off(api: Api, account: str = "") -> dict[str, tuple[str, str]]:
    """Return who has unsubscribed: address → reason and job."""
    found, _ = api.services.suppressions.page(account or api.account, limit=100, reach=Reach.CAMPAIGNS)
    return {x.address: (x.reason, x.job) for x in found}


class Form(HTMLParser):
    """The form of a page."""

    def __init__(self, page: Reply) -> None:
        super().__init__()
        self.action = ""
        self.method = ""
        self.fields: dict[str, str] = {}
        self.label = ""
        self.forms = 0
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        assert tag not in {"script", "img", "link", "iframe", "a"}
        assert not any(name.startswith("on") for name in given)
        if tag == "form":
            self.forms += 1
            self.action, self.method = given.get("action", ""), given["method"]
        elif tag == "input":
            self.fields[given["name"]] = given["value"]

    def handle_data(self, data: str) -> None:
        if self.lasttag == "button" and data.strip():
            self.label = data


def press(api: Api, page: Reply, at: str) -> tuple[Reply, str]:
    """Press the only button of the page that was got from a path, as a browser does; return what it gives and where."""
    form = Form(page)
    assert (form.forms, form.method) == (1, "post")
    there = urljoin(ADDRESS + at, form.action).removeprefix(ADDRESS)
    return visit(api, "POST", there, urlencode(form.fields)), there


def heading(page: Reply) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page.text)
    assert found, page.text
    return found[1]


@pytest.mark.promise(11)
@pytest.mark.parametrize(
    ("body", "kind"), [(ONE_CLICK, FORM), (MULTIPART, "multipart/form-data; boundary=x"), (None, FORM)]
)
def test_one_click_unsubscribes_without_a_question(api: Api, body: Any, kind: str) -> None:
    got = visit(api, "POST", link(api), body, kind)
    assert got.status == 200
    assert len(got.text) < 20
    assert not {"location", "set-cookie"} & set(got.headers)
    assert off(api) == {ANN: ("one_click", "01k9zq3v5n8e7r2t4y6w1x0abc")}


@pytest.mark.promise(7)
def test_one_click_twice_is_one_unsubscription(api: Api) -> None:
    visit(api, "POST", link(api), ONE_CLICK)
    before = [x for x in api.stored() if x["sk"]["S"] != keys.SUPPRESSED]
    api.world.clock.advance(60)
    assert visit(api, "POST", link(api), ONE_CLICK).status == 200
    assert [x for x in api.stored() if x["sk"]["S"] != keys.SUPPRESSED] == before


@pytest.mark.promise(11)
def test_to_look_changes_nothing(api: Api) -> None:
    before = api.stored()
    for method in ("GET", "HEAD", "OPTIONS", "GET"):
        visit(api, method, link(api))
        visit(api, method, link(api) + "/undo")
    assert api.stored() == before
    assert off(api) == {}


def test_a_person_unsubscribes_undoes_it_and_unsubscribes_again(api: Api) -> None:
    at = link(api)
    page = visit(api, "GET", at)
    assert (page.status, heading(page), Form(page).label) == (200, "Unsubscribe", "Unsubscribe")
    done, at = press(api, page, at)
    assert (done.status, heading(done), Form(done).label) == (200, "You are unsubscribed", "Undo")
    assert off(api)[ANN][0] == "page"
    undone, at = press(api, done, at)
    assert at == link(api) + "/undo"
    assert (undone.status, heading(undone), Form(undone).label) == (200, "You are subscribed", "Unsubscribe")
    assert off(api) == {}
    again, at = press(api, undone, at)
    assert (heading(again), at) == ("You are unsubscribed", link(api))
    assert list(off(api)) == [ANN]
    seen = visit(api, "GET", at)
    assert heading(seen) == "You are unsubscribed"
    assert heading(press(api, seen, at)[0]) == "You are subscribed"


@pytest.mark.promise(9)
def test_a_page_shows_the_address_only_with_a_valid_link(api: Api) -> None:
    at = link(api)
    page = visit(api, "GET", at)
    for shown in (page, press(api, page, at)[0], visit(api, "POST", at + "/undo")):
        assert "a•••@example.org" in shown.text
        assert "ann" not in shown.text.replace(at.rpartition("/")[2], "")
        assert api.account not in shown.text


def test_a_page_is_complete_in_itself_and_keeps_its_address_to_itself(api: Api) -> None:
    for path in (link(api), "/unsubscribe/nonsense"):
        page = visit(api, "GET", path)
        policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
        assert policy == {
            "default-src": "'none'",
            "style-src": "'unsafe-inline'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["x-robots-tag"].startswith("noindex")
        assert page.headers["cache-control"] == "no-store"
        assert "set-cookie" not in page.headers
        for outside in ("http:", "https:", "src=", "@import", "<script"):
            assert outside not in page.text
        assert page.text.startswith('<!doctype html>\n<html lang="en">')
        assert "<main>" in page.text
        assert 'name="viewport"' in page.text


@pytest.mark.promise(11)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("end", ["", "/undo"])
def test_a_link_that_was_not_signed_here_does_nothing(api: Api, method: str, end: str) -> None:
    good = link(api).rpartition("/")[2]
    before = api.stored()
    answers = set()
    first, last = ("B" if c == "A" else "A" for c in (good[0], good[-2]))
    forged = (good[:-1], first + good[1:], good[:-2] + last + good[-1], good + "1")
    for token in (*forged, "nonsense", "%F0%9F%8E%81", "x" * 5000):
        if method == "GET" and end:
            continue
        got = visit(api, method, f"/unsubscribe/{token}{end}", ONE_CLICK if method == "POST" else None)
        answers.add((got.status, got.text))
    assert {status for status, _ in answers} <= {404}
    assert len(answers) <= 1, "whatever is wrong, the answer is the same"
    assert api.stored() == before


@pytest.mark.promise(9)
def test_a_link_is_of_one_account_and_one_address(api: Api) -> None:
    other = api.services.accounts.create_account("Other", ["example.com"])
    for account in (api.account, other):
        visit(api, "POST", link(api, account), ONE_CLICK)
        visit(api, "POST", link(api, account, "ben@example.org"), ONE_CLICK)
    visit(api, "POST", link(api) + "/undo")
    assert set(off(api)) == {"ben@example.org"}
    assert set(off(api, other)) == {ANN, "ben@example.org"}


def test_a_test_s_link_works_and_notes_nothing(api: Api) -> None:
    at = link(api, test=True)
    before = api.stored()
    page = visit(api, "GET", at)
    done, there = press(api, page, at)
    undone, _ = press(api, done, there)
    assert [heading(x) for x in (page, done, undone)] == ["Unsubscribe", "You are unsubscribed", "You are subscribed"]
    assert all("This link is from a test" in x.text for x in (page, done, undone))
    assert visit(api, "POST", at, ONE_CLICK).status == 200
    assert api.stored() == before


def test_an_address_is_no_markup(api: Api) -> None:
    page = visit(api, "GET", link(api, address='<b>&"x@<script>.example'))
    assert "<script>" not in page.text
    assert "&lt;•••@&lt;script&gt;.example" in page.text


@pytest.mark.slow
def test_a_link_that_is_followed_too_often_says_when_to_try_again(api: Api) -> None:
    codes = [visit(api, "POST", link(api), ONE_CLICK).status for _ in range(50)]
    assert codes[:VISIT_BURST] == [200] * VISIT_BURST
    assert codes[-1] == 429
    late = visit(api, "POST", link(api), ONE_CLICK)
    assert (late.status, heading(late)) == (429, "Please try again")
    api.world.clock.advance(int(late.headers["retry-after"]))
    assert visit(api, "POST", link(api), ONE_CLICK).status == 200


def test_the_first_visits_of_a_link_store_nothing_and_a_busy_link_s_bucket_goes(api: Api) -> None:
    table, now = api.tables.records, int(api.world.clock.now())

    def buckets() -> list[Any]:
        return [x for x in api.client.scan(TableName=table)["Items"] if "#VISITS#" in x["pk"]["S"]]

    for _ in range(5):
        visit(api, "GET", link(api))
    assert buckets() == []
    for _ in range(10):
        visit(api, "GET", link(api))
    assert [int(x["ttl"]["N"]) for x in buckets()] == [now + 86_400]


def test_a_hiccup_is_a_page_and_to_be_repeated(api: Api) -> None:
    class Busy(FakeLinks):
        def read(self, token: str) -> Unsubscription | None:
            raise Retriable("secrets")

    api.services = replace(api.services, links=Busy())
    for method in ("GET", "POST"):
        got = visit(api, method, link(api), ONE_CLICK if method == "POST" else None)
        assert (got.status, got.headers["retry-after"], heading(got)) == (503, "1", "Please try again")
    assert off(api) == {}


@pytest.mark.promise(9)
def test_no_token_and_no_address_is_logged(
    api: Api, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    at = link(api)
    for method, path in (("GET", at), ("POST", at), ("POST", at + "/undo"), ("POST", at + "x")):
        visit(api, method, path, ONE_CLICK if method == "POST" else None)
    records = [r for r in caplog.records if r.name == "api"]
    assert [vars(r)["operation"] for r in records] == [
        "showUnsubscription",
        "unsubscribe",
        "undoUnsubscription",
        "unsubscribe",
    ]
    told = "\n".join([*capfd.readouterr(), caplog.text, *(repr(vars(r)) for r in records)])
    assert at.rpartition("/")[2][:20] not in told
    assert "example.org" not in told


def test_a_digest_s_link_leads_away_from_its_policy_alone(api: Api) -> None:
    wanted = Unsubscription(api.account, ANN, "01k9zq3v5n8e7r2t4y6w1x0abc", policy="acme/<b>")
    at = "/unsubscribe/" + FakeLinks().sign(wanted)
    page = visit(api, "GET", at)
    assert "Stop this sender's digests of <b>acme/&lt;b&gt;</b> to" in page.text
    done, at = press(api, page, at)
    assert "gets no more digests of <b>acme/&lt;b&gt;</b> from this sender." in done.text
    assert off(api) == {}
    store = api.services.suppressions
    assert store.get(api.account, ANN, reach=DigestsOf("acme/")) is None
    found = store.get(api.account, ANN, reach=DigestsOf("acme/<b>"))
    assert found is not None
    assert (found.reason, found.policy) == ("page", "acme/<b>")
    undone, at = press(api, done, at)
    assert heading(undone) == "You are subscribed"
    assert store.get(api.account, ANN, reach=DigestsOf("acme/<b>")) is None
    visit(api, "POST", at.removesuffix("/undo"), ONE_CLICK)
    assert store.get(api.account, ANN, reach=DigestsOf("acme/<b>")) is not None

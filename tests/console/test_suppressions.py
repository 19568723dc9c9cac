"""Suppressions: listed, looked up, added and lifted, each in the audit log with the person's name."""

import html
import re
from urllib.parse import quote, urlencode

import pytest

from functions.console.rendering import parted, shown_address
from shared.domain.people import Role
from shared.domain.recipients.suppressions import DigestsOf, Reach
from tests.console.console import Console

EVIL = "<script>alert(1)</script>"


@pytest.mark.slow
def test_an_empty_list_says_how_addresses_join_it(console: Console) -> None:
    console.member()
    for name in Reach:
        assert "No address is on this list" in console.shown(f"/suppressions?list={name.value}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "key"),
    [
        (" Ann@Example.org ", "ann@example.org"),
        ("A..n@docomo.ne.jp", '"a..n"@docomo.ne.jp'),
        ('"ann lee"@Example.org', '"ann lee"@example.org'),
        ("+61 2 5550 1234", "+61255501234"),
    ],
)
def test_an_address_is_suppressed_and_lifted_after_a_question(console: Console, typed: str, key: str) -> None:
    console.member()
    add = f"/{console.account}/suppressions/add"
    first = console.post(add, address=typed, list="all", reason="asked", keys="live")
    assert first.status == 200
    assert "<b>1</b> address is put on the list “all” of live keys." in first.text
    assert console.services.use_cases.suppressions.get(console.account, key) is None, "a question changes nothing"
    answer = dict(re.findall(r'name="(address|list|reason|keys|sure)" value="([^"]*)"', first.text))
    assert console.post(add, **{name: html.unescape(value) for name, value in answer.items()}).status == 303
    page = html.unescape(console.shown("/suppressions"))
    assert f">{key}</a>" in page
    assert console.services.use_cases.suppressions.get(console.account, key) is not None
    asked = console.shown(f"/suppressions/lift?{urlencode({'address': key, 'list': 'all', 'keys': 'live'})}")
    assert f"Send to {key} again?" in html.unescape(asked)
    assert "<b>1</b> address leaves" in asked
    assert console.services.use_cases.suppressions.get(console.account, key) is not None, "a question changes nothing"
    assert console.post(f"/{console.account}/suppressions/lift", address=key, list="all").status == 303
    assert console.services.use_cases.suppressions.get(console.account, key) is None
    done = [(e["action"], e["actor"]) for e in console.api.call("GET", "/audit").json["items"]]
    assert [x for x in done if x[0].startswith("suppression.")] == [
        ("suppression.removed", "user:Ann"),
        ("suppression.added", "user:Ann"),
    ]
    gone = urlencode({"address": key, "list": "all"})
    assert console.get(f"/{console.account}/suppressions/lift?{gone}").status == 404


def test_each_list_and_each_kind_of_keys_is_apart(console: Console) -> None:
    store = console.services.use_cases.suppressions
    store.put(console.account, "live@example.org", "manual")
    store.put(console.account, "left@example.org", "page", reach=Reach.CAMPAIGNS)
    store.put(f"{console.account}#TEST", "test@example.org", "manual")
    console.member()
    for query, wanted in (
        ("", "live"),
        ("?list=campaigns", "left"),
        ("?keys=test", "test"),
        ("?list=nonsense", "live"),
    ):
        assert re.findall(r">(\w+)@example.org</a>", console.shown(f"/suppressions{query}")) == [wanted]
    assert "No address is on this list" in console.shown("/suppressions?keys=team")
    assert console.post(f"/{console.account}/suppressions/lift", address="live@example.org", list="all", keys="test")
    assert store.get(console.account, "live@example.org") is not None


@pytest.mark.slow
def test_somebody_comes_back_to_the_digests_of_one_policy(console: Console) -> None:
    store = console.services.use_cases.suppressions
    for policy in ("orders/", "news/"):
        store.put(console.account, "a@example.org", "page", reach=DigestsOf(policy))
    console.member()
    page = console.shown("/suppressions?list=digests")
    assert "<small>orders/</small>" in page
    found = re.search(r'href="[./]*[^"]*(/suppressions/lift\?[^"]*orders[^"]*)"', page)
    assert found is not None
    assert "Send to a@example.org again?" in console.shown(found[1].replace("&amp;", "&"))
    where = f"/{console.account}/suppressions/lift"
    assert console.post(where, address="a@example.org", list="digests", policy="orders/").status == 303
    assert store.get(console.account, "a@example.org", reach=DigestsOf("orders/")) is None
    assert store.get(console.account, "a@example.org", reach=DigestsOf("news/")) is not None
    assert console.post(where, address="a@example.org", list="digests").status == 404


def test_an_address_is_looked_up_on_all_lists(console: Console) -> None:
    store = console.services.use_cases.suppressions
    store.put(console.account, "a@example.org", "manual")
    store.put(console.account, "a@example.org", "page", reach=Reach.CAMPAIGNS)
    store.put(console.account, "b@example.org", "manual")
    console.member()
    page = console.shown("/suppressions?address=A@Example.org")
    assert page.count(">a@example.org</a>") == 2
    assert "b@example.org" not in page
    assert "This address is on no list" in console.shown("/suppressions?address=z@example.org")
    assert "This address is on no list" in console.shown("/suppressions?address=nonsense")


@pytest.mark.slow
def test_the_list_pages_with_its_filter(console: Console) -> None:
    store = console.services.use_cases.suppressions
    for i in range(53):
        store.put(f"{console.account}#TEST", f"p{i}@example.org", "manual", reach=Reach.CAMPAIGNS)
    console.member()
    seen, page = set[str](), console.shown("/suppressions?list=campaigns&keys=test")
    seen |= set(re.findall(r">(p\d+)@example.org</a>", page))
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    page = console.shown("/suppressions" + more[1].replace("&amp;", "&"))
    seen |= set(re.findall(r">(p\d+)@example.org</a>", page))
    assert len(seen) == 53
    assert "First page" in page
    assert "Next page" not in page


@pytest.mark.parametrize(
    "wrong",
    [
        {"address": "nonsense"},
        {"address": "+12"},
        {"list": "digests"},
        {"list": "no"},
        {"reason": "x" * 101},
        {"reason": "a\x00b"},
    ],
)
def test_wrong_forms_change_nothing(console: Console, wrong: dict[str, str]) -> None:
    console.member()
    form = {"address": "a@example.org", "list": "all", "reason": "manual", **wrong}
    assert console.post(f"/{console.account}/suppressions/add", **form).status == 422
    assert console.api.call("GET", "/suppressions").json["items"] == []


@pytest.mark.slow
def test_only_an_admin_may(console: Console) -> None:
    console.services.use_cases.suppressions.put(console.account, "a@example.org", "manual")
    console.member(role=Role.SENDER)
    page = console.shown("/suppressions")
    assert "Lift …" not in page
    assert "Suppress an address" not in page
    for action in ("add", "lift"):
        assert (
            console.post(f"/{console.account}/suppressions/{action}", address="a@example.org", list="all").status == 403
        )
    assert console.services.use_cases.suppressions.get(console.account, "a@example.org") is not None


def test_what_strangers_write_is_text(console: Console) -> None:
    store = console.services.use_cases.suppressions
    address = '"<img src=x>"@example.org'
    store.put(console.account, address, EVIL)
    store.put(console.account, "a@example.org", EVIL, reach=DigestsOf(EVIL))
    console.member()
    pages = [
        console.shown("/suppressions"),
        console.shown("/suppressions?list=digests"),
        console.shown(f"/suppressions?{urlencode({'address': EVIL})}"),
        console.shown(
            f"/suppressions/lift?{urlencode({'address': 'a@example.org', 'list': 'digests', 'policy': EVIL})}"
        ),
    ]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page.replace('<img src="', "")
        assert "&lt;" in page


@pytest.mark.slow
def test_an_internationalised_domain_is_there_as_people_write_it_and_as_it_is_stored(console: Console) -> None:
    stored, written = "ann@xn--strae-oqa.example.com", "ann@straße.example.com"
    both = f'<bdi>{written}</bdi> <small class="quiet">{stored}</small>'
    console.api.services.accounts.add_sender(console.account, stored.partition("@")[2])
    job = console.api.logged((written,), from_=f"news@{written.partition('@')[2]}")
    console.member()
    assert console.api.call("PUT", f"/suppressions/{stored}").status == 200
    for path in ("/suppressions", f"/jobs/{job}/messages", f"/messages?recipient={quote(written)}"):
        page = console.shown(path)
        assert both in page, path
    assert f">{both}</a>" in console.shown("/suppressions")
    sender = both.replace("ann@", "news@")
    assert f"<dd>{sender}</dd>" in console.shown(f"/jobs/{job}")
    heading = re.search(r"<h1>(.*?)</h1>", console.shown(f"/jobs/{job}/messages/0.0"))
    assert heading is not None
    assert heading[1].replace("<wbr>", "") == both


def test_an_address_that_is_no_domain_of_any_registry_is_text() -> None:
    evil = "<script>@xn--strae-oqa.example"
    assert shown_address(evil) == (
        '<bdi>&lt;script&gt;@straße.example</bdi> <small class="quiet">&lt;script&gt;@xn--strae-oqa.example</small>'
    )
    assert str(parted(evil)).replace("<wbr>", "") == str(shown_address(evil))
    assert shown_address("<b>@example.org") == "&lt;b&gt;@example.org"

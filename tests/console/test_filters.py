"""Lists that are long filter and page; one that ends before its end says so."""

import html
import re
from urllib.parse import urlencode

import pytest

from functions.console import lists
from shared.domain.hooks.endpoint import MAX_ENDPOINTS
from shared.domain.people import Role
from tests.console.campaigns import made, saved, sent, stored, with_list
from tests.console.console import Console
from tests.console.examples import EXAMPLES, Example, pages
from tests.console.test_hooks import made as hooked


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pages of two rows."""
    monkeypatch.setattr(lists, "PAGE", 2)


@pytest.mark.slow
def test_endpoints_filter_by_state(console: Console) -> None:
    console.member()
    enabled, proving = hooked(console), hooked(console)
    console.api.hooks.prove(enabled)

    def found(query: str) -> list[str]:
        return re.findall(r"/hooks/(hook_[0-9a-z]{26})\"", console.shown(f"/hooks?{query}"))

    assert set(found("")) == set(found("state=nonsense")) == {enabled, proving}
    assert (found("state=enabled"), found("state=proving")) == ([enabled], [proving])
    assert "No such endpoints" in console.shown("/hooks?state=disabled")
    assert "Create an endpoint" in console.shown("/hooks?state=disabled")


@pytest.mark.slow
def test_endpoints_say_when_there_are_as_many_as_there_may_be(console: Console) -> None:
    console.member()
    for _ in range(MAX_ENDPOINTS):
        hooked(console)
    page = console.shown("/hooks?state=disabled")
    assert f"These keys have {MAX_ENDPOINTS} endpoints, which is the most." in page
    assert "Create an endpoint" not in page


@pytest.mark.slow
def test_attempts_of_a_delivery_lead_to_them(console: Console) -> None:
    console.member()
    hook = hooked(console)
    console.api.hooks.prove(hook)
    delivery = console.api.hooks.over(hook, "evt_1").name
    page = console.shown(f"/hooks/{hook}")
    assert f'/hooks/{hook}/deliveries/{delivery}#attempts">1</a>' in page
    assert 'id="attempts"' in console.shown(f"/hooks/{hook}/deliveries/{delivery}")


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_rows_that_are_not_sent_filter_by_reason_and_page(console: Console) -> None:
    console.member()
    rows = "recipient,name\r\n" + "".join(f"{x},x\r\n" for x in ("a@example.org", "a@example.org", "1", "2", "3"))
    where = f"/campaigns/{with_list(console, rows)}"

    def values(page: str) -> list[str]:
        return re.findall(r'<td class="any">(\d)</td>', page)

    page = console.shown(where)
    assert re.search(r'Twice in the list, left out</dt><dd><a href="\?code=duplicate#problems">1</a>', page)
    twice = console.shown(f"{where}?code=duplicate")
    assert values(twice) == []
    assert '<td class="any">a@example.org</td>' in twice
    assert "An earlier row has the same recipient." in twice
    (code,) = {x for x in re.findall(r"<option[^>]*>(\w+)</option>", page) if x != "duplicate"}
    first = console.shown(f"{where}?code={code}")
    assert values(first) == ["1", "2"]
    more = re.search(r'href="(\?code=[^"]+)">More rows', first)
    assert more is not None
    rest = console.shown(where + html.unescape(more[1]).partition("#")[0])
    assert values(rest) == ["3"]
    assert f'href="?code={code}#problems">First rows' in rest
    assert "More rows" not in rest


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_versions_page_both_ways_and_are_found_by_number(console: Console) -> None:
    console.member()
    template = stored(console)
    assert 'name="version" type="number"' not in console.shown(f"/templates/{template}")
    for number in range(2, 5):
        saved(console, template, subject=f"No. {number}")
    page = console.shown(f"/templates/{template}")
    assert 'name="version" type="number" min="1" max="4"' in page
    more = re.search(r'href="(\?before=3)#versions">Earlier versions', page)
    assert more is not None
    rest = console.shown(f"/templates/{template}{more[1]}")
    assert f'/templates/{template}#versions">Latest versions' in rest
    assert "Earlier versions" not in rest


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_a_choice_of_templates_says_that_it_has_the_newest(console: Console) -> None:
    console.member()
    for number in range(2):
        stored(console, name=f"Template {number}")
    assert "The newest 2." not in console.shown("/campaigns/new")
    stored(console, name="Template 2")
    page = console.shown("/campaigns/new")
    assert "The newest 2." in page
    assert f'/{console.account}/templates">their pages</a>' in page


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_lists_that_were_sent_say_that_they_are_the_newest(console: Console) -> None:
    console.member()
    campaign = made(console)
    for number in range(3):
        rows = {"recipient": f"p{number}@example.org", "name": "x"}
        console.api.listed(campaign, rows)
        assert "The newest 2 of" not in console.shown(f"/campaigns/{campaign}")
        sent(console, campaign)
    page = console.shown(f"/campaigns/{campaign}")
    assert "The newest 2 of 3." in page
    assert f'/{console.account}/jobs?kind=campaign"' in page


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_a_person_of_many_accounts_finds_one_by_its_name(console: Console) -> None:
    console.member()
    for name in ("North", "South"):
        assert 'name="name"' not in console.get("").text
        account = console.services.accounts.create_account(name, [])
        console.services.people.invite("github", "ann", account, Role.VIEWER)
        console.sign_in()
    page = console.get("").text
    assert 'name="name"' in page
    assert "Pause …" not in page
    found = console.get("?name=nor").text
    assert re.findall(r'<th scope="row"><a [^>]+>(\w+)<', found) == ["North"]
    assert "No such accounts" in console.get("?name=west").text


def selects(page: str) -> dict[str, str]:
    """Return the options of each filter of a page, as HTML."""
    form = re.search(r'<form class="filters" method="get"( role="search")?[ >].*?</form>', page, re.DOTALL)
    return dict(re.findall(r'<select id="[^"]+" name="([^"]+)">(.*?)</select>', form[0], re.DOTALL)) if form else {}


@pytest.mark.slow
def test_a_form_shows_what_its_filters_are_set_to(example: Example) -> None:
    asked = 0
    for page in pages():
        where = f"/{EXAMPLES[page](example)[0]}".rstrip("/").partition("?")[0]
        for name, options in selects(example.console.get(where).text).items():
            for option in re.findall(r"<option(?: selected)?>([^<]+)<", options):
                more = {"provider": "sendgrid"} if name == "did" else {}
                shown = example.console.get(f"{where}?{urlencode({**more, name: option})}").text
                assert re.findall(r"<option selected>([^<]+)<", selects(shown)[name]) == [option], (page, name)
                asked += 1
    assert asked > 100

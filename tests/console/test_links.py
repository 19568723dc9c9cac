"""Every link of every page leads to a page, or to a place on one; what filters a list can be taken away again."""

import html
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest

from functions.console import lists
from shared.domain.people import Role
from shared.domain.recipients.suppressions import Reach
from tests.console.campaigns import made, stored
from tests.console.console import Console
from tests.console.examples import EXAMPLES, Example, pages

HREF = re.compile(r'<(?:a|link)\b[^>]*\bhref="([^"]*)"')
NOT_MADE = "/acc_somebodyelse"
"""An account that a credential is open to, and that does not exist."""


def links(example: Example) -> Iterator[tuple[str, str]]:
    """Give the links of all pages below the console: where one is, and where it leads."""
    for page in pages():
        for path in EXAMPLES[page](example):
            where = f"/{path}".rstrip("/")
            for found in HREF.findall(example.console.get(where).text):
                yield where, urljoin(f"/console{where}", html.unescape(found))


@pytest.mark.slow
def test_every_link_leads_to_a_page(example: Example) -> None:
    console, asked = example.console, dict[str, str]()
    dead = set()
    for where, link in links(example):
        address, _, part = link.partition("#")
        if not address.startswith("/console"):
            dead.add((where, link))
            continue
        path = address.removeprefix("/console")
        if path not in asked:
            got = console.get(path)
            asked[path] = got.text if got.status == 200 else got.headers.get("location", "")
        if not asked[path] or (part and f'id="{part}"' not in asked[path]):
            dead.add((where, link))
    assert {(where, link) for where, link in dead if not link.endswith(NOT_MADE)} == set()
    assert len({urlsplit(path).path for path in asked}) > 60


@pytest.mark.slow
def test_campaigns_filter_by_state_and_channel(console: Console) -> None:
    console.member()
    assert "Filter" not in console.shown("/campaigns"), "there is nothing to filter"
    campaign = made(console)

    def found(query: str) -> list[str]:
        return re.findall(r"/campaigns/([0-9a-z]{26})\"", console.shown(f"/campaigns?{query}"))

    assert (
        found("") == found("state=draft") == found("channel=email&state=draft") == found("state=nonsense") == [campaign]
    )
    for query in ("state=sent", "channel=sms", "channel=sms&state=draft"):
        assert found(query) == []
        page = console.shown(f"/campaigns?{query}")
        assert "No such campaigns" in page
        assert "Show all campaigns" in page
        assert "New campaign" in page


@pytest.mark.slow
def test_templates_filter_by_channel(console: Console) -> None:
    console.member()
    assert "Filter" not in console.shown("/templates")
    template = stored(console)
    for query in ("", "channel=email", "channel=nonsense"):
        assert f"/templates/{template}" in console.shown(f"/templates?{query}")
    assert "No such templates" in console.shown("/templates?channel=sms")


@pytest.mark.slow
def test_a_page_that_a_filter_leaves_empty_leads_to_the_next(console: Console) -> None:
    console.member()
    text = stored(console, channel="sms", body="Hello")
    console.api.world.clock.advance(1)
    for _ in range(lists.PAGE):
        stored(console)
    page = console.shown("/templates?channel=sms")
    assert "go on to the next page" in page
    (following,) = re.findall(r'href="(\?channel=sms&amp;cursor=[^"]+)">Next page', page)
    assert f"/templates/{text}" in console.shown(f"/templates{html.unescape(following)}")


@pytest.mark.slow
def test_senders_filter_by_state(console: Console) -> None:
    console.member()
    assert console.post(f"/{console.account}/senders/add", domain="news.example.net").status == 303
    assert "news.example.net" not in console.shown("/senders?state=granted")
    assert "news.example.net" in console.shown("/senders?state=pending")
    assert "No such senders" in console.shown("/senders?state=proven")


@pytest.mark.slow
def test_a_long_address_breaks_between_its_parts(console: Console) -> None:
    console.member(role=Role.ADMIN)
    address = "someone.with.a.long.name@a-company.example.org"
    suppressions = console.services.use_cases.suppressions
    suppressions.put(console.account, address, "manual", reach=Reach.ALL, by="user:Ann")
    page = console.shown(f"/suppressions/lift?address={address.replace('@', '%40')}&list=all")
    heading = "Send to someone.<wbr>with.<wbr>a.<wbr>long.<wbr>name@<wbr>a-company.<wbr>example.<wbr>org again?"
    assert f"<h1>{heading}</h1>" in page

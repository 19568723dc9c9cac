"""Every page of the console: accessible in light and dark, within 320 px, small, and quick.

A new page is in here by itself; `EXAMPLES` has addresses to look at.
"""

import re
import time
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import pytest

from functions.console.handler import respond
from functions.console.screens import ROUTES
from shared.domain.people import Identity
from shared.web import http
from shared.web.routing import find
from shared.web.sessions import COOKIE
from tests.api.conftest import event
from tests.console.console import build_console
from tests.console.examples import EXAMPLES, Example, pages
from tests.console.fitting import assert_fits, resize
from tests.console.screenshots import PREVIEWED, await_preview
from tests.console.site import enter, site, unpacked
from tests.fakes.axe import ENTER, TAB, assert_keyboard_reaches_all, press_keys
from tests.fakes.browser import PATIENCE, Browser, browsing
from tests.fakes.clock import FakeClock

BYTES = 100 * 1024
"""Of a page with all that it loads, compressed."""
REQUESTS = 8
SECONDS = 0.3
"""Of a processor, once warm."""


def paths(example: Example, page: str) -> tuple[str, ...]:
    """Return the addresses of a page below the API's address."""
    return tuple(f"/console/{path}".rstrip("/") for path in EXAMPLES[page](example))


def ask(example: Example, path: str) -> dict[str, Any]:
    """Ask for a page as a browser with the session does."""
    where, _, query = path.partition("?")
    headers = {"cookie": f"{COOKIE}={example.console.cookies[COOKIE]}", "accept-encoding": "gzip"}
    return respond(event("GET", where, headers=headers, query=query), "request-1", lambda: example.console.services)


def test_every_page_has_an_example() -> None:
    assert sorted(pages()) == sorted(EXAMPLES)


@pytest.mark.parametrize("page", pages())
def test_an_example_shows_its_page(example: Example, page: str) -> None:
    for path in paths(example, page):
        where, _, query = path.partition("?")
        route, _ = find(ROUTES, http.read(event("GET", where, query=query), "request-1"))
        assert route.name == page
        got = ask(example, path)
        assert got["statusCode"] == 200, path
        assert got["headers"]["Content-Type"].startswith("text/html")


class Loaded(HTMLParser):
    """What a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        link = given.get("src") or (given.get("href") if tag == "link" else None)
        if link:
            self.links.add(link)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages())
def test_a_page_is_small_and_quick(example: Example, page: str) -> None:
    for path in paths(example, page):
        took = []
        for _ in range(3):
            begun = time.process_time()
            got = ask(example, path)
            took.append(time.process_time() - begun)
        assert min(took) < SECONDS, path
        size, html = unpacked(got)
        loaded = Loaded()
        loaded.feed(html)
        all_ours = [urljoin(path, link) for link in loaded.links]
        assert all(re.match(r"/(console|images)/", link) for link in all_ours), "everything comes from our own origin"
        own = [link for link in all_ours if not link.startswith("/images/")]  # of any number and size
        assert len(own) + 1 <= REQUESTS, path
        assert size + sum(unpacked(ask(example, link))[0] for link in own) <= BYTES, path


@pytest.mark.browser
@pytest.mark.parametrize("page", pages())
def test_a_page_is_accessible_and_fits_each_width(example: Example, address: str, browser: Browser, page: str) -> None:
    for path in paths(example, page):
        browser.do("POST", "/url", {"url": address + path.removeprefix("/console")})
        assert_fits(browser, path)


@pytest.mark.browser
def test_a_refusal_and_the_first_page_of_a_newcomer_are_accessible(moto_dynamo: Any) -> None:
    console = build_console(moto_dynamo, FakeClock())
    console.sign_in(Identity("github", "9", "newcomer", organizations=frozenset({"acme"})))
    with site(console) as place, browsing(scripts=True) as browser:
        enter(browser, console, place)
        for path in ("", f"/{console.account}"):
            browser.do("POST", "/url", {"url": place + path})
            assert_fits(browser, path)


@pytest.mark.browser
@pytest.mark.parametrize("page", pages())
def test_everything_on_a_page_is_reached_by_the_keyboard(
    example: Example, address: str, browser: Browser, page: str
) -> None:
    resize(browser, 1280)
    for path in paths(example, page):
        browser.do("POST", "/url", {"url": address + path.removeprefix("/console")})
        assert_keyboard_reaches_all(browser, path)


@pytest.mark.browser
def test_the_first_key_leads_past_the_menu(example: Example, address: str, browser: Browser) -> None:
    browser.do("POST", "/url", {"url": f"{address}/{example.account}"})
    press_keys(browser, TAB)
    assert browser.script("return document.activeElement.textContent") == "Skip to the content"
    press_keys(browser, ENTER, TAB)
    inside = "return document.querySelector('main').contains(document.activeElement)"
    assert browser.script(inside), "the next key is in the content"


@pytest.mark.browser
def test_a_picture_of_a_campaign_waits_for_its_message(example: Example, address: str, browser: Browser) -> None:
    for page in ("write a campaign", "campaign", "template"):
        for path in EXAMPLES[page](example):
            browser.do("POST", "/url", {"url": f"{address}/{path}"})
            shows = browser.script(PREVIEWED)
            assert shows is ("channel=sms" not in path)
            await_preview(browser)
            browser.do("POST", "/timeouts", {"implicit": 0})
            try:
                if shows:
                    browser.enter("#preview")
                    browser.find(".framed main")
            finally:
                browser.do("POST", "/frame", {"id": None})
                browser.do("POST", "/timeouts", {"implicit": int(PATIENCE * 1000)})


MENU_ENDS = """
const side = document.querySelector(".side"), frame = side.getBoundingClientRect();
const there = e => e.getBoundingClientRect().top >= frame.top && e.getBoundingClientRect().bottom <= frame.bottom;
return [side.scrollHeight <= side.clientHeight, there(side.querySelector("[aria-current]"))];
"""
"""Whether the menu fits, and whether the section that is shown can be seen in it."""


@pytest.mark.browser
def test_the_menu_of_an_operator_fits_or_scrolls_to_where_one_is(
    example: Example, address: str, browser: Browser
) -> None:
    for height, fits in ((1024, True), (720, True), (480, False)):
        size = {"width": 1280, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.devtools("Emulation.setDeviceMetricsOverride", **size)
        browser.do("POST", "/url", {"url": f"{address}/{example.account}/audit"})
        assert browser.script(MENU_ENDS) == [fits, True], height
        assert browser.script("return scrollY") == 0

"""Every page of the console: accessible in light and dark, within 320 px, small, and quick.

A new page is in here by itself: `EXAMPLES` needs a line of it, with an address to look at.
"""

import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from functions.console.handler import respond
from functions.console.screens import ROUTES
from shared.web import http
from shared.web.routing import find
from shared.web.sessions import COOKIE
from tests.api.conftest import event
from tests.console.examples import EXAMPLES, Example, build_example, pages, repeatable
from tests.console.site import site, unpacked
from tests.fakes.browser import Browser, browsing

AXE = (Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
RULES = (
    "const done = arguments[0]; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', "
    "'best-practice']}).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' '))))"
)
TARGETS = """
const small = e => {
  const r = e.getBoundingClientRect();
  return r.width && r.height && (r.height < 43.5 || r.width < 43.5);
};
return Array.from(document.querySelectorAll(
  "button, .button, select, summary, nav a, input:not([type=hidden]):not([type=checkbox]):not([type=radio])"
)).filter(small).map(e => e.outerHTML);
"""
"""What is pressed, and is smaller than 44 px (WCAG 2.2, 2.5.5)."""
CUT = """
return Array.from(document.querySelectorAll("main *")).filter(e => {
  const s = getComputedStyle(e);
  return e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && s.overflowX !== "visible" && s.overflowX !== "auto"
    && !["INPUT", "SELECT", "TEXTAREA", "IFRAME"].includes(e.tagName);
}).map(e => e.outerHTML.slice(0, 200));
"""
"""What is cut off, and cannot be scrolled to."""
WIDTHS = (320, 1280)
BYTES = 100 * 1024
"""Of a page with all that it loads, compressed."""
REQUESTS = 8
SECONDS = 0.3
"""Of a processor, once warm."""


@pytest.fixture(scope="module")
def example(moto_dynamo: Any) -> Example:
    with repeatable():
        return build_example(moto_dynamo, days=(12,))


@pytest.fixture(scope="module")
def address(example: Example) -> Iterator[str]:
    with site(example.console) as found:
        yield found


@pytest.fixture(scope="module")
def browser(example: Example, address: str) -> Iterator[Browser]:
    """A browser with the session."""
    with browsing(scripts=True) as opened:
        opened.do("POST", "/url", {"url": f"{address}/style"})
        folder = address.removeprefix("http://").partition("/")[2]
        cookie = {"name": COOKIE, "value": example.console.cookies[COOKIE], "path": f"/{folder}"}
        opened.do("POST", "/cookie", {"cookie": cookie})
        yield opened


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
        own = [urljoin(path, link) for link in loaded.links]
        assert all(re.match(r"/console/", link) for link in own), "everything comes from our own origin"
        assert len(own) + 1 <= REQUESTS, path
        assert size + sum(unpacked(ask(example, link))[0] for link in own) <= BYTES, path


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", pages())
def test_a_page_is_accessible_and_fits_a_phone(
    example: Example, address: str, browser: Browser, page: str, scheme: str
) -> None:
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    for width in WIDTHS:
        browser.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width == WIDTHS[0],
        )
        for path in paths(example, page):
            browser.do("POST", "/url", {"url": address + path.removeprefix("/console")})
            where = f"{path} at {width} px in {scheme}"
            wide = browser.do(
                "POST", "/execute/sync", {"script": "return document.documentElement.scrollWidth", "args": []}
            )
            assert wide <= width, f"{where}: WCAG 2.2, 1.4.10: nothing to scroll sideways"
            for script in (TARGETS, CUT):
                assert browser.do("POST", "/execute/sync", {"script": script, "args": []}) == [], where
            browser.do("POST", "/execute/sync", {"script": AXE, "args": []})
            assert browser.do("POST", "/execute/async", {"script": RULES, "args": []}) == [], where

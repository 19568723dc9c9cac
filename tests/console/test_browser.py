"""The console in a real browser: accessible in light and dark, within 320 px, small, and readable without scripts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.console.handler import respond
from shared.web.sessions import COOKIE
from tests.api.conftest import event
from tests.console.conftest import Console
from tests.console.site import site, unpacked
from tests.fakes.browser import ELEMENT, Browser, browsing

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
CHECK = (
    "const done = arguments[0]; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', "
    "'best-practice']}).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' '))))"
)
RENEWALS = "return performance.getEntriesByType('resource').filter((x) => x.name.includes('part=live')).length"
"""How many renewals the page got."""
FLASHES = """
window.flashes = 0;
const look = () => {
  for (const time of document.querySelectorAll('time')) flashes += time.textContent.includes('UTC');
  requestAnimationFrame(look);
};
addEventListener('load', look);
"""
"""Counts times of another zone in each frame."""
BUDGET = 100 * 1024
"""Bytes of the first page with all that it loads, compressed."""


@pytest.fixture
def address(console: Console) -> Iterator[str]:
    with site(console) as found:
        yield found


def paths(console: Console) -> list[str]:
    """Return a path of every kind of page, of an account in which something happened."""
    job = console.api.logged(("a@example.org", "b@example.org", "nonsense"), subject="October newsletter")
    waiting = console.api.accepted(tuple(f"p{i}@example.org" for i in range(60)), subject="Waits")
    mine = console.account
    return [
        *("style", "sign-in", "nowhere", mine, f"{mine}/jobs", f"{mine}/jobs?state=stopped", f"{mine}/members"),
        *(f"{mine}/jobs/{waiting}", f"{mine}/jobs/{waiting}/stop", f"{mine}/jobs/{job}/messages"),
        *(f"{mine}/jobs/{job}/messages/0.0", f"{mine}/messages", f"{mine}/messages?recipient=a@example.org"),
    ]


def enter(console: Console, browser: Browser, address: str) -> None:
    """Let the browser have a session."""
    console.member()
    browser.do("POST", "/url", {"url": f"{address}/style"})
    folder = address.removeprefix("http://").partition("/")[2]
    browser.do("POST", "/cookie", {"cookie": {"name": COOKIE, "value": console.cookies[COOKIE], "path": f"/{folder}"}})


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits_a_phone(console: Console, address: str, scheme: str) -> None:
    pages = paths(console)
    with browsing(scripts=True) as browser:
        enter(console, browser, address)
        browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for width in (320, 1280):
            browser.devtools(
                "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width == 320
            )
            for page in pages:
                browser.do("POST", "/url", {"url": f"{address}/{page}"})
                wide = browser.script("return document.documentElement.scrollWidth")
                assert wide <= width, f"{page}: WCAG 2.2, 1.4.10: nothing to scroll sideways"
                browser.script(AXE.read_text("utf-8"))
                found = browser.do("POST", "/execute/async", {"script": CHECK, "args": []})
                assert found == [], f"{page} at {width} px in {scheme}"


@pytest.mark.browser
def test_figures_renew_themselves_and_times_are_the_viewers(console: Console, address: str) -> None:
    job = console.api.accepted(("a@example.org",), subject="Waits")
    with browsing(scripts=True) as browser:
        enter(console, browser, address)
        browser.devtools("Emulation.setTimezoneOverride", timezoneId="Australia/Sydney")
        browser.do("POST", "/url", {"url": f"{address}/{console.account}/jobs/{job}"})
        assert "UTC" not in browser.text(".facts time")
        assert browser.attribute(".facts time", "title").endswith(" UTC")
        console.api.world.settle()
        sent = "#live a[href$='state=sent']"
        browser.until(lambda: browser.text(sent) == "1", "the figures do not renew themselves")
        log = browser.do("POST", "/se/log", {"type": "browser"})
        assert [x["message"] for x in log if x["level"] == "SEVERE" and "favicon" not in x["message"]] == []


@pytest.mark.browser
def test_a_renewal_leaves_focus_pointer_and_times_as_they_are(console: Console, address: str) -> None:
    job = console.api.accepted(tuple(f"p{i}@example.org" for i in range(60)), subject="Waits")
    with browsing(scripts=True) as browser:

        def renew_twice() -> None:
            wanted = browser.script(RENEWALS) + 2
            browser.until(lambda: browser.script(RENEWALS) >= wanted, "the figures do not renew themselves")

        enter(console, browser, address)
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=FLASHES)
        browser.do("POST", "/url", {"url": f"{address}/{console.account}/jobs/{job}"})
        browser.script("document.querySelector('#live a.danger').focus()")
        renew_twice()
        assert browser.script("return document.activeElement.textContent") == "Stop …", "WCAG 2.2, 2.4.3"
        assert browser.script("return flashes") == 0, "no frame shows a time of another zone"
        stop = browser.find("#live a.danger")
        browser.point({"type": "pointerMove", "origin": {ELEMENT: stop.removeprefix("/element/")}, "x": 0, "y": 0})
        browser.point({"type": "pointerDown", "button": 0})
        renew_twice()
        browser.point({"type": "pointerUp", "button": 0})
        browser.shows("Stop this job?")


@pytest.mark.browser
def test_reading_and_stopping_work_without_scripts(console: Console, address: str) -> None:
    job = console.api.accepted(tuple(f"p{i}@example.org" for i in range(60)), subject="Waits")
    with browsing(scripts=False) as browser:
        enter(console, browser, address)
        browser.do("POST", "/url", {"url": f"{address}/{console.account}"})
        browser.shows("Overview")
        browser.click("table a")
        browser.shows("Waits")
        browser.click("a.danger")
        browser.shows("Stop this job?")
        browser.click("main button.danger")
        browser.shows("Waits")
        assert "Stopped by hand" in browser.text(".state")
    assert console.api.call("GET", f"/jobs/{job}").json["stop_reason"] == "user"


def test_the_first_page_is_small(console: Console) -> None:
    job = console.api.logged(tuple(f"p{i}@example.org" for i in range(60)))
    console.member()
    session = {"cookie": f"{COOKIE}={console.cookies[COOKIE]}", "accept-encoding": "gzip"}

    def size(path: str) -> int:
        got = respond(event("GET", f"/console{path}", headers=session), "r", lambda: console.services)
        assert got["statusCode"] == 200
        assert got["isBase64Encoded"]
        return unpacked(got)[0]

    assets = console.services.assets
    files = sum(size(f"/{assets.path(name)}") for name in ("console.css", "console.js", "htmx.min.js", "icon.svg"))
    assert files + max(size(f"/{console.account}"), size(f"/{console.account}/jobs/{job}/messages")) < BUDGET

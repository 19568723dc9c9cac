"""The console in a real browser: figures that renew themselves, and reading and stopping without scripts."""

from collections.abc import Iterator

import pytest

from tests.console.conftest import Console
from tests.console.site import session_cookie, site
from tests.fakes.browser import Browser, browsing

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


@pytest.fixture
def address(console: Console) -> Iterator[str]:
    with site(console) as found:
        yield found


def enter(console: Console, browser: Browser, address: str) -> None:
    """Let the browser have a session."""
    console.member()
    browser.do("POST", "/url", {"url": f"{address}/style"})
    browser.do("POST", "/cookie", session_cookie(console))


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
        browser.hold("#live a.danger")
        renew_twice()
        browser.release()
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
